/* rpc_id.h - the id of a request as a key: what is equal, however it was written.
 *
 * Rules     `1`, `"1"`, `0` and `""` are four ids (mcp-wire.md 1.3). A peer parses the id and writes it
 *           anew, so the spelling does not count: `"\u0061"` is `"a"`, `1.0` and `1e0` are `1`.
 * Owns      nothing; a key is appended to a buffer of the caller, whose `failed` tells of errors.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_ID_H
#define MI_WIRE_RPC_ID_H

#include "base/buf.h"
#include "wire/json.h"

#define RPC_ID_MAX ((size_t)64 << 10) /* bytes of the longest id that a request may have */

/* Writes the key of an id (a number or a string): a type letter and the canonical text. */
void rpc_id_key(struct buf *b, struct json_value id);
/* The key that the same id would have with the other JSON type: 7 for "7". false: there is none. It may stand
 * in the same buffer, if that has room for it; it takes no more than the other. */
bool rpc_id_other_type(struct buf *b, struct slice key);
uint64_t rpc_id_hash(struct slice key);
/* Of an id, a token, a cursor: of its key, and never 0. 0: it is neither a number nor a string, or there is no
 * memory. */
uint64_t rpc_id_hash_of(struct json_value v);

#endif
