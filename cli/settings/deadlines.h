/* deadlines.h - the deadlines that the settings of `proxy` have.
 *
 * Owns      nothing; deadlines_close() frees the result, also after an error.
 * Blocks    never. */
#ifndef MI_CLI_SETTINGS_DEADLINES_H
#define MI_CLI_SETTINGS_DEADLINES_H

#include "cli/settings/config.h"
#include "proxy/session/deadline.h"

/* All rules of --timeout, those of the configuration file first. 0, MI_ENOMEM, or MI_EINVAL or MI_EFULL with a sentence
 * in `error`. */
MI_MUST int settings_deadlines(const struct settings *s, struct deadlines *ret, struct buf *error);

#endif
