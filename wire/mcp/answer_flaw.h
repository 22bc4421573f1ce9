/* answer_flaw.h - repairs answers of a server that some clients do not accept: the id has another
 * type or is null, or another member is null.
 *
 * Repairs   an id that equals that of the request except for its JSON type ("7" for 7) gets the
 *           type of the request's id. An id of null in an error becomes the id of the request. An
 *           error of null is removed beside a result, and a result of null beside an error. A
 *           result of null becomes {} if the result of the method is empty. All other bytes are
 *           unchanged.
 * Rejects   a null result of any other method of MCP, because it cannot be interpreted.
 * Owns      struct changes owns its list; all slices are borrowed.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_ANSWER_FLAW_H
#define MI_WIRE_MCP_ANSWER_FLAW_H

#include "wire/json_repair.h"
#include "wire/rpc.h"

/* The request to which an answer belongs. */
struct answered {
    struct slice id;     /* JSON text */
    struct slice method; /* text of the method, without quotes and with its escapes */
};

/* A change of a text: the text `to` takes the place of the slice `from`. */
struct change {
    struct slice from, to;
};

struct changes {
    struct change *list; /* owned; changes in the order of their positions in the text */
    size_t n, cap;
};

/* Returns the flaw of an answer of the server to a request of this method; FIND_COUNT if it has no
 * flaw. */
enum finding answer_flaw_find(const struct rpc *answer, struct slice method);
/* Whether the flaw cannot be repaired. */
bool answer_flaw_is_unrepairable(enum finding flaw, struct slice method);
/* Adds the changes of `text` that repair an answer, and adds the repairs to `r`. id_differs: the id
 * of the answer has another JSON type than the id of the request. Returns 0 or MI_ENOMEM. */
MI_MUST int answer_flaw_add_repairs(struct slice text, const struct rpc *answer,
                                    const struct answered *q, bool id_differs, struct changes *c,
                                    struct repairs *r);
/* Writes the repaired answer to `out`, replacing its content; `out` is empty if there is nothing to
 * repair. The findings are stored in `r`. Returns 0 or MI_ENOMEM. */
MI_MUST int answer_flaw_write_repaired_answer(const struct rpc *answer, const struct answered *q,
                                              bool id_differs, struct buf *out, struct repairs *r);

MI_MUST int changes_add(struct changes *c, struct slice from, struct slice to);
/* changes_compute_changed_size() returns the length of the changed text,
 * changes_apply_to_text() writes it. */
size_t changes_compute_changed_size(const struct changes *c, struct slice text);
void changes_apply_to_text(const struct changes *c, struct slice text, char *to);
void changes_close(struct changes *c);

#endif
