/* stored_session.c - adds the session of a journal to the vault, continues it, and ends it. */
#include "record/process/store_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "redact/sanitizer.h"

#include <stdio.h>

#define LOOK_US 1000000 /* interval of the checks that the vault still exists */
/* a position beyond every entry, so that the rest of a damaged journal is never stored */
#define ALL_STORED INT64_MAX
/* ---- the start ------------------------------------------------------------------------------ */

static int add_session(struct store *s)
{
    struct redact *rules = redact_get_current_sanitizer();
    struct buf text = {0}, cwd = {0};
    if (rules != NULL)
        redact_write_rules(rules, &text);
    if (s->start->cwd.p != NULL) /* the name of a directory may have any bytes */
        text_append_valid_utf8(&cwd, s->start->cwd);
    struct session_record n = {
        .uid = slice_of(s->uid),
        .name = slice_of(s->name),
        .command = slice_of(s->command),
        .host = slice_of(s->host),
        .record_level = value_get_word_as_slice(&record_levels, s->start->level),
        .redact_rules = text.n > 0 && !text.failed ? buf_slice(&text) : (struct slice){0},
        .cwd = cwd.n > 0 && !cwd.failed ? buf_slice(&cwd) : (struct slice){0},
        .tools_rule = s->start->tools_rule,
        .started_at_us = s->start->started_wall_us,
        .pid = s->start->pid,
    };
    int st = writer_add_session(s->w, &n, &s->session_id);
    buf_close(&text);
    buf_close(&cwd);
    return st;
}

/* Adds the session to the database, and reads the position up to which its entries are stored. */
static int begin_session(struct store *s, struct ring *r, uint64_t *ret_position)
{
    uint64_t tail = atomic_load(&r->shared->tail);
    int64_t t_us = clock_wall_us() - s->start->started_wall_us;
    /* If the session was added already, begin no transaction: on a full disk it would fail. */
    if (s->session_id != 0)
        return writer_read_journal_position(s->w, s->session_id, ret_position);
    int st = writer_begin(s->w, STORE_WAIT_US);
    if (st == 0)
        st = add_session(s);
    if (st == 0)
        st = writer_read_journal_position(s->w, s->session_id, ret_position);
    if (st == 0 && *ret_position < tail && !ring_is_finished(r)) {
        /* the journal's entries before the position `tail` were stored in a vault that was removed,
         * or in a damaged database */
        *ret_position = tail;
        st = entries_add_gap_event(s, t_us,
                                   s->aside == DAMAGED_DONE ? "database damaged" : "vault removed");
        if (st == 0)
            st = writer_store_journal_position(s->w, s->session_id, tail);
    }
    if (st == 0)
        st = writer_commit(s->w);
    if (st < 0)
        s->session_id = 0;
    return st;
}

/* Adds the log line of an answer again; the line is the same as when the answer was stored. */
static void add_log_line_again(struct store *s, struct entry *e)
{
    char commitment[WRITER_COMMITMENT];
    if (e->kind == ENTRY_MESSAGE && entries_row_is_answer(&e->row) &&
        writer_read_stored_commitment(s->w, s->session_id, e->row.seq, commitment))
        e->invocation.commitment = slice_of(commitment);
    log_directory_add_call(&s->log, &e->invocation);
}

/* Releases entries that are stored already. Their log lines may be missing. */
static void skip_stored_entries(struct store *s, struct ring *r, uint64_t position)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    struct entry e;
    size_t n = 0;
    while (ring_read_next_record(r, &kind, &bytes, &at) == 0) {
        if (at >= position) {
            r->at = at; /* ring_read_next_record() must return the same entry again */
            break;
        }
        n++;
        if (form_read_entry((enum entry_kind)kind, bytes, &e) == 0 &&
            (kind == ENTRY_INVOCATION || (kind == ENTRY_MESSAGE && e.row.ends_invocation)))
            add_log_line_again(s, &e);
    }
    log_directory_resume(&s->log, s->dir.fd);
    log_directory_flush(&s->log, s->dir.fd);
    if (n > 0 && ring_release_records(r))
        store_run_change_callback(s);
}

enum store_result store_open_and_add_session(struct store *s, struct ring *r)
{
    uint64_t position;
    if (store_vault_was_removed(s, LOOK_US))
        return STORE_GONE;
    if (s->resumed)
        return STORE_DONE;
    int opened = s->w == NULL ? store_open_vault(s) : 0;
    if (opened == MI_EBUSY)
        return store_wait_for_locked_vault(s, r);
    if (opened < 0)
        return store_report_failure(s, r);
    store_call_test_hook("open");
    int st = begin_session(s, r, &position);
    if (st < 0)
        return store_handle_failure(s, r, st);
    store_call_test_hook("begun");
    s->resumed = true;
    if (s->calls.begun != NULL)
        s->calls.begun(s->ctx, s->dir.fd, s->session_id);
    if (s->aside == DAMAGED_DONE)
        s->aside = DAMAGED_NOTED;
    skip_stored_entries(s, r, position);
    /* Trouble that a killed process has reported ends now. Trouble that this process has reported
     * ends when an entry was stored; if no entry waits, it also ends now. */
    return s->troubled && ring_count_unread_bytes(r) > 0 ? STORE_DONE : store_report_success(s, r);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Adds one event for all entries of a damaged journal that cannot be read. */
static int add_damage_event(struct store *s, struct ring *r)
{
    uint64_t position;
    int64_t t_us = clock_wall_us() - s->start->started_wall_us;
    int st = writer_begin(s->w, STORE_WAIT_US);
    if (st == 0)
        st = writer_read_journal_position(s->w, s->session_id, &position);
    if (st == 0 && position < ALL_STORED && ring_count_unread_bytes(r) > 0)
        st = entries_add_gap_event(s, t_us, "damaged");
    if (st == 0)
        st = writer_store_journal_position(s->w, s->session_id, ALL_STORED);
    if (st == 0)
        st = writer_commit(s->w);
    return st;
}

static int store_running_row(struct store *s, const struct running *r, struct buf *error)
{
    writer_set_lock_timeout(s->w, STORE_WAIT_US);
    int st = writer_store_running_row(s->w, s->session_id, r);
    if (st < 0)
        buf_adds(error, writer_error(s->w));
    return st;
}

/* Closes the session of a killed proxy. Its row in `running` stays while processes of the server
 * are left. */
static int close_killed_session(struct store *s, const struct ring_shared *page)
{
    struct running_list l;
    struct buf error = {0};
    struct process left[64];
    bool forget = true;
    int st = running_list_open(&l, s->dir.path, &error);
    for (size_t i = 0; st == 0 && i < l.n; i++) {
        struct running *r = &l.row[i].r;
        if (l.row[i].session_id != s->session_id)
            continue;
        /* the row may lack the process group that the journal's shared page has: the proxy may have
         * been killed while it started the server */
        bool changed = running_copy_shared_server(r, page);
        forget = read_running_process_group(r, left, MI_COUNT(left)) == 0;
        if (changed && !forget)
            st = store_running_row(s, r, &error);
    }
    if (st == 0)
        st = end_dead_running_session(s->dir.path, s->session_id, forget, &error);
    if (st < 0)
        snprintf(s->reason, sizeof s->reason, "%s", buf_str(&error));
    running_list_close(&l);
    buf_close(&error);
    return st;
}

enum store_result store_end_session(struct store *s, struct ring *r)
{
    enum store_result ready = store_open_and_add_session(s, r);
    if (ready != STORE_DONE)
        return ready;
    int st = ring_count_unread_bytes(r) > 0 ? add_damage_event(s, r) : 0;
    if (st < 0)
        return store_handle_failure(s, r, st);
    escalations_close(&s->escalations, s->dir.fd, s->w);
    if (atomic_load(&r->shared->ended) == 0) {
        if (close_killed_session(s, r->shared) < 0)
            return store_report_failure(s, r);
        store_call_test_hook("closed");
        atomic_store(&r->shared->ended, 1);
    }
    store_call_test_hook("ended");
    writer_set_lock_timeout(s->w, STORE_WAIT_US);
    if ((st = writer_remove_journal_position(s->w, s->session_id)) < 0)
        return store_handle_failure(s, r, st);
    store_call_test_hook("forgotten");
    return STORE_DONE;
}
