/* verify.c - `mcp-interposer audit verify`: compares a vault with its evidence. */
#include "cli/audit/anchor.h"
#include "cli/audit/commands.h"
#include "cli/audit/keypath.h"
#include "cli/audit/local_note.h"
#include "cli/audit/verify_output.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/read_all.h"
#include "cli/frame/input.h"
#include "cli/frame/session.h"
#include "cli/settings/paths.h"
#include "evidence/note.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET_US 500000 /* time in microseconds after which progress is shown */

static const struct opt table_of_options[] = {
    {0, "against", "NOTE...", NULL, "also compare with the signed checkpoints in this file"},
    {0, "anchor", "WHERE...", NULL,
     "also compare with the checkpoints copied to a FILE or git:DIR"},
    {0, "key", "KEY", NULL,
     "a verifier key that must be one of the vault's keys, or a file with this key"},
    {0, "json", NULL, NULL,
     "print one JSON object per line for each session, and one for the vault"},
    REPORTING_OPTS,
    AUDIT_OPT_KEY,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Recomputes the evidence of all or of the given sessions, and of the vault's log.\n"
    COMMAND_SESSION_HELP
    "\n"
    "valid                 the session is as recorded, and its end is anchored\n"
    "valid, not anchored   the session is consistent, but whoever can write to the\n"
    "                      vault could have forged the session and its evidence\n"
    "redacted              the session is as `redact --apply` has left it\n"
    "open                  the session is being recorded\n"
    "incomplete            the proxy was killed, or has not written an end\n"
    "being removed         `prune` has begun to remove the session\n"
    "not covered           recorded by a version without evidence\n"
    "TAMPERED              something was changed: the first change is printed\n"
    "\n"
    "A checkpoint, as `audit checkpoint` prints it, proves more if a copy is kept\n"
    "where nobody with access to the vault can change it. [audit] anchor in the\n"
    "configuration is read as well.\n"
    "The last line is the verdict on the vault, valid, incomplete or TAMPERED; the\n"
    "lines before it say what was compared, and what was not.\n"
    "Exit status: 0 nothing is wrong; 1 something is TAMPERED, incomplete or being\n"
    "removed; 3 the vault could not be verified.\n";
/* clang-format on */

/* ---- checkpoints to compare with ------------------------------------------------------------- */

/* State of reading a file of notes. */
struct reading {
    struct audit *a;
    const char *path;
    bool anchor;         /* the file is an anchor: notes of other vaults in it are ignored */
    struct slice origin; /* the origin that checkpoints of this vault have */
    /* notes: number of notes that were read; own: number of these notes that were added to
     * `a` */
    int notes, own;
};

static int add_checkpoint_note(struct reading *r, struct slice text)
{
    struct note n;
    struct checkpoint c;
    r->notes++;
    if (note_read(text, &n) < 0 || checkpoint_read(n.text, &c) < 0)
        return MI_EINVAL;
    if (r->anchor && !slice_eq(c.origin, r->origin))
        return 0;
    r->own++;
    return audit_add_note(r->a, text);
}

static int add_vault_notes_in_text(struct reading *r, struct slice text)
{
    struct slice note;
    int st = 0;
    while (st == 0 && note_read_next_note(&text, &note))
        st = add_checkpoint_note(r, note);
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    /* a power failure can leave an incomplete note at the end */
    bool torn = text.n > 0 && r->notes > 0;
    bool none = r->notes == 0 && (text.n > 0 || !r->anchor);
    if (st < 0)
        log_error("%s: note %d is not a signed checkpoint", r->path, r->notes);
    else if (none)
        log_error("%s: not a signed checkpoint, as `audit checkpoint` prints it", r->path);
    else if (torn)
        log_warn(
            "%s ends with an incomplete note, which is ignored: remove everything after note %d",
            r->path, r->notes);
    if (st == 0 && !none && r->own == 0)
        log_warn("no checkpoint of this vault has been copied to the anchor %s", r->path);
    return st < 0 || none ? EXIT_USAGE : EXIT_FINE;
}

static int add_notes_of_file(struct reading *r)
{
    struct buf text = {0};
    int status = EXIT_FINE, e = read_all_of_file(r->path, ANCHOR_FILE_MAX, &text);
    if (e != 0) {
        log_error("cannot read %s: %s", r->path, strerror(e));
        status = EXIT_TROUBLE;
    } else {
        status = add_vault_notes_in_text(r, buf_slice(&text));
    }
    buf_close(&text);
    return status;
}

static int add_notes_of_anchor(const struct settings *s, struct reading *r, const char *where)
{
    struct buf path = {0}, text = {0}, error = {0};
    int st, status = EXIT_FINE;
    if (!anchor_check_syntax(where, &error)) {
        status = settings_fail_usage(s, "--anchor: %s", buf_str(&error));
    } else if ((st = anchor_find_file(where, r->origin, &path, &error)) == 0) {
        r->path = buf_str(&path);
        st = anchor_file_read(r->path, &text, &error);
        if (st == MI_ENOENT)
            log_warn("no checkpoint has been copied to the anchor %s", r->path);
        else
            status =
                st < 0 ? command_fail(st, &error) : add_vault_notes_in_text(r, buf_slice(&text));
    } else if (st != MI_ENOENT) {
        status = command_fail(st, &error);
    }
    buf_close(&path);
    buf_close(&text);
    buf_close(&error);
    return status;
}

/* Adds the notes in the files of all options --against and --anchor. An anchor may have notes of
 * other vaults, and need not exist before the first checkpoint is copied to it. An incomplete note
 * at the end is ignored, with a warning. Returns EXIT_FINE or, after a message on stderr,
 * EXIT_USAGE (a file that does not have notes) or EXIT_TROUBLE. */
static int add_anchored_notes(const struct settings *s, struct audit *a)
{
    int status = EXIT_FINE;
    size_t at = 0;
    for (const char *x;
         status == EXIT_FINE && (x = settings_next_value(s, "against", &at)) != NULL;)
        status = add_notes_of_file(&(struct reading){.a = a, .path = x});
    at = 0;
    for (const char *x; status == EXIT_FINE && (x = settings_next_value(s, "anchor", &at)) != NULL;)
        if (audit_get_log_origin(a).n > 0)
            status = add_notes_of_anchor(
                s, &(struct reading){.a = a, .anchor = true, .origin = audit_get_log_origin(a)}, x);
        else
            log_warn("anchor %s: not compared, because the vault has no log", x);
    return status;
}

/* Adds the checkpoints of the local notes (cli/audit/local_note.h), even if the key is missing. If
 * the path of the key is unknown, adds nothing. */
static int add_checkpoints_of_local_notes(const struct settings *s, struct audit *a,
                                          const char *vault)
{
    struct buf error = {0};
    struct local_notes k = {0};
    char *path = path_of_audit_key(settings_get_text(s, "audit-key"));
    int st = path != NULL      ? local_notes_read(&k, path, vault, &error)
             : errno == ENOENT ? 0
                               : MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < k.n; i++)
        st = audit_add_local_note(a, buf_slice(&k.note[i]));
    int status = st < 0 ? command_fail(st, &error) : EXIT_FINE;
    local_notes_close(&k);
    buf_close(&error);
    free(path);
    return status;
}

/* ---- verifying ------------------------------------------------------------------------------- */

struct job {
    struct verify_output output;
    bool bar;   /* show progress */
    bool drawn; /* progress was shown, and must be erased */
    int64_t began_us, shown_us;
};

static void audit_verify_on_fault(void *ctx, const struct audit_wrong *w)
{
    struct job *j = ctx;
    verify_output_add_fault(&j->output, w);
}

static void audit_verify_on_session(void *ctx, const struct audit_session *s)
{
    struct job *j = ctx;
    verify_output_add_session(&j->output, s);
}

static void audit_verify_on_progress(void *ctx, uint64_t records, uint64_t total, uint64_t bytes)
{
    struct job *j = ctx;
    int64_t now_us = clock_mono_us();
    if (now_us - j->began_us < QUIET_US || now_us - j->shown_us < QUIET_US / 4)
        return;
    char bar[21] = "....................";
    size_t done = total > 0 ? (size_t)(records * 20 / total) : 0;
    memset(bar, '#', size_min(done, sizeof bar - 1));
    j->shown_us = now_us;
    j->drawn = true;
    fprintf(stderr, "\rverifying [%s] %llu records, %llu MB ", bar, (unsigned long long)records,
            (unsigned long long)(bytes / 1000000));
}

static int audit_verify_fail(const char *why)
{
    log_error("%s", why);
    return EXIT_TROUBLE;
}

/* Verifies the named sessions. */
static int verify_named_sessions(const struct settings *s, struct query *q, struct audit *a)
{
    int st = 0;
    for (int i = 0; st == 0 && i < s->operands_n; i++) {
        struct query_session one;
        st = query_session(q, s->operands[i], &one);
        if (st < 0)
            return st == MI_ENOMEM ? audit_verify_fail("out of memory")
                                   : audit_verify_fail(query_error(q));
        st = audit_check_session(a, one.id);
        if (st == MI_ENOENT) {
            log_warn("session %s was removed during the verification", s->operands[i]);
            st = 0;
        }
    }
    return st < 0 ? audit_verify_fail(st == MI_ENOMEM ? "out of memory" : audit_error(a))
                  : EXIT_FINE;
}

static int verify_log_and_sessions(const struct settings *s, struct query *q, struct audit *a)
{
    struct public_key key;
    bool trusted = settings_get_text(s, "key") != NULL;
    int status = trusted ? input_read_public_key(settings_get_text(s, "key"), &key) : EXIT_FINE;
    if (status == EXIT_FINE)
        status = add_anchored_notes(s, a);
    if (status == EXIT_FINE)
        status = add_checkpoints_of_local_notes(s, a, query_vault(q));
    if (status != EXIT_FINE)
        return status;
    int st = audit_check_log(a, trusted ? &key : NULL);
    if (st == 0 && s->operands_n > 0)
        return verify_named_sessions(s, q, a);
    if (st == 0)
        st = audit_check_sessions(a);
    return st < 0 ? audit_verify_fail(st == MI_ENOMEM ? "out of memory" : audit_error(a))
                  : EXIT_FINE;
}

static int audit_verify_vault(const struct settings *s, struct query *q, struct job *j)
{
    struct audit *a;
    struct audit_vault v;
    struct buf error = {0};
    struct audit_calls calls = {.on_wrong = audit_verify_on_fault,
                                .on_session = audit_verify_on_session,
                                .on_progress = j->bar ? audit_verify_on_progress : NULL,
                                .ctx = j};
    int st = audit_open(&a, query_vault(q), &calls, &error);
    if (st < 0) {
        int status =
            audit_verify_fail(st == MI_ENOMEM || error.n == 0 ? "out of memory" : buf_str(&error));
        buf_close(&error);
        return status;
    }
    int status = verify_log_and_sessions(s, q, a);
    if (j->drawn)
        fprintf(stderr, "\r\033[K");
    audit_describe_vault(a, &v);
    if (status == EXIT_FINE)
        status = verify_output_print_all(&j->output, &v);
    audit_close(a);
    buf_close(&error);
    return status;
}

static int audit_verify_run(const struct settings *s)
{
    struct query *q = NULL;
    struct job j = {.began_us = clock_mono_us(), .bar = isatty(STDERR_FILENO) == 1};
    int status = verify_output_open(&j.output, s);
    if (status == EXIT_FINE)
        status = session_vault_open_for_verify(s, &q);
    if (status == EXIT_FINE && !query_is_stored(q)) {
        log_error(QUERY_NOTHING_YET, query_vault(q));
        status = EXIT_TROUBLE;
    }
    if (status == EXIT_FINE)
        status = audit_verify_vault(s, q, &j);
    verify_output_close(&j.output);
    query_close(q);
    return status;
}

const struct command audit_verify = {
    .name = "audit verify",
    .summary = "check whether recordings in the vault were changed",
    .usage = "[OPTIONS] [SESSION...]",
    .about = about,
    .table = table_of_options,
    .operands_max = INT_MAX,
    .run = audit_verify_run,
};
