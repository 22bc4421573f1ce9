/* rpc_id.h - request ids in a form that can be compared, whatever their spelling.
 *
 * Rules     `1`, `"1"`, `0` and `""` are four different ids (mcp-wire.md 1.3). A peer may write
 *           an id differently, so the spelling is ignored: `"\u0061"` is `"a"`, `1.0` and `1e0` are
 *           `1`.
 * Owns      nothing; an id that is not written canonically is converted in a buffer of the caller,
 *           whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_ID_H
#define MI_WIRE_RPC_ID_H

#include "base/buf.h"
#include "wire/json/scan.h"

#define RPC_ID_MAX ((size_t)64 << 10) /* longest id that is accepted, in bytes */

struct rpc_id {
    /* type of the id: 'n' for a number, 's' for a string; 0: another type, or out of memory */
    char type;
    struct slice text; /* canonical text of the id */
    uint64_t hash;     /* hash of type and text; 0 if `type` is 0, otherwise never 0 */
};

/* Converts `v` to an id. If `v` is canonical, as usual, the text of the id points into `v`;
 * otherwise the canonical text replaces the content of `b`. */
struct rpc_id rpc_id_from_json(struct json_value v, struct buf *b);
bool rpc_id_eq(const struct rpc_id *x, const struct rpc_id *y);
/* Makes an id of the other JSON type with the same text: 7 from "7". Returns false if the id is not
 * an integer. */
bool rpc_id_convert_type(const struct rpc_id *id, struct rpc_id *ret);
/* Appends the key of an id (a number or a string): its type and its text. */
void rpc_id_append_key(struct buf *b, struct json_value id);
/* Whether `id` is the number `n`, written as a number or as a string. */
bool rpc_id_equals_number(struct json_value id, uint64_t n);
/* Returns the hash of a text; never 0. */
uint64_t rpc_id_hash(struct slice key);
/* Returns the hash of an id, token or cursor, as in struct rpc_id. */
uint64_t rpc_id_hash_json(struct json_value v);

#endif
