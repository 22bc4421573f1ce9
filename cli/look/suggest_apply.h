/* suggest_apply.h - `tools --suggest --apply`: writes the rule into the configuration file.
 *
 * Rules     docs/context.md. An existing file is replaced, and keeps its mode, owner and link
 *           (cli/frame/replace.h).
 * Blocks    on the file. */
#ifndef MI_CLI_LOOK_SUGGEST_APPLY_H
#define MI_CLI_LOOK_SUGGEST_APPLY_H

#include "cli/settings/config.h"

/* names: the value of `tools` for this server. Shows the change on stderr. Returns the exit
 * status. */
MI_MUST int suggest_apply(const struct settings *s, const char *server, const char *names);

#endif
