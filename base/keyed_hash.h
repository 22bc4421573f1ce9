/* keyed_hash.h - hashes values that a peer chooses.
 *
 * keyed_hash()       is SipHash-2-4 of Aumasson and Bernstein: nobody without the key can make two
 *                    values collide.
 * keyed_mix_bytes()  takes a tenth of the instructions (folded products of 64 bits, as in wyhash).
 *                    Use it for values whose collisions do little harm: an attacker who sees hashes
 *                    may make values collide.
 * Blocks    never. Pure. */
#ifndef MI_BASE_KEYED_HASH_H
#define MI_BASE_KEYED_HASH_H

#include "base/buf.h"

struct hash_key {
    uint64_t k0, k1;
};

uint64_t keyed_hash(const struct hash_key *key, struct slice bytes);
/* before: a previous hash to continue, or a number that distinguishes types of values. */
uint64_t keyed_mix_bytes(const struct hash_key *key, uint64_t before, struct slice bytes);
/* Combines two hashes; their order matters. */
uint64_t keyed_hash_pair(const struct hash_key *key, uint64_t a, uint64_t b);

#endif
