/* retain.h - how long sessions are kept: the rules of `prune`, and those of `[retention]` in the
 * configuration. The latter apply to every proxy, and to `prune` if its command line has no rule.
 *
 * Owns      nothing. The values were checked when the settings were read, so nothing can fail here.
 * Blocks    never. */
#ifndef MI_CLI_SETTINGS_RETAIN_H
#define MI_CLI_SETTINGS_RETAIN_H

#include "cli/settings/config.h"
#include "vault/upkeep/prune/remove.h"

/* Reads the rules of [retention]; all are 0 if there is none. If [ship] has a target, only what was
 * sent there is removed. */
void retain_read_configured(const struct settings *s, struct retention *ret);
/* Reads the rules in the options of `prune`; all are 0 if there is none. */
void retain_read_options(const struct settings *s, struct retention *ret);

#endif
