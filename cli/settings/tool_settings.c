#include "cli/settings/tool_settings.h"

#include <stdlib.h>

/* Makes the rule for the tools of a server. tools: the value of --tools; NULL: none. */
static int open_rule(const struct settings *s, const char *server, const char *tools,
                     struct tool_rule *ret, struct buf *error)
{
    const char *hide = settings_get_text_for_server(s, server, "hide-tools");
    const char *reads = settings_get_text_for_server(s, server, "read-only");
    return tool_rule_open(ret, tools, hide, reads != NULL && strcmp(reads, "yes") == 0, error);
}

int settings_read_tool_rule(const struct settings *s, const char *server, struct tool_rule *ret,
                            struct buf *error)
{
    const char *only = settings_get_text(s, "tools-rule");
    if (only != NULL)
        return tool_rule_read(ret, slice_of(only), error);
    int st = open_rule(s, server, settings_get_text_for_server(s, server, "tools"), ret, error);
    if (st == 0 && tool_rule_exists(ret) && settings_value_equals(s, "validate", "none")) {
        buf_adds(error, "--tools, --hide-tools and --read-only need checked messages: use "
                        "--validate wire or protocol instead of none");
        st = MI_EINVAL;
    }
    return st;
}

int settings_read_configured_tools(const struct settings *s, const char *server,
                                   struct tool_rule *ret, struct buf *error)
{
    static char command[] = "proxy", option[] = "--config";
    const char *config = settings_get_text(s, "config");
    char *file = config != NULL ? strdup(config) : NULL;
    char *argv[] = {command, file != NULL ? option : NULL, file, NULL};
    struct settings proxy;
    *ret = (struct tool_rule){0};
    if (config != NULL && file == NULL)
        return MI_ENOMEM;
    enum settings_result read = settings_read_all_sources(
        &proxy, s->commands, command_find(s->commands, command), file != NULL ? 3 : 1, argv, error);
    int st = read == SETTINGS_NO_MEMORY ? MI_ENOMEM : MI_EINVAL;
    if (read == SETTINGS_READY)
        st = open_rule(&proxy, server, NULL, ret, error);
    settings_close(&proxy);
    free(file);
    return st;
}
