/* signing.c - checks of `doctor`: the key that signs checkpoints, and whether all sessions that
 * have ended are signed and anchored.
 *
 * Blocks    on the vault, and on the files of anchors. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "cli/audit/anchor.h"
#include "cli/audit/keyfile.h"
#include "cli/audit/keypath.h"
#include "cli/audit/local_note.h"
#include "vault/upkeep/health.h"

#include <inttypes.h>
#include <stdlib.h>

/* time after the end of a session within which the session should be signed */
#define LATE_US ((int64_t)600 * 1000000)
#define REMEDY "run mcp-interposer audit checkpoint to see the reason"

/* Checks that each anchor has the newest checkpoint of the vault (`last`). own: the settings of
 * `audit checkpoint`. */
static void check_anchors(struct doctor *d, const struct settings *own,
                          const struct checkpoint *last)
{
    struct buf error = {0};
    size_t at = 0;
    for (const char *where; (where = settings_next_value(own, "anchor", &at)) != NULL;) {
        uint64_t size = 0;
        buf_clear(&error);
        int st = anchor_check_syntax(where, &error)
                     ? anchor_read_last_checkpoint_size(where, last->origin, &size, &error)
                     : MI_EINVAL;
        if (st < 0 && st != MI_ENOENT)
            doctor_report_fault(d, "anchor", REMEDY, "%s",
                                st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        else if (size < last->size && strcmp(where, "syslog") != 0)
            doctor_report_fault(d, "anchor", REMEDY,
                                "the anchor %s is behind: its last checkpoint has %" PRIu64
                                " leaves, the vault's last checkpoint has %" PRIu64,
                                where, size, last->size);
        else
            doctor_report_passed(d, "anchor", "%s", where);
    }
    buf_close(&error);
}

/* Checks that the stored local note (cli/audit/local_note.h) belongs to the vault's log. */
static void check_local_checkpoint(struct doctor *d, const char *key_path)
{
    struct buf error = {0};
    struct local_notes k = {0};
    char *vault = realpath(d->vault, NULL);
    int st = vault != NULL ? local_notes_read(&k, key_path, vault, &error) : MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < k.n; i++) {
        struct health_log log = {.size = k.at[i].size};
        st = health_check_log(vault, &log, &error);
        if (st == 0 && (strcmp(log.origin, k.at[i].origin) != 0 || !log.found ||
                        !digest_eq(&log.root, &k.at[i].root))) {
            doctor_report_fault(
                d, "kept",
                "mcp-interposer audit verify says what was changed; if you know the reason, such "
                "as a restored or a new vault, and want to sign the log: mcp-interposer audit "
                "checkpoint --new-vault",
                "this vault's log does not continue the log that was signed before, so it is no "
                "longer signed");
            break;
        }
    }
    if (st < 0)
        doctor_report_fault(d, "kept", REMEDY, "the signed log cannot be compared: %s",
                            st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    local_notes_close(&k);
    buf_close(&error);
    free(vault);
}

static void check_log_is_signed(struct doctor *d, const struct settings *own)
{
    struct buf text = {0}, error = {0};
    struct note note;
    struct checkpoint last;
    int64_t late = 0;
    int st = health_count_unsigned_seals(d->vault, clock_wall_us() - LATE_US, &late, &text, &error);
    if (st < 0 && st != MI_ENOENT)
        doctor_report_fault(d, "signing", REMEDY, "%s",
                            st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    if (st == 0 && late > 0)
        doctor_report_fault(d, "signing", REMEDY,
                            "%" PRId64
                            " session%s ended more than 10 minutes ago and %s not signed",
                            late, late == 1 ? "" : "s", late == 1 ? "is" : "are");
    else if (st == 0 && text.n > 0)
        doctor_report_passed(d, "signing", "all ended sessions are signed");
    if (st == 0 && text.n > 0 && note_read(buf_slice(&text), &note) == 0 &&
        checkpoint_read(note.text, &last) == 0)
        check_anchors(d, own, &last);
    buf_close(&text);
    buf_close(&error);
}

static void check_signing_key(struct doctor *d, const struct settings *own, bool has_vault)
{
    struct buf error = {0};
    struct secret_key key;
    char *path = audit_key_path(own);
    int st = path != NULL ? keyfile_read(path, &key, &error) : MI_ENOENT;
    if (st == MI_ENOENT) {
        doctor_report_passed(d, "key", "no key: recordings are not signed");
    } else if (st < 0) {
        doctor_report_fault(d, "key", "correct the file: until then nothing is signed", "%s",
                            st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    } else {
        doctor_report_passed(d, "key", "%s", path);
        if (has_vault) {
            check_log_is_signed(d, own);
            check_local_checkpoint(d, path);
        }
    }
    key_erase(&key);
    buf_close(&error);
    free(path);
}

/* Uses the settings that `audit checkpoint` would have. Checks nothing if the configuration file is
 * invalid, which another check has reported. */
void doctor_check_signing(struct doctor *d, const struct settings *s, bool has_vault)
{
    const struct command *audit = command_find(s->commands, "audit");
    const char *config = settings_get_text(s, "config");
    struct settings own;
    struct buf error = {0}, option = {0};
    char name[] = "checkpoint";
    char *argv[] = {name, NULL, NULL};
    if (config != NULL) {
        buf_printf(&option, "--config=%s", config);
        buf_addc(&option, '\0');
        argv[1] = option.p;
    }
    if (settings_read_all_sources(&own, s->commands, command_find_verb(audit, "checkpoint"),
                                  option.failed || config == NULL ? 1 : 2, argv,
                                  &error) == SETTINGS_READY)
        check_signing_key(d, &own, has_vault);
    settings_close(&own);
    buf_close(&error);
    buf_close(&option);
}
