/* rpc.h - one line as a JSON-RPC 2.0 message: what kind it is and where its parts lie.
 *
 * Rules     mcp-wire.md 1.3 and 1.5; JSON-RPC 2.0. Envelope keys are compared exactly, case and all, after
 *           escapes are resolved; one of them twice makes the message malformed.
 * Owns      nothing. All slices lie in the line, but for those of rpc_name().
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_H
#define MI_WIRE_RPC_H

#include "base/buf.h"
#include "wire/field.h"
#include "wire/finding.h"
#include "wire/json.h"

enum rpc_kind {
    RPC_INVALID, /* not a JSON-RPC message; `findings` say why, `id` is set if it could be read */
    RPC_REQUEST, /* has a method and an id */
    RPC_NOTIFICATION, /* has a method and no id, or the id null */
    RPC_RESULT,
    RPC_ERROR,
    RPC_BATCH, /* an array; its members are read one by one, with json_walk_next() */
};

struct rpc {
    enum rpc_kind kind;
    findings findings;
    struct json_fault fault; /* when the line is not JSON */
    struct slice text;       /* the message without white space around it */
    struct json_value id;    /* as written */
    bool is_call;            /* it has a member `method`, be it a good one or not */
    struct slice method;     /* between its quotes, escapes as written */
    struct json_value params, result, error;
    /* Members of params, result or error that are looked at for every message: */
    struct json_value name, uri, ref; /* params.name, .uri, .ref: the target of a request */
    struct json_value arguments;      /* params.arguments */
    struct json_value meta;           /* params._meta */
    struct json_value request_id;     /* params.requestId of notifications/cancelled */
    struct json_value progress_token; /* params.progressToken of notifications/progress */
    struct json_value progress;       /* params.progress of the same */
    struct json_value cursor;         /* params.cursor */
    struct json_value request_state;  /* params.requestState, or result.requestState */
    struct json_value content;        /* result.content */
    struct json_value is_error;       /* result.isError */
    struct json_value result_type;    /* result.resultType */
    struct json_value next_cursor;    /* result.nextCursor */
    struct json_value structured;     /* result.structuredContent */
    struct json_value error_code;     /* error.code */
    struct json_value error_message;  /* error.message */
    uint8_t in_params[FIELD_COUNT];   /* enum json_type of these members; JSON_NONE: not there */
    uint8_t in_result[FIELD_COUNT];
};

/* Reads one line. 0 when it is JSON and one value, be it a good message or RPC_INVALID; MI_EPROTO when
 * it is not (ret->fault, ret->findings and kind RPC_INVALID are set). */
MI_MUST int rpc_read(struct slice line, struct rpc *ret);

/* What can be read of a message whose end is missing: id and method, if they stand in this head of the
 * line. For an answer to a line that was too long to keep. */
void rpc_read_head(struct slice head, struct rpc *ret);

/* "request", "notification", "result", "error", "batch", "noise": the names of messages.kind. */
const char *rpc_kind_name(enum rpc_kind kind);
/* "notifications/cancelled" and the like: compares the method, escapes resolved. */
bool rpc_method_is(const struct rpc *m, const char *method);
/* What a request is about (mcp-wire.md 2.1): the raw text between the quotes of the tool's or prompt's
 * name, the resource's uri, the name or uri of a completion's ref, or the task's id. {NULL, 0}: nothing. */
struct slice rpc_target(const struct rpc *m);
/* Method and target, escapes resolved. Both lie in `b`, whose content they replace; where b->failed, they are not
 * whole. */
struct rpc_name {
    struct slice method, target; /* of what is not there, n == 0 */
};
struct rpc_name rpc_name(const struct rpc *m, struct buf *b);
/* Does the request say, in params._meta, that it speaks a revision without initialize (2026-07-28)? */
bool rpc_is_modern(const struct rpc *m);

#endif
