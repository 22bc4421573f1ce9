/* trouble.c - opens the vault, and handles a vault that is damaged, removed, locked or full. */
#include "record/process/store_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "vault/store/damaged_db.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

void (*store_step)(const char *name);

void store_close_writer(struct store *s)
{
    writer_close(s->w);
    s->w = NULL;
    s->resumed = false;
    s->session_id = 0;
}

/* ---- a damaged database ---------------------------------------------------------------------- */

static void escalate_damaged_database(struct store *s, const char *name, struct slice why)
{
    struct buf happened = {0}, path = {0};
    bool is_new = false;
    buf_printf(&happened, "The database was damaged (%.*s), so it was put aside as %s.",
               (int)size_min(why.n, 300), why.p, name);
    struct escalation e = {
        .cause = ESCALATION_RECORD_ERROR,
        .at_us = clock_wall_us(),
        .server = s->name,
        .session = s->uid,
        .command = s->command,
        .action = "new database",
        .happened = buf_slice(&happened),
        .done = slice_of("A new database was made, and recording continues in it."),
        .look = slice_of(
            "Older sessions are in the damaged file; `mcp-interposer doctor` says how "
            "to read what is left of them. If the vault is signed, its new log is not signed, "
            "because it is a different log: look at the damaged file first, then run "
            "`mcp-interposer audit checkpoint --new-vault`."),
    };
    if (happened.failed ||
        escalation_write(&s->escalations, s->dir.fd, NULL, &e, &path, &is_new) < 0)
        log_warn("cannot write an escalation file: server=%s cause=record-error", s->name);
    else if (is_new && s->calls.escalated != NULL) {
        buf_clear(&happened);
        buf_printf(&happened, "%s/%s", s->dir.path, buf_str(&path));
        s->calls.escalated(s->ctx, e.cause, buf_str(&happened));
    }
    buf_close(&happened);
    buf_close(&path);
}

/* Renames the damaged database (vault/store/damaged_db.h). The database must be closed. Returns
 * false if nothing was changed. */
static bool move_damaged_database_away(struct store *s)
{
    char name[DAMAGED_NAME_MAX];
    struct buf why = {0};
    if (s->aside != DAMAGED_NOT_TRIED)
        return false;
    int st = damaged_db_move_aside(&s->dir, name, &why);
    s->aside = st == 0 ? DAMAGED_DONE : DAMAGED_TRIED;
    if (st == 0) {
        log_error("the database is damaged, and was put aside; recording into a new database: "
                  "file=%s/%s damage=\"%s\"",
                  s->dir.path, name, buf_str(&why));
        escalate_damaged_database(s, name, buf_slice(&why));
    } else if (st == MI_EIO) {
        log_warn("the damaged database cannot be put aside: %s", strerror(errno));
    }
    buf_close(&why);
    return st == 0;
}

int store_open_vault(struct store *s)
{
    struct buf error = {0};
    int st = s->dir.fd >= 0 ? 0 : vault_dir_open(&s->dir, s->vault, true, &error);
    if (st == 0)
        st = writer_open(&s->w, &s->dir, s->start->sync_full, &error);
    if (st == MI_EPROTO && move_damaged_database_away(s))
        st = writer_open(&s->w, &s->dir, s->start->sync_full, &error);
    if (st == 0) {
        writer_set_record_level(s->w, s->start->level);
        if (s->start->stop_on_error)
            writer_make_lost_bodies_fatal(s->w);
    } else {
        snprintf(s->reason, sizeof s->reason, "%s",
                 error.n > 0 ? buf_str(&error) : "out of memory");
    }
    buf_close(&error);
    return st;
}

/* ---- a removed vault ------------------------------------------------------------------------ */

/* Whether the vault's path leads to another directory than before, or to none. */
static bool vault_dir_was_replaced(const struct vault_dir *d)
{
    struct stat open, now;
    return d->fd >= 0 && (fstat(d->fd, &open) != 0 || stat(d->path, &now) != 0 ||
                          open.st_ino != now.st_ino || open.st_dev != now.st_dev);
}

bool store_vault_was_removed(struct store *s, int64_t after_us)
{
    int64_t now = clock_mono_us();
    if (s->w != NULL && now - s->looked_us < after_us)
        return false;
    s->looked_us = now;
    if (s->w != NULL ? !writer_database_vanished(s->w, s->vault) : !vault_dir_was_replaced(&s->dir))
        return false;
    log_warn("the vault was removed; creating it again: vault=%s", s->vault);
    return true;
}

/* ---- trouble -------------------------------------------------------------------------------- */

void store_run_change_callback(struct store *s)
{
    if (s->calls.changed != NULL)
        s->calls.changed(s->ctx);
}

static void report_storage_trouble(struct store *s, struct ring *r, enum ring_trouble trouble)
{
    if (trouble > s->lost_trouble)
        s->lost_trouble = trouble;
    s->troubled = trouble != RING_FINE;
    if (ring_set_recorder_trouble(r, trouble))
        store_run_change_callback(s);
}

/* A disk that was full may have room for the write-ahead log or for the database, but not for both.
 * Small transactions make the log longer, because each writes all pages that it changes. If a
 * checkpoint does not make the log shorter, because of a reader or the full disk, the next
 * checkpoint is made later. */
static void checkpoint_to_save_space(struct store *s)
{
    int64_t now = clock_mono_us();
    s->portion -= s->portion > 0;
    if (writer_get_wal_pages(s->w) < STORE_WAL_PAGES) {
        s->saved_us = 0;
    } else if (s->saved_us == 0 || now - s->saved_us >= STORE_RETRY_US) {
        s->saved_us = now;
        store_call_test_hook("checkpoint");
        if (writer_checkpoint_wal(s->w) < 0)
            log_debug("checkpoint postponed: %s", writer_error(s->w));
    }
}

enum store_result store_report_success(struct store *s, struct ring *r)
{
    bool all = ring_count_unread_bytes(r) == 0;
    if (s->failing && !all) { /* entries are left, and storing them may fail again */
        checkpoint_to_save_space(s);
        return STORE_DONE;
    }
    if (s->failing)
        log_warn("recording again");
    if (all)
        s->portion = 0;
    s->failing = false;
    report_storage_trouble(s, r, RING_FINE);
    return STORE_DONE;
}

enum store_result store_report_failure(struct store *s, struct ring *r)
{
    if (!s->failing)
        log_warn("cannot record%s: %s", s->start->stop_on_error ? "" : ", messages wait in memory",
                 s->reason);
    s->failing = true;
    report_storage_trouble(s, r, RING_FAILING);
    return STORE_FAILING;
}

enum store_result store_wait_for_locked_vault(struct store *s, struct ring *r)
{
    nanosleep(&(struct timespec){0, STORE_WAIT_US * 1000}, NULL);
    report_storage_trouble(s, r, RING_BUSY);
    return STORE_BUSY;
}

/* A commit that was reported as failed may have succeeded, so the position is read again. */
enum store_result store_handle_failure(struct store *s, struct ring *r, int st)
{
    bool memory = st == MI_ENOMEM, busy = !memory && writer_is_busy(s->w);
    bool full = memory || writer_is_full(s->w), damaged = !memory && writer_is_damaged(s->w);
    snprintf(s->reason, sizeof s->reason, "%s", memory ? "out of memory" : writer_error(s->w));
    writer_rollback(s->w);
    ring_rewind(r);
    log_directory_discard_lines(&s->log);
    s->resumed = false;
    if (busy) {
        report_storage_trouble(s, r, RING_BUSY);
        return STORE_BUSY;
    }
    if (store_vault_was_removed(s, 0))
        return STORE_GONE;
    if (damaged) {
        store_close_writer(s);
        if (move_damaged_database_away(s))
            return STORE_BUSY;
        return store_report_failure(s, r);
    }
    s->portion += full && s->portion < STORE_PORTION_MAX;
    if (!full)
        store_close_writer(s);                /* the next attempt opens the vault again */
    else if (writer_checkpoint_wal(s->w) < 0) /* a checkpoint frees space in the write-ahead log */
        log_debug("checkpoint postponed: %s", writer_error(s->w));
    return store_report_failure(s, r);
}
