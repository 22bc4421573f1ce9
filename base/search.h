/* search.h - searches an array that is sorted by a 64-bit member.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_SEARCH_H
#define MI_BASE_SEARCH_H

#include "base/base.h"

/* Returns the index of the first element whose `member` (int64_t) is not less than key; n if there
 * is none. */
#define SEARCH_INT64(list, n, member, key)                                                         \
    search_int64((list), (n), sizeof *(list), offsetof(__typeof__(*(list)), member), (key))

/* Called by SEARCH_INT64(). size: bytes of an element; member: offset of the member in an
 * element. */
static inline size_t search_int64(const void *list, size_t n, size_t size, size_t member,
                                  int64_t key)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int64_t value;
        memcpy(&value, (const char *)list + middle * size + member, sizeof value);
        if (value < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

#endif
