/* retain.h - how long sessions are kept: the rules of `prune`, and those of `[retention]` in the
 * configuration, which apply to every proxy, and to `prune` without a rule on its command line.
 *
 * Owns      nothing. Values were checked when the settings were read: nothing can fail here.
 * Blocks    never. */
#ifndef MI_CLI_SETTINGS_RETAIN_H
#define MI_CLI_SETTINGS_RETAIN_H

#include "cli/settings/config.h"
#include "vault/upkeep/prune/remove.h"

/* The rules of [retention]; all 0: none. With a target in [ship], only what was sent there is removed. */
void retain_configured(const struct settings *s, struct retention *ret);
/* The rules of prune's options; all 0: none. */
void retain_options(const struct settings *s, struct retention *ret);

#endif
