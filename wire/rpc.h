/* rpc.h - reads a line as a JSON-RPC 2.0 message: finds its kind and its members.
 *
 * Rules     mcp-wire.md 1.3 and 1.5; JSON-RPC 2.0. Envelope keys are compared exactly, including
 *           case, after unescaping. An object that readers may interpret as different messages is
 *           malformed: it has a duplicate envelope key, or a method together with a result or an
 *           error. A null result or error counts as absent if there is another member, because some
 *           libraries write all members.
 * Owns      nothing. All slices point into the line, except those of rpc_name().
 * Errors    MI_EPROTO: the line is not one JSON value. A value that is not a message has the kind
 *           RPC_INVALID.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_RPC_H
#define MI_WIRE_RPC_H

#include "base/buf.h"
#include "wire/field.h"
#include "wire/finding.h"
#include "wire/json/scan.h"

enum rpc_kind {
    RPC_INVALID,      /* not a JSON-RPC message: see `findings`; `id` is set if it was readable */
    RPC_REQUEST,      /* the message has a method and an id */
    RPC_NOTIFICATION, /* the message has a method and no id, or an id of null */
    RPC_RESULT,
    RPC_ERROR,
    RPC_BATCH, /* the line is an array; read its members one by one with json_walk_next() */
};

/* Findings of an object that can be read as two different messages. */
#define RPC_AMBIGUOUS (FINDING(FIND_DUPLICATE_ENVELOPE_KEY) | FINDING(FIND_CALL_AND_ANSWER))

struct rpc {
    enum rpc_kind kind;
    findings findings;
    struct json_fault fault; /* why the line is not JSON */
    struct slice text;       /* the message without surrounding white space */
    struct json_value id;    /* as written */
    bool is_call;            /* true: the message has a member `method`, valid or not */
    bool is_answer; /* true: the message has a result or an error that is not null, valid or not */
    struct slice method; /* name of the method without quotes, with escapes as written */
    struct json_value params, result, error;
    /* The following members are values in params, result or error that the interposer uses. */
    /* params.name, params.uri (or params.taskId) and params.ref, one of which is the target of a
     * request */
    struct json_value name, uri, ref;
    struct json_value arguments;           /* params.arguments */
    struct json_value meta;                /* params._meta */
    struct json_value request_id;          /* params.requestId of notifications/cancelled */
    struct json_value progress_token;      /* params.progressToken of notifications/progress */
    struct json_value progress;            /* params.progress, likewise */
    struct json_value cursor;              /* params.cursor */
    struct json_value request_state;       /* params.requestState, or result.requestState */
    struct json_value content;             /* result.content */
    struct json_value is_error;            /* result.isError */
    struct json_value result_type;         /* result.resultType */
    struct json_value result_meta;         /* result._meta */
    struct json_value next_cursor;         /* result.nextCursor */
    struct json_value structured;          /* result.structuredContent */
    struct json_value ttl_ms, cache_scope; /* result.ttlMs, result.cacheScope */
    struct json_value error_code;          /* error.code */
    struct json_value error_message;       /* error.message */
    /* enum json_type of each member of params and of result; JSON_NONE: the member is absent */
    uint8_t in_params[FIELD_COUNT];
    uint8_t in_result[FIELD_COUNT];
};

/* Reads one line. Returns 0, or MI_EPROTO with ret->fault, ret->findings and the kind RPC_INVALID
 * set. */
MI_MUST int rpc_read(struct slice line, struct rpc *ret);

/* Reads the id and the method of a line that exceeds the limit, if the head of the line contains
 * them. The id is needed to answer the request. */
void rpc_read_truncated_line(struct slice head, struct rpc *ret);

/* Compares the unescaped method with a name such as "notifications/cancelled". */
bool rpc_method_is(const struct rpc *m, const char *method);
/* Returns the target of a request (mcp-wire.md 2.1): the name of a tool or prompt, the uri of a
 * resource, the name or uri of a completion's ref, or the id of a task. Raw text, without quotes;
 * {NULL, 0} if there is none. */
struct slice rpc_target(const struct rpc *m);
/* The unescaped method and target of a message. rpc_name() writes them to `b`, replacing its
 * content, and they are borrowed from `b`. They are incomplete if b->failed. */
struct rpc_name {
    /* the length `n` of `method` or `target` is 0 if the message has none */
    struct slice method, target;
};
struct rpc_name rpc_name(const struct rpc *m, struct buf *b);
/* Returns the inputRequests of a result or notification, which ask the client for input; JSON_NONE
 * if there are none. */
struct json_value rpc_get_input_requests(const struct rpc *m);
/* Whether the request has the protocol version in params._meta, as revision 2026-07-28 requires. */
bool rpc_is_modern(const struct rpc *m);
/* Whether this answer is an error that the interposer made in place of the server. The member
 * error.data.source states it. */
bool rpc_is_interposer_error(const struct rpc *answer);

#endif
