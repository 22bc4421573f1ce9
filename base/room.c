#include "base/room.h"

#include <stdlib.h>

#define FIRST 16

bool room_make(void **list, size_t *cap, size_t size)
{
    size_t more = *cap == 0 ? FIRST : *cap * 2;
    if (more <= *cap || more > SIZE_MAX / size)
        return false;
    void *p = realloc(*list, more * size);
    if (p == NULL)
        return false;
    *list = p;
    *cap = more;
    return true;
}
