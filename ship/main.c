/* main.c - mcp-interposer-ship: finds the command, reads its settings and runs it. */
#include "base/log.h"
#include "cli/check/commands.h"
#include "cli/export/commands.h"
#include "cli/frame/session.h"
#include "cli/look/commands.h"
#include "cli/look/search/commands.h"
#include "cli/settings/config.h"
#include "cli/ship/commands.h"
#include "cli/table.h"
#include "cli/version.h"
#include "journal/file.h"
#include "redact/sanitizer.h"
#include "ship/commands.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const struct command *command;
    int (*run)(const struct settings *s); /* NULL: that of the command */
} commands[] = {
    {&ship_init, run_init},
    {&ship_to, run_to},
    {&ship_status, run_status},
    {&ship_forget, run_forget},
    /* with --from */
    {&command_sessions, NULL},
    {&command_show, NULL},
    {&command_search, NULL},
    {&command_stats, NULL},
    {&command_check, NULL},
    {&command_export, NULL},
};

static int print(struct buf *b)
{
    bool ok = !b->failed && fwrite(b->p, 1, b->n, stdout) == b->n && fflush(stdout) == 0;
    buf_close(b);
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

static int help_of(const struct command *c)
{
    struct buf b = {0};
    command_help(&b, c);
    return print(&b);
}

static int with_journals(const struct settings *s, int (*run)(const struct settings *s))
{
    char *journals;
    int status = settings_journal_dir(s, &journals);
    if (status != EXIT_FINE)
        return status;
    journal_file_dir(journals);
    free(journals);
    return run(s);
}

static int run(size_t i, int argc, char **argv)
{
    const struct command *c = commands[i].command;
    struct settings s;
    struct buf error = {0};
    int status = EXIT_TROUBLE;
    switch (settings_read(&s, table_of_commands, c, argc, argv, &error)) {
    case SETTINGS_READY:
        status = with_journals(&s, commands[i].run != NULL ? commands[i].run : c->run);
        break;
    case SETTINGS_HELP:
        status = help_of(c);
        break;
    case SETTINGS_BAD_FILE:
    case SETTINGS_INVALID:
        status = command_usage(c, buf_str(&error));
        break;
    case SETTINGS_NO_MEMORY:
        log_error("out of memory");
        break;
    }
    settings_close(&s);
    buf_close(&error);
    return status;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    command_open_stdio();
    log_set_filter(redact_log_filter, NULL);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help_of(&command_ship);
    if (strcmp(word, "--version") == 0) {
        struct buf b = {0};
        version_text(&b);
        return print(&b);
    }
    session_set_store(from_store);
    const struct command *c = command_verb(&command_ship, word);
    if (c == NULL)
        c = command_find(table_of_commands, word);
    for (size_t i = 0; i < MI_COUNT(commands); i++)
        if (commands[i].command == c)
            return run(i, argc - 1, argv + 1);
    if (word[0] == '\0')
        log_error("ship: missing what to do: init, to, status or forget");
    else
        log_error("unknown command '%s': use init, to, status or forget", word);
    fputs("try: mcp-interposer ship --help\n", stderr);
    return EXIT_USAGE;
}
