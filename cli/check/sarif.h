/* sarif.h - the findings of recordings as SARIF 2.1.0.
 *
 * Errors    sticky in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_SARIF_H
#define MI_CLI_CHECK_SARIF_H

#include "cli/check/findings.h"

void check_sarif(const struct check_report *r, struct buf *b);

#endif
