#include "vault/store/call_batch.h"

#include "base/search.h"
#include "vault/store/batch_table.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id" CALL_FIELDS(FIELD_NAME) ", operation_seq, result_tokens, result_binaries,"                \
                                 " result_binary_size"

/* The same rows may be inserted again, because a commit that was reported as failed may have been
 * written. */
static const char *const sql[CALL_STATEMENTS] = {
    [CALL_PUT] = "INSERT OR REPLACE INTO calls (" COLUMNS ") SELECT " COLUMNS " FROM call_batch()",
    [CALL_GET] =
        "SELECT closing_seq, direction, origin, status, t_us, operation_seq, method, target"
        " FROM calls WHERE id = ?1",
    [CALL_END] = "UPDATE calls SET closing_seq = ?2, status = ?3, error_code = ?4,"
                 " duration_us = ?5, response_size = ?6, result_tokens = ?7,"
                 " result_binaries = ?8, result_binary_size = ?9 WHERE id = ?1",
    [CALL_OWN] = "SELECT c.id & 68719476735, c.direction, c.closing_seq, m.rpc_id FROM calls c"
                 " JOIN messages m ON m.id = c.id WHERE c.id BETWEEN ?1 AND ?2"
                 " AND c.origin = 'interposer' ORDER BY c.id DESC LIMIT ?3",
    [CALL_SESSION] = "SELECT calls FROM sessions WHERE id = ?1",
};
_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 68719476735");

int call_batch_open(struct call_batch *b)
{
    *b = (struct call_batch){.late = malloc(CALL_BATCH_MAX * sizeof *b->late),
                             .kept = malloc(CALL_KEPT_MAX * sizeof *b->kept)};
    if (b->late != NULL && b->kept != NULL)
        return 0;
    call_batch_close(b);
    return MI_ENOMEM;
}

/* ---- the rows ------------------------------------------------------------------------------- */

static const char declaration[] = "CREATE TABLE call_batch (" COLUMNS ")";

static size_t call_batch_count_rows(const void *rows)
{
    const struct call_batch *b = rows;
    return b->ended_n + b->calls.n;
}

static void call_batch_return_column(const void *rows, size_t row, sqlite3_context *to, int i)
{
    const struct call_batch *b = rows;
    /* the first rows are the ended calls of earlier batches; the calls of this batch follow */
    const struct call *c =
        row < b->ended_n ? &b->kept[b->ended[row]].call : &b->calls.call[row - b->ended_n];
    if (i == 0)
        sqlite3_result_int64(to, schema_message_id(b->session_id, (uint64_t)c->seq));
    else if ((size_t)i <= fields_of_call.n)
        batch_set_result_cell(to, field_get(&fields_of_call.list[i - 1], c));
    else if ((size_t)i == fields_of_call.n + 1 && c->operation_seq != 0)
        sqlite3_result_int64(to, c->operation_seq);
    else if ((size_t)i == fields_of_call.n + 2 && c->result.tokens >= 0)
        sqlite3_result_int64(to, c->result.tokens);
    else if ((size_t)i == fields_of_call.n + 3 && c->result.binaries >= 0)
        sqlite3_result_int64(to, c->result.binaries);
    else if ((size_t)i == fields_of_call.n + 4 && c->result.binary_size >= 0)
        sqlite3_result_int64(to, c->result.binary_size);
}

int call_batch_connect(struct call_batch *b, sqlite3 *db)
{
    static const struct batch_table table = {"call_batch", declaration, call_batch_count_rows,
                                             call_batch_return_column};
    return batch_table_connect(&table, b, db);
}

void call_batch_close(struct call_batch *b)
{
    for (int i = 0; i < CALL_STATEMENTS; i++)
        sqlite3_finalize(b->q[i]);
    operation_rows_close(&b->operation_rows);
    call_set_close(&b->calls);
    free(b->operations);
    free(b->late);
    free(b->kept);
    *b = (struct call_batch){0};
}

static void call_batch_clear(struct call_batch *b)
{
    call_set_clear(&b->calls);
    b->n = b->late_n = b->ended_n = 0;
}

void call_batch_forget_session(struct call_batch *b)
{
    call_batch_clear(b);
    b->kept_n = 0;
    b->session_id = 0;
}

/* Prepares a statement, unless it is prepared already. Returns NULL after an error. */
static sqlite3_stmt *call_batch_prepare_statement(struct call_batch *b, sqlite3 *db,
                                                  enum call_statement i)
{
    if (b->q[i] == NULL &&
        sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &b->q[i], NULL) != SQLITE_OK)
        (void)failure_keep(db);
    return b->q[i];
}

/* Converts the result of the last step to a status, and resets the statement, so that it holds no
 * lock and no pointer. */
static int call_batch_finish_statement(sqlite3 *db, sqlite3_stmt *q, int rc)
{
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return st;
}

/* ---- a session ------------------------------------------------------------------------------ */

/* Reads the last requests of the proxy. The statement returns the newest first. */
static int call_batch_read_own_requests(struct call_batch *b, sqlite3 *db)
{
    struct own_request own[CALLS_OWN];
    int64_t closing[CALLS_OWN];
    size_t n = 0;
    sqlite3_stmt *q = call_batch_prepare_statement(b, db, CALL_OWN);
    if (q == NULL)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, schema_message_id(b->session_id, 0));
    sqlite3_bind_int64(q, 2, schema_message_id(b->session_id, SCHEMA_SEQ_MAX));
    sqlite3_bind_int64(q, 3, CALLS_OWN);
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW && n < CALLS_OWN) {
        struct slice id = connect_column(q, 3);
        closing[n] = sqlite3_column_int64(q, 2);
        struct own_request *o = &own[n++];
        *o = (struct own_request){
            .seq = sqlite3_column_int64(q, 0),
            .direction = value_find_by_word(&row_directions, connect_column(q, 1)),
            .id_n = id.n <= sizeof o->id ? (uint8_t)id.n : 0,
        };
        if (o->id_n > 0)
            memcpy(o->id, id.p, o->id_n);
    }
    while (n-- > 0)
        call_set_add_proxy_request(&b->calls, own[n].seq, own[n].direction,
                                   (struct slice){own[n].id, own[n].id_n}, closing[n]);
    return call_batch_finish_statement(db, q, rc);
}

void call_batch_start_session(struct call_batch *b, int64_t session_id)
{
    call_batch_clear(b);
    b->kept_n = 0;
    b->calls.own_n = 0;
    b->calls.own_last = 0;
    b->session_id = session_id;
    b->on = b->knows_own = b->knows_operations = true;
    if (b->operations != NULL)
        operations_clear(b->operations);
    b->calls.borrows = false;
}

void call_batch_continue_session(struct call_batch *b, int64_t session_id)
{
    call_batch_start_session(b, session_id);
    b->knows_own = b->knows_operations = false;
}

int call_batch_switch_to_session(struct call_batch *b, sqlite3 *db, int64_t session_id)
{
    if (b->session_id == session_id)
        return 0;
    sqlite3_stmt *q = call_batch_prepare_statement(b, db, CALL_SESSION);
    if (q == NULL)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, session_id);
    int rc = sqlite3_step(q);
    bool on = rc == SQLITE_ROW && sqlite3_column_int64(q, 0) == 1;
    if (call_batch_finish_statement(db, q, rc) < 0)
        return MI_ESTORE;
    call_batch_continue_session(b, session_id);
    b->on = on;
    b->calls.borrows = true;
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Whether a message is a request of the proxy, or the answer to such a request. Such messages are
 * rare, so the earlier requests of the proxy are read only when the first of them is added. */
static bool message_is_of_proxy_request(const struct call_message *m)
{
    return m->kind == KIND_REQUEST ? m->origin == ROW_INTERPOSER
                                   : m->request_seq == 0 && m->action == ROW_SWALLOWED;
}

/* Copies an open call, with its texts, to the element `to` of call_batch.kept, and lets the call
 * point to the texts in this element. `from` may be the same element. */
static void copy_kept_call(struct kept_call *to, const struct kept_call *from)
{
    if (to != from)
        *to = *from;
    if (to->call.method.p != NULL)
        to->call.method.p = to->text;
    if (to->call.target.p != NULL)
        to->call.target.p = to->text + to->call.method.n;
}

/* Adds an open call to the array b->kept, unless its texts are too long. If the array is full,
 * removes the older half of it first. Calls that are not in the array are read from the table
 * `calls` when they end. */
static void call_batch_remember_open_call(struct call_batch *b, const struct call *c)
{
    if (c->method.n + c->target.n > CALL_KEPT_TEXT)
        return;
    if (b->kept_n == CALL_KEPT_MAX) {
        size_t left = CALL_KEPT_MAX / 2;
        for (size_t i = 0; i < left; i++)
            copy_kept_call(&b->kept[i], &b->kept[i + CALL_KEPT_MAX - left]);
        b->kept_n = left;
    }
    struct kept_call *k = &b->kept[b->kept_n++];
    k->call = *c;
    if (c->method.n > 0)
        memcpy(k->text, c->method.p, c->method.n);
    if (c->target.n > 0)
        memcpy(k->text + c->method.n, c->target.p, c->target.n);
    copy_kept_call(k, k);
}

/* Updates the array b->kept: removes the calls that the batch has ended, and adds the calls that
 * the batch has begun and not ended. Call it after the rows were written. */
static void call_batch_keep_open_calls(struct call_batch *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->kept_n; i++) {
        if (b->kept[i].call.closing_seq != 0)
            continue;
        copy_kept_call(&b->kept[n++], &b->kept[i]);
    }
    b->kept_n = n;
    for (size_t i = 0; i < b->calls.n; i++)
        if (b->calls.call[i].closing_seq == 0)
            call_batch_remember_open_call(b, &b->calls.call[i]);
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Updates the operations of the session. call: the call that the message begins or ends; NULL if it
 * does neither. */
static int call_batch_update_operations(struct call_batch *b, sqlite3 *db,
                                        const struct call_message *m, struct call *call)
{
    if (m->link.kind == LINK_NONE && (call == NULL || call->operation_seq == 0))
        return 0;
    /* operations are read when they are first needed, because most sessions have none */
    if (b->operations == NULL && (b->operations = calloc(1, sizeof *b->operations)) == NULL)
        return MI_ENOMEM;
    int st = 0;
    if (!b->knows_operations) {
        b->knows_operations = true;
        operations_clear(b->operations);
        st = operation_rows_read(&b->operation_rows, db, b->session_id, b->operations);
    }
    if (st == 0 && operations_are_full(b->operations))
        st = operation_rows_write(&b->operation_rows, db, b->session_id, b->operations);
    if (st < 0)
        return st;
    if (m->kind == KIND_NOTIFICATION && m->link.kind != LINK_NONE && m->action == ROW_FORWARDED)
        operations_update_task_state(b->operations, m->direction, m->seq, m->t_us, &m->link);
    else if (call != NULL && call->seq == m->seq)
        operations_continue_with_request(b->operations, call, &m->link);
    else if (call != NULL)
        operations_add_ended_call(b->operations, call, &m->link);
    return 0;
}

/* ---- calls of earlier batches --------------------------------------------------------------- */

static void bind_int_or_null(sqlite3_stmt *q, int i, bool has, int64_t v)
{
    if (has)
        sqlite3_bind_int64(q, i, v);
    else
        sqlite3_bind_null(q, i);
}

/* Reads the stored call that the message ends, without its texts. *ret_found: whether there is such
 * a call. */
static int read_ended_call(struct call_batch *b, sqlite3 *db, const struct call_message *m,
                           struct call *ret, bool *ret_found)
{
    int st = 0;
    sqlite3_stmt *q = call_batch_prepare_statement(b, db, CALL_GET);
    if (q == NULL)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, schema_message_id(b->session_id, (uint64_t)m->request_seq));
    int rc = sqlite3_step(q);
    *ret_found = rc == SQLITE_ROW;
    *ret = (struct call){.seq = m->request_seq, .response_size = -1, .result = CONTEXT_NO_RESULT};
    if (rc == SQLITE_ROW) {
        ret->closing_seq = sqlite3_column_int64(q, 0);
        ret->direction = value_find_by_word(&row_directions, connect_column(q, 1));
        ret->origin = value_find_by_word(&row_origins, connect_column(q, 2));
        ret->status = value_find_by_word(&call_statuses, connect_column(q, 3));
        ret->t_us = connect_time(q, 4);
        ret->operation_seq = sqlite3_column_int64(q, 5);
        ret->method = connect_column(q, 6);
        ret->target = connect_column(q, 7);
        if (message_ends_call(ret, m)) {
            call_end_by_message(ret, m);
            st = call_batch_update_operations(b, db, m, ret);
        } else {
            *ret_found = false;
        }
        ret->method = ret->target = (struct slice){0};
    }
    int ended = call_batch_finish_statement(db, q, rc);
    return st < 0 ? st : ended;
}

static int update_row_of_ended_call(struct call_batch *b, sqlite3 *db, const struct call_message *m)
{
    struct call c;
    bool found;
    if (m->request_seq < 0 || m->request_seq > SCHEMA_SEQ_MAX)
        return 0;
    int st = read_ended_call(b, db, m, &c, &found);
    if (st < 0 || !found)
        return st;
    sqlite3_stmt *q = call_batch_prepare_statement(b, db, CALL_END);
    if (q == NULL)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, schema_message_id(b->session_id, (uint64_t)c.seq));
    sqlite3_bind_int64(q, 2, c.closing_seq);
    sqlite3_bind_text(q, 3, call_status_name(c.status), -1, SQLITE_STATIC);
    bind_int_or_null(q, 4, c.has_error_code, c.error_code);
    sqlite3_bind_int64(q, 5, c.duration_us);
    bind_int_or_null(q, 6, c.response_size >= 0, c.response_size);
    bind_int_or_null(q, 7, c.result.tokens >= 0, c.result.tokens);
    bind_int_or_null(q, 8, c.result.binaries >= 0, c.result.binaries);
    bind_int_or_null(q, 9, c.result.binary_size >= 0, c.result.binary_size);
    return call_batch_finish_statement(db, q, sqlite3_step(q));
}

/* ---- a message ------------------------------------------------------------------------------ */

int call_batch_add_message(struct call_batch *b, sqlite3 *db, const struct call_message *m)
{
    struct call *call;
    int64_t seq;
    if (!b->on)
        return 0;
    if (!b->knows_own && message_is_of_proxy_request(m)) {
        if (call_batch_read_own_requests(b, db) < 0)
            return MI_ESTORE;
        b->knows_own = true;
    }
    int step = call_set_add_message(&b->calls, m, &call, &seq);
    if (step < 0)
        return step;
    b->n++;
    if (step != CALLS_ELSEWHERE)
        return call_batch_update_operations(b, db, m, call);
    size_t at = SEARCH_INT64(b->kept, b->kept_n, call.seq, seq);
    if (at < b->kept_n && b->kept[at].call.seq == seq) {
        struct kept_call *kept = &b->kept[at];
        if (message_ends_call(&kept->call, m)) {
            call_end_by_message(&kept->call, m);
            b->ended[b->ended_n++] = (uint16_t)at;
            return call_batch_update_operations(b, db, m, &kept->call);
        }
        return 0;
    }
    struct call_message *late = &b->late[b->late_n];
    *late = *m;
    late->request_seq = seq;
    late->result = call_message_measure_result(m);
    late->body = (struct slice){0};
    late->read = NULL;
    /* update the row now: the call is part of an operation, which a later message may continue */
    if (m->link.kind != LINK_NONE)
        return update_row_of_ended_call(b, db, late);
    if (call_set_intern_text(&b->calls, &late->finding) < 0)
        return MI_ENOMEM;
    b->late_n++;
    return 0;
}

int call_batch_flush(struct call_batch *b, sqlite3 *db)
{
    int st = 0;
    if (call_batch_count_rows(b) > 0) {
        sqlite3_stmt *q = call_batch_prepare_statement(b, db, CALL_PUT);
        st = q != NULL ? call_batch_finish_statement(db, q, sqlite3_step(q)) : MI_ESTORE;
    }
    for (size_t i = 0; st == 0 && i < b->late_n; i++)
        st = update_row_of_ended_call(b, db, &b->late[i]);
    if (st == 0 && b->operations != NULL)
        st = operation_rows_write(&b->operation_rows, db, b->session_id, b->operations);
    call_batch_keep_open_calls(b);
    call_batch_clear(b);
    return st;
}

struct call_message call_message_read_from_row(sqlite3_stmt *st)
{
    struct rpc body;
    struct link link = {0};
    if (sqlite3_column_type(st, 13) == SQLITE_TEXT && rpc_read(connect_column(st, 13), &body) == 0)
        link = link_read_from_message(&body);
    return (struct call_message){
        .link = link,
        .seq = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 1),
        .size = sqlite3_column_int64(st, 2),
        .request_seq = sqlite3_column_int64(st, 3),
        .has_error_code = sqlite3_column_type(st, 4) != SQLITE_NULL,
        .error_code = sqlite3_column_int64(st, 4),
        .direction = value_find_by_word(&row_directions, connect_column(st, 5)),
        .origin = value_find_by_word(&row_origins, connect_column(st, 6)),
        .kind = value_find_by_word(&row_kinds, connect_column(st, 7)),
        .action = value_find_by_word(&row_actions, connect_column(st, 8)),
        .method = connect_column(st, 9),
        .target = connect_column(st, 10),
        .rpc_id = connect_column(st, 11),
        .finding = connect_column(st, 12),
        .body = connect_column(st, 14),
        .result = CONTEXT_NO_RESULT,
    };
}
