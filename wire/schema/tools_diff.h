/* tools_diff.h - the differences between two lists of tools.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_TOOLS_DIFF_H
#define MI_WIRE_SCHEMA_TOOLS_DIFF_H

#include "wire/schema/tools.h"

enum tools_change { TOOLS_NEW, TOOLS_CHANGED, TOOLS_GONE };
const char *tools_get_change_name(enum tools_change c); /* returns "new", "changed" or "gone" */

/* Whether two definitions of one tool are equal. */
typedef bool (*tools_equal_fn)(const struct tool *before, const struct tool *now);
/* Called for each difference. before is NULL for a new tool; now is NULL for a removed tool. */
typedef void (*tools_change_fn)(void *ctx, enum tools_change change, struct slice name,
                                const struct tool *before, const struct tool *now);

/* Calls fn for each difference, in the order of the tools' names. Returns the number of
 * differences. If `equal` is NULL, the JSON texts of the definitions are compared. fn may be
 * NULL. */
size_t tools_list_differences(const struct tools *before, const struct tools *now,
                              tools_equal_fn equal, tools_change_fn fn, void *ctx);

#endif
