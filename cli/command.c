#include "cli/command.h"

/* A line each, in the order of the help. */
/* clang-format off */
const struct command *const commands[] = {
    &command_proxy,
    &command_replay,
    &command_verify,
    &command_sessions,
    &command_show,
    &command_tail,
    &command_stats,
    &command_search,
    &command_check,
    &command_tools,
    &command_export,
    &command_import,
    &command_wrap,
    &command_unwrap,
    &command_prune,
    &command_ps,
    &command_reap,
    &command_doctor,
    &command_redact,
    &command_completion,
    NULL,
};
/* clang-format on */

static bool has_alias(const struct command *c, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = c->aliases; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (len == n && memcmp(at, name, n) == 0)
            return true;
        at += len;
    }
    return false;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0 || has_alias(commands[i], name))
            return commands[i];
    return NULL;
}

void command_help(struct buf *b, const struct command *c)
{
    buf_printf(b, "mcp-interposer %s: %s.\n\nUsage: mcp-interposer %s %s\n\nOptions:\n", c->name,
               c->summary, c->name, c->usage);
    opt_help(b, c->table);
    if (c->aliases != NULL)
        buf_printf(b, "\nOther names: %s\n", c->aliases);
    if (c->about != NULL) {
        buf_addc(b, '\n');
        buf_adds(b, c->about);
    }
    buf_adds(b, "\nEvery option but --help can also be set in the environment (--vault as\n"
                "MCP_INTERPOSER_VAULT) and, but for --config, in the configuration file.\n"
                "\nFiles:\n"
                "  vault          --vault, else $XDG_STATE_HOME/mcp-interposer,\n"
                "                 else ~/.local/state/mcp-interposer\n"
                "  configuration  --config, else $XDG_CONFIG_HOME/mcp-interposer/config.ini,\n"
                "                 else ~/.config/mcp-interposer/config.ini\n");
}

void command_help_all(struct buf *b)
{
    buf_adds(
        b,
        "mcp-interposer: stands between an MCP client and its server, and records what they say.\n"
        "\nUsage: mcp-interposer COMMAND [OPTIONS]\n"
        "       mcp-interposer [OPTIONS] -- SERVER [ARG...]   the same as: proxy\n"
        "\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(b, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    buf_adds(b, "  help       show this, or the help of a command: help COMMAND\n"
                "\nOptions:\n"
                "  -h, --help     show this help\n"
                "      --version  show the version\n");
}
