/* tool_diff.h - where two definitions of a tool differ: pointers, and what stands there.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_TOOL_DIFF_H
#define MI_CLI_TOOL_DIFF_H

#include "base/buf.h"
#include "wire/json.h"

/* before or now is {NULL, 0} where a member is there on one side alone. */
typedef void (*tool_diff_fn)(void *ctx, struct slice pointer, struct slice before,
                             struct slice now);
void tool_diff(struct slice before, struct slice now, tool_diff_fn fn, void *ctx);

#endif
