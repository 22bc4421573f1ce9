/* main.c - finds the command, reads its settings and runs it. */
#include "base/log.h"
#include "base/nearest.h"
#include "base/os/memory.h"
#include "base/os/title.h"
#include "cli/command_table.h"
#include "cli/complete/complete.h"
#include "cli/frame/session.h"
#include "cli/proxy/bypass.h"
#include "cli/proxy/commands.h"
#include "cli/run.h"
#include "cli/settings/guess.h"
#include "cli/ship/commands.h"
#include "cli/version.h"
#include "redact/sanitizer.h"

#include <stdio.h>

typedef int (*report_fn)(const char *error);

static int fail_usage(const char *error)
{
    log_error("%s", error);
    fputs("try: mcp-interposer --help\n", stderr);
    return EXIT_USAGE;
}

/* Reports the error on stderr and to the client, because a client may be configured to start this
 * command. */
static int report_usage_error_to_client(const char *error)
{
    int status = fail_usage(error);
    command_proxy.refuse(error);
    return status;
}

static int fail_unknown_command(const char *name, report_fn report)
{
    char text[LOG_LINE_MAX];
    struct nearest n = nearest_begin_search(name);
    for (size_t i = 0; table_of_commands[i] != NULL; i++)
        nearest_add_candidate(&n, table_of_commands[i]->name);
    nearest_add_candidate(&n, "help");
    const char *hint = guess_hint_for_word(name);
    if (hint != NULL)
        snprintf(text, sizeof text, "unknown command '%s'; %s", name, hint);
    else if (n.best != NULL)
        snprintf(text, sizeof text, "unknown command '%s'; did you mean '%s'?", name, n.best);
    else
        snprintf(text, sizeof text,
                 "unknown command '%s'; a server is started with: mcp-interposer proxy -- %s", name,
                 name);
    return report(text);
}

static bool is_help_option(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int print_help(const char *name, const char *verb)
{
    if (name == NULL || strcmp(name, "help") == 0 || is_help_option(name)) {
        struct buf b = {0};
        command_append_general_help(&b, table_of_commands);
        return run_print_to_stdout(&b);
    }
    const struct command *c = command_find(table_of_commands, name);
    if (c == NULL)
        return fail_unknown_command(name, fail_usage);
    if (c->verbs != NULL && verb != NULL) {
        const struct command *v = command_find_verb(c, verb);
        if (v == NULL)
            return run_unknown_verb(c, verb);
        c = v;
    }
    return run_help(c);
}

static int run_built_in_or_ship(const struct settings *s, char **argv)
{
    bool elsewhere = s->command->run == NULL || session_get_store_url(s) != NULL;
    return elsewhere ? run_ship_command(argv) : s->command->run(s);
}

/* Runs the command. argv[0] is the last word of its name, argv[-1] is the word before that. In the
 * short form of `proxy`, argv[0] is the name of the program, and argv[-1] does not exist. */
static int command_run(const struct command *c, int argc, char **argv)
{
    int status = c == &command_proxy ? bypass_proxy_if_requested(argc, argv) : EXIT_FINE;
    return status != EXIT_FINE ? status : run_command(c, run_built_in_or_ship, argc, argv);
}

/* Runs a verb of the command. argv[0] is the command's first word, argv[1] names the verb. */
static int run_subcommand(const struct command *c, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (verb != NULL && is_help_option(verb))
        return run_help(c);
    const struct command *v = verb != NULL ? command_find_verb(c, verb) : NULL;
    return v != NULL ? command_run(v, argc - 1, argv + 1) : run_unknown_verb(c, verb);
}

/* Reads `mcp-interposer [OPTIONS] -- SERVER…`. The `--` is required, because `mcp-interposer
 * --vault v sessions` must not start a server named sessions. */
static int run_proxy_without_subcommand(int argc, char **argv)
{
    struct opt_set s;
    int next = 1;
    opt_open(&s, command_proxy.table);
    int st = opt_parse(&s, argc, argv, 1, NULL, &next);
    bool asks_help = st == 0 && opt_is_on(&s, "help");
    opt_close(&s);
    if (asks_help)
        return print_help(NULL, NULL);
    if (st == 0 && s.operands_before_dashes < 0)
        return report_usage_error_to_client(
            "missing '--': put options after the command, or a server's command after '--'");
    /* command_run() also reports an invalid option */
    return command_run(&command_proxy, argc, argv);
}

int main(int argc, char **argv)
{
    argv = title_open(argc, argv);
    command_prepare_process();
    log_set_filter(redact_filter_log_line, NULL);
    /* without this call, the proxy would never return the memory of one large message */
    memory_return_large_blocks();

    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL)
        return report_usage_error_to_client("missing command");
    if (is_help_option(word))
        return print_help(NULL, NULL);
    if (strcmp(word, "help") == 0)
        return print_help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    struct buf b = {0};
    if (strcmp(word, "--version") == 0) {
        version_append_text(&b);
        return run_print_to_stdout(&b);
    }
    if (strcmp(word, "__complete") == 0) {
        complete_command_line(&b, table_of_commands, argc - 2, argv + 2);
        return run_print_to_stdout(&b);
    }
    if (word[0] == '-')
        return run_proxy_without_subcommand(argc, argv);
    const struct command *c = command_find(table_of_commands, word);
    if (c == NULL)
        return fail_unknown_command(word, report_usage_error_to_client);
    return c->verbs != NULL ? run_subcommand(c, argc - 1, argv + 1)
                            : command_run(c, argc - 1, argv + 1);
}
