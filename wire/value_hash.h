/* value_hash.h - a keyed hash of a JSON value: equal values have equal hashes.
 *
 * Equal     values whose texts of canon_write_value() are equal (wire/canon.h). So the order of
 *           keys, white space, and the spelling of strings and numbers are ignored. Duplicate keys
 *           of an object may be in any order.
 * Input     a value in text that json_scan() has accepted.
 * Use       if values are only compared. This is faster than hashing the canonical text: nothing is
 *           sorted, and only strings with escapes and numbers that are not integers are written in
 *           canonical form.
 * Hash      keyed_mix_bytes() (base/keyed_hash.h).
 * Errors    the hash is 0 if out of memory, otherwise never 0.
 * Blocks    never. Pure; recursion as deep as the text, to JSON_TREE_DEPTH. */
#ifndef MI_WIRE_VALUE_HASH_H
#define MI_WIRE_VALUE_HASH_H

#include "base/keyed_hash.h"
#include "wire/json/scan.h"

uint64_t value_hash(const struct hash_key *key, struct json_value v);
/* Hashes a result or an error without its member `_meta`. */
uint64_t value_hash_without_meta(const struct hash_key *key, struct json_value v);

#endif
