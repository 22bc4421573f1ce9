/* check.c - `mcp-interposer audit check FILE --key KEY`: verifies a bundle without a vault. */
#include "cli/audit/anchor.h"
#include "cli/audit/check_verdict.h"
#include "cli/audit/commands.h"

#include "base/log.h"
#include "cli/frame/input.h"
#include "cli/settings/config.h"

static const struct opt table_of_options[] = {
    {0, "key", "KEY", NULL, "the verifier key, or a file with this key; required"},
    {0, "checkpoint", "NOTE", NULL,
     "a file with signed notes from an anchor: the bundle's checkpoint must be among them"},
    {'b', "bodies", NULL, NULL, "print the bodies of the messages, too"},
    {0, "json", NULL, NULL, "print the verdict as a JSON object, with the bodies"},
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "FILE is a bundle of `audit prove`; -: stdin. KEY is what `audit key show`\n"
    "printed on the machine that recorded. The exit status is 0 if the records are\n"
    "proven, and 1 if not; then the step that failed is printed.\n";
/* clang-format on */

/* Whether one of the notes has the checkpoint `c`. */
static bool notes_have_checkpoint(struct slice notes, const struct checkpoint *c)
{
    struct slice text;
    struct note n;
    struct checkpoint other;
    while (note_read_next_note(&notes, &text))
        if (note_read(text, &n) == 0 && checkpoint_read(n.text, &other) == 0 &&
            slice_eq(other.origin, c->origin) && other.size == c->size &&
            digest_eq(&other.root, &c->root))
            return true;
    return false;
}

/* Checks that the file of --checkpoint has the bundle's checkpoint. Returns EXIT_FINE if the file
 * has this checkpoint, or if --checkpoint was not given. */
static int check_file_has_checkpoint(const struct settings *s, const struct bundle *b,
                                     struct buf *why)
{
    const char *path = settings_get_text(s, "checkpoint");
    struct buf notes = {0};
    if (path == NULL)
        return EXIT_FINE;
    int status = input_read_path(path, ANCHOR_FILE_MAX, &notes);
    if (status == EXIT_FINE && !notes_have_checkpoint(buf_slice(&notes), &b->checkpoint)) {
        buf_printf(why,
                   "the bundle's checkpoint, of %llu leaves, is not in %s; ask for a bundle made "
                   "with: audit prove --checkpoint %s",
                   (unsigned long long)b->checkpoint.size, path, path);
        status = EXIT_FOUND;
    }
    buf_close(&notes);
    return status;
}

static int audit_check_bundle(const struct settings *s, struct slice text,
                              const struct public_key *key)
{
    struct bundle b;
    struct buf why = {0};
    int st = bundle_open(&b, text, key, &why);
    int status = st == 0           ? check_file_has_checkpoint(s, &b, &why)
                 : st == MI_EINVAL ? EXIT_FOUND
                                   : EXIT_TROUBLE;
    struct verdict v = {.b = &b,
                        .key = key,
                        .why = buf_str(&why),
                        .proven = status == EXIT_FINE,
                        .bodies = settings_is_on(s, "bodies"),
                        .anchor = settings_get_text(s, "checkpoint")};
    if (st == MI_ENOMEM)
        log_error("out of memory");
    else if (status == EXIT_FINE || status == EXIT_FOUND) {
        int printed = settings_is_on(s, "json") ? verdict_print_json(&v) : verdict_print_text(&v);
        status = printed != EXIT_FINE ? printed : status;
    }
    bundle_close(&b);
    buf_close(&why);
    return status;
}

static int audit_check_run(const struct settings *s)
{
    struct public_key key;
    struct buf text = {0};
    if (s->operands_n == 0)
        return settings_fail_usage(s, "missing FILE: a bundle that `audit prove` has written");
    if (settings_get_text(s, "key") == NULL)
        return settings_fail_usage(s,
                                   "missing --key: give the verifier key, or a file with this key");
    int status = input_read_public_key(settings_get_text(s, "key"), &key);
    if (status == EXIT_FINE)
        status = input_read_path(s->operands[0], BUNDLE_MAX + ((size_t)1 << 20), &text);
    if (status == EXIT_FINE)
        status = audit_check_bundle(s, buf_slice(&text), &key);
    buf_close(&text);
    return status;
}

const struct command audit_check = {
    .name = "audit check",
    .summary = "verify a file of `audit prove`, without the vault",
    .usage = "[OPTIONS] FILE",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = audit_check_run,
};
