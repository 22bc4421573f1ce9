#include "base/chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Where pages are larger the kernel refuses, and the memory stays until the end. */
#define PAGE 4096u

static struct chunk *kept; /* owned; refs is 0 */
static size_t keep_max;

void chunk_keep(size_t max_cap)
{
    keep_max = max_cap;
    if (kept != NULL && kept->cap > max_cap)
        chunk_trim();
}

bool chunk_kept(void)
{
    return kept != NULL;
}

void chunk_trim(void)
{
    free(kept);
    kept = NULL;
}

static bool to_keep(const struct chunk *c)
{
    return c->cap >= CHUNK_KEEP_MIN && c->cap <= keep_max;
}

/* The kept block, if that is what somebody wants who wants cap bytes. */
static struct chunk *take_kept(size_t cap)
{
    struct chunk *c = kept;
    if (c == NULL || cap < CHUNK_KEEP_MIN || cap > c->cap)
        return NULL;
    kept = NULL;
    c->refs = 1;
    return c;
}

struct chunk *chunk_new(size_t cap)
{
    if (cap > SIZE_MAX / 2)
        return NULL;
    struct chunk *again = take_kept(cap);
    if (again != NULL)
        return again;
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
    struct chunk *again = take_kept(cap);
    if (again != NULL) {
        memcpy(again->data, (*c)->data, (*c)->cap);
        free(*c);
        *c = again;
        return 0;
    }
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
    if (--c->refs > 0)
        return;
    if (!to_keep(c) || (kept != NULL && kept->cap >= c->cap)) {
        free(c);
        return;
    }
    chunk_trim();
    kept = c;
}

void chunk_discard(struct chunk *c, size_t from, size_t to)
{
    if (to_keep(c))
        return;
    uintptr_t a = (uintptr_t)(c->data + from);
    uintptr_t b = (uintptr_t)(c->data + to);
    a = (a + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    b &= ~(uintptr_t)(PAGE - 1);
    if (a < b)
        (void)madvise((void *)a, b - a, MADV_DONTNEED); /* a hint: nothing is lost when it fails */
}
