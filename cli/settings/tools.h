/* tools.h - the rule for the tools of a server that the settings of `proxy` have.
 *
 * Owns      nothing; tool_rule_close() frees the result, also after an error.
 * Blocks    settings_hidden_tools() on the configuration file; the other never. */
#ifndef MI_CLI_SETTINGS_TOOLS_H
#define MI_CLI_SETTINGS_TOOLS_H

#include "cli/settings/config.h"
#include "wire/mcp/tool_rule.h"

/* Of --tools, --hide-tools and --read-only, for the server with this name in records. 0, MI_ENOMEM, or MI_EINVAL with a sentence
 * in `error`. */
MI_MUST int settings_tools(const struct settings *s, const char *server, struct tool_rule *ret,
                           struct buf *error);
/* What is left of it without --tools, for a proxy that reads the configuration file of `s`, which may be those of any command. Same
 * results. */
MI_MUST int settings_hidden_tools(const struct settings *s, const char *server,
                                  struct tool_rule *ret, struct buf *error);

#endif
