#include "cli/settings/command.h"

#include "base/log.h"
#include "base/os/file.h"
#include "base/os/memory.h"
#include "cli/settings/paths.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool command_has_alias(const struct command *c, const char *name)
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
        if (strcmp(commands[i]->name, name) == 0 || command_has_alias(commands[i], name))
            return commands[i];
    return NULL;
}

bool command_has_first_word(const struct command *c, const char *first_word)
{
    size_t n = strcspn(c->name, " ");
    return strlen(first_word) == n && memcmp(c->name, first_word, n) == 0;
}

const struct command *command_find_verb(const struct command *c, const char *verb)
{
    for (size_t i = 0; c->verbs[i] != NULL; i++)
        if (strcmp(strchr(c->verbs[i]->name, ' ') + 1, verb) == 0)
            return c->verbs[i];
    return NULL;
}

const struct command *command_get_next(const struct command *const *commands,
                                       struct command_place *at)
{
    for (; commands[at->command] != NULL; at->command++, at->verb = 0) {
        const struct command *c = commands[at->command];
        if (c->verbs == NULL && at->verb++ == 0)
            return c;
        if (c->verbs != NULL && c->verbs[at->verb] != NULL)
            return c->verbs[at->verb++];
    }
    return NULL;
}

void command_append_help(struct buf *b, const struct command *c)
{
    if (c->verbs != NULL) {
        buf_printf(b, "mcp-interposer %s: %s.\n\nUsage:\n", c->name, c->summary);
        for (size_t i = 0; c->verbs[i] != NULL; i++)
            buf_printf(b, "  mcp-interposer %s %s\n      %s\n", c->verbs[i]->name,
                       c->verbs[i]->usage, c->verbs[i]->summary);
        buf_printf(b, "\nMore about one of these commands: mcp-interposer %s --help\n",
                   c->verbs[0]->name);
        return;
    }
    buf_printf(b, "mcp-interposer %s: %s.\n\nUsage: mcp-interposer %s %s\n\nOptions:\n", c->name,
               c->summary, c->name, c->usage);
    opt_write_help(b, c->table);
    if (c->aliases != NULL)
        buf_printf(b, "\nOther names: %s\n", c->aliases);
    if (c->about != NULL) {
        buf_addc(b, '\n');
        buf_adds(b, c->about);
    }
}

void command_append_general_help(struct buf *b, const struct command *const *commands)
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
    buf_printf(b, "%s/mcp-interposer-UID\n", memory_get_directory());
    buf_adds(b, "  configuration  --config, else $XDG_CONFIG_HOME/mcp-interposer/config.ini,\n"
                "                 else ~/.config/mcp-interposer/config.ini\n"
                "  key            --audit-key, else audit.key beside the default configuration\n");
    char *documents = path_find_document("options.md");
    if (documents != NULL)
        buf_printf(b, "  documents      %.*s\n", (int)(strrchr(documents, '/') - documents),
                   documents);
    free(documents);
}

int command_fail_usage(const struct command *c, const char *error)
{
    log_error("%s", error);
    fprintf(stderr, "try: mcp-interposer %s --help\n", c->name);
    if (c->refuse != NULL)
        c->refuse(error);
    return EXIT_USAGE;
}

void command_prepare_process(void)
{
    int fd;
    do
        fd = file_open_dev_null();
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
    (void)signal(SIGXFSZ, SIG_IGN);
}

int command_fail(int status, const struct buf *error)
{
    if (status == MI_ENOMEM || error->n == 0)
        log_error("out of memory");
    else
        log_error("%.*s", (int)error->n, error->p);
    return EXIT_TROUBLE;
}
