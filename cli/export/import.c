/* import.c - `mcp-interposer import FILE`: imports a recording into the vault. */
#include "cli/export/commands.h"

#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/input.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"
#include "evidence/bundle.h"
#include "vault/cassette/cassette_file.h"
#include "vault/cassette/import.h"
#include "vault/proof/bundle_record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", NULL, "the server's name in records, instead of the name in the file"},
    {0, "key", "KEY", NULL,
     "for a bundle: the verifier key of its signature, or a file with this key"},
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

/* ---- bundles (docs/evidence.md, "Bundle") ---------------------------------------------------- */

/* Whether a file begins like a bundle. */
static bool import_is_bundle(const char *path)
{
    char head[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0)
        close(fd);
    size_t k = 0;
    for (ssize_t i = 0; i < n; i++)
        if (memchr(" \t\r\n", head[i], 4) == NULL)
            head[k++] = head[i];
    return slice_begins((struct slice){head, k}, "{\"format\":\"" BUNDLE_FORMAT "\"");
}

/* Adds where the session was recorded, for the event `imported`. */
static int import_bundle_add_origin(struct import *d, const struct bundle *b)
{
    char root[DIGEST_HEX + 1];
    struct buf text = {0};
    struct json_out j = json_out_to(&text);
    digest_hex(&b->leaf[b->seal].leaf.root, root);
    json_out_text(&j, "origin", b->checkpoint.origin);
    json_out_text(&j, "session", b->leaf[b->seal].leaf.uid);
    json_out_str(&j, "root", root);
    bool good = !text.failed;
    if (good)
        import_set_event_members(d, buf_slice(&text));
    buf_close(&text);
    return good ? 0 : MI_ENOMEM;
}

/* Sets *ret_status to the status of the import. */
static int import_bundle_add_session(struct import *d, const struct bundle *b, const char *name,
                                     int *ret_status)
{
    struct bundle_walk first = bundle_begin_walk(b), last = first;
    struct bundle_record start, end;
    struct query_session s;
    int st = MI_ENOMEM;
    if (bundle_next_record(b, &first, &start) && bundle_read_end_record(b, &last, &end)) {
        bundle_record_to_session(&s, &start);
        bundle_record_to_session_end(&s, &end);
        *ret_status = import_session(d, &s, name);
        st = 0;
    }
    bundle_walk_close(&first);
    bundle_walk_close(&last);
    return st;
}

static int import_bundle_add_messages(struct import *d, const struct bundle *b, int *ret_status)
{
    struct bundle_walk w = bundle_begin_walk(b);
    struct bundle_record r;
    while (*ret_status == 0 && bundle_next_record(b, &w, &r)) {
        if (r.kind != BUNDLE_MESSAGE)
            continue;
        struct query_message m = bundle_record_to_message(&r);
        *ret_status = import_message(d, &m);
    }
    int st = w.text.failed ? MI_ENOMEM : 0;
    bundle_walk_close(&w);
    return st;
}

/* Verifies the bundle and imports its session. If `key` is not NULL, also verifies that the key has
 * signed the bundle. *ret_status is set as by import_commit(). Returns 0, MI_ENOMEM, or MI_EINVAL;
 * then `error` holds a sentence. */
static int import_bundle(struct import *d, struct slice text, const struct public_key *key,
                         const char *name, int *ret_status, struct buf *error)
{
    struct bundle b;
    struct buf why = {0};
    int st = bundle_open(&b, text, key, &why);
    if (st == MI_EINVAL)
        buf_printf(error, "the bundle is not valid: %s", buf_str(&why));
    if (st == 0 && !bundle_has_all_records(&b)) {
        buf_adds(error, "the bundle has only some records of its session: make a bundle with "
                        "`audit prove` without --seq");
        st = MI_EINVAL;
    }
    if (st == 0)
        st = import_bundle_add_origin(d, &b);
    if (st == 0)
        st = import_bundle_add_session(d, &b, name, ret_status);
    if (st == 0)
        st = import_bundle_add_messages(d, &b, ret_status);
    bundle_close(&b);
    buf_close(&why);
    return st;
}

/* ---- all recordings -------------------------------------------------------------------------- */

struct import_run {
    struct import *import;
    const char *name;
    int status; /* result of the import; 1: the recording was imported before */
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

static int print_imported_session(const struct settings *settings, const struct import *d,
                                  bool before)
{
    struct out o;
    out_open(&o);
    if (settings_is_on(settings, "json")) {
        struct json_out j = json_out_to(&o.b);
        json_out_object(&j, NULL);
        json_out_str(&j, "type", "imported");
        json_out_int(&j, "id", import_get_session_id(d));
        json_out_str(&j, "uid", import_get_session_uid(d));
        json_out_int(&j, "messages", import_messages(d));
        json_out_bool(&j, "already_imported", before);
        json_out_end(&j);
    } else {
        out_printf(&o, "session %lld: %lld messages, uid %s%s", (long long)import_get_session_id(d),
                   (long long)import_messages(d), import_get_session_uid(d),
                   before ? "; the recording was imported before, nothing changed" : "");
    }
    out_end_line(&o);
    return out_close(&o);
}

/* bundle: the text of a bundle; {NULL, 0} if the file is a cassette or another recording. */
static int import_file(const struct settings *settings, const char *vault, struct slice bundle,
                       const struct public_key *key)
{
    struct import_run im = {.name = settings_get_text(settings, "name")};
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
        log_error("%s", import_error_text(im.import));
        status = EXIT_TROUBLE;
    } else {
        status = print_imported_session(settings, im.import, im.status > 0);
    }
    import_close(im.import);
    buf_close(&error);
    return status;
}

static int import_command_run(const struct settings *settings)
{
    if (settings->operands_n == 0)
        return settings_fail_usage(settings, "missing FILE: a cassette or another recording");
    const char *path = settings->operands[0], *key_text = settings_get_text(settings, "key");
    struct public_key key;
    struct buf text = {0};
    bool bundle = import_is_bundle(path);
    if (key_text != NULL && !bundle)
        return settings_fail_usage(settings, "--key: %s is not a bundle of `audit prove`", path);
    int status = key_text != NULL ? input_read_public_key(key_text, &key) : EXIT_FINE;
    if (status == EXIT_FINE && bundle)
        status = input_read_path(path, BUNDLE_MAX, &text);
    if (status == EXIT_FINE) {
        char *vault = settings_get_vault_path(settings);
        status = vault == NULL
                     ? EXIT_TROUBLE
                     : import_file(settings, vault, bundle ? buf_slice(&text) : (struct slice){0},
                                   key_text != NULL ? &key : NULL);
        free(vault);
    }
    buf_close(&text);
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
