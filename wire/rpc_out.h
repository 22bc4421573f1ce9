/* rpc_out.h - writes the first members of JSON-RPC messages.
 *
 * Each function begins an object; the caller adds the other members (result, error, params) and
 * ends it. Ids are JSON text.
 * Owns      nothing: the text goes to the buffer of the writer, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_OUT_H
#define MI_WIRE_RPC_OUT_H

#include "base/json_out.h"

/* Codes of errors: JSON-RPC 2.0, section 5.1; mcp-wire.md 4. */
enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    /* code of errors that the interposer makes when the server is gone */
    RPC_SERVER_GONE = -32000,
    RPC_UNSUPPORTED_VERSION = -32022, /* 2026-07-28 */
};

/* Offset at which the id begins in an answer. */
#define RPC_OUT_ID_AT (sizeof "{\"jsonrpc\":\"2.0\",\"id\":" - 1)

/* Begins an answer. id: {NULL, 0} is written as null. */
void rpc_out_begin_answer(struct json_out *j, struct slice id);
/* Begins an error. The object error.data, which has the source and the cause, stays open for more
 * members. */
void rpc_out_begin_error_answer(struct json_out *j, struct slice id, int code, const char *message,
                                const char *cause);
void rpc_out_begin_request(struct json_out *j, struct slice id, const char *method);
void rpc_out_begin_notification(struct json_out *j, const char *method);
/* Ends all open objects and arrays. */
void rpc_out_end(struct json_out *j);

#endif
