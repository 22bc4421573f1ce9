#include "cli/run.h"

#include "base/log.h"
#include "cli/table.h"
#include "journal/file.h"

#include <stdio.h>
#include <stdlib.h>

int run_print(struct buf *b)
{
    bool ok = !b->failed && fwrite(b->p, 1, b->n, stdout) == b->n && fflush(stdout) == 0;
    buf_close(b);
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

int run_help(const struct command *c)
{
    struct buf b = {0};
    command_help(&b, c);
    return run_print(&b);
}

static int with_journals(const struct settings *s, run_fn run, char **argv)
{
    char *journals;
    int status = settings_journal_dir(s, &journals);
    if (status != EXIT_FINE)
        return status;
    journal_file_dir(journals);
    free(journals);
    return run(s, argv);
}

int run_command(const struct command *c, run_fn run, int argc, char **argv)
{
    struct settings s;
    struct buf error = {0};
    int status = EXIT_TROUBLE;
    switch (settings_read(&s, table_of_commands, c, argc, argv, &error)) {
    case SETTINGS_READY:
        status = with_journals(&s, run, argv);
        break;
    case SETTINGS_HELP:
        status = run_help(c);
        break;
    case SETTINGS_BAD_FILE:
        status = c->run_misconfigured != NULL ? c->run_misconfigured(&s, buf_str(&error))
                                              : command_usage(c, buf_str(&error));
        break;
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
