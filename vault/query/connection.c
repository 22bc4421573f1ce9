#include "vault/query/connection.h"

#include "vault/query/filter.h"
#include "vault/store/call_batch.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"
#include "vault/store/layout.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000

static const struct db_kind reader = {
    .wait_ms = BUSY_MS,
    /* temp_store: a temporary table of calls (call_rows.c) may be large. automatic_index: every
     * table is read by its key, so an index that SQLite creates for one statement never saves
     * time. */
    .settings = "PRAGMA temp_store = FILE; PRAGMA automatic_index = OFF",
    .sql = query_sql,
    .n = Q_COUNT,
    .can_not = "read",
};

static int register_functions(struct query *q)
{
    bool all = filter_register_functions(q->d.db) == SQLITE_OK &&
               each_register_function(q->d.db, &q->each) == SQLITE_OK;
    return all ? 0 : MI_ENOMEM;
}

/* Runs the first statement that reads the file, to find out whether the file can be read. Returns
 * SQLite's code. */
static int read_database_version(struct query *q)
{
    return schema_version(q->d.db, &q->d.version) == 0 ? SQLITE_OK
                                                       : failure_get_sqlite_code(q->d.db);
}

/* Applies a rollback journal, which a proxy leaves if it is killed while it creates the database.
 * SQLite does this only on a connection that may write; no recorded row changes. */
static int roll_back_journal(struct query *q)
{
    sqlite3 *db = NULL;
    int rc = connect_open_database(&db, buf_str(&q->d.file), NULL, SQLITE_OPEN_READWRITE, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA user_version", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc == SQLITE_OK ? db_reconnect(&q->d) : db_fail(&q->d);
}

static int connect_and_read_version(struct query *q)
{
    int st = 0, rc = read_database_version(q);
    /* This connection was opened without the writer's shared memory, so it may have read a
     * transaction that was being committed. The next connection shares that memory, and could miss
     * tables that this one has seen: connect again, so that all statements read the same state. */
    if (rc == SQLITE_OK && db_is_outdated(&q->d)) {
        st = db_reconnect(&q->d);
        rc = st == 0 ? read_database_version(q) : rc;
    }
    if (st == 0 && rc != SQLITE_OK &&
        sqlite3_extended_errcode(q->d.db) == SQLITE_READONLY_ROLLBACK) {
        st = roll_back_journal(q);
        rc = st == 0 ? read_database_version(q) : rc;
    }
    return st < 0 || rc == SQLITE_OK ? st : db_fail(&q->d);
}

/* Checks the schema. Call this function before the tables are read. */
static int check_layout(struct query *q)
{
    struct buf why = {0};
    int st = q->any ? 0 : layout_find_misleading_table(q->d.db, &why);
    if (st == MI_EINVAL)
        st = db_set_error(&q->d, buf_str(&why));
    else if (st == MI_ESTORE)
        st = db_fail(&q->d);
    buf_close(&why);
    return st;
}

void query_free_derived_calls(struct query *q)
{
    if (q->derived != NULL)
        call_batch_close(q->derived);
    free(q->derived);
    q->derived = NULL;
}

int query_reopen_if_outdated(struct query *q)
{
    if (!db_is_outdated(&q->d))
        return 0;
    query_free_derived_calls(q);
    int st = db_reconnect(&q->d);
    if (st == 0 && read_database_version(q) != SQLITE_OK)
        st = db_fail(&q->d);
    if (st == 0)
        st = register_functions(q);
    return st == 0 ? check_layout(q) : st;
}

/* Checks a vault that had no schema version. MI_ENOENT: no proxy has created the tables yet. Reads
 * the version again, because a proxy may have committed tables and version meanwhile. */
static int check_vault_without_version(struct query *q)
{
    bool has = false;
    if (schema_has_table(q->d.db, "sessions", &has) < 0 ||
        schema_version(q->d.db, &q->d.version) < 0)
        return db_fail(&q->d);
    if (!has)
        return MI_ENOENT;
    if (q->d.version > 0)
        return check_layout(q);
    return db_set_error(&q->d, "it has tables and states no version of its schema: another program "
                               "has changed it");
}

static int connection_open_db(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return MI_ENOENT;
    struct buf file = {0};
    buf_printf(&file, "%s/" VAULT_DB, q->path);
    int status = file.failed ? MI_ENOMEM : db_open(&q->d, &reader, buf_str(&file), &q->error);
    buf_close(&file);
    if (status == 0)
        status = connect_and_read_version(q);
    if (status == 0)
        status = register_functions(q);
    if (status < 0)
        return status;
    if (q->d.version > SCHEMA_VERSION) {
        buf_printf(&q->error,
                   "%s/" VAULT_DB " was created by a newer mcp-interposer; use that version, or "
                   "choose another vault with --vault",
                   q->path);
        return MI_ESTORE;
    }
    return q->d.version > 0 ? check_layout(q) : check_vault_without_version(q);
}

static int connection_open_vault(struct query **ret, const char *vault, bool any, struct buf *error)
{
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return MI_ENOMEM;
    int st = 0;
    q->any = any;
    q->dir_fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    q->path = q->dir_fd >= 0 ? realpath(vault, NULL) : NULL;
    if (q->path == NULL) {
        st = errno == ENOENT ? MI_ENOENT : errno == ENOMEM ? MI_ENOMEM : MI_EIO;
        if (st == MI_EIO)
            buf_printf(&q->error, "cannot open vault %s: %s; choose another with --vault", vault,
                       strerror(errno));
    }
    if (st == 0)
        st = connection_open_db(q);
    if (st == 0) {
        *ret = q;
        return 0;
    }
    buf_clear(error);
    if (st == MI_ENOENT)
        buf_printf(error, "nothing has been recorded in %s; choose another vault with --vault",
                   vault);
    else
        buf_adds(error, st == MI_ENOMEM ? "out of memory" : buf_str(&q->error));
    query_close(q);
    return st;
}

int query_open(struct query **ret, const char *vault, struct buf *error)
{
    return connection_open_vault(ret, vault, false, error);
}

int query_open_any_schema(struct query **ret, const char *vault, struct buf *error)
{
    return connection_open_vault(ret, vault, true, error);
}

/* Opens an empty database in memory. Returns NULL if out of memory. */
static struct query *connection_open_memory(const char *name)
{
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->dir_fd = -1;
    q->path = strdup(name);
    if (q->path != NULL && db_open_memory(&q->d, &reader, name, &q->error) == 0 &&
        register_functions(q) == 0)
        return q;
    query_close(q);
    return NULL;
}

int query_open_empty_vault(struct query **ret, const char *vault)
{
    struct query *q = connection_open_memory(vault);
    if (q == NULL || schema_make_ready(q->d.db) < 0) {
        query_close(q);
        return MI_ENOMEM;
    }
    *ret = q;
    return 0;
}

int query_open_store(struct query **ret, const struct remote_store *store, const char *name)
{
    struct query *q = connection_open_memory(name);
    if (q == NULL) {
        store->close(store->ctx);
        return MI_ENOMEM;
    }
    if (remote_open(&q->remote, q->d.db, store) != SQLITE_OK) {
        query_close(q);
        return MI_ENOMEM;
    }
    q->d.store = true;
    *ret = q;
    return 0;
}

bool query_is_stored(const struct query *q)
{
    return q->dir_fd >= 0;
}

void query_close(struct query *q)
{
    if (q == NULL)
        return;
    query_free_derived_calls(q);
    if (q->d.kind != NULL)
        db_close(&q->d);
    remote_free(q->remote);
    if (q->dir_fd >= 0)
        close(q->dir_fd);
    free(q->path);
    free(q->session);
    buf_close(&q->error);
    free(q);
}

const char *query_error(struct query *q)
{
    return q->error.n > 0 && !q->error.failed ? buf_str(&q->error) : "out of memory";
}

const char *query_vault(const struct query *q)
{
    return q->path;
}

int query_dir_fd(const struct query *q)
{
    return q->dir_fd;
}

/* ---- statements ---- */

int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret)
{
    int status = query_reopen_if_outdated(q);
    return status == 0 ? db_begin_query(&q->d, i, ret, NULL, 0) : status;
}

int query_prepare_where(struct query *q, enum query_statement i, const struct where *w,
                        sqlite3_stmt **ret)
{
    if (w == NULL || w->sql.n == 0)
        return query_prepare(q, i, ret);
    const char *sql = query_sql[i], *at = strstr(sql, QUERY_WHERE);
    struct buf text = {0};
    buf_add(&text, sql, (size_t)(at - sql));
    buf_slice_add(&text, buf_slice(&w->sql));
    buf_adds(&text, at);
    int status = text.failed ? MI_ENOMEM : query_reopen_if_outdated(q);
    if (status == 0)
        status = db_begin_query_text(&q->d, buf_str(&text), ret, NULL, 0);
    if (status == 0)
        db_bind(*ret, WHERE_FIRST, w->value, w->n);
    buf_close(&text);
    return status;
}

int query_finish_statement(struct query *q, sqlite3_stmt *st, int rc)
{
    return db_finish_statement(&q->d, st, rc);
}

int query_read_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret)
{
    int64_t n;
    int status = query_reopen_if_outdated(q);
    if (status == 0)
        status = db_read_number(&q->d, i, &n, DB_WITH(db_int(id)));
    if (status == 0 || status == MI_ENOENT)
        *ret = n;
    return status == MI_ENOENT ? 0 : status;
}

/* Reads the first or the last message of a range; statement `i` determines which. *ret_has: whether
 * the range has a message. */
static int read_first_or_last_message(struct query *q, enum query_statement i,
                                      const struct query_range *in, int64_t *ret_seq,
                                      int64_t *ret_t_us, bool *ret_has)
{
    sqlite3_stmt *st = NULL;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(in->session_id, (uint64_t)in->from));
    sqlite3_bind_int64(st, 2, schema_message_id(in->session_id, (uint64_t)in->to));
    int rc = sqlite3_step(st);
    *ret_has = rc == SQLITE_ROW;
    *ret_seq = *ret_has ? sqlite3_column_int64(st, 0) : 0;
    *ret_t_us = *ret_has ? connect_time(st, 1) : 0;
    return query_finish_statement(q, st, rc);
}

int query_last_message(struct query *q, int64_t session_id, int64_t *ret_seq, int64_t *ret_t_us)
{
    bool has;
    struct query_range all = {session_id, 0, SCHEMA_SEQ_MAX, false};
    return read_first_or_last_message(q, Q_LAST, &all, ret_seq, ret_t_us, &has);
}

/* Skips seqs that no message has. In a forged file, there may be 2^36 such seqs between two
 * messages. Does nothing for a store, which answers each request slowly, and whose rows
 * ship/postgres/reader.c checks. */
static int skip_unused_seqs(struct query *q, struct query_range *rest)
{
    int64_t seq, t_us;
    bool has;
    if (q->remote != NULL)
        return 0;
    int st =
        read_first_or_last_message(q, rest->backwards ? Q_LAST : Q_FIRST, rest, &seq, &t_us, &has);
    if (st < 0)
        return st;
    if (has && (seq < rest->from || seq > rest->to))
        return db_fail_damaged(&q->d);
    if (!has)
        rest->to = rest->from - 1;
    else if (rest->backwards)
        rest->to = seq;
    else
        rest->from = seq;
    return 0;
}

bool query_check_row_order(const struct query *q, struct query_range *r, sqlite3_stmt *st)
{
    if (q->remote != NULL)
        return true;
    int64_t n = sqlite3_column_int64(st, 0);
    if (r->from > r->to || n < r->from || n > r->to)
        return false;
    /* After the row with the highest possible number (backwards: the lowest), no row can follow.
     * So the range becomes empty. */
    bool last = r->backwards ? n == INT64_MIN : n == INT64_MAX;
    r->from = last ? INT64_MAX : r->backwards ? r->from : n + 1;
    r->to = last ? INT64_MIN : r->backwards ? n - 1 : r->to;
    return true;
}

/* Reads the rows of the first QUERY_PART seqs in the range `rest` (backwards: of the last ones),
 * and removes these seqs from `rest`. *ret_n: number of rows that were read. */
static int scan_first_rows_of_range(struct query *q, enum query_statement i, const struct where *w,
                                    struct query_range *rest, int64_t *ret_n, query_row_fn fn,
                                    void *ctx)
{
    int64_t n = rest->to - rest->from < QUERY_PART ? rest->to - rest->from : QUERY_PART - 1;
    int64_t first = rest->backwards ? rest->to - n : rest->from;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE, result = query_prepare_where(q, i, w, &st);
    if (result < 0)
        return result;
    sqlite3_bind_int64(st, 1, schema_message_id(rest->session_id, (uint64_t)first));
    sqlite3_bind_int64(st, 2, schema_message_id(rest->session_id, (uint64_t)(first + n)));
    struct query_range rows = {rest->session_id, first, first + n, rest->backwards};
    for (*ret_n = 0; result == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW; ++*ret_n)
        result = query_check_row_order(q, &rows, st) ? fn(ctx, st) : db_fail_damaged(&q->d);
    int status = query_finish_statement(q, st, rc);
    if (rest->backwards)
        rest->to = first - 1;
    else
        rest->from = first + n + 1;
    return result == 0 ? status : result;
}

int query_scan_rows(struct query *q, enum query_statement i, const struct where *w,
                    const struct query_range *in, query_row_fn fn, void *ctx)
{
    int64_t last, t_us, n = 0;
    struct query_range rest = *in;
    int result = query_last_message(q, in->session_id, &last, &t_us);
    rest.to = rest.to < last ? rest.to : last;
    while (result == 0 && rest.from <= rest.to) {
        result = scan_first_rows_of_range(q, i, w, &rest, &n, fn, ctx);
        if (result == 0 && n == 0 && rest.from <= rest.to)
            result = skip_unused_seqs(q, &rest);
    }
    return result < 0 ? result : 0;
}
