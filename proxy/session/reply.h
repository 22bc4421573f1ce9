/* reply.h - the JSON of our own answers: errors, and the result that ends a subscription.
 *
 * Each error names its source: error.data = {"source":"mcp-interposer","cause":…, …}.
 * Codes: mcp-wire.md 4; -32000 becomes -31000 for a request of 2026-07-28, because that revision forbids new
 * codes from -32000 to -32019.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_REPLY_H
#define MI_PROXY_SESSION_REPLY_H

#include "proxy/session/repeats.h"
#include "wire/rpc_out.h"

/* The member of `_meta` of a result, or of `data` of an error, that marks the late answer to an
 * equal call. */
#define REPLY_META_REPEAT "mcp-interposer/repeat"

/* Beside those of wire/rpc_out.h. */
enum {
    REPLY_SERVER_GONE_MODERN = -31000,
    REPLY_TIMEOUT = -32001,
    REPLY_TIMEOUT_MODERN = -31001,
};

/* error.data.may_have_run */
enum reply_ran {
    REPLY_RAN_ABSENT, /* the request has no effects, or is answered for another reason */
    REPLY_RAN_NO,
    REPLY_RAN_MAYBE,
};

struct reply {
    struct slice id; /* JSON text; {NULL, 0}: null */
    int code;
    const char *message;          /* one sentence: what happened, why, what to do */
    const char *cause;            /* a stable word: "not-json", "server-exited", … */
    struct slice method, target;  /* between the quotes, as written; {NULL, 0}: unknown */
    const char *session;          /* uid of the session; NULL: no session has begun */
    uint64_t seq;                 /* seq of the message that it answers; 0: none */
    enum reply_ran ran;           /* whether the call may have run */
    int64_t timeout_us;           /* the deadline that has passed; 0: none */
    struct slice pointer, reason; /* place and reason of invalid arguments; {NULL, 0}: none */
    const struct repeat *
        repeats; /* the equal call because of which a call is not forwarded; NULL if there is none */
};

void reply_write(struct buf *b, const struct reply *r); /* without a newline */
/* The late answer to an equal call: its result or error (JSON), with REPLY_META_REPEAT if it is an object. */
void reply_write_late(struct buf *b, struct slice id, struct slice text, const char *session,
                      const struct repeat *r);
/* The result that ends a subscriptions/listen. */
void reply_write_listen_end(struct buf *b, struct slice id);

#endif
