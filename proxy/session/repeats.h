/* repeats.h - remembers uncertain calls, which may have run, and decides about later calls that
 * equal them.
 *
 * A call becomes uncertain when it is abandoned after it was sent to the server: its deadline
 * passed, the process ended, the client cancelled it, or its answer was rejected. The call stays
 * uncertain
 *   - until the server's answer to an equal call reaches the client, or the client gets the late
 *     answer to this call;
 *   - until the process ends without having read the call, so that the call cannot have run;
 *   - for `window_us`;
 *   - until REPEATS_MAX later calls are uncertain.
 *
 * Equal     two calls are equal if they have the same canonical text (wire/canon.h), as described
 *           at repeats_compute_call_key(). Only a hash of the text is kept, made with a secret key.
 * Owns      the calls, and late answers to them: at most REPEATS_LATE_MAX bytes of one answer and
 *           REPEATS_BYTES_MAX of all; the oldest answers are dropped first.
 * Units     microseconds since the session's start.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_REPEATS_H
#define MI_PROXY_SESSION_REPEATS_H

#include "base/keyed_hash.h"
#include "wire/rpc.h"

#define REPEATS_MAX 1024
#define REPEATS_LATE_MAX ((size_t)1 << 20)
#define REPEATS_BYTES_MAX ((size_t)4 << 20)
#define REPEATS_CANONICAL_MAX ((size_t)64 << 10)

/* --on-repeat */
enum on_repeat { ON_REPEAT_WARN, ON_REPEAT_ANSWER, ON_REPEAT_REFUSE };

/* The kind of late answer that the server has sent for an uncertain call. */
enum late_answer {
    LATE_NONE,
    LATE_RESULT,
    LATE_TOOL_ERROR, /* the late answer is a result with isError */
    LATE_ERROR,
    /* the late answer is an error that confirms the cancellation: the call may still have run */
    LATE_CANCELLED,
    /* the late answer is a result that does not end the call: it asks for input or names a task */
    LATE_UNFINISHED
};
const char *late_answer_name(enum late_answer a); /* returns "none", "result", "tool-error", … */
/* Classifies a late answer. *ret_text: the result or error as JSON. */
enum late_answer classify_late_answer(const struct rpc *m, struct slice *ret_text);

struct uncertain_call {
    uint64_t key;         /* repeats_compute_call_key() */
    uint64_t seq;         /* seq of the request */
    int64_t called_us;    /* when the call was received, since the session's start */
    int64_t called_at_us; /* when the call was received, by the wall clock */
    int64_t at_us;        /* when the call became uncertain */
    /* static: `cause` of the error that the client got; or "cancelled", or "rejected-answer" */
    const char *cause;
    uint64_t written_at; /* number of bytes sent to the process up to the end of the call */
    bool process_gone;   /* the process that had read the call has ended */
    bool task;           /* the call asked for a task, so the answer names a task */
    /* Number of bytes sent to the client up to the end of the error that refused an equal call. An
     * equal call that the client sends after reading these bytes is forwarded. 0: no equal call was
     * refused, or one has been forwarded after that. */
    uint64_t refused_at;
    enum late_answer late;
    int64_t late_us; /* when the late answer came */
    char *text;      /* owned; text of the late answer; NULL: not kept */
    size_t text_n;
};

struct repeats {
    enum on_repeat mode;
    int64_t window_us; /* how long a call stays uncertain; 0: no call becomes uncertain */
    struct hash_key key;
    struct uncertain_call *list; /* owned; the uncertain calls, the oldest first */
    size_t n, cap;
    size_t bytes;     /* bytes of all late answers */
    uint64_t dropped; /* number of uncertain calls forgotten because the list was full */
};

void repeats_open(struct repeats *r, enum on_repeat mode, int64_t window_us,
                  const struct hash_key *key);
void repeats_close(struct repeats *r);

/* Returns the key of a tools/call, or 0 if out of memory. The key is made from params.name,
 * .arguments, .inputResponses and .requestState. If these members have more than
 * REPEATS_CANONICAL_MAX bytes, they are compared as written, because sorting megabytes would delay
 * other messages. */
uint64_t repeats_compute_call_key(const struct repeats *r, const struct rpc *call);

enum repeats_added {
    REPEATS_ADDED,
    REPEATS_IN_PLACE, /* the call was added, and the oldest call was removed */
    REPEATS_NOT       /* out of memory: the call was not added */
};
/* Adds an uncertain call. u->text must be NULL. */
enum repeats_added repeats_add_call(struct repeats *r, const struct uncertain_call *u);
/* Notes that the server has answered the uncertain call `seq`. text: the answer, copied if there is
 * room; {NULL, 0} if it must not be kept. Returns the call, or NULL if it is unknown. */
const struct uncertain_call *repeats_store_late_answer(struct repeats *r, uint64_t seq,
                                                       enum late_answer a, struct slice text,
                                                       int64_t now_us);
/* Call this function when the client has received an answer to a call with this key. */
void repeats_remove_key(struct repeats *r, uint64_t key);
/* Call this function when the process has ended after reading `read` bytes: later calls cannot have
 * run, so they are not uncertain. */
void repeats_handle_process_end(struct repeats *r, uint64_t read);
/* Call this function when `by` bytes are inserted before the bytes that the process has not
 * received yet. */
void repeats_shift_written_offsets(struct repeats *r, uint64_t by);

enum repeat_decision {
    REPEAT_NONE,   /* the call equals no uncertain call */
    REPEAT_WARNED, /* the call is forwarded, with a warning */
    /* the call is forwarded: the client already knows that an equal call was refused */
    REPEAT_INSISTED,
    /* the call is answered with the late answer to the uncertain call */
    REPEAT_ANSWERED,
    REPEAT_REFUSED, /* the call is answered with an error */
};
const char *repeat_decision_name(enum repeat_decision d); /* returns "forwarded", "insisted", … */

/* The decision about a call that equals an uncertain call. */
struct repeat {
    uint64_t key; /* the call's key, made by repeats_compute_call_key(); 0: not computed */
    enum repeat_decision decision;
    uint64_t first_seq;  /* seq of the uncertain call */
    int64_t first_at_us; /* when the uncertain call was received, by the wall clock */
    int64_t age_ms;      /* milliseconds since the uncertain call was received */
    const char *cause;
    enum late_answer late;
};

/* Decides what happens to a call with this key. *ret_first: the newest equal uncertain call, or the
 * uncertain call whose late answer is used; valid until the next change. task: the call asks for a
 * task. can_refuse: the call need not be forwarded. client_read: number of bytes that the client
 * has read. If the result is REPEAT_REFUSED, the caller stages an error, and sets refused_at if it
 * is 0. */
enum repeat_decision repeats_decide_about_call(struct repeats *r, uint64_t key, bool task,
                                               bool can_refuse, int64_t now_us,
                                               uint64_t client_read,
                                               struct uncertain_call **ret_first);

#endif
