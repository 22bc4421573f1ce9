/* repeats.h - calls of which nobody knows whether they have run, and what to do with a call that is equal to one of them.
 *
 * A call becomes uncertain when it is given up after it was sent to the server: its deadline passed, the process ended, or the
 * client cancelled it, or because its answer was rejected. It stays uncertain
 *   - until the server's answer to an equal call reaches the client, or the client gets the late answer to it;
 *   - until the process ends without having read it: it has not run;
 *   - for `window_us`;
 *   - until REPEATS_MAX later calls are uncertain.
 *
 * Equal     two calls with the same canonical text (wire/canon.h), as repeats_key() says. It is not kept, only a hash of it, with a key that
 *           nobody else has.
 * Owns      the calls, and late answers to them: REPEATS_LATE_MAX bytes of one, REPEATS_BYTES_MAX of all; the oldest are
 *           dropped when there are more.
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

/* What the server has sent for it since. */
enum late_answer {
    LATE_NONE,
    LATE_RESULT,
    LATE_TOOL_ERROR, /* a result with isError */
    LATE_ERROR,
    LATE_CANCELLED, /* an error that confirms the cancellation: it does not say whether the call has run */
    LATE_UNFINISHED /* a result that is not the end of the call: it asks for input, or names a task */
};
const char *late_answer_name(enum late_answer a); /* "none", "result", "tool-error", … */
/* What this answer is, and what is kept of it: its result or error, as JSON. */
enum late_answer late_answer_of(const struct rpc *m, struct slice *ret_text);

struct uncertain {
    uint64_t key; /* repeats_key() */
    uint64_t seq; /* of the request */
    int64_t called_us;
    int64_t called_at_us; /* the same by the wall clock */
    int64_t at_us;       /* since when it is uncertain */
    const char *cause; /* static: that of the error which the client got, "cancelled" or "rejected-answer" */
    uint64_t written_at; /* bytes that its process gets up to its last byte, as in struct pending */
    bool process_gone;   /* that process has ended, and had read it */
    bool task;           /* it asked for a task: its answer is not that of a call without one */
    /* Bytes that the client gets up to the end of the error with which an equal call was refused: one that it sends when it
     * has read them is forwarded. 0: none was refused, or one was forwarded since. */
    uint64_t refused_at;
    enum late_answer late;
    int64_t late_us;
    char *text; /* owned; of the late answer; NULL: not kept */
    size_t text_n;
};

struct repeats {
    enum on_repeat mode;
    int64_t window_us; /* 0: no call is uncertain */
    struct hash_key key;
    struct uncertain *list; /* owned; the oldest first */
    size_t n, cap;
    size_t bytes;     /* of late answers */
    uint64_t dropped; /* uncertain calls that were forgotten because there were too many */
};

void repeats_open(struct repeats *r, enum on_repeat mode, int64_t window_us,
                  const struct hash_key *key);
void repeats_close(struct repeats *r);

/* The key of a tools/call: of params.name, .arguments, .inputResponses and .requestState; never 0. 0: out of memory. Above
 * REPEATS_CANONICAL_MAX bytes of them their spelling counts, because sorting megabytes would delay other messages. */
uint64_t repeats_key(const struct repeats *r, const struct rpc *call);

enum repeats_added {
    REPEATS_ADDED,
    REPEATS_IN_PLACE, /* of the oldest one */
    REPEATS_NOT       /* out of memory */
};
/* u->text must be NULL. */
enum repeats_added repeats_add(struct repeats *r, const struct uncertain *u);
/* The server has answered the uncertain call `seq`; text is copied if there is room; {NULL, 0}: not kept. Returns it; NULL: it is not known. */
const struct uncertain *repeats_late(struct repeats *r, uint64_t seq, enum late_answer a,
                                     struct slice text, int64_t now_us);
/* The client has got an answer to a call with this key. */
void repeats_settled(struct repeats *r, uint64_t key);
/* The process has ended and had read `read` bytes: calls that it has not read are not uncertain. */
void repeats_process_ended(struct repeats *r, uint64_t read);
/* The process gets `by` bytes before those that it has not got yet. */
void repeats_moved(struct repeats *r, uint64_t by);

enum repeat_decision {
    REPEAT_NONE,     /* it equals no uncertain call */
    REPEAT_WARNED,   /* it is forwarded */
    REPEAT_INSISTED, /* the same, because the client has read that an equal one was refused */
    REPEAT_ANSWERED, /* with the late answer */
    REPEAT_REFUSED,
};
const char *repeat_decision_name(enum repeat_decision d); /* "forwarded", "insisted", … */

/* What is said of a call that equals an uncertain one. */
struct repeat {
    uint64_t key; /* repeats_key(); 0: not computed */
    enum repeat_decision decision;
    uint64_t first_seq; /* of the uncertain call */
    int64_t first_at_us; /* wall clock: when it was received */
    int64_t age_ms;      /* since then */
    const char *cause;
    enum late_answer late;
};

/* What happens to a call with this key. *ret_first: the uncertain call that it equals, the newest one, or the one whose late answer
 * is the answer: until the next change. can_refuse: it may be refused, and answered. client_read: bytes that the client has read.
 * REPEAT_REFUSED: the caller sets refused_at, if it is 0, when the error is staged. */
enum repeat_decision repeats_decide(struct repeats *r, uint64_t key, bool task, bool can_refuse,
                                    int64_t now_us, uint64_t client_read,
                                    struct uncertain **ret_first);

#endif
