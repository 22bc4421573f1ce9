/* suggest.h - `tools --suggest`: prints a rule that keeps the tools of a server that were called.
 *
 * Rules     docs/context.md says which calls count, and when no rule is suggested.
 * Blocks    on the vault; with --apply on the configuration file. */
#ifndef MI_CLI_LOOK_SUGGEST_H
#define MI_CLI_LOOK_SUGGEST_H

#include "cli/settings/config.h"
#include "vault/query/tool_list.h"

#define SUGGEST_SESSIONS_MIN 5
#define SUGGEST_DAYS_MIN 2

/* `list` has the current tools of the server. Returns the exit status. */
MI_MUST int suggest_tool_rule(struct query *q, const struct settings *s, const char *server,
                              struct tool_list *list);

#endif
