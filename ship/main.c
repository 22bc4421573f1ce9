/* main.c - mcp-interposer-ship: finds the command, reads its settings and runs it. */
#include "base/log.h"
#include "cli/check/commands.h"
#include "cli/command_table.h"
#include "cli/diff/commands.h"
#include "cli/export/commands.h"
#include "cli/frame/session.h"
#include "cli/look/commands.h"
#include "cli/look/follow/commands.h"
#include "cli/look/search/commands.h"
#include "cli/run.h"
#include "cli/ship/commands.h"
#include "cli/ui/commands.h"
#include "cli/version.h"
#include "redact/sanitizer.h"
#include "ship/commands.h"

static const struct {
    const struct command *command;
    int (*run)(const struct settings *s); /* function to call; NULL: the command's own function */
} commands[] = {
    {&ship_init, run_init},
    {&ship_to, run_ship_to_command},
    {&ship_status, run_status},
    {&ship_forget, run_forget},
    /* commands that read a store, for use with --from */
    {&command_sessions, NULL},
    {&command_show, NULL},
    {&command_search, NULL},
    {&command_stats, NULL},
    {&command_check, NULL},
    {&command_export, NULL},
    {&command_tail, NULL},
    {&command_tools, NULL},
    {&command_diff, NULL},
    {&command_ui, NULL},
};

static int ship_run(const struct settings *s, char **argv)
{
    size_t i = 0;
    (void)argv;
    while (commands[i].command != s->command)
        i++;
    return commands[i].run != NULL ? commands[i].run(s) : s->command->run(s);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    command_prepare_process();
    log_set_filter(redact_filter_log_line, NULL);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return run_help(&command_ship);
    if (strcmp(word, "--version") == 0) {
        struct buf b = {0};
        version_append_text(&b);
        return run_print_to_stdout(&b);
    }
    session_set_store(open_remote_store_query);
    const struct command *c = command_find_verb(&command_ship, word);
    if (c == NULL)
        c = command_find(table_of_commands, word);
    for (size_t i = 0; i < MI_COUNT(commands); i++)
        if (commands[i].command == c)
            return run_command(c, ship_run, argc - 1, argv + 1);
    return run_unknown_verb(&command_ship, argc > 1 ? word : NULL);
}
