/* nesting.h - the open objects and arrays of a JSON text, one bit for each.
 *
 * Limits    JSON_MAX_DEPTH.
 * Lifetime  to initialize it, set depth to 0: each bit is written before it is read.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_NESTING_H
#define MI_WIRE_JSON_NESTING_H

#include "wire/json/scan.h"

struct nesting {
    int depth;
    uint64_t is_object[(JSON_MAX_DEPTH + 63) / 64];
};

/* Opens an object or, if `object` is false, an array. Returns false if the nesting is too deep. */
MI_MUST static inline bool nesting_open(struct nesting *n, bool object)
{
    if (n->depth == JSON_MAX_DEPTH)
        return false;
    unsigned i = (unsigned)n->depth++;
    uint64_t bit = (uint64_t)1 << (i % 64);
    n->is_object[i / 64] = object ? n->is_object[i / 64] | bit : n->is_object[i / 64] & ~bit;
    return true;
}

/* Whether the innermost open container is an object. At least one must be open. */
static inline bool nesting_is_in_object(const struct nesting *n)
{
    unsigned i = (unsigned)n->depth - 1;
    return n->is_object[i / 64] >> (i % 64) & 1;
}

#endif
