#include "base/chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* If pages are larger, madvise() fails, and the memory is not returned. */
#define PAGE 4096u

struct chunk *chunk_new(size_t cap)
{
    if (cap > SIZE_MAX / 2)
        return NULL;
    struct chunk *c = malloc(sizeof *c + cap);
    if (c == NULL)
        return NULL;
    c->cap = cap;
    c->refs = 1;
    return c;
}

int chunk_grow(struct chunk **c, size_t cap)
{
    assert((*c)->refs == 1);
    if (cap > SIZE_MAX / 2)
        return MI_ENOMEM;
    /* glibc moves a large block by its pages: nothing is copied */
    struct chunk *n = realloc(*c, sizeof *n + cap);
    if (n == NULL)
        return MI_ENOMEM;
    n->cap = cap;
    *c = n;
    return 0;
}

struct chunk *chunk_hold(struct chunk *c)
{
    c->refs++;
    return c;
}

void chunk_drop(struct chunk *c)
{
    if (c == NULL)
        return;
    assert(c->refs > 0);
    if (--c->refs == 0)
        free(c);
}

void chunk_discard(struct chunk *c, size_t from, size_t to)
{
    uintptr_t a = (uintptr_t)(c->data + from);
    uintptr_t b = (uintptr_t)(c->data + to);
    a = (a + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    b &= ~(uintptr_t)(PAGE - 1);
    if (a < b)
        (void)madvise((void *)a, b - a, MADV_DONTNEED); /* a hint: nothing is lost when it fails */
}
