#include "vault/store/call_fill.h"

#include "vault/store/failure.h"
#include "vault/store/schema.h"
#include "vault/store/writer_state.h"

/* Selects the newest session whose calls are not in the table yet. */
#define NEXT                                                                                       \
    "SELECT id FROM sessions WHERE calls IS NOT 1 AND ended_at_us IS NOT NULL ORDER BY id DESC "   \
    "LIMIT 1"
/* Selects the last message and the last call of a session, if calls may be added to the session. */
#define STATE                                                                                      \
    "SELECT (SELECT max(id) FROM messages WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + "             \
    "68719476735),"                                                                                \
    " (SELECT max(id) FROM calls WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735)"          \
    " FROM sessions WHERE id = ?1 AND calls IS NOT 1 AND ended_at_us IS NOT NULL"
/* Selects the last message that one step reads. A step reads the first ?3 messages with ids from ?1
 * to ?2. */
#define STEP                                                                                       \
    "SELECT max(id) FROM (SELECT id FROM messages WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT "   \
    "?3)"
/* Marks a session whose calls are all in the table. */
#define DONE "UPDATE sessions SET calls = 1 WHERE id = ?1"
_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

/* Reads at most two columns of the first row, which are ids, and converts them to seqs. arg: one
 * value for each parameter of the statement. MI_ENOENT: there is no row. */
static int read_seqs_of_first_row(sqlite3 *db, const char *sql, const int64_t *arg, int64_t *ret)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        return failure_keep(db);
    for (int i = 0; i < sqlite3_bind_parameter_count(q); i++)
        sqlite3_bind_int64(q, i + 1, arg[i]);
    int rc = sqlite3_step(q);
    for (int i = 0; i < sqlite3_column_count(q) && rc == SQLITE_ROW; i++)
        ret[i] = sqlite3_column_int64(q, i) & SCHEMA_SEQ_MAX;
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? MI_ENOENT : failure_keep(db);
}

/* Adds the calls that follow from the messages after seq f->after, up to seq `to`. */
static int call_fill_add_calls(struct call_fill *f, struct call_batch *b, sqlite3 *db, int64_t to)
{
    sqlite3_stmt *q = NULL;
    const char *sql = f->may_link != 0 ? CALL_MESSAGES("1") : CALL_MESSAGES("0");
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        return failure_keep(db);
    sqlite3_bind_int64(q, 1, schema_message_id(f->session_id, (uint64_t)f->after + 1));
    sqlite3_bind_int64(q, 2, schema_message_id(f->session_id, (uint64_t)to));
    int rc = SQLITE_DONE, st = 0;
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct call_message m = call_message_read_from_row(q);
        st = call_batch_add_message(b, db, &m);
        if (st == 0 && call_batch_is_full(b))
            st = call_batch_flush(b, db);
    }
    sqlite3_finalize(q);
    if (st == 0 && rc != SQLITE_DONE)
        st = failure_keep(db);
    return st == 0 ? call_batch_flush(b, db) : st;
}

/* Runs one step within an open transaction. */
static int call_fill_run_step(struct call_fill *f, struct writer *w)
{
    int64_t id = f->session_id, state[2], step[2];
    int st = read_seqs_of_first_row(w->db, STATE, &id, state);
    if (st == MI_ENOENT) { /* another process has removed the session, or has added its calls */
        f->session_id = 0;
        return 0;
    }
    f->after = state[1] > f->after ? state[1] : f->after;
    if (st == 0 && f->may_link < 0)
        st = read_seqs_of_first_row(w->db, CALL_MAY_LINK, &id, &f->may_link);
    if (st == 0)
        st = read_seqs_of_first_row(w->db, STEP,
                                    (const int64_t[]){schema_message_id(id, (uint64_t)f->after + 1),
                                                      schema_message_id(id, SCHEMA_SEQ_MAX),
                                                      CALL_FILL_MESSAGES},
                                    step);
    if (st < 0)
        return st;
    call_batch_continue_session(&w->calls, id);
    st = call_fill_add_calls(f, &w->calls, w->db, step[0]);
    /* forget the calls of this session, because the writer records another session */
    call_batch_forget_session(&w->calls);
    f->after = step[0] > f->after ? step[0] : f->after;
    if (st == 0 && f->after >= state[0]) {
        int64_t none;
        int rc = connect_read_number(w->db, DONE, id, &none);
        st = rc == SQLITE_DONE ? 0 : failure_keep(w->db);
        f->session_id = 0;
    }
    return st;
}

int call_fill_add_next_rows(struct call_fill *f, struct writer *w, int64_t wait_us, bool *ret_more)
{
    *ret_more = true;
    if (f->session_id == 0) {
        int rc = connect_read_number(w->db, NEXT, 0, &f->session_id);
        f->after = 0;
        f->may_link = -1;
        *ret_more = rc != SQLITE_DONE;
        if (rc == SQLITE_DONE)
            return 0;
        if (rc != SQLITE_OK) {
            f->session_id = 0;
            return writer_fail_sql(w);
        }
    }
    int st = writer_begin(w, wait_us);
    if (st < 0)
        return st;
    st = call_fill_run_step(f, w);
    st = st < 0 ? writer_mark_coverage_failed(w, st) : writer_commit(w);
    if (st < 0) {
        writer_rollback(w);
        *f = (struct call_fill){0};
    }
    return st;
}
