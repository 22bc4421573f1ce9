#include "vault/store/db.h"

#include "vault/store/columns.h"
#include "vault/store/failure.h"
#include "vault/store/read_only.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- errors ---- */

int db_set_error(struct db *d, const char *why)
{
    d->locked = false;
    buf_clear(d->error);
    buf_printf(d->error, "cannot %s %s: %s", d->kind->can_not, buf_str(&d->file), why);
    return MI_ESTORE;
}

int db_fail(struct db *d)
{
    int code = failure_get_sqlite_code(d->db), rc = code & 0xFF;
    if (rc == SQLITE_NOMEM)
        return MI_ENOMEM;
    bool changed = code == READ_ONLY_CHANGED && !d->shared;
    int st = db_set_error(d, changed ? "the database was changed meanwhile; run the command again"
                                     : failure_text(d->db));
    d->locked = rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
    return st;
}

int db_fail_damaged(struct db *d)
{
    return db_set_error(d, "it is damaged: rows are not in the order of their ids");
}

/* ---- the connection ---- */

static void db_disconnect(struct db *d)
{
    for (size_t i = 0; d->q != NULL && i < d->kind->n; i++) {
        sqlite3_finalize(d->q[i]);
        d->q[i] = NULL;
    }
    for (size_t i = 0; i < DB_KEPT; i++) {
        sqlite3_finalize(d->kept[i]);
        d->kept[i] = NULL;
    }
    sqlite3_close(d->db);
    d->db = NULL;
    d->depth = 0;
    d->version = -1;
}

int db_reconnect(struct db *d)
{
    const struct db_kind *k = d->kind;
    const char *file = buf_str(&d->file);
    db_disconnect(d);
    d->tables = 0; /* forget the known tables, because the path may lead to another file now */
    d->connections++;
    int rc;
    if (k->writes)
        rc = connect_open_database(&d->db, file, NULL, SQLITE_OPEN_READWRITE, k->wait_ms);
    else
        rc = read_only_open(&d->db, file, k->wait_ms, &d->shared);
    if (rc == SQLITE_OK && k->settings != NULL)
        rc = sqlite3_exec(d->db, k->settings, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(d);
}

static int db_init(struct db *d, const struct db_kind *kind, const char *name, struct buf *error)
{
    *d = (struct db){.kind = kind, .shared = kind->writes, .version = -1, .error = error};
    buf_adds(&d->file, name);
    d->q = calloc(kind->n + 1, sizeof(sqlite3_stmt *));
    return d->q != NULL && !d->file.failed ? 0 : MI_ENOMEM;
}

int db_open(struct db *d, const struct db_kind *kind, const char *file, struct buf *error)
{
    int st = db_init(d, kind, file, error);
    return st == 0 ? db_reconnect(d) : st;
}

int db_open_memory(struct db *d, const struct db_kind *kind, const char *name, struct buf *error)
{
    int st = db_init(d, kind, name, error);
    /* a database in memory has no file, so no writer can make the connection outdated */
    d->shared = true;
    if (st == 0 &&
        connect_open_database(&d->db, ":memory:", NULL, SQLITE_OPEN_READWRITE, 0) != SQLITE_OK)
        st = db_fail(d);
    return st;
}

void db_close(struct db *d)
{
    db_disconnect(d);
    free(d->q);
    d->q = NULL;
    buf_close(&d->file);
}

static bool has_open_statement(sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    while ((q = sqlite3_next_stmt(db, q)) != NULL)
        if (sqlite3_stmt_busy(q))
            return true;
    return false;
}

bool db_is_outdated(const struct db *d)
{
    /* copy the text, because buf_str() needs a buffer that is not const */
    struct buf file = d->file;
    return !d->shared && d->db != NULL && read_only_wal_and_shm_exist(buf_str(&file)) &&
           sqlite3_get_autocommit(d->db) && !has_open_statement(d->db);
}

/* ---- statements ---- */

struct cell db_get_cell(sqlite3_stmt *q, int column)
{
    switch (sqlite3_column_type(q, column)) {
    case SQLITE_INTEGER:
        return db_int(sqlite3_column_int64(q, column));
    case SQLITE_TEXT:
        return (struct cell){.type = CELL_TEXT, .text = connect_column(q, column)};
    case SQLITE_BLOB:
        return (struct cell){.type = CELL_BLOB, .text = connect_column(q, column)};
    default:
        return (struct cell){.type = CELL_NULL};
    }
}

void db_bind(sqlite3_stmt *q, int first, const struct cell *value, size_t n)
{
    int last = sqlite3_bind_parameter_count(q);
    for (size_t i = 0; i < n && first + (int)i <= last; i++) {
        const struct cell *v = &value[i];
        int at = first + (int)i;
        if (v->type == CELL_INT)
            sqlite3_bind_int64(q, at, v->number);
        else if (v->type == CELL_BLOB)
            connect_bind_blob(q, at, v->text);
        else
            connect_bind(q, at, v->type == CELL_TEXT ? v->text : (struct slice){0});
    }
}

/* Returns the prepared statement with this text that is kept for reuse; NULL if there is none. */
static sqlite3_stmt **db_find_cached_statement(struct db *d, const char *sql)
{
    for (size_t i = 0; i < DB_KEPT; i++)
        if (d->kept[i] != NULL && strcmp(sqlite3_sql(d->kept[i]), sql) == 0)
            return &d->kept[i];
    return NULL;
}

static int db_prepare(struct db *d, const char *sql, unsigned flags, sqlite3_stmt **ret)
{
    struct buf text = {0};
    int st = 0;
    if (strchr(sql, '@') != NULL) {
        if (d->version < 0 && !d->store &&
            connect_read_number(d->db, "PRAGMA user_version", 0, &d->version) != SQLITE_OK)
            return db_fail(d);
        columns_expand_statement(sql, d->version, d->store, &text);
        st = text.failed ? MI_ENOMEM : 0;
    }
    sql = text.n > 0 ? buf_str(&text) : sql;
    sqlite3_stmt **kept = st == 0 ? db_find_cached_statement(d, sql) : NULL;
    if (kept != NULL) {
        *ret = *kept;
        /* the statement is in use now; db_finish_statement() makes it available again */
        *kept = NULL;
    } else if (st == 0 && sqlite3_prepare_v3(d->db, sql, -1, flags, ret, NULL) != SQLITE_OK) {
        st = db_fail(d);
    }
    buf_close(&text);
    return st;
}

int db_begin_query(struct db *d, size_t i, sqlite3_stmt **ret, const struct cell *value, size_t n)
{
    int st =
        d->q[i] != NULL ? 0 : db_prepare(d, d->kind->sql[i], SQLITE_PREPARE_PERSISTENT, &d->q[i]);
    if (st < 0)
        return st;
    db_bind(d->q[i], 1, value, n);
    *ret = d->q[i];
    return 0;
}

int db_begin_query_text(struct db *d, const char *sql, sqlite3_stmt **ret, const struct cell *value,
                        size_t n)
{
    int st = db_prepare(d, sql, 0, ret);
    if (st == 0)
        db_bind(*ret, 1, value, n);
    return st;
}

int db_finish_statement(struct db *d, sqlite3_stmt *q, int rc)
{
    int st = q == NULL || rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : db_fail(d);
    if (q == NULL)
        return st;
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    bool in_table = false;
    for (size_t i = 0; i < d->kind->n && !in_table; i++)
        in_table = d->q[i] == q;
    /* a statement of db_begin_query_text() replaces the oldest statement that is kept for reuse */
    if (!in_table) {
        sqlite3_stmt **oldest = &d->kept[d->kept_n++ % DB_KEPT];
        sqlite3_finalize(*oldest);
        *oldest = q;
    }
    return st;
}

int db_run_statement(struct db *d, size_t i, const struct cell *value, size_t n)
{
    sqlite3_stmt *q = NULL;
    int st = db_begin_query(d, i, &q, value, n);
    return st == 0 ? db_finish_statement(d, q, sqlite3_step(q)) : st;
}

int db_exec(struct db *d, const char *sql)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_fail(d);
}

int db_read_number(struct db *d, size_t i, int64_t *ret, const struct cell *value, size_t n)
{
    sqlite3_stmt *q = NULL;
    *ret = 0;
    int st = db_begin_query(d, i, &q, value, n);
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    bool has = rc == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL;
    *ret = has ? sqlite3_column_int64(q, 0) : 0;
    st = db_finish_statement(d, q, rc);
    return st == 0 && !has ? MI_ENOENT : st;
}

int db_has_table(struct db *d, const char *table, bool *ret)
{
    bool has = false;
    for (size_t i = 0; !has && i < d->tables; i++)
        has = strcmp(d->table[i], table) == 0;
    if (!has) {
        if (schema_has_table(d->db, table, &has) < 0)
            return db_fail(d);
        if (has && d->tables < DB_TABLES)
            d->table[d->tables++] = table;
    }
    *ret = has;
    return 0;
}

/* ---- transactions ---- */

int db_begin(struct db *d)
{
    int st = 0;
    if (d->depth == 0) {
        st = db_is_outdated(d) ? db_reconnect(d) : 0;
        if (st == 0)
            st = db_exec(d, d->kind->writes ? "BEGIN IMMEDIATE" : "BEGIN");
    }
    d->depth += st == 0;
    return st;
}

int db_end(struct db *d, int st)
{
    if (--d->depth > 0)
        return st;
    if (st == 0 && d->kind->writes)
        st = db_exec(d, "COMMIT");
    /* ignore an error of ROLLBACK, because the first error is reported */
    if (!sqlite3_get_autocommit(d->db))
        (void)sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}
