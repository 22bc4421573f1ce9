/* rpc_id.h - canonical keys of request ids: equal ids have equal keys, however they are written.
 *
 * Rules     `1`, `"1"`, `0` and `""` are four different ids (mcp-wire.md 1.3). A peer may write
 *           an id differently, so the spelling is ignored: `"\u0061"` is `"a"`, `1.0` and `1e0` are `1`.
 * Owns      nothing; keys are appended to a buffer of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_ID_H
#define MI_WIRE_RPC_ID_H

#include "base/buf.h"
#include "wire/json/scan.h"

#define RPC_ID_MAX ((size_t)64 << 10) /* bytes of the longest id that is accepted */

/* Appends the key of an id (a number or a string): a type letter and the canonical text. */
void rpc_id_key(struct buf *b, struct json_value id);
/* Appends the key of the same id with the other JSON type: 7 for "7". false: there is none. `key` may be in b, if b
 * has room for the new key, which has the same length. */
bool rpc_id_other_type(struct buf *b, struct slice key);
/* Whether an answer with this id is the answer to request n: the id is n, as a number or as a string. */
bool rpc_id_is(struct json_value id, uint64_t n);
uint64_t rpc_id_hash(struct slice key);
/* The hash of the key of an id, token or cursor. 0: v is neither a number nor a string, or out of memory. */
uint64_t rpc_id_hash_of(struct json_value v);

#endif
