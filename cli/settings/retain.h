/* retain.h - the rules that say how long sessions are kept: the options of `prune`, and the section
 * `[retention]` of the configuration file. The rules of the section apply to every proxy, and to
 * `prune` if its command line has no rule.
 *
 * Owns      nothing.
 * Errors    none: the values were checked when the settings were read.
 * Blocks    never. */
#ifndef MI_CLI_SETTINGS_RETAIN_H
#define MI_CLI_SETTINGS_RETAIN_H

#include "cli/settings/config.h"
#include "vault/upkeep/prune/remove.h"

/* Reads the rules of [retention]; a rule that is not set is 0. If [ship] has a target, only
 * sessions that were sent there are removed. */
void retain_read_configured_rules(const struct settings *s, struct retention *ret);
/* Reads the rules from the options of `prune`. */
void retain_read_options(const struct settings *s, struct retention *ret);

#endif
