/* report.h - what a replay found: requests that were never recorded, and what was recorded and never asked.
 *
 * A finding is told on stderr when it happens, stands in the error that the client gets, and is kept for
 * the files. Values are sanitized before they come here, and cut at REPORT_VALUE_MAX bytes.
 *
 * Owns      the findings, at most REPORT_FINDINGS_MAX of them; the rest is counted.
 * Formats   docs/replay.md: JSON (`--report`), and JUnit (`--junit`).
 * Errors    a buffer says so when it failed.
 * Blocks    never, but for the line on stderr. */
#ifndef MI_REPLAY_REPORT_H
#define MI_REPLAY_REPORT_H

#include "base/buf.h"

#define REPORT_VALUE_MAX 200
#define REPORT_DIFFERENCES_MAX 8
#define REPORT_FINDINGS_MAX 1000

enum report_kind {
    REPORT_UNKNOWN_METHOD, /* no request of this method was recorded */
    REPORT_UNKNOWN_TARGET, /* none of this tool, prompt, resource or task */
    REPORT_DIFFERENT,      /* recorded with other parameters */
    REPORT_EXHAUSTED,      /* recorded, but not that often (--repeat fail) */
    REPORT_OUT_OF_ORDER,   /* recorded, but not here (--ordering strict) */
    REPORT_NO_ANSWER,      /* its answer was never recorded */
    REPORT_VERSION,        /* of another protocol revision than the recording */
    REPORT_NOT_A_MESSAGE,  /* a line of the client that is none */
    REPORT_ANSWER_DIFFERS, /* a question of the server was answered in another way */
    REPORT_CAPABILITIES,   /* a note: the client can do other things than the recorded one */
    REPORT_KINDS
};

struct report_difference {
    struct slice pointer, recorded, asked; /* JSON; {NULL, 0}: not there */
};

/* Borrowed for the call. */
struct report_finding {
    enum report_kind kind;
    bool is_note;                /* told of, and no failure */
    struct slice method, target; /* escapes resolved */
    uint64_t nearest_seq;        /* the nearest recorded request; 0: none */
    struct report_difference difference[REPORT_DIFFERENCES_MAX];
    size_t differences;  /* may be more than are listed */
    struct slice accept; /* options that would accept it; "": none would */
};

struct report_counts {
    uint64_t requests, matched, repeated, missed, faults, notes;
};

struct report {
    struct report_counts counts;
    struct buf json;  /* owned; finished findings, as members of an array */
    struct buf cases; /* owned; the same as JUnit test cases */
    uint64_t kept, cases_n;
};

void report_close(struct report *r);
/* Keeps it, tells stderr of it, and appends to `message` one sentence for the client. NULL: none is needed. */
void report_add(struct report *r, const struct report_finding *f, struct buf *message);
/* The members of error.data that describe it, each with a comma in front. */
void report_data(struct buf *b, const struct report_finding *f);
const char *report_kind_name(enum report_kind kind); /* "not-recorded", … */

/* A recorded request, for the end of the report. */
struct report_request {
    uint64_t seq;
    struct slice method, target;
    bool asked;
    bool needed; /* false: not asked for is no failure, even with --strict (ping, a probe) */
};
/* false: no more; the next call begins anew. */
typedef bool (*report_next_fn)(void *ctx, struct report_request *ret);

struct report_end {
    struct slice recording; /* uid, or the path as it was given */
    bool strict;
    int64_t began_us, lasted_us; /* wall clock, duration */
    int exit_status;
    uint64_t unplaced; /* messages of the recording that have no place in a replay */
    report_next_fn next;
    void *ctx;
};

void report_json(struct report *r, const struct report_end *end, struct buf *b);
void report_junit(struct report *r, const struct report_end *end, struct buf *b);

#endif
