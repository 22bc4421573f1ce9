/* checkpoint.c - `mcp-interposer audit checkpoint`: signs the vault's log, prints the note, and
 * copies it to anchors. */
#include "cli/audit/anchor.h"
#include "cli/audit/commands.h"
#include "cli/audit/keyfile.h"
#include "cli/audit/keypath.h"
#include "cli/audit/local_note.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "record/process/escalation_files.h"
#include "vault/store/dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SUFFIX "-evidence.md"

/* Writes an escalation to Escalations/ of the vault, unless one was written for this cause in the
 * last hour. Writes nothing to the database, which may be forged (docs/vault.md, "Escalations").
 * The caller reports the problem on stderr. */
static void escalate_unsigned_log(const char *vault, const char *why)
{
    struct buf happened = {0};
    char recent[ESCALATION_FILE_MAX] = "", name[ESCALATION_FILE_MAX];
    buf_printf(&happened, "The log of this vault is not signed: %s.", why);
    struct escalation e = {.cause = ESCALATION_EVIDENCE,
                           .at_us = clock_wall_us(),
                           .server = "",
                           .session = "",
                           .action = "not signed",
                           .happened = buf_slice(&happened)};
    int fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir = fd >= 0 ? vault_dir_open_sub(fd, VAULT_ESCALATIONS, true) : -1;
    if (dir >= 0 && escalation_lock(dir)) {
        escalation_find_recent_file(dir, SUFFIX, e.at_us, recent);
        if (recent[0] == '\0')
            (void)!escalation_make_file(dir, &e, SUFFIX, name);
    }
    if (dir >= 0)
        close(dir);
    if (fd >= 0)
        close(fd);
    buf_close(&happened);
}

static const struct opt table_of_options[] = {
    {0, "anchor", "WHERE...", NULL, "also copy the checkpoint to a FILE, git:DIR, or syslog"},
    {0, "new-vault", NULL, NULL,
     "sign this vault's log, although another log was signed in this directory"},
    {0, "quiet", NULL, NULL, "print nothing, and do nothing without a key"},
    AUDIT_OPT_KEY,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* Copies the note to all anchors, even if an anchor fails. */
static int copy_note_to_all_anchors(const struct settings *s, struct signing *log,
                                    struct slice note)
{
    struct buf error = {0};
    struct anchoring a = {.log = log, .note = note, .error = &error};
    struct note n;
    int status = EXIT_FINE;
    if (note_read(note, &n) < 0 || checkpoint_read(n.text, &a.c) < 0)
        return EXIT_TROUBLE; /* cannot happen, because this program made the note */
    size_t at = 0;
    for (const char *where; (where = settings_next_value(s, "anchor", &at)) != NULL;) {
        buf_clear(&error);
        log->error = &error;
        int st = anchor_write(&a, where);
        if (st < 0)
            status = command_fail(st, &error);
    }
    buf_close(&error);
    return status;
}

static int audit_checkpoint_sign(const struct settings *s, const char *vault, char *key_path,
                                 const struct secret_key *key)
{
    struct buf error = {0}, note = {0};
    struct local_notes kept = {0};
    struct signing log;
    bool anew = settings_is_on(s, "new-vault");
    int st = signing_open(&log, vault, &error);
    if (st == 0 && !anew)
        st = local_notes_read(&kept, key_path, vault, &error);
    log.kept = kept.at;
    log.kept_n = kept.n;
    if (st == 0)
        st = signing_sign_checkpoint(&log, key, keyfile_read_previous_key, key_path, &note);
    if (st == MI_EINVAL && log.changed)
        escalate_unsigned_log(vault, buf_str(&error));
    if (st == 0)
        st = local_note_write(key_path, vault, buf_slice(&note), anew, &error);
    int status = st < 0 ? command_fail(st, &error) : EXIT_FINE;
    if (st == 0 && !settings_is_on(s, "quiet") && buf_str(&note)[0] != '\0') {
        struct out o;
        out_open(&o);
        out_add_raw(&o, note.p);
        status = out_close(&o);
    }
    if (st == 0) {
        int anchored = copy_note_to_all_anchors(s, &log, buf_slice(&note));
        status = anchored != EXIT_FINE ? anchored : status;
    }
    signing_close(&log);
    local_notes_close(&kept);
    buf_close(&error);
    buf_close(&note);
    return status;
}

/* Signs while the vault is open for reading, because opening it stores the messages that killed
 * sessions left in journals. */
static int sign_vault(const struct settings *s, char *key_path, const struct secret_key *key)
{
    struct query *q;
    int status = session_vault_open(s, &q);
    if (status != EXIT_FINE)
        return status;
    if (query_is_stored(q)) {
        status = audit_checkpoint_sign(s, query_vault(q), key_path, key);
    } else {
        log_error(QUERY_NOTHING_YET, query_vault(q));
        status = EXIT_TROUBLE;
    }
    query_close(q);
    return status;
}

static int audit_checkpoint_run(const struct settings *s)
{
    struct buf error = {0};
    struct secret_key key;
    size_t at = 0;
    for (const char *where; (where = settings_next_value(s, "anchor", &at)) != NULL;) {
        if (anchor_check_syntax(where, &error))
            continue;
        int status = settings_fail_usage(s, "--anchor: %s", buf_str(&error));
        buf_close(&error);
        return status;
    }
    char *path = audit_key_path(s);
    if (path == NULL)
        return EXIT_TROUBLE;
    int status, st = keyfile_read(path, &key, &error);
    if (st == MI_ENOENT && settings_is_on(s, "quiet"))
        status = EXIT_FINE;
    else
        status = st < 0 ? command_fail(st, &error) : sign_vault(s, path, &key);
    key_erase(&key);
    buf_close(&error);
    free(path);
    return status;
}

const struct command audit_checkpoint = {
    .name = "audit checkpoint",
    .summary = "sign the vault's log, and copy the signature",
    .usage = "[OPTIONS]",
    .about = "Prints a signed note: the number of entries of the vault's log, and a hash over\n"
             "them. Keep a copy where nobody with access to the vault can change it: the copy\n"
             "proves later that these entries were not changed. If there is a key, the proxy\n"
             "signs at the end of each session, too, and copies the note to the anchors that\n"
             "the configuration names:\n"
             "\n"
             "  [audit]\n"
             "  anchor = /mnt/worm/checkpoints\n"
             "\n"
             "FILE      the note is appended, unless it contradicts this vault's last note\n"
             "git:DIR   the note is appended to a file in this git work tree, and committed\n"
             "syslog    the note is sent as one line\n",
    .table = table_of_options,
    .run = audit_checkpoint_run,
};
