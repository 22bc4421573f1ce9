/* value_hash.h - a keyed hash of a JSON value: equal values have equal hashes.
 *
 * Equal     as canon_value() has it (wire/canon.h): the order of keys, white space, and the spelling of strings and numbers are
 *           ignored. Keys that an object has twice may be in any order.
 * Input     a value in text that json_scan() has accepted.
 * Use       in place of hashing the canonical text, where only equal and different matter: nothing is sorted, and only strings
 *           with escapes and numbers that are not integers are written in their canonical form.
 * Hash      keyed_mix() (base/keyed_hash.h).
 * Errors    0: out of memory. Otherwise a hash is never 0.
 * Blocks    never. Pure; recursion as deep as the text, to JSON_TREE_DEPTH. */
#ifndef MI_WIRE_VALUE_HASH_H
#define MI_WIRE_VALUE_HASH_H

#include "base/keyed_hash.h"
#include "wire/json/scan.h"

uint64_t value_hash(const struct hash_key *key, struct json_value v);
/* The same without the member `_meta` of an object: of a result, or of an error. */
uint64_t value_hash_without_meta(const struct hash_key *key, struct json_value v);

#endif
