#include "base/grow.h"

#include <stdlib.h>

#define FIRST_CAP 16

bool grow_array(void **list, size_t *cap, size_t size)
{
    size_t new_cap = *cap == 0 ? FIRST_CAP : *cap * 2;
    if (new_cap <= *cap || new_cap > SIZE_MAX / size)
        return false;
    void *p = realloc(*list, new_cap * size);
    if (p == NULL)
        return false;
    *list = p;
    *cap = new_cap;
    return true;
}
