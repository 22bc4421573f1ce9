/* cmd_import.c - `mcp-interposer import FILE`: a recording from a file becomes a session of the vault. */
#include "base/log.h"
#include "cli/config.h"
#include "cli/out.h"
#include "vault/cassette.h"
#include "vault/deposit.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {'n', "name", "NAME", NULL, "the server's name in records, instead of what the file says"},
    {0, "json", NULL, NULL, "tell of the session as a JSON object"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const char about[] =
    "FILE is a cassette, or a recording (JSON lines) of mcp-tape, mcp-rec or mcp-cassette. It\n"
    "becomes a session that has ended, as if it had been recorded here, with an ID and UID of\n"
    "its own. A file with a fault is refused as a whole, with the line and the reason.\n";

struct import {
    struct deposit *deposit;
    const char *name;
    int status;
};

static bool on_session(void *ctx, const struct query_session *s)
{
    struct import *im = ctx;
    im->status = deposit_session(im->deposit, s, im->name);
    return im->status == 0;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct import *im = ctx;
    im->status = deposit_message(im->deposit, m);
    return im->status == 0;
}

static int tell(const struct settings *settings, const struct deposit *d)
{
    struct out o;
    out_open(&o);
    if (settings_on(settings, "json"))
        out_printf(&o, "{\"type\":\"imported\",\"id\":%lld,\"uid\":\"%s\",\"messages\":%lld}",
                   (long long)deposit_id(d), deposit_uid(d), (long long)deposit_messages(d));
    else
        out_printf(&o, "session %lld: %lld messages, uid %s", (long long)deposit_id(d),
                   (long long)deposit_messages(d), deposit_uid(d));
    out_end_line(&o);
    return out_close(&o);
}

static int import_file(const struct settings *settings, const char *vault)
{
    struct import im = {.name = settings_text(settings, "name")};
    struct buf error = {0};
    int st = deposit_open(&im.deposit, vault, &error);
    if (st == 0) {
        st = cassette_read(settings->operands[0], on_session, on_message, &im, &error);
        if (st == 0 && im.status == 0)
            im.status = deposit_commit(im.deposit);
    }
    int status;
    if (st < 0) {
        log_error("%s", st == MI_ENOMEM ? "no memory" : buf_str(&error));
        status = EXIT_TROUBLE;
    } else if (im.status < 0) {
        log_error("%s", deposit_error(im.deposit));
        status = EXIT_TROUBLE;
    } else {
        status = tell(settings, im.deposit);
    }
    deposit_close(im.deposit);
    buf_close(&error);
    return status;
}

static int run(int argc, char **argv)
{
    struct settings settings;
    if (!settings_read(&settings, &command_import, argc, argv))
        return settings.exit_status;
    int status;
    if (settings.operands_n == 0) {
        status = settings_usage(&command_import, "no file given: name a recording");
    } else {
        char *vault = settings_vault(&settings);
        status = vault != NULL ? import_file(&settings, vault) : EXIT_TROUBLE;
        free(vault);
    }
    settings_close(&settings);
    return status;
}

const struct command command_import = {
    .name = "import",
    .summary = "put a recording from a file into the vault",
    .usage = "[OPTIONS] FILE",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = run,
};
