/* calls.h - determines which message of a session ends which request.
 *
 * A call is a request of either side, or of the proxy itself: a row of the table `calls`
 * (docs/vault.md).
 *
 * Rules     A call is ended by the first later message with its seq as request_seq that is
 *             - an answer in the other direction that was forwarded, whoever sent it, or
 *             - a notification of the peer in its own direction that was forwarded: its
 *               cancellation.
 *           Later messages, such as a late answer, change nothing. An answer that was rejected or
 *           dropped ends no call; the answer that the proxy sent in its place ends the call.
 *           A request of the proxy is not forwarded, and its answer is not forwarded either. So any
 *           answer ends such a request. The answer has no request_seq. It belongs to the oldest
 *           open request with the same id among the last CALLS_OWN requests of the proxy.
 *           model/status.h determines the status.
 * Use       call_set_add_message() for each message. A caller that reads a whole session takes the
 *           calls with call_set_take_next_ended_call(). A caller that writes the calls in parts
 *           finds the calls opened since call_set_clear() in `call`. call_set_add_message() tells
 *           this caller if a message may end an earlier call; for such a call, use
 *           message_ends_call() and call_end_by_message().
 * Owns      an array of the calls that were not taken or cleared, and copies of their texts, each
 *           distinct text once. If `borrows` is true, texts are not copied, and must live until
 *           call_set_clear(). Memory: about 150 bytes for each call, and the distinct texts. The
 *           memory of calls that were taken is used again.
 * Errors    MI_ENOMEM: the message was not added.
 * Lifetime  a pointer to a call is valid until the next call_set_add_message(); its texts until
 *           call_set_clear().
 * Blocks    never. Pure. */
#ifndef MI_MODEL_CALLS_H
#define MI_MODEL_CALLS_H

#include "base/intern.h"
#include "model/context.h"
#include "model/fields.h"
#include "model/link.h"
#include "model/status.h"

/* an answer without request_seq can only belong to one of the last CALLS_OWN requests of the
 * proxy */
#define CALLS_OWN 64
#define CALLS_OWN_ID 40 /* maximum length of the id of a request of the proxy */

/* The facts about a message from which calls are determined. */
struct call_message {
    int64_t seq, t_us, size;
    int64_t request_seq; /* 0: NULL */
    enum row_direction direction;
    enum row_origin origin;
    enum row_kind kind;
    enum row_action action;
    bool has_error_code;
    int64_t error_code;
    /* For answers: the message as received, borrowed until call_end_by_message(). {NULL, 0}: the
     * sizes of the answer's result are known without the body, or are not needed. */
    struct slice body;
    const struct rpc *read; /* the parsed body, from rpc_read(); NULL: not parsed */
    /* Sizes of the result of an answer without `body`, if they are known. */
    struct context_result result;
    struct slice method, target; /* method and target are set only for requests */
    /* rpc_id is set only for requests of the proxy, and for answers that were not forwarded. */
    struct slice rpc_id;
    struct slice finding; /* findings of the message, set only for answers */
    struct link link;
};

/* The fields of a row of `calls`. closing_seq: seq of the message that ended the call. duration_us:
 * 0 for a rejected request that is not ended. error_code and response_size belong to the answer. */
struct call {
    struct {
        CALL_FIELDS(FIELD_MEMBER)
    };
    int64_t seq; /* seq of the request */
    /* Sizes of the answer's result. They are counted only for methods for which
     * context_counts_method_results() is true; CONTEXT_UNKNOWN stands for NULL. */
    struct context_result result;
    /* seq of the first request of the operation; 0: this request is the first */
    int64_t operation_seq;
};

/* ---- one call ---- */

/* Returns whether an answer with this kind and action ends a request of the peer that is still
 * open. A dropped answer, such as a late answer, ends no request. */
bool call_answer_ends_request(enum row_kind kind, enum row_action action);
/* Returns whether message `m` ends call `c`. `m` must belong to `c`. */
bool message_ends_call(const struct call *c, const struct call_message *m);
/* call this function only if message_ends_call() returns true */
void call_end_by_message(struct call *c, const struct call_message *m);
/* Returns how much an answer adds to a model's context: context_result() of the body, if the body
 * is known. */
struct context_result call_message_measure_result(const struct call_message *m);

/* ---- the calls of a session ---- */

struct own_request {
    int64_t seq;
    enum row_direction direction;
    bool answered;
    uint8_t id_n;
    char id[CALLS_OWN_ID];
};

struct call_set {
    /* true: texts are not copied; set by the caller before the first message is added */
    bool borrows;
    struct call *call; /* owned; elements from `first` on are in use, in the order of seq */
    size_t first, n, cap;
    /* a ring buffer of the last requests of the proxy */
    struct own_request own[CALLS_OWN];
    size_t own_n;        /* number of requests of the proxy so far */
    int64_t own_last;    /* seq of the last answer to a request of the proxy */
    struct intern names; /* owned */
    char **name;         /* owned; a copy of each text in `names`; a copy keeps its address */
    size_t name_n, name_cap;
};

enum calls_step {
    CALLS_NOTHING,
    CALLS_BEGAN,     /* the message is a request */
    CALLS_ENDED,     /* the message ended a call */
    CALLS_ELSEWHERE, /* the message may end a call that is not in call_set.call */
};

void call_set_close(struct call_set *c); /* frees the set; a set that is {0} is accepted */
/* Adds a message. *ret: the call that began or ended. *ret_seq: seq of that call's request, also
 * set for CALLS_ELSEWHERE. Returns enum calls_step, or an error. */
MI_MUST int call_set_add_message(struct call_set *c, const struct call_message *m,
                                 struct call **ret, int64_t *ret_seq);
/* Removes the next call in the order of seq, and returns it, if it has ended. If `all` is true,
 * also returns a call that has not ended. Returns NULL if there is no such call. */
const struct call *call_set_take_next_ended_call(struct call_set *c, bool all);
/* Removes the calls and the texts, but not the ids of the proxy's requests. */
void call_set_clear(struct call_set *c);
/* Copies a text so that it lives as long as the texts of the calls, for the caller's own use.
 * Returns 0 or MI_ENOMEM. */
MI_MUST int call_set_intern_text(struct call_set *c, struct slice *text);
/* Adds a request of the proxy that precedes the first message. If there are several such requests,
 * add them in the order of seq. closing_seq: seq of the request's answer; 0: none. Answers up to
 * the highest closing_seq are known: adding such an answer again changes nothing. */
void call_set_add_proxy_request(struct call_set *c, int64_t seq, enum row_direction direction,
                                struct slice rpc_id, int64_t closing_seq);

#endif
