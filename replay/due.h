/* due.h - which play is due next: a heap of times.
 *
 * Owns      the array; due_close() frees it. The entries are embedded in what they stand for.
 * Order     by time, then by the order in which they were put.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_DUE_H
#define MI_REPLAY_DUE_H

#include "base/base.h"

struct due {
    int64_t at_us;
    uint64_t order;
    size_t place; /* in the heap, and one more; 0: not there */
};

struct due_heap {
    struct due **list; /* owned */
    size_t n, cap;
    uint64_t orders;
};

void due_close(struct due_heap *h);
/* Puts it there, or moves it. 0 or MI_ENOMEM. */
MI_MUST int due_put(struct due_heap *h, struct due *d, int64_t at_us);
void due_remove(struct due_heap *h, struct due *d); /* fine if it is not there */

static inline struct due *due_first(const struct due_heap *h)
{
    return h->n > 0 ? h->list[0] : NULL;
}

#endif
