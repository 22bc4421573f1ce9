/* cmd_export.c - `mcp-interposer export SESSION -o FILE`: a session as a file to keep. */
#include "base/log.h"
#include "cli/config.h"
#include "cli/save.h"
#include "cli/session.h"
#include "vault/cassette.h"

#include <signal.h>

static const struct opt table_of_options[] = {
    {'o', "output", "FILE", "-", "where it goes; -: stdout"},
    {0, "format", "FORMAT", "cassette", "what is written: cassette (JSON lines)"},
    {0, "no-stderr", NULL, NULL, "without the lines of the server's standard error"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const char about[] =
    "SESSION is an ID or the beginning of a UID as `sessions` shows them; without it, the newest\n"
    "session that has a message. FILE is written whole or stays as it was.\n"
    "A cassette has no paths and no names of this machine, and the same session always gives\n"
    "the same bytes: it is made to be kept with the tests that replay it.\n";

static bool on_lines(void *ctx, struct slice lines)
{
    return save_write(ctx, lines);
}

static int export_session(const struct settings *settings, struct query *q,
                          const struct query_session *s)
{
    struct save file;
    struct buf error = {0};
    unsigned flags = settings_on(settings, "no-stderr") ? CASSETTE_NO_STDERR : 0;
    save_open(&file, settings_text(settings, "output"));
    int st = file.error != 0 ? MI_EIO : cassette_write(q, s, flags, on_lines, &file, &error);
    if (st < 0 && file.error == 0)
        log_error("%s", buf_str(&error));
    int status = save_close(&file, st == 0);
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int run(int argc, char **argv)
{
    struct settings settings;
    struct query *q = NULL;
    if (!settings_read(&settings, &command_export, argc, argv))
        return settings.exit_status;
    (void)signal(SIGPIPE, SIG_IGN);
    int status = EXIT_FINE;
    if (!settings_is(&settings, "format", "cassette"))
        status = settings_usage(&command_export, "--format: '%s' is no format; write cassette",
                                settings_text(&settings, "format"));
    if (status == EXIT_FINE)
        status = session_vault_open(&settings, &q);
    if (status == EXIT_FINE) {
        struct query_session s;
        int st = query_session(q, settings.operands[0], &s);
        if (st == 0) {
            status = export_session(&settings, q, &s);
        } else {
            log_error("%s", st == MI_ENOMEM ? "no memory" : query_error(q));
            status = EXIT_TROUBLE;
        }
    }
    query_close(q);
    settings_close(&settings);
    return status;
}

const struct command command_export = {
    .name = "export",
    .summary = "write a session to a file: a cassette",
    .usage = "[OPTIONS] [SESSION] -o FILE",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = run,
};
