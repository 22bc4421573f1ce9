/* option_value.h - checks the value of an option. The type of the value is the name of the option's
 * argument in the table.
 *
 * Types     `SIZE` and `DURATION` are as in base/units.h, `WHEN` as in base/time_point.h, `TOOLS`
 *           as in wire/mcp/tool_rule.h. `N` is a number from 0 to 1,000,000,000, `a|b|c` one of
 *           these words, `DIR` and `FILE` a path. Any other name means text. An `AGE` is a DURATION
 *           that must have a unit, and a `SPACE` is a SIZE that must have a unit. Their options
 *           remove or end something, so that `30` instead of `30d` would do harm.
 * Blocks    never. Pure. */
#ifndef MI_CLI_SETTINGS_OPTION_VALUE_H
#define MI_CLI_SETTINGS_OPTION_VALUE_H

#include "base/opt.h"

/* Returns false if the value is invalid for this option; then the reason is appended to `error`. */
MI_MUST bool value_check_against_option(const struct opt *o, const char *value, struct buf *error);
MI_MUST bool value_parse_number(const char *value, int64_t *ret);
/* Returns whether `value` is one of the words in `choices`, such as `a|b|c`. */
bool value_is_allowed_choice(const char *choices, const char *value);

#endif
