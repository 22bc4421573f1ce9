#include "base/reserve.h"

#include <stdlib.h>
#include <unistd.h>

/* A header before each block. */
union head {
    size_t n;
    max_align_t align;
};

static union head reserve[RESERVE_SIZE / sizeof(union head)];
static size_t used; /* number of elements of `reserve` that are in use */

static bool block_is_in_reserve(const union head *h)
{
    return (uintptr_t)h >= (uintptr_t)reserve &&
           (uintptr_t)h < (uintptr_t)(reserve + MI_COUNT(reserve));
}

static union head *reserve_allocate(size_t n)
{
    static const char text[] =
        "mcp-interposer: error: out of memory for the event loop, the program cannot go on\n";
    size_t count = 1 + (n + sizeof(union head) - 1) / sizeof(union head);
    if (count > MI_COUNT(reserve) - used) {
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        abort();
    }
    union head *h = &reserve[used];
    used += count;
    return h;
}

static void reserve_free_block(union head *h)
{
    if (!block_is_in_reserve(h))
        free(h);
}

/* Moves the contents to another block, and frees the old block. */
static void reserve_move_contents(union head *to, union head *old, size_t n)
{
    if (old == NULL)
        return;
    memcpy(to + 1, old + 1, size_min(old->n, n));
    reserve_free_block(old);
}

void *reserve_realloc(void *p, long n)
{
    union head *old = p != NULL ? (union head *)p - 1 : NULL, *h = NULL;
    if (n <= 0) {
        if (old != NULL)
            reserve_free_block(old);
        return NULL;
    }
    bool leaves_reserve = old != NULL && block_is_in_reserve(old);
    h = realloc(leaves_reserve ? NULL : old, sizeof *h + (size_t)n);
    if (h == NULL)
        reserve_move_contents(h = reserve_allocate((size_t)n), old, (size_t)n);
    else if (leaves_reserve)
        reserve_move_contents(h, old, (size_t)n);
    h->n = (size_t)n;
    return h + 1;
}
