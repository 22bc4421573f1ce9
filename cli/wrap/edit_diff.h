/* edit_diff.h - prints edits of a text as a unified diff, with `[redacted:RULE]` in place of
 * secrets. The diff is for people, not for patch(1).
 *
 * Blocks    never, apart from printing. */
#ifndef MI_CLI_WRAP_EDIT_DIFF_H
#define MI_CLI_WRAP_EDIT_DIFF_H

#include "cli/frame/out.h"
#include "cli/wrap/edits.h"

/* The edits must be sorted: call edits_apply() before this function. */
void edit_diff_print(struct out *o, const char *path, struct slice old, const struct edits *e);

#endif
