/* audit_key.c - `mcp-interposer audit key`: makes, prints and replaces the key that signs
 * checkpoints. */
#include "cli/audit/commands.h"
#include "cli/audit/keyfile.h"
#include "cli/audit/keypath.h"
#include "cli/audit/local_note.h"

#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "vault/store/signing.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", "mcp-interposer-audit", "`new`, `rotate`: the key's name in signatures"},
    AUDIT_OPT_KEY,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static void print_labelled_line(struct out *o, const char *label, struct slice text)
{
    out_add_raw(o, label);
    out_add_text(o, text);
    out_end_line(o);
}

/* origin: the origin of the vault's log; "" if the vault has no log. */
static int audit_key_print(const char *path, const struct public_key *k, const char *origin)
{
    struct out o;
    struct buf text = {0};
    key_write_public(&text, k);
    out_open(&o);
    print_labelled_line(&o, "key     ", buf_slice(&text));
    print_labelled_line(&o, "file    ", slice_of(path));
    if (origin[0] != '\0')
        print_labelled_line(&o, "origin  ", slice_of(origin));
    buf_close(&text);
    return out_close(&o);
}

/* ---- the vault ------------------------------------------------------------------------------ */

/* A function that works on the vault's log. */
typedef int (*log_fn)(struct signing *log, void *ctx);

/* Opens the vault's log and calls fn. Does nothing if nothing is recorded yet. Returns EXIT_FINE,
 * or EXIT_TROUBLE after a message. */
static int audit_key_run_with_open_log(const struct settings *s, log_fn fn, void *ctx)
{
    struct query *q;
    struct signing log;
    struct buf error = {0};
    int status = session_vault_open(s, &q);
    if (status != EXIT_FINE)
        return status;
    if (query_is_stored(q)) {
        int st = signing_open(&log, query_vault(q), &error);
        if (st == 0)
            st = fn(&log, ctx);
        if (st < 0)
            status = command_fail(st, &error);
        signing_close(&log);
    }
    query_close(q);
    buf_close(&error);
    return status;
}

static int copy_log_origin(struct signing *log, void *ctx)
{
    struct log_head head;
    int st = signing_read_log_head(log, &head);
    if (st == 0)
        memcpy(ctx, head.origin, sizeof head.origin);
    return st;
}

struct succession {
    char *path;                   /* the key file */
    const struct secret_key *key; /* the new key */
};

static int sign_key_change(struct signing *log, void *ctx)
{
    struct succession *x = ctx;
    struct log_head head;
    struct local_notes kept = {0};
    int st = signing_read_log_head(log, &head);
    if (st == 0)
        st = local_notes_read(&kept, x->path, log->vault, log->error);
    log->kept = kept.at;
    log->kept_n = kept.n;
    if (st == 0 && head.has_key)
        st = signing_key(log, x->key, keyfile_read_previous_key, x->path);
    log->kept_n = 0;
    local_notes_close(&kept);
    return st;
}

/* ---- actions -------------------------------------------------------------------------------- */

static int audit_key_make(const struct settings *s, char *path)
{
    struct buf error = {0};
    struct secret_key k;
    int st = key_make(slice_of(settings_get_text(s, "name")), &k);
    if (st < 0)
        buf_adds(&error, "libsodium cannot be used");
    else
        st = keyfile_create(path, &k, &error);
    int status = st < 0 ? command_fail(st, &error) : audit_key_print(path, &k.public, "");
    key_erase(&k);
    buf_close(&error);
    return status;
}

static int audit_key_show(const struct settings *s, char *path)
{
    char origin[SIGNING_ORIGIN_MAX] = "";
    struct buf error = {0};
    struct secret_key k;
    int st = keyfile_read(path, &k, &error);
    int status =
        st < 0 ? command_fail(st, &error) : audit_key_run_with_open_log(s, copy_log_origin, origin);
    if (status == EXIT_FINE)
        status = audit_key_print(path, &k.public, origin);
    key_erase(&k);
    buf_close(&error);
    return status;
}

/* Replaces the key. The old key stays in its own file, because each vault's log must state that the
 * new key follows the old one. If the rotation is interrupted, the next checkpoint adds that
 * statement. */
static int audit_key_rotate(const struct settings *s, char *path)
{
    struct buf error = {0}, old_path = {0};
    struct secret_key old, k = {0};
    struct succession x = {path, &k};
    int st = keyfile_read(path, &old, &error);
    if (st == 0) {
        bool named = opt_get_source(&s->set, "name") != OPT_DEFAULT;
        st = key_make(slice_of(named ? settings_get_text(s, "name") : old.public.name), &k);
        if (st < 0)
            buf_adds(&error, "libsodium cannot be used");
    }
    if (st == 0)
        st = keyfile_replace(path, &old, &k, &error);
    int status =
        st < 0 ? command_fail(st, &error) : audit_key_run_with_open_log(s, sign_key_change, &x);
    if (st == 0) {
        int printed = audit_key_print(path, &k.public, "");
        status = printed != EXIT_FINE ? printed : status;
        keyfile_append_path_of_old_key(&old_path, path, &old.public);
        log_warn("the old key is in %s; each vault needs the old key once, to sign the change to "
                 "the new key: remove the old key when `mcp-interposer audit checkpoint` has "
                 "signed all of your vaults",
                 buf_str(&old_path));
    }
    key_erase(&old);
    key_erase(&k);
    buf_close(&error);
    buf_close(&old_path);
    return status;
}

static const struct {
    const char *name;
    int (*run)(const struct settings *s, char *path);
} actions[] = {{"new", audit_key_make}, {"show", audit_key_show}, {"rotate", audit_key_rotate}};

static int audit_key_run(const struct settings *s)
{
    if (s->operands_n == 0)
        return settings_fail_usage(s, "missing action: use new, show or rotate");
    if (!key_name_is_valid(slice_of(settings_get_text(s, "name"))))
        return settings_fail_usage(
            s,
            "--name: invalid name: use 1 to %d ASCII characters without blanks "
            "and '+'",
            KEY_NAME_MAX);
    for (size_t i = 0; i < MI_COUNT(actions); i++) {
        if (strcmp(s->operands[0], actions[i].name) != 0)
            continue;
        char *path = audit_key_path(s);
        int status = path != NULL ? actions[i].run(s, path) : EXIT_TROUBLE;
        free(path);
        return status;
    }
    return settings_fail_usage(s, "unknown action '%s': use new, show or rotate", s->operands[0]);
}

const struct command audit_key = {
    .name = "audit key",
    .summary = "make, show or replace the key that signs checkpoints",
    .usage = "[OPTIONS] new|show|rotate",
    .about = "new     makes a key, and never overwrites an existing key\n"
             "show    prints the public key, the file, and the origin of the checkpoints\n"
             "rotate  makes another key. The vault's log states that the new key follows the\n"
             "        old one; both keys sign this statement\n"
             "\n"
             "Give the verifier key, the line `key`, to those who verify. Keep a copy of the\n"
             "file: a vault whose key is lost cannot be signed again.\n",
    .table = table_of_options,
    .operands_max = 1,
    .run = audit_key_run,
};
