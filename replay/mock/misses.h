/* misses.h - the findings of a replay: requests that were not recorded, and recorded requests that
 * the client did not send.
 *
 * A finding is logged when it happens, sent to the client in the error, and kept for the report
 * files. Values must be sanitized; they are truncated to MISS_VALUE_MAX bytes.
 *
 * Owns      at most MISS_FINDINGS_MAX findings; further ones are only counted.
 * Formats   docs/replay.md: JSON (`--report`), and cases of a report (`--junit`, `--sarif`).
 * Errors    sticky in the buffers.
 * Blocks    never, except to log. */
#ifndef MI_REPLAY_MOCK_MISSES_H
#define MI_REPLAY_MOCK_MISSES_H

#include "base/json_out.h"
#include "report/report.h"

#define MISS_VALUE_MAX 200
#define MISS_DIFFERENCES_MAX 8
#define MISS_FINDINGS_MAX 1000
#define MISS_LOGGED_MAX 20 /* maximum number of unsent recorded requests that are logged by name */

enum miss_kind {
    MISS_UNKNOWN_METHOD, /* no request of this method was recorded */
    MISS_UNKNOWN_TARGET, /* no request for this tool, prompt, resource or task was recorded */
    MISS_DIFFERENT,      /* the request was recorded with other parameters */
    MISS_EXHAUSTED,      /* the request was recorded, but less often (--repeat fail) */
    MISS_OUT_OF_ORDER,   /* the request was recorded, but not at this point (--ordering strict) */
    MISS_NO_ANSWER,      /* the request was recorded, but without its answer */
    MISS_VERSION,        /* the client uses another protocol revision than the recording */
    MISS_NOT_A_MESSAGE,  /* an invalid line from the client */
    /* the client's answer to a request of the server differs from the recorded answer */
    MISS_ANSWER_DIFFERS,
    /* not a failure: the client's capabilities differ from the recorded ones */
    MISS_CAPABILITIES,
    MISS_UNANSWERED, /* the live server did not answer the request */
    MISS_KINDS
};

struct miss_difference {
    /* `pointer`: JSON pointer to the value; `recorded`: the recorded value, as JSON; `asked`: the
     * value that the client sent, as JSON; {NULL, 0}: the value is missing */
    struct slice pointer, recorded, asked;
};

/* A finding. Its slices are valid only during the call. */
struct miss {
    enum miss_kind kind;
    bool is_note;                /* the finding is reported, but is not a failure */
    bool answered_live;          /* a live server is asked, so the finding is not a failure */
    struct slice method, target; /* method and target with escapes resolved */
    uint64_t nearest_seq;        /* seq of the nearest recorded request; 0: none */
    struct miss_difference difference[MISS_DIFFERENCES_MAX];
    size_t differences;  /* number of differences; may be greater than MISS_DIFFERENCES_MAX */
    struct slice accept; /* options that would accept the request; "" if there are none */
};

struct misses_counts {
    uint64_t requests, matched, repeated, missed, faults, notes;
    uint64_t live;       /* number of requests that were sent to a live server */
    uint64_t unanswered; /* number of requests that the live server did not answer */
};

struct misses {
    struct misses_counts counts;
    struct buf json; /* owned; finished findings, as members of an array */
    uint64_t kept;   /* number of findings; `json` has the first MISS_FINDINGS_MAX */
    /* owned; the report as JUnit and SARIF; the caller sets its formats and its suite */
    struct report report;
    struct report_place place; /* the recording; borrowed */
};

void misses_close(struct misses *r);
/* Stores and logs a finding, and appends one sentence for the client to `message`, which may be
 * NULL. */
void misses_add_and_log_miss(struct misses *r, const struct miss *f, struct buf *message);
/* Adds the members of error.data that describe the finding. */
void misses_add_error_data(struct json_out *j, const struct miss *f);
const char *miss_kind_name(enum miss_kind kind); /* "unknown-method", … */

/* A recorded request. */
struct misses_request {
    uint64_t seq;
    struct slice method, target;
    bool asked;
    bool needed; /* false: a client may omit this request, even with --strict (ping, a probe) */
};
/* Returns the next recorded request; false after the last request. After false, the next call of
 * this function starts again with the first request. */
typedef bool (*misses_next_fn)(void *ctx, struct misses_request *ret);

/* Logs the number of recorded requests that the client had to send but did not send, and names the
 * first MISS_LOGGED_MAX. Returns this number. */
uint64_t misses_log_requests_not_sent(misses_next_fn next, void *ctx);

struct misses_end {
    struct slice recording; /* uid of the recorded session, or the path that the user gave */
    bool strict;
    int64_t began_us, lasted_us; /* start of the replay by the wall clock, and its duration */
    int exit_status;
    uint64_t unplaced; /* number of recorded messages that are not part of the replay */
    misses_next_fn next;
    void *ctx;
};

void misses_write_json_report(struct misses *r, const struct misses_end *end, struct buf *b);
/* Adds a case for each recorded request. */
void misses_add_requests(struct misses *r, const struct misses_end *end);

#endif
