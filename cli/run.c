#include "cli/run.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/write_all.h"
#include "cli/command_table.h"
#include "journal/journal_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int run_print_to_stdout(struct buf *b)
{
    bool ok = !b->failed && write_all(STDOUT_FILENO, buf_slice(b)) == 0;
    if (!ok)
        log_error("cannot write to stdout: %s", strerror(b->failed ? ENOMEM : errno));
    buf_close(b);
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

int run_help(const struct command *c)
{
    struct buf b = {0};
    command_append_help(&b, c);
    return run_print_to_stdout(&b);
}

int run_unknown_verb(const struct command *c, const char *verb)
{
    char text[LOG_LINE_MAX];
    struct buf verbs = {0};
    struct nearest n = nearest_begin_search(verb != NULL ? verb : "");
    for (size_t i = 0; c->verbs[i] != NULL; i++) {
        const char *name = strchr(c->verbs[i]->name, ' ') + 1;
        nearest_add_candidate(&n, name);
        buf_printf(&verbs, "%s%s", i > 0 ? ", " : "", name);
    }
    if (verb == NULL)
        snprintf(text, sizeof text, "%s: missing command: expected one of: %s", c->name,
                 buf_str(&verbs));
    else if (n.best != NULL)
        snprintf(text, sizeof text, "unknown command '%s %s'; did you mean '%s %s'?", c->name, verb,
                 c->name, n.best);
    else
        snprintf(text, sizeof text, "unknown command '%s %s'; expected one of: %s", c->name, verb,
                 buf_str(&verbs));
    buf_close(&verbs);
    return command_fail_usage(c, text);
}

static int run_with_journal_dir(const struct settings *s, run_fn run, char **argv)
{
    char *journals;
    int status = settings_journal_dir(s, &journals);
    if (status != EXIT_FINE)
        return status;
    journal_file_set_dir(journals);
    free(journals);
    return run(s, argv);
}

int run_command(const struct command *c, run_fn run, int argc, char **argv)
{
    struct settings s;
    struct buf error = {0};
    int status = EXIT_TROUBLE;
    switch (settings_read_all_sources(&s, table_of_commands, c, argc, argv, &error)) {
    case SETTINGS_READY:
        status = run_with_journal_dir(&s, run, argv);
        break;
    case SETTINGS_HELP:
        status = run_help(c);
        break;
    case SETTINGS_BAD_FILE:
        status = c->run_misconfigured != NULL ? c->run_misconfigured(&s, buf_str(&error))
                                              : command_fail_usage(c, buf_str(&error));
        break;
    case SETTINGS_INVALID:
        status = command_fail_usage(c, buf_str(&error));
        break;
    case SETTINGS_NO_MEMORY:
        log_error("out of memory");
        break;
    }
    settings_close(&s);
    buf_close(&error);
    return status;
}
