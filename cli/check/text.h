/* text.h - the findings of recordings as text for people.
 *
 * Errors    sticky in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_TEXT_H
#define MI_CLI_CHECK_TEXT_H

#include "cli/check/findings.h"

void check_text(const struct check_report *r, struct buf *b);

#endif
