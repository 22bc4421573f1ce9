/* chunk.h - a block of bytes that several hold: a reader fills it, lines and queues point into it.
 *
 * Owns      its bytes; freed when the last holder drops it.
 * Lifetime  chunk_new() gives one reference; chunk_hold() adds, chunk_drop() takes one away.
 * Keeping   memory that is given back costs as much again when it is wanted back, a fault for each page. So
 *           a program that will call chunk_trim() when it has rested for a while may have one large block
 *           kept for the next that needs one.
 * Blocks    never. */
#ifndef MI_BASE_CHUNK_H
#define MI_BASE_CHUNK_H

#include "base/base.h"

struct chunk {
    size_t cap;    /* bytes in data */
    unsigned refs; /* holders */
    char data[];
};

struct chunk *chunk_new(size_t cap); /* of at least cap bytes; NULL: no memory */
/* More room, the same content. Only while refs is 1; *c may move. 0 or MI_ENOMEM (then as before). */
MI_MUST int chunk_grow(struct chunk **c, size_t cap);
struct chunk *chunk_hold(struct chunk *c);
void chunk_drop(struct chunk *c); /* NULL is fine */
/* Gives the memory of whole pages in data[from, to) back to the system, unless the block will be kept.
 * The bytes are lost. */
void chunk_discard(struct chunk *c, size_t from, size_t to);
/* From now on a block of CHUNK_KEEP_MIN to max_cap bytes is kept when it is dropped; 0, as at first: none. */
void chunk_keep(size_t max_cap);
bool chunk_kept(void); /* there is one */
void chunk_trim(void); /* frees it */
#define CHUNK_KEEP_MIN ((size_t)1 << 20)

#endif
