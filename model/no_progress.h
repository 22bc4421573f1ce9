/* no_progress.h - detects calls that make no progress: the same call gets the same result, or
 * fails, again and again.
 *
 * Rules     Calls are equal if their names and arguments are equal (wire/value_hash.h). Results and
 *           errors are compared without `_meta`; results above 64 KiB are equal if their text is
 *           the same, including `_meta`. Two things are counted:
 *           - equal answers in a row to equal tool calls. The answer to a different tool call ends
 *             the row; requests of other methods do not.
 *           - failures of equal calls: errors, and results with isError. A success of the call ends
 *             the count; other calls may come between. The last NO_PROGRESS_FAILING calls that
 *             failed are known.
 *           A call is counted only if it was made after the answer to the previous equal call. So
 *           concurrent calls count as one. An answer is reported if the count reaches
 *           NO_PROGRESS_TIMES, and each time the count has doubled since the last report.
 * Use       no_progress_add_message() for each message of a session in order, with the result of
 *           rpc_read() for its body. no_progress_needs_body() tells whether the body must be
 *           parsed. Bodies are only compared. So a recorded body gives the same result as a
 *           received body, unless the sanitizer has made two bodies equal.
 * Owns      nothing. The struct may be copied and restored later, to process the same messages
 *           again.
 * Limits    the last NO_PROGRESS_OPEN calls without an answer are known.
 * Errors    out of memory: the message is not counted.
 * Blocks    never. Pure; a hash of each call and each result. */
#ifndef MI_MODEL_NO_PROGRESS_H
#define MI_MODEL_NO_PROGRESS_H

#include "base/keyed_hash.h"
#include "model/values.h"
#include "wire/rpc.h"

#define NO_PROGRESS_TIMES 5
/* number of equal or failed answers that causes an escalation: NO_PROGRESS_TIMES * 4 */
#define NO_PROGRESS_ESCALATED 20
#define NO_PROGRESS_OPEN 128
#define NO_PROGRESS_FAILING 32

struct no_progress_message {
    int64_t seq, request_seq;
    enum row_direction direction;
    enum row_kind kind;
    enum row_action action;
    struct slice method; /* method, if the message is a request */
};

struct no_progress {
    struct hash_key key;
    /* calls without an answer: a ring buffer; an element whose `seq` is 0 is free */
    struct {
        int64_t seq;
        uint64_t call;
    } open[NO_PROGRESS_OPEN];
    size_t open_next;
    /* index in `open` at which the search for the call of the next answer begins */
    size_t open_first;
    /* hashes of the last answered call and its result; 0: no call was answered */
    uint64_t last_call, last_result;
    unsigned same;    /* number of equal answers in a row */
    int64_t same_seq; /* seq of the last answer that `same` counts */
    /* calls that have failed: a ring buffer; an element whose `times` is 0 is free */
    struct {
        uint64_t call;
        int64_t seq; /* seq of the last answer that `times` counts */
        unsigned times;
    } failing[NO_PROGRESS_FAILING];
    size_t failing_next;
};

/* What no_progress_add_message() reports about an answer. */
struct no_progress_found {
    unsigned times;  /* number of equal or failed answers; 0: nothing is reported */
    bool failed;     /* true: the call failed each time; false: each answer was equal */
    int64_t request; /* seq of the call */
    int64_t t_us;    /* a time that the caller sets and uses; this module does not use it */
};

/* key: the secret key of the hashes in this session; NULL: a public key is used. */
void no_progress_open(struct no_progress *p, const struct hash_key *key);
/* Whether no_progress_add_message() needs the body of this message, because the message is a tool
 * call or the answer to a tool call. */
bool no_progress_needs_body(const struct no_progress *p, const struct no_progress_message *m);
/* read: NULL if the body is missing or is not a message. */
struct no_progress_found no_progress_add_message(struct no_progress *p,
                                                 const struct no_progress_message *m,
                                                 const struct rpc *read);
/* Appends a text such as "the same result 10 times in a row" or "failed 5 times". */
void no_progress_append_reason(struct buf *b, unsigned times, bool failed);

#endif
