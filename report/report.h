/* report.h - the result of a command that checks something, as JUnit XML and SARIF.
 *
 * A report has suites: a recording, a vault, this machine. A suite has cases: a call, a session, a
 * kind of finding. Each case is added once, and written in every requested form.
 * cli/frame/reporting.h adds the text, the options and the files.
 *
 * Order     `junit` and `sarif` are set first; then report_begin_suite() and its cases, any number
 *           of times; then report_write_junit() and report_write_sarif(). A case:
 *           report_begin_case(), its members, report_add_case().
 * Units     microseconds. The start of a suite is a time of the monotonic clock.
 * Owns      the text of the requested forms: about 200 bytes for each case for JUnit, 400 for each
 *           case that is not a success for SARIF; report_close() frees it.
 * Errors    after a lack of memory, report_write_junit() and report_write_sarif() set `failed` of
 *           their buffer.
 * Blocks    never. */
#ifndef MI_REPORT_REPORT_H
#define MI_REPORT_REPORT_H

#include "base/buf.h"

enum report_level { REPORT_NOTE, REPORT_WARNING, REPORT_ERROR, REPORT_LEVELS };

/* A kind of finding. The texts are static. */
struct report_rule {
    const char *name;    /* name of the rule, a word such as "changed"; NULL: nothing was found */
    const char *meaning; /* what the rule means, as a sentence or a clause */
    const char *help;    /* the usual cause, and what to do, as sentences */
    enum report_level level;
};

enum report_outcome {
    REPORT_PASSED,
    REPORT_NOTED, /* something was found that is not a failure */
    REPORT_SKIPPED,
    REPORT_FAILED,
};

/* Where something was found: in a message of a recording, in a session, or elsewhere (then all
 * members are empty). */
struct report_place {
    /* Path of a cassette, as the user gave it. Message N is on line N + 1, after the header
     * line. */
    struct slice file;
    struct slice session; /* UID of the session */
    int64_t seq;          /* seq of the message; 0: the whole recording */
};

struct report_case {
    enum report_outcome outcome;
    struct report_rule rule;
    struct slice group; /* `classname` in JUnit; report_begin_case() sets it to the suite's group */
    struct buf name;    /* owned; what was checked */
    struct buf message; /* owned; what the check found, as a clause; "": nothing */
    struct buf detail;  /* owned; details, as whole lines; "": none */
    struct report_place place;
    int64_t took_us; /* duration of the case; 0: not measured */
};

struct report_counts {
    uint64_t tests, failures, skipped;
};

struct report {
    struct report_case draft;    /* the case that report_begin_case() has returned */
    struct slice group;          /* group of the current suite; borrowed */
    bool junit, sarif;           /* the caller has requested a report as JUnit XML, or as SARIF */
    struct buf suites;           /* owned; JUnit: suites that have ended */
    struct buf cases;            /* owned; JUnit: cases of the current suite */
    struct buf name;             /* owned; name of the current suite */
    int64_t began_us;            /* start of the current suite; 0: there is no suite */
    struct report_counts counts; /* numbers of cases in the current suite */
    struct buf results;          /* owned; SARIF: the results of all suites */
    /* owned; SARIF: the rules that results or report_rule() have added */
    struct report_rule *rules;
    size_t rules_n, rules_cap;
    /* true: memory ran out for `rules`, for an earlier case, or for a suite that has ended. The
     * buffers `suites` and `results` have their own `failed`. */
    bool failed;
};

/* Whether memory ran out for the current case or an earlier one. */
static inline bool report_is_out_of_memory(const struct report *r)
{
    const struct report_case *c = &r->draft;
    return r->failed || c->name.failed || c->message.failed || c->detail.failed;
}

void report_close(struct report *r);
/* Begins a suite. group: static; {NULL, 0}: each case sets its own group. began_us: time of the
 * monotonic clock. */
void report_begin_suite(struct report *r, struct slice name, struct slice group, int64_t began_us);
/* Returns an empty case, which the caller fills; valid until the next report_begin_case(). */
struct report_case *report_begin_case(struct report *r);
/* Adds the case of report_begin_case() to the report. The texts of the case stay valid until the
 * next report_begin_case(). */
void report_add_case(struct report *r);
/* Adds a rule that SARIF has to list even if no case violates it. */
void report_rule(struct report *r, const struct report_rule *rule);
/* The next two functions append the whole file to `b`. */
void report_write_junit(struct report *r, struct buf *b);
void report_write_sarif(struct report *r, struct buf *b);

/* Adds the case only to JUnit, or only to SARIF: for cases that differ between the two formats. */
void report_add_junit(struct report *r);
void report_add_sarif(struct report *r);

#endif
