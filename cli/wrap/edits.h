/* edits.h - replacements in a text.
 *
 * Owns      the inserted text.
 * Errors    edits.text.failed: out of memory.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_EDITS_H
#define MI_CLI_WRAP_EDITS_H

#include "base/buf.h"

#define EDITS_MAX 2048 /* per file; a server needs three at most */

/* One replacement. They do not overlap. */
struct edit {
    size_t at, del; /* bytes of the old text */
    size_t put, n;  /* bytes of edits.text */
};

struct edits {
    struct edit edit[EDITS_MAX];
    size_t n;
    struct buf text; /* owned */
};

void edits_close(struct edits *e);
/* Begins a replacement: what is appended to e->text until edits_end() is inserted. Without edits_end(): the bytes are
 * deleted. false: no room for more edits. */
MI_MUST bool edits_begin(struct edits *e, size_t at, size_t del);
void edits_end(struct edits *e);

/* Sorts the edits, and appends the edited text to b. */
void edits_apply(struct edits *e, struct slice old, struct buf *b);
/* Appends the edited form of the bytes from..to. The edits must be sorted, and none may cross these limits. */
void edits_apply_part(const struct edits *e, struct slice old, size_t from, size_t to,
                      struct buf *b);

#endif
