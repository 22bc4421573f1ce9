/* json.h - a comparison as one JSON object (docs/diff.md), written row by row.
 *
 * Errors    sticky in the buffer. */
#ifndef MI_CLI_DIFF_JSON_H
#define MI_CLI_DIFF_JSON_H

#include "base/json_out.h"
#include "cli/diff/result.h"

/* name: the session's uid or the file, of each side. */
void diff_json_begin(struct json_out *j, const struct diff *d, const struct slice name[DIFF_SIDES]);
void diff_json_row(struct json_out *j, const struct result *r);
void diff_json_end(struct json_out *j, const struct diff *d, const struct result_counts *c);

#endif
