/* prove.c - `mcp-interposer audit prove SESSION`: writes a bundle. */
#include "cli/audit/anchor.h"
#include "cli/audit/commands.h"

#include "base/log.h"
#include "cli/frame/input.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"
#include "evidence/note.h"
#include "vault/proof/proof.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const struct opt table_of_options[] = {
    {'o', "output", "FILE", "-", "output file; -: stdout"},
    {'s', "seq", "N", NULL, "only message N, with its request or its answer"},
    {0, "checkpoint", "NOTE", NULL,
     "a file with a signed note, or the size of a checkpoint; default: the newest checkpoint"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    COMMAND_SESSION_HELP
    "\n"
    "The bundle proves to somebody who has only the public key that these records are\n"
    "as they were when the session was sealed: `audit check FILE --key KEY`. The\n"
    "bundle contains the records, so only its owner can read a new FILE. The session\n"
    "must have ended, and a checkpoint must include its end.\n";
/* clang-format on */

/* Finds the last note in a file. *ret is borrowed from `b`. */
static int read_last_signed_note(const char *path, struct buf *b, struct slice *ret)
{
    int status = input_read_path(path, ANCHOR_FILE_MAX, b);
    if (status != EXIT_FINE)
        return status;
    struct slice rest = buf_slice(b), note;
    while (note_read_next_note(&rest, &note))
        *ret = note;
    if (ret->p != NULL && rest.n == 0)
        return EXIT_FINE;
    log_error("--checkpoint: %s does not have a complete signed note", path);
    return EXIT_TROUBLE;
}

/* Reads --checkpoint: a value of digits is the size of a checkpoint, any other value names a file
 * of notes. */
static int read_checkpoint_option(const struct settings *s, struct buf *b, struct proof_request *w)
{
    const char *text = settings_get_text(s, "checkpoint");
    char *end;
    if (text == NULL)
        return EXIT_FINE;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return read_last_signed_note(text, b, &w->note);
    w->size = strtoll(text, &end, 10);
    return w->size > 0 ? EXIT_FINE
                       : settings_fail_usage(s, "--checkpoint: the size must be at least 1");
}

static int write_bundle(const struct settings *s, const struct query_session *session,
                        const struct buf *bundle)
{
    struct save file;
    const char *path = settings_get_text(s, "output");
    save_open(&file, path, SAVE_PRIVATE);
    bool good = save_write_bytes(&file, buf_slice(bundle));
    int status = save_close(&file, good);
    if (status == EXIT_FINE && strcmp(path, "-") != 0)
        log_note("wrote %s: session %.*s bytes=%zu", path, (int)session->uid.n, session->uid.p,
                 bundle->n);
    return status;
}

static int prove_one_session(struct query *q, const struct settings *s)
{
    struct query_session session;
    struct buf note = {0}, bundle = {0}, error = {0};
    struct proof_request w = {
        .seq = settings_get_text(s, "seq") != NULL ? settings_get_number(s, "seq") : 0};
    int st = query_session(q, s->operands[0], &session);
    if (st < 0)
        return session_report_query_error(q, st);
    w.session_id = session.id;
    w.uid = session.uid;
    int status = read_checkpoint_option(s, &note, &w);
    if (status == EXIT_FINE) {
        st = proof_write_bundle(q, &w, &bundle, &error);
        if (st == MI_EINVAL)
            log_error("session %.*s: %s", (int)session.uid.n, session.uid.p, buf_str(&error));
        status = st == MI_EINVAL ? EXIT_TROUBLE
                 : st < 0        ? session_report_query_error(q, st)
                                 : write_bundle(s, &session, &bundle);
    }
    buf_close(&note);
    buf_close(&bundle);
    buf_close(&error);
    return status;
}

static int audit_prove_run(const struct settings *s)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (s->operands_n == 0)
        return settings_fail_usage(s, "missing SESSION");
    if (settings_get_text(s, "seq") != NULL && settings_get_number(s, "seq") < 1)
        return settings_fail_usage(s, "--seq: message numbers start at 1");
    return session_run_command(s, prove_one_session);
}

const struct command audit_prove = {
    .name = "audit prove",
    .summary = "write a file that proves a call, or a session",
    .usage = "[OPTIONS] SESSION",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = audit_prove_run,
};
