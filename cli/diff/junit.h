/* junit.h - a comparison as JUnit XML: a case for the sessions, and one for each row.
 *
 * Owns      the cases, about 200 bytes for a row without a difference.
 * Errors    sticky in the buffers.
 * Blocks    never. Pure. */
#ifndef MI_CLI_DIFF_JUNIT_H
#define MI_CLI_DIFF_JUNIT_H

#include "cli/diff/result.h"

struct diff_junit {
    struct buf cases; /* owned */
    uint64_t tests, failures;
};

void diff_junit_close(struct diff_junit *x);
void diff_junit_facts(struct diff_junit *x, const struct diff *d);
void diff_junit_row(struct diff_junit *x, const struct result *r);
/* Appends the whole file. name: as in json.h. */
void diff_junit_write(const struct diff_junit *x, const struct slice name[DIFF_SIDES],
                      int64_t lasted_us, struct buf *b);

#endif
