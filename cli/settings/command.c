#include "cli/settings/command.h"

#include "base/log.h"
#include "base/os/memory.h"
#include "cli/settings/paths.h"

#include <stdio.h>
#include <stdlib.h>

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

const struct command *command_find(const struct command *const *commands, const char *name)
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
}

void command_help_all(struct buf *b, const struct command *const *commands)
{
    buf_adds(b, "mcp-interposer: record, check, replay and supervise MCP servers.\n"
                "\nUsage: mcp-interposer COMMAND [OPTIONS]\n"
                "       mcp-interposer [OPTIONS] -- SERVER [ARG...]   short for: proxy\n"
                "\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(b, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    buf_adds(b, "  help       show this help, or that of a command: help COMMAND\n"
                "\nOptions:\n"
                "  -h, --help     show this help\n"
                "      --version  show the version, the commit and the libraries\n"
                "\nEvery option of a command except --help can also be set in the environment\n"
                "(--vault as MCP_INTERPOSER_VAULT) and, except --config, in the configuration\n"
                "file.\n"
                "\nFiles:\n"
                "  vault          --vault, else $XDG_STATE_HOME/mcp-interposer,\n"
                "                 else ~/.local/state/mcp-interposer\n"
                "  journals       --journal-dir, else ");
    buf_printf(b, "%s/mcp-interposer-UID\n", memory_dir());
    buf_adds(b, "  configuration  --config, else $XDG_CONFIG_HOME/mcp-interposer/config.ini,\n"
                "                 else ~/.config/mcp-interposer/config.ini\n");
    char *documents = path_document("options.md");
    if (documents != NULL)
        buf_printf(b, "  documents      %.*s\n", (int)(strrchr(documents, '/') - documents), documents);
    free(documents);
}

int command_usage(const struct command *c, const char *error)
{
    log_error("%s", error);
    fprintf(stderr, "try: mcp-interposer %s --help\n", c->name);
    if (c->refuse != NULL)
        c->refuse(error);
    return EXIT_USAGE;
}
