/* reserve.h - an allocator that does not fail, for a library that ends the program when memory runs
 * out (libev).
 *
 * Memory comes from malloc(). If malloc() fails, memory comes from the reserve: RESERVE_SIZE bytes
 * of the program's data. These bytes are not used again after a block is freed: libev's arrays are
 * few and small, and they double. A block leaves the reserve when it grows and malloc() succeeds
 * again.
 *
 * Owns      the reserve.
 * Errors    none. If the reserve is used up as well, a line on stderr says so, and the program ends
 *           with abort(3).
 * Blocks    never. */
#ifndef MI_BASE_RESERVE_H
#define MI_BASE_RESERVE_H

#include "base/base.h"

#define RESERVE_SIZE ((size_t)64 << 10)

/* Like realloc(3); n = 0 frees the block. For ev_set_allocator(). */
void *reserve_realloc(void *p, long n);

#endif
