/* id_set.h - a set of the ids that a peer has used, in bounded memory.
 *
 * Consecutive integers are stored as one span, every other id as a 64-bit hash. Two ids with the
 * same hash occur about once in 10^15 sessions with ID_SET_MAX such ids.
 * Owns      the hashes; id_set_close() frees them.
 * Errors    when the set is full or memory is exhausted, new ids are not added; ids in the set are
 *           still found.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_ID_SET_H
#define MI_WIRE_ID_SET_H

#include "wire/json/scan.h"

#define ID_SET_SPANS 32
/* maximum number of ids that are stored as hashes; these hashes take 128 KiB */
#define ID_SET_MAX 8192

struct id_set {
    struct {
        int64_t first, last;
    } span[ID_SET_SPANS];
    unsigned spans;
    uint64_t *slot; /* owned; hashes of ids; 0: the slot is empty */
    size_t cap, n;  /* `cap`: number of slots, a power of two; `n`: number of slots in use */
    bool full;      /* true: an id could not be added */
};

void id_set_close(struct id_set *s);
/* Adds an id, which is a number or a string. Returns true if it was already in the set. */
bool id_set_add(struct id_set *s, struct json_value id);
/* Whether the id may be in the set: true if the set has it, and for every id if the set is
 * incomplete. */
bool id_set_may_contain(const struct id_set *s, struct json_value id);

#endif
