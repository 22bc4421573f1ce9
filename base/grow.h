/* grow.h - makes an array large enough for one more element.
 *
 * Growth    the capacity doubles each time, so n additions copy at most 2 n elements.
 * Owns      nothing: the caller owns the array and its capacity, and frees the array.
 * Errors    returns false if out of memory or if the size overflows; the array is then unchanged.
 * Blocks    never. */
#ifndef MI_BASE_GROW_H
#define MI_BASE_GROW_H

#include "base/base.h"

/* Makes sure that the array `list`, with n elements and capacity `cap`, can take one more
 * element. May change `list` and `cap`. */
#define GROW(list, n, cap) ((n) < (cap) || grow_array((void **)&(list), &(cap), sizeof *(list)))

MI_MUST bool grow_array(void **list, size_t *cap, size_t size);

#endif
