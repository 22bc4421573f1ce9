/* writer_session.c - writes the rows of a session in `sessions`, `running` and `journals`, and
 * reads the target of a stored message. */
#include "vault/store/commitment.h"
#include "vault/store/db.h"
#include "vault/store/ledger.h"
#include "vault/store/schema.h"
#include "vault/store/writer_state.h"

#include "base/text.h"
#include "redact/sanitizer.h"

#include <stdio.h>

static void bind_count_or_null(sqlite3_stmt *q, int i, uint64_t n)
{
    if (n != 0)
        sqlite3_bind_int64(q, i, (int64_t)n);
    else
        sqlite3_bind_null(q, i);
}

#define CLEAN_TEXTS 3

/* Sanitizes the texts of the session *n that people or peers have chosen. Afterwards, its name,
 * directory and tool rule are in the buffers `text`. */
static int sanitize_session(struct writer *s, struct session_record *n,
                            struct buf text[CLEAN_TEXTS])
{
    struct slice *const clean[CLEAN_TEXTS] = {&n->name, &n->cwd, &n->tools_rule};
    int st = sanitize_json(&s->sanitizer, n->command, &n->command);
    for (size_t i = 0; st == 0 && i < CLEAN_TEXTS; i++) {
        if (clean[i]->p == NULL)
            continue;
        st = redact_append_sanitized_text(
            i > 0 ? redact_shorten_name(*clean[i], STORED_NAME_MAX) : *clean[i], &text[i]);
        *clean[i] = buf_slice(&text[i]);
    }
    return st;
}

static struct slice truncate_at_nul(struct slice text)
{
    return (struct slice){text.p, text.p != NULL ? strnlen(text.p, text.n) : 0};
}

#define CUT(name, type, ...) FIELD_EITHER(FIELD_NUMBER_##type, , n.name = truncate_at_nul(n.name);)
#define BIND_BEGUN(name, type, null, since, evidence, cassette, store, json, journal)              \
    FIELD_EITHER(                                                                                  \
        FIELD_UPDATE_##journal, ,                                                                  \
        FIELD_EITHER(FIELD_NUMBER_##type, sqlite3_bind_int64, connect_bind)(q, at++, n.name);)

/* Reports that no session id is left: with a greater id, the ids of the session's messages would
 * not fit. No vault has so many sessions, so another program must have written a row with the
 * greatest id. */
static int writer_fail_no_session_id(struct writer *s)
{
    s->rc = SQLITE_CONSTRAINT;
    snprintf(s->error, sizeof s->error,
             "no id is left for a session: a row of the tables `sessions` or `calls` has the id of "
             "session %lld, the last one; remove it, or choose another vault with --vault",
             (long long)SCHEMA_SESSION_MAX);
    return MI_ESTORE;
}

static int writer_add_session_row(struct writer *s, const struct session_record *session,
                                  int64_t *ret_id)
{
    sqlite3_stmt *q = s->q[Q_SESSION];
    struct session_record n = *session;
    struct salt salt;
    struct buf text[CLEAN_TEXTS] = {{0}};
    int64_t last;
    int at = 3;
    if (writer_take_lock(s) < 0)
        return MI_ESTORE;
    int read = ledger_find_last_session_id(s->db, &last);
    if (read < 0)
        return read == MI_ENOMEM ? writer_fail_no_memory(s) : writer_fail_sql(s);
    if (salts_take_next_salt(&s->coverage.salts, &salt) < 0)
        return writer_mark_coverage_failed(s, MI_EIO);
    SESSION_FIELDS(CUT)
    n.interposer_version = slice_of(MI_VERSION);
    if (sanitize_session(s, &n, text) < 0) {
        for (size_t i = 0; i < CLEAN_TEXTS; i++)
            buf_close(&text[i]);
        return writer_fail_no_memory(s);
    }
    sqlite3_bind_int64(q, 1, last);
    connect_bind_blob(q, 2, commitment_get_salt_bytes(&salt));
    SESSION_FIELDS(BIND_BEGUN)
    sqlite3_set_last_insert_rowid(s->db, 0);
    int rc = sqlite3_step(q);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    for (size_t i = 0; i < CLEAN_TEXTS; i++)
        buf_close(&text[i]);
    if (st == 0 && (id < 1 || id > SCHEMA_SESSION_MAX))
        st = writer_fail_no_session_id(s);
    /* A removed session may have had this id, even if the log does not say so. Remove the journal
     * position of that session, so that the new session does not use it. */
    bool is_new = sqlite3_last_insert_rowid(s->db) == id;
    if (st == 0 && is_new)
        st = writer_remove_journal_position(s, id);
    if (st == 0 && is_new && (st = coverage_open(&s->coverage, s->db, id)) < 0)
        st = writer_mark_coverage_failed(s, st);
    if (st == 0)
        *ret_id = id;
    return st;
}

int writer_add_session(struct writer *s, const struct session_record *n, int64_t *ret_id)
{
    bool own;
    int st = writer_begin_unlocked_transaction(s, &own);
    if (st == 0)
        st = writer_add_session_row(s, n, ret_id);
    return writer_end_unlocked_transaction(s, own, st);
}

static int writer_update_session_row(struct writer *s, int64_t id, const struct session_update *u)
{
    struct buf text[FIELDS_OF_UPDATE] = {{0}};
    sqlite3_stmt *q = s->q[Q_UPDATE];
    int st = 0;
    for (int i = 0; i < FIELDS_OF_UPDATE; i++) {
        struct cell c = field_get(&fields_of_update.list[i], u);
        if (c.type == CELL_TEXT && st == 0) {
            st = redact_append_sanitized_text(c.text, &text[i]);
            c.text = buf_slice(&text[i]);
        }
        db_bind(q, 1 + i, &c, 1);
    }
    sqlite3_bind_int64(q, 1 + FIELDS_OF_UPDATE, id);
    st = st < 0 ? writer_fail_no_memory(s) : writer_run_query(s, Q_UPDATE);
    sqlite3_clear_bindings(q);
    for (size_t i = 0; i < FIELDS_OF_UPDATE; i++)
        buf_close(&text[i]);
    if (st == 0 && (u->ended_at_us != 0 || s->coverage.ended)) {
        st = writer_switch_coverage_session(s, id);
        if (st == 0 && (st = coverage_mark_session_changed(&s->coverage, s->db)) < 0)
            st = writer_mark_coverage_failed(s, st);
    }
    return st;
}

int writer_update_session(struct writer *s, int64_t id, const struct session_update *u)
{
    bool own;
    int st = writer_begin_unlocked_transaction(s, &own);
    if (st == 0)
        st = writer_update_session_row(s, id, u);
    return writer_end_unlocked_transaction(s, own, st);
}

#define BIND_BOOT(name) connect_bind(q, at++, slice_of(r->name));
#define BIND_NUMBER(name) bind_count_or_null(q, at++, (uint64_t)r->name);
#define BIND_PID(name) bind_count_or_null(q, at++, (uint64_t)r->name);
#define BIND_TICKS(name) bind_count_or_null(q, at++, r->name);
#define BIND(name, type, null) BIND_##type(name)

int writer_store_running_row(struct writer *s, int64_t session_id, const struct running *r)
{
    enum writer_query i = r != NULL ? Q_RUNNING : Q_ENDED;
    sqlite3_stmt *q = s->q[i];
    sqlite3_bind_int64(q, 1, session_id);
    if (r != NULL) {
        int at = 2;
        RUNNING_FIELDS(BIND)
    }
    int st = writer_run_query(s, i);
    sqlite3_clear_bindings(q);
    return st;
}

int writer_store_journal_position(struct writer *s, int64_t session_id, uint64_t position)
{
    sqlite3_stmt *q = s->q[Q_POSITION];
    int st = writer_take_lock(s);
    if (st == 0)
        st = writer_switch_coverage_session(s, session_id);
    if (st < 0)
        return st;
    sqlite3_bind_int64(q, 1, session_id);
    sqlite3_bind_int64(q, 2, (int64_t)position);
    if ((st = coverage_bind_columns(&s->coverage, q, 3)) < 0)
        return writer_mark_coverage_failed(s, st);
    return writer_run_query(s, Q_POSITION);
}

int writer_read_journal_position(struct writer *s, int64_t session_id, uint64_t *ret)
{
    sqlite3_stmt *q = s->q[Q_POSITION_READ];
    if (writer_take_lock(s) < 0)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, session_id);
    int rc = sqlite3_step(q);
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    if (st == 0)
        *ret = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
    sqlite3_reset(q);
    return st;
}

int writer_remove_journal_position(struct writer *s, int64_t session_id)
{
    sqlite3_bind_int64(s->q[Q_POSITION_REMOVE], 1, session_id);
    return writer_run_query(s, Q_POSITION_REMOVE);
}

void writer_append_message_target(struct writer *s, int64_t session_id, uint64_t seq, struct buf *b)
{
    struct buf json = {0};
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT target FROM messages WHERE id = ?1", -1, &q, NULL) !=
        SQLITE_OK)
        return;
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, seq));
    if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) == SQLITE_TEXT) {
        text_append_json(&json, slice_of((const char *)sqlite3_column_text(q, 0)));
        if (!json.failed)
            buf_add(b, json.p + 1, json.n - 2);
    }
    sqlite3_finalize(q);
    buf_close(&json);
}
