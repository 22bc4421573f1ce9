/* tool_diff.h - the differences between two definitions of a tool.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TOOL_DIFF_H
#define MI_CLI_LOOK_TOOL_DIFF_H

#include "base/buf.h"
#include "wire/json/scan.h"

/* Called for each difference with its JSON Pointer and both values. {NULL, 0}: that side does not
 * have the member. */
typedef void (*tool_diff_fn)(void *ctx, struct slice pointer, struct slice before,
                             struct slice now);
void tool_diff_compare(struct slice before, struct slice now, tool_diff_fn fn, void *ctx);

#endif
