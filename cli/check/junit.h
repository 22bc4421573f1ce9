/* junit.h - the findings of recordings as JUnit XML: a suite for each recording, a case for each kind of finding.
 *
 * Errors    sticky in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_JUNIT_H
#define MI_CLI_CHECK_JUNIT_H

#include "cli/check/findings.h"

void check_junit(const struct check_report *r, struct buf *b);

#endif
