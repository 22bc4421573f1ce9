/* edits.h - replacements in a text.
 *
 * Owns      the inserted text.
 * Errors    edits.text.failed: out of memory.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_EDITS_H
#define MI_CLI_WRAP_EDITS_H

#include "base/buf.h"

#define EDITS_MAX 2048 /* maximum number of edits of a file; a server needs at most three */

/* One replacement. Replacements do not overlap. */
struct edit {
    size_t at, del; /* offset and number of deleted bytes in the old text */
    size_t put, n;  /* offset and number of inserted bytes in edits.text */
};

struct edits {
    struct edit edit[EDITS_MAX];
    size_t n;
    struct buf text; /* owned */
};

void edits_close(struct edits *e);
/* Begins a replacement of `del` bytes. Text appended to e->text before edits_end_replacement() is
 * inserted; without edits_end_replacement(), the bytes are only deleted. Returns false if there is
 * no room for more edits. */
MI_MUST bool edits_begin_replacement(struct edits *e, size_t at, size_t del);
void edits_end_replacement(struct edits *e);

/* Sorts the edits, and appends the edited text to b. */
void edits_apply(struct edits *e, struct slice old, struct buf *b);
/* Appends the bytes from..to with their edits applied. The edits must be sorted, and none may cross
 * `from` or `to`. */
void edits_apply_in_range(const struct edits *e, struct slice old, size_t from, size_t to,
                          struct buf *b);

#endif
