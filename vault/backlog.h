/* backlog.h - rows that could not be written when it was their turn, oldest first, in bounded memory.
 *
 * Owns      copies of the rows and their bytes; a row's hold is not kept.
 * Errors    a row that does not fit is refused; those that wait stay.
 * Blocks    never. */
#ifndef MI_VAULT_BACKLOG_H
#define MI_VAULT_BACKLOG_H

#include "vault/row.h"

/* One row that waits, in one block with its bytes. */
struct backlog_row {
    struct backlog_row *next;
    size_t cost; /* bytes of memory */
    struct row row;
    char data[];
};

struct backlog {
    struct backlog_row *first, **last;
    size_t bytes; /* of memory, of all */
};

void backlog_open(struct backlog *b);
void backlog_close(struct backlog *b);
size_t backlog_cost(const struct row *row); /* bytes of memory */
/* Copies the row to the end. false: all of them would take more than `limit` bytes, or there is no memory. */
MI_MUST bool backlog_add(struct backlog *b, const struct row *row, size_t limit);
void backlog_drop_first(struct backlog *b); /* there is one */
uint64_t backlog_count(const struct backlog *b);

#endif
