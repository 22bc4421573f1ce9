/* sort.h - sorts like qsort(3), with a context for the comparison.
 *
 * Linux     qsort_r(3), which POSIX has since 2024. Other systems have it with another order of
 *           arguments.
 * Blocks    never. */
#ifndef MI_BASE_OS_SORT_H
#define MI_BASE_OS_SORT_H

#include <stddef.h>

typedef int (*sort_fn)(const void *a, const void *b, void *ctx);

/* Sorts n elements of `size` bytes. Equal elements may change places. */
void sort_array(void *p, size_t n, size_t size, sort_fn compare, void *ctx);

#endif
