/* id_set.h - which ids a peer has used, in little memory.
 *
 * Integers that follow each other are one span; every other id is its 64-bit hash. Two ids may have one
 * hash: once in 10^15 sessions of ID_SET_MAX such ids.
 * Owns      the hashes; id_set_close() frees them.
 * Errors    a set that is full, or has no memory, takes no more and finds what it has.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_ID_SET_H
#define MI_WIRE_ID_SET_H

#include "wire/json.h"

#define ID_SET_SPANS 32
#define ID_SET_MAX 8192 /* hashes: 128 KiB */

struct id_set {
    struct {
        int64_t first, last;
    } span[ID_SET_SPANS];
    unsigned spans;
    uint64_t *slot; /* owned; 0: empty */
    size_t cap, n;  /* slots, a power of two; those in use */
};

void id_set_close(struct id_set *s);
/* Adds an id, a number or a string. True: it was there. */
bool id_set_add(struct id_set *s, struct json_value id);

#endif
