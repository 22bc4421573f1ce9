/* map.h - a hash map from nonzero 64-bit keys to 32-bit values.
 *
 * Owns      its slots; map_close() frees them.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_PLAN_MAP_H
#define MI_REPLAY_PLAN_MAP_H

#include "base/base.h"

struct map_slot {
    uint64_t key;
    uint32_t value;
};

struct map {
    /* owned; cap is a power of two; at most three quarters of the slots are in use */
    struct map_slot *slot;
    size_t cap, n;
};

void map_close(struct map *m);
/* Returns the value of the key; NULL: not found. Valid until the next map_put(). */
uint32_t *map_get(const struct map *m, uint64_t key);
MI_MUST int map_put(struct map *m, uint64_t key, uint32_t value); /* returns 0 or MI_ENOMEM */

#endif
