#include "base/os/sort.h"

#include <stdlib.h>

void sort_array(void *p, size_t n, size_t size, sort_fn compare, void *ctx)
{
    qsort_r(p, n, size, compare, ctx);
}
