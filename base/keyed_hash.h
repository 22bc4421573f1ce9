/* keyed_hash.h - a hash that nobody without the key can predict: SipHash-2-4 of Aumasson and Bernstein.
 *
 * For values that a peer chooses: it cannot make two of them collide.
 * Blocks    never. Pure. */
#ifndef MI_BASE_KEYED_HASH_H
#define MI_BASE_KEYED_HASH_H

#include "base/buf.h"

struct hash_key {
    uint64_t k0, k1;
};

uint64_t keyed_hash(const struct hash_key *key, struct slice bytes);

#endif
