/* quota.h - limits the memory that several users have together to `max` bytes.
 *
 * Owns      nothing: it only counts bytes. Give back as many bytes as were taken.
 * Errors    quota_reserve() returns false, and counts nothing, if the bytes would exceed the limit;
 *           `refused` is then set, so that the user can tell this from a lack of memory.
 * Blocks    never. */
#ifndef MI_BASE_QUOTA_H
#define MI_BASE_QUOTA_H

#include "base/base.h"

struct quota {
    size_t used, max; /* bytes */
    bool refused;     /* quota_reserve() has returned false; only the caller resets this flag */
};

static inline bool quota_reserve(struct quota *q, size_t n)
{
    if (n > q->max - q->used) {
        q->refused = true;
        return false;
    }
    q->used += n;
    return true;
}

static inline void quota_return_bytes(struct quota *q, size_t n)
{
    q->used -= n;
}

#endif
