/* tool_settings.h - the rule for the tools of a server, from the settings of `proxy`.
 *
 * Owns      nothing. The caller owns the result, and frees it with tool_rule_close(), even after an
 *           error.
 * Blocks    only settings_read_configured_tools(), on the configuration file. */
#ifndef MI_CLI_SETTINGS_TOOL_SETTINGS_H
#define MI_CLI_SETTINGS_TOOL_SETTINGS_H

#include "cli/settings/config.h"
#include "wire/mcp/tool_rule.h"

/* Makes the rule from --tools, --hide-tools and --read-only, for the server that has this name in
 * recordings; or from --tools-rule alone, if it is given. Returns 0, MI_ENOMEM or MI_EINVAL; for
 * MI_EINVAL, `error` holds a sentence. */
MI_MUST int settings_read_tool_rule(const struct settings *s, const char *server,
                                    struct tool_rule *ret, struct buf *error);
/* Makes the rule as settings_read_tool_rule() does, but ignores --tools. The rule is for a proxy
 * that reads the configuration file of `s`; `s` may be the settings of any command. */
MI_MUST int settings_read_configured_tools(const struct settings *s, const char *server,
                                           struct tool_rule *ret, struct buf *error);

#endif
