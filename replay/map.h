/* map.h - from a 64-bit key to a 32-bit number. The key 0 is none.
 *
 * Owns      its slots; map_close() frees them.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_MAP_H
#define MI_REPLAY_MAP_H

#include "base/base.h"

struct map_slot {
    uint64_t key;
    uint32_t value;
};

struct map {
    struct map_slot *slot; /* owned; a power of two of them, three quarters in use at most */
    size_t cap, n;
};

void map_close(struct map *m);
/* NULL: not there. Good until the next map_put(). */
uint32_t *map_get(const struct map *m, uint64_t key);
MI_MUST int map_put(struct map *m, uint64_t key, uint32_t value); /* 0 or MI_ENOMEM */

#endif
