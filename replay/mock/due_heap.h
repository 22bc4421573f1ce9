/* due_heap.h - a heap of playbacks, ordered by the time at which they are due.
 *
 * Owns      the array; due_heap_close() frees it. Entries are embedded in their owners.
 * Order     by time, then by the order of due_heap_set_time().
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_MOCK_DUE_HEAP_H
#define MI_REPLAY_MOCK_DUE_HEAP_H

#include "base/base.h"

struct due {
    int64_t at_us;
    uint64_t order;
    size_t place; /* index of the entry in the heap, plus 1; 0: not in the heap */
};

struct due_heap {
    struct due **list; /* owned */
    size_t n, cap;
    uint64_t orders; /* number of calls of due_heap_set_time() so far */
};

void due_heap_close(struct due_heap *h);
/* Adds an entry to the heap, or changes the time of an entry. Returns 0 or MI_ENOMEM. */
MI_MUST int due_heap_set_time(struct due_heap *h, struct due *d, int64_t at_us);
/* Removes an entry; does nothing if the entry is not in the heap. */
void due_heap_remove(struct due_heap *h, struct due *d);

static inline struct due *due_heap_get_earliest(const struct due_heap *h)
{
    return h->n > 0 ? h->list[0] : NULL;
}

#endif
