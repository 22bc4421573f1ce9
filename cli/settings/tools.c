#include "cli/settings/tools.h"

int settings_tools(const struct settings *s, const char *server, struct tool_rule *ret,
                   struct buf *error)
{
    const char *tools = settings_of_server(s, server, "tools");
    const char *hide = settings_of_server(s, server, "hide-tools");
    const char *reads = settings_of_server(s, server, "read-only");
    int st = tool_rule_open(ret, tools, hide, reads != NULL && strcmp(reads, "yes") == 0, error);
    if (st == 0 && tool_rule_exists(ret) && settings_is(s, "validate", "none")) {
        buf_adds(error, "--tools, --hide-tools and --read-only need checked messages: use "
                        "--validate wire or protocol instead of none");
        st = MI_EINVAL;
    }
    return st;
}
