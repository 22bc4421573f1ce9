#include "vault/query/call_rows.h"

#include "base/clock.h"
#include "base/grow.h"
#include "vault/query/connection.h"
#include "vault/query/statements.h"
#include "vault/store/call_batch.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- calls that are not in the table ---- */

/* Creates temporary tables. temp.calls hides main.calls, so vault/store/call_batch writes to
 * temp.calls. */
static int create_derived_tables(struct db *d)
{
    struct buf sql = {0};
    buf_printf(&sql,
               "PRAGMA temp.journal_mode = MEMORY;"
               "CREATE TEMP TABLE IF NOT EXISTS calls %s"
               "CREATE TEMP TABLE IF NOT EXISTS operations %s"
               "CREATE TEMP TABLE IF NOT EXISTS derived (session_id INTEGER PRIMARY KEY,"
               " last_seq INTEGER)",
               schema_calls + strlen(SCHEMA_CALLS_NAME),
               schema_operations + strlen(SCHEMA_OPERATIONS_NAME));
    int st = sql.failed ? MI_ENOMEM : db_exec(d, buf_str(&sql));
    buf_close(&sql);
    return st;
}

/* Writes the derived calls in one transaction. May be called while messages are being read. */
static int call_rows_flush(struct query *q)
{
    int st = db_run_statement(&q->d, Q_DERIVE_BEGIN, NULL, 0);
    if (st == 0 && (st = call_batch_flush(q->derived, q->d.db)) == MI_ESTORE)
        st = db_fail(&q->d);
    return st == 0 ? db_run_statement(&q->d, Q_DERIVE_END, NULL, 0) : st;
}

static int call_rows_on_message(void *ctx, sqlite3_stmt *st)
{
    struct query *q = ctx;
    struct call_message m = call_message_read_from_row(st);
    int status = call_batch_add_message(q->derived, q->d.db, &m);
    if (status == MI_ESTORE)
        return db_fail(&q->d);
    return status == 0 && call_batch_is_full(q->derived) ? call_rows_flush(q) : status;
}

/* Derives the calls of a session, unless they were derived and no message was added since then. */
static int derive_session_calls(struct query *q, int64_t id)
{
    struct query_range in = {id, 0, INT64_MAX, false};
    int64_t last, t_us, may_link = 0, done = -1;
    int st = query_last_message(q, id, &last, &t_us);
    if (st == 0)
        st = query_read_number(q, Q_DERIVED, id, &done);
    if (st < 0 || (done == last && last > 0))
        return st;
    st = db_run_statement(&q->d, Q_DERIVE_AGAIN, DB_WITH(db_int(id)));
    if (st == 0)
        st = db_run_statement(&q->d, Q_DERIVE_AGAIN_OPERATIONS, DB_WITH(db_int(id)));
    call_batch_start_session(q->derived, id);
    if (st == 0)
        st = query_read_number(q, Q_CALL_MAY_LINK, id, &may_link);
    if (st == 0)
        st = query_scan_rows(q, may_link != 0 ? Q_CALL_MESSAGES_LINKED : Q_CALL_MESSAGES, NULL, &in,
                             call_rows_on_message, q);
    if (st == 0)
        st = call_rows_flush(q);
    return st == 0 ? db_run_statement(&q->d, Q_DERIVE_DONE, DB_WITH(db_int(id), db_int(last))) : st;
}

struct id_list {
    int64_t *id; /* owned */
    size_t n, cap;
};

static int derive_calls_of_sessions(struct query *q, const struct id_list *list)
{
    int st = q->derived == NULL ? create_derived_tables(&q->d) : 0;
    if (st == 0 && q->derived == NULL) {
        q->derived = calloc(1, sizeof *q->derived);
        st = q->derived != NULL ? call_batch_open(q->derived) : MI_ENOMEM;
        if (st == 0 && call_batch_connect(q->derived, q->d.db) != SQLITE_OK)
            st = db_fail(&q->d);
    }
    for (size_t i = 0; st == 0 && i < list->n; i++)
        st = derive_session_calls(q, list->id[i]);
    if (st < 0)
        query_free_derived_calls(q);
    if (st < 0 && !sqlite3_get_autocommit(q->d.db))
        (void)sqlite3_exec(q->d.db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

/* ---- the statement ---- */

/* Lists the sessions that match the filter and have no rows in the table. */
static int find_sessions_without_call_rows(struct query *q, const struct where *w,
                                           struct id_list *list)
{
    struct buf sql = {0};
    sqlite3_stmt *st = NULL;
    buf_adds(&sql, "SELECT s.id FROM sessions s WHERE 1");
    buf_adds(&sql, q->has_calls ? " AND s.calls IS NOT 1" : "");
    buf_slice_add(&sql, buf_slice(&w->sql));
    int rc = SQLITE_DONE, status = sql.failed ? MI_ENOMEM : 0;
    if (status == 0)
        status = db_begin_query_text(&q->d, buf_str(&sql), &st, NULL, 0);
    if (status == 0)
        db_bind(st, WHERE_FIRST, w->value, w->n);
    while (status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        status = GROW(list->id, list->n, list->cap) ? 0 : MI_ENOMEM;
        if (status == 0)
            list->id[list->n++] = sqlite3_column_int64(st, 0);
    }
    int ended = db_finish_statement(&q->d, st, rc);
    buf_close(&sql);
    return status < 0 ? status : ended;
}

static const char *const sort_keys[] = {
    [CALLS_UNSORTED] = "",
    [CALLS_SLOWEST] = ", c.duration_us AS sort_key",
    [CALLS_LARGEST] = ", c.request_size + ifnull(c.response_size, 0) AS sort_key",
};

/* SQL values for columns that the tables of older versions lack. */
#define NO_BINARIES "NULL AS result_binaries, NULL AS result_binary_size"

/* Adds the table `calls` of a schema (`main` or `temp`) to the SQL statement, under the name `c`.
 * If x->operations is set, `c` also has the columns of operations, and answer_seq is the seq of the
 * answer to the first request. If has_operations is true and x->several is set as well, the
 * statement starts from the table `operations`, because that table has few rows. */
static void add_calls_table(struct buf *sql, const struct call_question *x, const char *schema,
                            bool has_operations, bool has_binaries)
{
    if (!x->operations)
        buf_printf(sql, has_binaries ? "%s.calls c" : "(SELECT *, " NO_BINARIES " FROM %s.calls) c",
                   schema);
    else if (!has_operations)
        buf_printf(sql,
                   "(SELECT *, closing_seq AS answer_seq, 1 AS requests, 0 AS asked,"
                   " duration_us AS server_us, 0 AS person_us, 0 AS several FROM %s.calls) c",
                   schema);
    else
        buf_printf(
            sql,
            "(SELECT %s.id, b.direction, b.origin, b.method, b.target, b.t_us, b.request_size,"
            " b.response_size, b.operation_seq, b.result_tokens, b.closing_seq AS answer_seq,"
            " CASE WHEN o.id THEN o.closing_seq ELSE b.closing_seq END AS closing_seq,"
            " CASE WHEN o.id THEN o.status ELSE b.status END AS status,"
            " CASE WHEN o.id THEN o.error_code ELSE b.error_code END AS error_code,"
            " CASE WHEN o.id THEN o.duration_us ELSE b.duration_us END AS duration_us,"
            " ifnull(o.requests, 1) AS requests, ifnull(o.asked, 0) AS asked,"
            " ifnull(o.server_us, b.duration_us) AS server_us,"
            " ifnull(o.person_us, 0) AS person_us, o.id IS NOT NULL AS several FROM"
            " %s.%s %s JOIN %s.%s ON o.id = b.id WHERE b.operation_seq IS NULL) c",
            x->several ? "o" : "b", schema, x->several ? "operations o" : "calls b",
            x->several ? "CROSS" : "LEFT", schema, x->several ? "calls b" : "operations o");
}

/* Adds the SELECT that reads calls. derived: reads the temporary table instead of the table
 * `calls`. With newest_first, the join starts from the calls, so it can stop early; but in the
 * range of ids, it also reads the calls of sessions that do not match. Otherwise the join starts
 * from the sessions, and reads only calls of sessions that match. */
static void append_select_of_calls(struct buf *sql, const struct query *q,
                                   const struct call_question *x, const char *columns,
                                   const struct where *sessions, const struct where *w,
                                   bool derived)
{
    const char *schema = derived ? "temp" : "main";
    struct slice some = buf_slice(&sessions->sql);
    buf_printf(sql, "SELECT %s%s FROM ", columns, sort_keys[x->sort]);
    buf_adds(sql, x->newest_first ? "" : "sessions s CROSS JOIN ");
    add_calls_table(sql, x, schema, derived ? q->has_derived_operations : q->has_operations,
                    derived || q->has_binaries);
    if (x->newest_first)
        buf_printf(sql,
                   " CROSS JOIN sessions s ON s.id = c.id >> 36 WHERE c.id BETWEEN"
                   " max((SELECT min(s.id) FROM sessions s WHERE 1%.*s) << 36, ?7) AND"
                   " min(((SELECT max(s.id) FROM sessions s WHERE 1%.*s) << 36) + 68719476735, ?8)",
                   (int)some.n, some.p, (int)some.n, some.p);
    else
        buf_adds(sql, " ON c.id BETWEEN max(s.id << 36, ?7) AND min((s.id << 36) + 68719476735, ?8)"
                      " WHERE 1");
    if (q->has_calls)
        buf_adds(sql, derived ? " AND s.calls IS NOT 1" : " AND s.calls = 1");
    buf_slice_add(sql, buf_slice(&w->sql));
    buf_adds(sql, x->side == CALLS_OF_CLIENT ? " AND c.direction = 'c2s'" : "");
    buf_adds(sql, x->side != CALLS_OF_ALL ? " AND c.origin = 'peer'" : "");
    buf_adds(sql, x->recorded ? " AND s.pid <> 0" : "");
    buf_adds(sql, x->not_sent ? " AND NOT @sent" : "");
    if (x->several)
        buf_adds(sql, x->operations ? " AND c.several" : " AND c.operation_seq IS NOT NULL");
}

static void make_calls_sql(struct buf *sql, const struct query *q, const struct call_question *x,
                           const char *columns, const struct where *sessions, const struct where *w,
                           bool derived)
{
    if (q->has_calls)
        append_select_of_calls(sql, q, x, columns, sessions, w, false);
    if (q->has_calls && derived)
        buf_adds(sql, " UNION ALL ");
    if (derived || !q->has_calls)
        append_select_of_calls(sql, q, x, columns, sessions, w, true);
    buf_adds(sql, x->newest_first ? " ORDER BY 1 DESC" : "");
    if (x->sort != CALLS_UNSORTED)
        buf_printf(sql, " ORDER BY sort_key DESC, 1 DESC LIMIT %lld OFFSET %lld",
                   (long long)x->limit, (long long)x->skip);
}

/* number of calls that are counted between two checks of the time and of goes_on() */
#define COUNTED_AT_ONCE 4096

static bool call_rows_should_continue(const struct call_question *x)
{
    return x->goes_on == NULL || x->goes_on(x->ctx);
}

static int call_rows_run_query(struct query *q, const char *sql, const struct where *w,
                               const struct call_question *x, query_row_fn fn, void *ctx)
{
    sqlite3_stmt *st;
    int rc = SQLITE_DONE, status = db_begin_query_text(&q->d, sql, &st, NULL, 0);
    if (status < 0)
        return status;
    db_bind(st, 7, DB_WITH(db_int(x->from), db_int(x->up_to != 0 ? x->up_to : INT64_MAX)));
    db_bind(st, WHERE_FIRST, w->value, w->n);
    for (int64_t n = 1; status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW; n++)
        status = n % COUNTED_AT_ONCE == 0 && !call_rows_should_continue(x) ? 1 : fn(ctx, st);
    int ended = db_finish_statement(&q->d, st, rc);
    return status != 0 ? status : ended;
}

/* Most vaults have no operations. Then the statements do not join the table `operations`. */
int call_rows_check_operations(struct query *q, bool *ret)
{
    int64_t one;
    bool has = false;
    int st = q->remote == NULL ? db_has_table(&q->d, "operations", &has) : 0;
    if (st == 0 && has) {
        st = db_read_number(&q->d, Q_HAS_OPERATIONS, &one, NULL, 0);
        has = st == 0;
        st = st == MI_ENOENT ? 0 : st;
    }
    q->has_operations = has;
    q->has_derived_operations = false;
    if (st == 0 && q->derived != NULL) {
        st = db_read_number(&q->d, Q_HAS_DERIVED_OPERATIONS, &one, NULL, 0);
        q->has_derived_operations = st == 0;
        st = st == MI_ENOENT ? 0 : st;
    }
    *ret = has || q->has_derived_operations;
    return st;
}

/* Derives the calls of sessions that have no rows in the table `calls`; *missing lists these
 * sessions. If a writer starts meanwhile, the query connects again and loses the temporary table:
 * then the calls are derived again. */
static int derive_missing_calls(struct query *q, const struct filter *f, struct id_list *missing)
{
    struct where w = {0};
    int64_t connection;
    int st;
    do {
        missing->n = 0;
        st = query_reopen_if_outdated(q);
        connection = q->d.connections;
        if (st == 0) {
            /* A store has the calls of all sessions. Read the version of a vault each time: a
             * writer may have upgraded the vault. */
            int64_t version = SCHEMA_CALLS;
            st = q->remote == NULL ? db_read_number(&q->d, Q_SCHEMA, &version, NULL, 0) : 0;
            q->has_calls = version >= SCHEMA_CALLS;
            q->has_binaries = q->remote == NULL && version >= SCHEMA_BINARIES;
        }
        w.has_cwd = q->has_calls;
        where_add_session_conditions(&w, f, FILTER_HOLDS);
        if (st == 0 && q->remote == NULL)
            st = w.sql.failed ? MI_ENOMEM : find_sessions_without_call_rows(q, &w, missing);
        where_clause_close(&w);
        if (st == 0 && missing->n > 0) {
            st = derive_calls_of_sessions(q, missing);
            /* SQLite cannot create the temporary file, or its disk is full, as in a container: use
             * memory instead. */
            if (st == MI_ESTORE &&
                sqlite3_exec(q->d.db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) == SQLITE_OK)
                st = derive_calls_of_sessions(q, missing);
        }
        int again = st == 0 || st == MI_ESTORE ? query_reopen_if_outdated(q) : st;
        st = again < 0 ? again : st;
    } while ((st == 0 || st == MI_ESTORE) && connection != q->d.connections);
    return st;
}

int call_rows_prepare(struct query *q, const struct filter *f)
{
    struct id_list missing = {0};
    int st = derive_missing_calls(q, f, &missing);
    free(missing.id);
    return st;
}

int call_rows_read(struct query *q, const struct call_question *x, const char *columns,
                   query_row_fn fn, void *ctx)
{
    struct buf sql = {0};
    struct id_list missing = {0};
    bool several = false;
    if (!call_rows_should_continue(x))
        return 0;
    int st = derive_missing_calls(q, x->filter, &missing);
    if (st == 0 && (x->operations || x->several))
        st = call_rows_check_operations(q, &several);
    bool none = x->several && !several;
    struct where sessions = {.has_cwd = q->has_calls}, w = {.has_cwd = q->has_calls};
    where_add_session_conditions(&sessions, x->filter, FILTER_HOLDS);
    where_add_session_conditions(&w, x->filter, FILTER_HOLDS);
    struct filter calls = *x->filter;
    if (x->any_time) {
        calls.since_us = INT64_MIN;
        calls.until_us = INT64_MAX;
    }
    where_add_call_conditions(&w, &calls);
    if (st == 0 && !none && (q->has_calls || missing.n > 0)) {
        const char *at = x->around != NULL ? strstr(x->around, "@calls") : NULL;
        if (at != NULL)
            buf_printf(&sql, "%.*s(", (int)(at - x->around), x->around);
        make_calls_sql(&sql, q, x, columns, &sessions, &w, missing.n > 0);
        if (at != NULL)
            buf_printf(&sql, ")%s", at + strlen("@calls"));
        bool failed = sql.failed || w.sql.failed || sessions.sql.failed;
        st = failed ? MI_ENOMEM : call_rows_run_query(q, buf_str(&sql), &w, x, fn, ctx);
    }
    free(missing.id);
    buf_close(&sql);
    where_clause_close(&w);
    where_clause_close(&sessions);
    return st < 0 ? st : 0;
}

/* Does nothing, because the SQL function each() has already passed the row to the callback. */
static int call_rows_ignore_row(void *ctx, sqlite3_stmt *st)
{
    (void)ctx, (void)st;
    return 0;
}

int call_rows_read_with_callback(struct query *q, const struct call_question *x,
                                 const char *columns, each_fn fn, void *ctx)
{
    struct buf each = {0};
    buf_printf(&each, "each(%s)", columns);
    q->each = (struct each){.fn = fn, .ctx = ctx};
    int st =
        each.failed ? MI_ENOMEM : call_rows_read(q, x, buf_str(&each), call_rows_ignore_row, NULL);
    buf_close(&each);
    return q->each.status < 0 ? q->each.status : st;
}

/* ---- calls as they are shown ---- */

#define NAME(name, ...) ", c." #name
#define COLUMNS "c.id" CALL_FIELDS(NAME) ", s.started_at_us, s.name"
#define OF_OPERATION ", c.requests, c.asked, c.server_us, c.person_us, 0"
#define OF_REQUEST ", 1, 0, c.duration_us, 0, c.operation_seq"

struct passing_on {
    query_call_fn fn;
    void *ctx;
};

static int call_rows_on_row(void *ctx, sqlite3_stmt *st)
{
    struct passing_on *p = ctx;
    struct query_call c;
    int i = query_read_record_fields(&fields_of_call, st, 1, QUERY_WITHOUT_BODY, &c);
    c.session_id = sqlite3_column_int64(st, 0) >> SCHEMA_SEQ_BITS;
    c.request_seq = sqlite3_column_int64(st, 0) & SCHEMA_SEQ_MAX;
    c.started_at_us = connect_time(st, i) + c.t_us;
    c.server = connect_column(st, i + 1);
    c.requests = sqlite3_column_int64(st, i + 2);
    c.asked = sqlite3_column_int64(st, i + 3);
    c.server_us = connect_time(st, i + 4);
    c.person_us = connect_time(st, i + 5);
    c.operation_seq = sqlite3_column_int64(st, i + 6);
    return p->fn(p->ctx, &c) ? 0 : 1;
}

int query_calls_of(struct query *q, const struct call_question *x, query_call_fn fn, void *ctx)
{
    struct passing_on p = {fn, ctx};
    return call_rows_read(q, x, x->operations ? COLUMNS OF_OPERATION : COLUMNS OF_REQUEST,
                          call_rows_on_row, &p);
}

#define CELLS_MAX 16

struct passing_cells {
    query_cells_fn fn;
    void *ctx;
};

static int call_rows_pass_cells(void *ctx, sqlite3_stmt *st)
{
    struct passing_cells *p = ctx;
    struct cell cell[CELLS_MAX];
    size_t n = size_min((size_t)sqlite3_column_count(st), CELLS_MAX);
    for (size_t i = 0; i < n; i++)
        cell[i] = db_get_cell(st, (int)i);
    return p->fn(p->ctx, cell, n) ? 0 : 1;
}

int query_read_calls_as_cells(struct query *q, const struct call_question *x, query_cells_fn fn,
                              void *ctx)
{
    struct passing_cells p = {fn, ctx};
    return call_rows_read(
        q, x,
        "c.id >> 36 AS session_id, c.id & 68719476735 AS request_seq,"
        " s.name AS server, s.client_name AS client, c.method, c.target, c.status,"
        " c.error_code, s.started_at_us + c.t_us AS at_us, c.duration_us,"
        " c.request_size, c.response_size",
        call_rows_pass_cells, &p);
}

struct counting {
    int64_t n, until_us;
};

static int call_rows_count_row(void *ctx, sqlite3_stmt *st)
{
    struct counting *c = ctx;
    (void)st;
    c->n++;
    return c->n % COUNTED_AT_ONCE == 0 && clock_mono_us() > c->until_us ? 1 : 0;
}

int query_count_calls(struct query *q, const struct call_question *x, int64_t within_us,
                      int64_t *ret, bool *ret_all)
{
    struct counting c = {.until_us = clock_mono_us() + within_us};
    struct call_question all = *x;
    all.newest_first = false;
    all.sort = CALLS_UNSORTED;
    int st = call_rows_read(q, &all, "1", call_rows_count_row, &c);
    *ret = c.n;
    *ret_all = c.n % COUNTED_AT_ONCE != 0 || clock_mono_us() <= c.until_us;
    return st;
}

int64_t query_call_id(int64_t session_id, int64_t seq)
{
    return schema_message_id(session_id, seq > 0 ? (uint64_t)seq : SCHEMA_SEQ_MAX);
}

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");
