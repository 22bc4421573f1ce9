/* report.h - the findings of a replay: requests that were not recorded, and recorded requests that the client did
 * not send.
 *
 * A finding is logged when it happens, sent to the client in the error, and kept for the report files. Values
 * must be sanitized; they are truncated to REPORT_VALUE_MAX bytes.
 *
 * Owns      at most REPORT_FINDINGS_MAX findings; further ones are only counted.
 * Formats   docs/replay.md: JSON (`--report`), and JUnit (`--junit`).
 * Errors    sticky in the buffers.
 * Blocks    never, except to log. */
#ifndef MI_REPLAY_MOCK_REPORT_H
#define MI_REPLAY_MOCK_REPORT_H

#include "base/json_out.h"

#define REPORT_VALUE_MAX 200
#define REPORT_DIFFERENCES_MAX 8
#define REPORT_FINDINGS_MAX 1000
#define REPORT_LOGGED_MAX 20 /* recorded requests without a live one that are logged */

enum report_kind {
    REPORT_UNKNOWN_METHOD, /* no request of this method was recorded */
    REPORT_UNKNOWN_TARGET, /* no request for this tool, prompt, resource or task was recorded */
    REPORT_DIFFERENT,      /* recorded with other parameters */
    REPORT_EXHAUSTED,      /* recorded, but less often (--repeat fail) */
    REPORT_OUT_OF_ORDER,   /* recorded, but not at this point (--ordering strict) */
    REPORT_NO_ANSWER,      /* its answer was not recorded */
    REPORT_VERSION,        /* another protocol revision than the recording */
    REPORT_NOT_A_MESSAGE,  /* an invalid line from the client */
    REPORT_ANSWER_DIFFERS, /* the client answered a request of the server differently */
    REPORT_CAPABILITIES,   /* a note: other client capabilities than recorded */
    REPORT_UNANSWERED,     /* the live server did not answer it */
    REPORT_KINDS
};

struct report_difference {
    struct slice pointer, recorded, asked; /* JSON; {NULL, 0}: missing */
};

/* Borrowed for the call. */
struct report_finding {
    enum report_kind kind;
    bool is_note;                /* reported, but not a failure */
    bool answered_live;          /* by a live server: not a failure */
    struct slice method, target; /* escapes resolved */
    uint64_t nearest_seq;        /* the nearest recorded request; 0: none */
    struct report_difference difference[REPORT_DIFFERENCES_MAX];
    size_t differences;  /* may exceed the number listed */
    struct slice accept; /* options that would accept the request; "": none */
};

struct report_counts {
    uint64_t requests, matched, repeated, missed, faults, notes;
    uint64_t live;       /* sent to a live server */
    uint64_t unanswered; /* of these: not answered */
};

struct report {
    struct report_counts counts;
    struct buf json;  /* owned; finished findings, as members of an array */
    struct buf cases; /* owned; the same as JUnit test cases */
    uint64_t kept, cases_n, failures;
};

void report_close(struct report *r);
/* Keeps and logs a finding, and appends one sentence for the client to `message`, which may be NULL. */
void report_add(struct report *r, const struct report_finding *f, struct buf *message);
/* Adds the members of error.data that describe the finding. */
void report_data(struct json_out *j, const struct report_finding *f);
const char *report_kind_name(enum report_kind kind); /* "unknown-method", … */

/* A recorded request. */
struct report_request {
    uint64_t seq;
    struct slice method, target;
    bool asked;
    bool needed; /* false: need not be requested, even with --strict (ping, a probe) */
};
/* false: no more; the next call starts again with the first. */
typedef bool (*report_next_fn)(void *ctx, struct report_request *ret);

/* Logs how many required requests were not asked for, and names the first REPORT_LOGGED_MAX. Returns their number. */
uint64_t report_log_never_asked(report_next_fn next, void *ctx);

struct report_end {
    struct slice recording; /* uid, or the path as it was given */
    bool strict;
    int64_t began_us, lasted_us; /* wall clock, duration */
    int exit_status;
    uint64_t unplaced; /* recorded messages that are not part of the replay */
    report_next_fn next;
    void *ctx;
};

void report_json(struct report *r, const struct report_end *end, struct buf *b);
void report_junit(struct report *r, const struct report_end *end, struct buf *b);

#endif
