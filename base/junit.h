/* junit.h - writes JUnit XML for CI systems: test suites and their cases.
 *
 * Order     junit_begin(), then for each suite junit_begin_suite(), its cases and junit_end_suite(), then junit_end().
 *           A suite begins with the number of its cases, so the cases may be written to a separate buffer first.
 * Owns      nothing: the text is appended to a buffer of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_BASE_JUNIT_H
#define MI_BASE_JUNIT_H

#include "base/buf.h"

struct junit_suite {
    struct slice name;
    uint64_t tests, failures, skipped;
    const char *time; /* seconds, as text; NULL: not written */
    /* UTC, "2026-01-31T23:59:59". If set, the suite gets all attributes and elements that the JUnit schema
     * requires; NULL: only those above. */
    const char *timestamp;
};

enum junit_outcome {
    JUNIT_PASSED,
    JUNIT_FAILED,
    JUNIT_SKIPPED,
    JUNIT_NOTED, /* passed, with some text */
};

struct junit_case {
    struct slice classname, name;
    const char *time; /* seconds, as text; NULL: not written */
    enum junit_outcome outcome;
    const char *type;     /* of a failure */
    struct slice message; /* of a failure or a skipped case; {NULL, 0}: none */
    struct slice
        xml; /* the text of a failure or note, already escaped with text_xml(); {NULL, 0}: none */
};

/* total: counts and time of all suites together; NULL: not written. */
void junit_begin(struct buf *b, const struct junit_suite *total);
void junit_begin_suite(struct buf *b, const struct junit_suite *s);
void junit_case(struct buf *b, const struct junit_case *c);
void junit_end_suite(struct buf *b, const struct junit_suite *s);
void junit_end(struct buf *b);

#endif
