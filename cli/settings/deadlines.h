/* deadlines.h - reads the deadlines of `proxy` from its settings.
 *
 * Owns      nothing. The caller owns the result, and frees it with deadlines_close(), even after an
 *           error.
 * Blocks    never. */
#ifndef MI_CLI_SETTINGS_DEADLINES_H
#define MI_CLI_SETTINGS_DEADLINES_H

#include "cli/settings/config.h"
#include "proxy/session/deadline.h"

/* Reads all rules of --timeout, those of the configuration file first. Returns 0 or MI_ENOMEM; or
 * MI_EINVAL or MI_EFULL, then `error` holds a sentence. */
MI_MUST int settings_read_deadlines(const struct settings *s, struct deadlines *ret,
                                    struct buf *error);

#endif
