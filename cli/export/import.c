/* import.c - `mcp-interposer import FILE`: imports a recording into the vault. */
#include "cli/export/commands.h"

#include "base/json_out.h"
#include "base/log.h"
#include "cli/export/bundle.h"
#include "cli/frame/input.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"
#include "vault/cassette/cassette_file.h"
#include "vault/cassette/import.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", NULL, "the server's name in records, instead of the name in the file"},
    {0, "key", "KEY", NULL, "of a bundle: the verifier key that it must be signed with, or a file"},
    {0, "json", NULL, NULL, "print the new session as a JSON object"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "FILE is a cassette, or a recording (JSON lines) of mcp-tape, mcp-rec or\n"
    "mcp-cassette. It becomes a finished session with an ID and a UID of its own. An\n"
    "invalid file is rejected as a whole, with the line and the reason. A recording\n"
    "that was imported before is not imported again.\n"
    "A bundle (see: audit prove) of a whole session is imported if it is valid.\n"
    "`sessions` marks imported sessions; `stats` counts them only with --imported.\n";
/* clang-format on */

struct import_run {
    struct import *import;
    const char *name;
    int status; /* 1: the recording was imported before */
};

static bool import_command_on_session(void *ctx, const struct query_session *s)
{
    struct import_run *im = ctx;
    im->status = import_session(im->import, s, im->name);
    return im->status == 0;
}

static bool import_command_on_message(void *ctx, const struct query_message *m)
{
    struct import_run *im = ctx;
    im->status = import_message(im->import, m);
    return im->status == 0;
}

static void import_command_print_json(struct buf *b, const struct import *d, bool before)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "imported");
    json_out_int(&j, "id", import_id(d));
    json_out_str(&j, "uid", import_uid(d));
    json_out_int(&j, "messages", import_messages(d));
    json_out_bool(&j, "already_imported", before);
    json_out_end(&j);
}

static int print_result(const struct settings *settings, const struct import *d, bool before)
{
    struct out o;
    out_open(&o);
    if (settings_is_on(settings, "json"))
        import_command_print_json(&o.b, d, before);
    else
        out_printf(&o, "session %lld: %lld messages, uid %s%s", (long long)import_id(d),
                   (long long)import_messages(d), import_uid(d),
                   before ? "; it was imported before, nothing changed" : "");
    out_end_line(&o);
    return out_close(&o);
}

/* bundle: the text of a bundle; {NULL, 0} if the file is a cassette or another recording. */
static int import_file(const struct settings *settings, const char *vault, struct slice bundle,
                       const struct public_key *key)
{
    struct import_run im = {.name = settings_text(settings, "name")};
    struct buf error = {0};
    int st = import_open(&im.import, vault, &error);
    if (st == 0) {
        st = bundle.p != NULL ? import_bundle(im.import, bundle, key, im.name, &im.status, &error)
                              : cassette_read(settings->operands[0], import_command_on_session,
                                              import_command_on_message, &im, &error);
        if (st == 0 && im.status == 0)
            im.status = import_commit(im.import);
    }
    int status;
    if (st < 0) {
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        status = EXIT_TROUBLE;
    } else if (im.status < 0) {
        log_error("%s", import_error(im.import));
        status = EXIT_TROUBLE;
    } else {
        status = print_result(settings, im.import, im.status > 0);
    }
    import_close(im.import);
    buf_close(&error);
    return status;
}

static int import_any(const struct settings *settings)
{
    const char *path = settings->operands[0], *key_text = settings_text(settings, "key");
    struct public_key key;
    struct buf text = {0};
    bool bundle = import_is_bundle(path);
    if (key_text != NULL && !bundle)
        return settings_fail_usage(settings, "--key: %s is not a bundle of `audit prove`", path);
    int status = key_text != NULL ? input_key(key_text, &key) : EXIT_FINE;
    if (status == EXIT_FINE && bundle)
        status = input_read(path, BUNDLE_MAX, &text);
    if (status == EXIT_FINE) {
        char *vault = settings_vault(settings);
        status = vault == NULL
                     ? EXIT_TROUBLE
                     : import_file(settings, vault, bundle ? buf_slice(&text) : (struct slice){0},
                                   key_text != NULL ? &key : NULL);
        free(vault);
    }
    buf_close(&text);
    return status;
}

static int import_command_run(const struct settings *settings)
{
    int status;
    if (settings->operands_n == 0) {
        status = settings_fail_usage(settings, "missing FILE: a cassette or another recording");
    } else {
        status = import_any(settings);
    }
    return status;
}

const struct command command_import = {
    .name = "import",
    .summary = "import a recording from a file",
    .usage = "[OPTIONS] FILE",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = import_command_run,
};
