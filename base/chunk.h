/* chunk.h - reference-counted blocks of bytes. A reader fills a chunk; lines and queues point into
 * the chunk.
 *
 * Owns      its bytes, which are freed with the last reference. One large chunk is kept for reuse
 *           (the spare chunk), because allocating 16 MiB takes longer than reading a message of
 *           this size.
 * Lifetime  chunk_new() returns one reference; chunk_add_reference() adds one, chunk_release()
 *           removes one.
 * Blocks    never. */
#ifndef MI_BASE_CHUNK_H
#define MI_BASE_CHUNK_H

#include "base/base.h"

struct chunk {
    size_t cap;    /* size of `data` in bytes */
    unsigned refs; /* number of references */
    char data[];
};

#define CHUNK_LARGE ((size_t)1 << 20) /* smallest chunk that is kept for reuse */

struct chunk *chunk_new(size_t cap); /* makes a chunk of at least cap bytes; NULL: out of memory */
/* Grows *c to at least cap bytes. The chunk must have only one reference, and may move. Returns 0,
 * or MI_ENOMEM with *c unchanged. */
MI_MUST int chunk_grow(struct chunk **c, size_t cap);
struct chunk *chunk_add_reference(struct chunk *c);
void chunk_release(struct chunk *c); /* `c` may be NULL */
/* Returns true if there is a spare chunk. */
bool chunk_has_spare_chunk(void);
/* Frees the spare chunk, if there is one. */
void chunk_free_spare_memory(void);

#endif
