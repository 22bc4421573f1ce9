/* retain.h - how long sessions are kept: the rules of `prune`, and those of `[retention]` in the
 * configuration, which count for `prune` without a rule of its own and for every proxy.
 *
 * Owns      nothing. Values were checked when the settings were read: nothing can fail here.
 * Blocks    never. */
#ifndef MI_CLI_RETAIN_H
#define MI_CLI_RETAIN_H

#include "cli/config.h"
#include "vault/prune.h"

/* The rules of [retention]; all 0: there are none. */
void retain_configured(const struct settings *s, struct retention *ret);
/* Those of prune's own options; *ret is all 0 when none is given. */
void retain_options(const struct settings *s, struct retention *ret);

#endif
