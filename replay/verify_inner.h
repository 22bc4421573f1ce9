/* verify_inner.h - what the files of the verify module share: the recording as a list, what the live
 * server gave out, and its tools.
 *
 * Only replay/verify*.c include this. */
#ifndef MI_REPLAY_VERIFY_INNER_H
#define MI_REPLAY_VERIFY_INNER_H

#include "replay/live.h"
#include "replay/verify.h"

#define VERIFY_NONE UINT32_MAX

/* A message of the recording. */
struct verify_item {
    uint64_t place;
    uint32_t answer; /* of a request: the item that answers it; VERIFY_NONE */
    uint8_t kind;    /* enum rpc_kind */
    bool from_client, lost;
    bool used; /* a question of the server that was asked live */
};

/* A text that each server makes up: as recorded, and as the live one has it. Between the quotes. */
struct verify_handle {
    size_t recorded_at, recorded_n, live_at, live_n; /* in verify.text */
};

struct verify_tool {
    size_t name_at, name_n; /* in verify.text; escapes resolved */
    bool safe;              /* marked read-only or idempotent */
    bool live;              /* the live server says so */
};

struct verify {
    const struct verify_config *cfg;
    struct source *source;
    struct live *server;
    verify_fn fn;
    void *ctx;
    struct buf *error;

    struct verify_item *items; /* owned; place ascends */
    uint32_t n;
    size_t cap;
    struct verify_handle *handles; /* owned */
    size_t handles_n;
    struct verify_tool *tools; /* owned */
    size_t tools_n;
    bool knows_live_tools; /* a live tools/list was read to its end */
    bool initialized;      /* an initialize was sent */
    bool ended;            /* the live server has */
    int64_t next_id;

    struct buf text;     /* owned; handles and names */
    struct buf request;  /* owned; the recorded request */
    struct buf recorded; /* owned; its recorded answer */
    struct buf line;     /* owned; what is sent */
    struct buf shown;    /* owned; the live answer as it could have been recorded */
    struct buf other;    /* owned; questions of the server and their answers */
};

/* ---- verify_state.c ---- */

MI_MUST int verify_load(struct verify *v);
void verify_close(struct verify *v);
int verify_no_memory(struct verify *v);
/* The body of an item, in b. */
MI_MUST int verify_body(struct verify *v, uint32_t item, struct buf *b);

/* Learns from an answer and its recorded counterpart what each made up. */
MI_MUST int verify_learn_handles(struct verify *v, struct json_value recorded,
                                 struct json_value live);
MI_MUST int verify_learn_tools(struct verify *v, struct json_value result, bool live);
/* NULL: nobody has told of it. */
const struct verify_tool *verify_tool(const struct verify *v, struct slice raw_name);

/* Writes a message anew, with another id (JSON text) and its handles exchanged. */
MI_MUST int verify_rewrite(struct verify *v, const struct rpc *m, struct slice id, bool to_live,
                           struct buf *out);

#endif
