/* report.h - the result of a command that checks something, in the forms that other programs read: JUnit XML and SARIF.
 *
 * A report has suites: a recording, a vault, this machine. A suite has cases: a call, a session, a kind of finding. Each case
 * is added once, and written in every form that was asked for. cli/frame/reporting.h adds the text, the options and the files.
 *
 * Order     `junit` and `sarif` are set first; then report_suite() and the cases of this suite, any number of times; then
 *           report_junit() and report_sarif().
 * Units     microseconds. Times of a suite are by the monotonic clock.
 * Owns      the forms that were asked for: in JUnit about 200 bytes for each case, in SARIF 400 for each that is no
 *           success; report_close() frees them.
 * Errors    sticky: report_junit() and report_sarif() pass them on to their buffer.
 * Blocks    never. */
#ifndef MI_REPORT_REPORT_H
#define MI_REPORT_REPORT_H

#include "base/buf.h"

enum report_level { REPORT_NOTE, REPORT_WARNING, REPORT_ERROR, REPORT_LEVELS };

/* What can be found. The texts are static. */
struct report_rule {
    const char *name;    /* a word, such as "changed"; NULL: nothing was found */
    const char *meaning; /* a sentence */
    enum report_level level;
};

enum report_outcome {
    REPORT_PASSED,
    REPORT_NOTED, /* something was found that is not a failure */
    REPORT_SKIPPED,
    REPORT_FAILED,
};

/* Where something was found: in a message of a recording, in a session, or elsewhere (all are empty). */
struct report_place {
    struct slice
        file; /* a cassette, as the user named it; message N is on its line N + 1, behind the header */
    struct slice session; /* a uid */
    int64_t seq;          /* of the message; 0: the recording as a whole */
};

/* Borrowed for the call. */
struct report_case {
    enum report_outcome outcome;
    struct report_rule rule;
    struct slice group, name; /* what was checked; group: the class in JUnit */
    struct slice message;     /* a clause; "": none */
    struct slice detail;      /* lines; "": none */
    struct report_place place;
    int64_t took_us; /* 0: not measured */
};

struct report_counts {
    uint64_t tests, failures, skipped;
};

struct report {
    bool junit, sarif;           /* asked for; set by the user of this module */
    struct buf suites;           /* owned; JUnit: suites that have ended */
    struct buf cases;            /* owned; JUnit: cases of the current suite */
    struct buf name;             /* owned; of the current suite */
    int64_t began_us;            /* of the current suite; 0: there is none */
    struct report_counts counts; /* of the current suite */
    struct buf results;          /* owned; SARIF */
    struct report_rule *rules;   /* owned; SARIF: those that were named so far */
    size_t rules_n, rules_cap;
    bool failed; /* out of memory, beside the buffers */
};

void report_close(struct report *r);
void report_suite(struct report *r, struct slice name, int64_t began_us);
void report_case(struct report *r, const struct report_case *c);
/* Names a rule that SARIF has to list even if nothing breaks it. */
void report_rule(struct report *r, const struct report_rule *rule);
/* The whole file is appended to b. */
void report_junit(struct report *r, struct buf *b);
void report_sarif(struct report *r, struct buf *b);

/* The same as report_case() for one form, where a case of the other is not the same. */
void report_junit_case(struct report *r, const struct report_case *c);
void report_sarif_case(struct report *r, const struct report_case *c);

#endif
