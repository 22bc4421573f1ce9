/* reply.h - writes the JSON of the interposer's answers: errors, and the result that ends a
 * subscription.
 *
 * Each error names its source: error.data = {"source":"mcp-interposer","cause":…, …}.
 * Codes: mcp-wire.md 4. A request of 2026-07-28 gets -31000 instead of -32000, because that
 * revision forbids new codes from -32000 to -32019.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_REPLY_H
#define MI_PROXY_SESSION_REPLY_H

#include "proxy/session/repeats.h"
#include "wire/rpc_out.h"

/* Name of the member that is added when a call gets the late answer to an earlier, equal call. A
 * result has the member in `_meta`, an error in `data`. */
#define REPLY_META_REPEAT "mcp-interposer/repeat"

/* Error codes, in addition to those of wire/rpc_out.h. */
enum {
    REPLY_SERVER_GONE_MODERN = -31000,
    REPLY_TIMEOUT = -32001,
    REPLY_TIMEOUT_MODERN = -31001,
};

/* error.data.may_have_run */
enum reply_ran {
    /* error.data has no `may_have_run`: the request has no effects, or the error is not about the
     * end of the server */
    REPLY_RAN_ABSENT,
    REPLY_RAN_NO,    /* false */
    REPLY_RAN_MAYBE, /* true */
};

struct reply {
    struct slice id; /* id of the request as JSON text; {NULL, 0}: null */
    int code;
    const char *message; /* a sentence that says what happened, why, and what to do */
    const char *cause;   /* error.data.cause, a stable word: "not-json", "server-exited", … */
    /* method and target as JSON strings without the quotes; {NULL, 0}: unknown */
    struct slice method, target;
    const char *session;          /* uid of the session; NULL: no session has begun */
    uint64_t seq;                 /* seq of the message that is answered; 0: none */
    enum reply_ran ran;           /* whether the call may have run */
    int64_t timeout_us;           /* the deadline that has passed; 0: none */
    struct slice pointer, reason; /* which argument is invalid, and why; {NULL, 0}: none */
    /* the equal call that may have run and is the reason of the error; or NULL */
    const struct repeat *repeats;
};

/* Writes an error, without a newline. */
void reply_write(struct buf *b, const struct reply *r);
/* Answers a call with the late answer to an earlier, equal call. text: the result or error of the
 * late answer (JSON). If this is an object, the member REPLY_META_REPEAT is added. */
void reply_write_late_answer(struct buf *b, struct slice id, struct slice text, const char *session,
                             const struct repeat *r);
/* Writes the result that ends a subscriptions/listen. */
void reply_write_subscription_end(struct buf *b, struct slice id);

#endif
