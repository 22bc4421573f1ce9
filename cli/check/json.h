/* json.h - the findings of recordings as one JSON object.
 *
 * Errors    sticky in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_JSON_H
#define MI_CLI_CHECK_JSON_H

#include "cli/check/findings.h"

void check_json(const struct check_report *r, struct buf *b);

#endif
