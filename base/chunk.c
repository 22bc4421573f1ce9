#include "base/chunk.h"

#include <assert.h>
#include <stdlib.h>

#define CHUNK_SPARE_MIN ((size_t)128 << 10) /* smallest size for which the spare chunk is used */
#define CHUNK_SPARE_RATIO 32 /* the spare chunk is not used for a request below 1/32 of its size */

static struct chunk *spare; /* the spare chunk; owned; NULL: none */

/* Returns the spare chunk, or NULL if there is none or it is too small or too large for `cap`. */
static struct chunk *chunk_reuse_spare_chunk(size_t cap)
{
    struct chunk *c = spare;
    if (c == NULL || c->cap < cap || cap < CHUNK_SPARE_MIN || c->cap / CHUNK_SPARE_RATIO > cap)
        return NULL;
    spare = NULL;
    c->refs = 1;
    return c;
}

struct chunk *chunk_new(size_t cap)
{
    struct chunk *large = chunk_reuse_spare_chunk(cap);
    if (large != NULL)
        return large;
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
    struct chunk *large = chunk_reuse_spare_chunk(cap);
    if (large != NULL) {
        memcpy(large->data, (*c)->data, (*c)->cap);
        free(*c);
        *c = large;
        return 0;
    }
    /* glibc moves a large block by remapping its pages, without copying. */
    struct chunk *n = realloc(*c, sizeof *n + cap);
    if (n == NULL)
        return MI_ENOMEM;
    n->cap = cap;
    *c = n;
    return 0;
}

struct chunk *chunk_add_reference(struct chunk *c)
{
    c->refs++;
    return c;
}

void chunk_release(struct chunk *c)
{
    if (c == NULL)
        return;
    assert(c->refs > 0);
    if (--c->refs > 0)
        return;
    if (c->cap >= CHUNK_LARGE && (spare == NULL || spare->cap < c->cap)) {
        struct chunk *smaller = spare;
        spare = c;
        c = smaller;
    }
    free(c);
}

bool chunk_has_spare_chunk(void)
{
    return spare != NULL;
}

void chunk_free_spare_memory(void)
{
    free(spare);
    spare = NULL;
}
