/* key.c - `mcp-interposer audit key`: makes, prints and replaces the key that signs checkpoints. */
#include "cli/audit/commands.h"
#include "cli/audit/keyfile.h"
#include "cli/audit/keypath.h"

#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", "mcp-interposer-audit", "`new`: the name of the key, in each signature"},
    AUDIT_OPT_KEY,
    COMMAND_OPTS,
};

static int fail(int status, struct buf *error)
{
    log_error("%s", status == MI_ENOMEM ? "out of memory" : buf_str(error));
    buf_close(error);
    return EXIT_TROUBLE;
}

static int print(const char *path, const struct public_key *k)
{
    struct out o;
    struct buf text = {0};
    key_write_public(&text, k);
    out_open(&o);
    out_raw(&o, "key   ");
    out_text(&o, buf_slice(&text));
    out_end_line(&o);
    out_raw(&o, "file  ");
    out_text(&o, slice_of(path));
    out_end_line(&o);
    buf_close(&text);
    return out_close(&o);
}

static int make(const struct settings *s, const char *path)
{
    struct buf error = {0};
    struct secret_key k;
    struct slice name = slice_of(settings_text(s, "name"));
    if (!key_name_valid(name))
        return settings_usage(s,
                              "--name: invalid name: use 1 to %d ASCII characters without blanks "
                              "and '+'",
                              KEY_NAME_MAX);
    int st = key_make(name, &k);
    if (st < 0)
        buf_adds(&error, "libsodium cannot be used");
    else
        st = keyfile_create(path, &k, &error);
    int status = st < 0 ? fail(st, &error) : print(path, &k.public);
    key_erase(&k);
    return status;
}

static int show(const struct settings *s, const char *path)
{
    (void)s;
    struct buf error = {0};
    struct secret_key k;
    int st = keyfile_read(path, &k, &error);
    if (st < 0)
        return fail(st, &error);
    int status = print(path, &k.public);
    key_erase(&k);
    return status;
}

static const struct {
    const char *name;
    int (*run)(const struct settings *s, const char *path);
} actions[] = {{"new", make}, {"show", show}};

static int run(const struct settings *s)
{
    for (size_t i = 0; i < MI_COUNT(actions); i++) {
        if (s->operands_n == 0 || strcmp(s->operands[0], actions[i].name) != 0)
            continue;
        char *path = keypath(s);
        int status = path != NULL ? actions[i].run(s, path) : EXIT_TROUBLE;
        free(path);
        return status;
    }
    return s->operands_n == 0 ? settings_usage(s, "missing what to do: new or show")
                              : settings_usage(s, "unknown action '%s': use new or show",
                                               s->operands[0]);
}

const struct command audit_key = {
    .name = "audit key",
    .summary = "make and show the key that signs checkpoints",
    .usage = "[OPTIONS] new|show",
    .about = "new makes a key, show prints the public one. Give the line that begins with the\n"
             "name of the key, the verifier key, to those who verify. The private key stays in\n"
             "its file; nothing is ever written over it.\n",
    .table = table_of_options,
    .operands_max = 1,
    .run = run,
};
