/* diff.h - what edits change in a text, as a unified diff.
 *
 * Blocks    never. Pure but for what it prints. */
#ifndef MI_CLI_DIFF_H
#define MI_CLI_DIFF_H

#include "cli/out.h"
#include "cli/wrap.h"

/* The edits are in order (edits_apply() has been called). */
void diff_print(struct out *o, const char *path, struct slice old, const struct edits *e);

#endif
