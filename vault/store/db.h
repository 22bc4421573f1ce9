/* db.h - a connection to a database of the vault: how it is opened, its statements, its
 * transactions, its errors.
 *
 *     static const char *const sql[] = {[Q_ONE] = "SELECT … WHERE id = ?1"};
 *     static const struct db_kind kind = {.sql = sql, .n = MI_COUNT(sql), .can_not = "read"};
 *
 *     st = db_begin_query(&d, Q_ONE, &q, DB_WITH(db_int(id)));
 *     while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW)
 *         … connect_column(q, 0) …
 *     return st < 0 ? st : db_finish_statement(&d, q, rc);
 *
 * Rules     a statement is named by its index in a table of SQL; it is prepared when it is first
 *           used. Values are bound, never printed into SQL. In SQL, `@` and the name of a record
 *           stand for the fields of the record (columns.h). A connection that only reads adds no
 *           file to the vault (read_only.h). If a writer starts, such a connection is made again
 *           before its next transaction.
 * Owns      the connection and its statements.
 * Errors    MI_ENOMEM, or MI_ESTORE with one sentence in `error`: "cannot read PATH: REASON".
 * Blocks    on the disk, and up to `wait_ms` on a locked database. */
#ifndef MI_VAULT_STORE_DB_H
#define MI_VAULT_STORE_DB_H

#include "base/buf.h"
#include "model/cell.h"
#include "vault/store/connect.h"

struct db_kind {
    bool writes;
    int wait_ms;
    const char *settings; /* PRAGMAs that are run first on each connection; NULL: none */
    const char *const *sql;
    size_t n; /* number of statements in `sql` */
    /* verb for the sentence of an error, as in "can not read": "read", "use" or "change" */
    const char *can_not;
};

/* Maximum number of statements of db_begin_query_text() that stay prepared. */
#define DB_KEPT 4
#define DB_TABLES 8 /* maximum number of tables whose existence is remembered */

struct db {
    const struct db_kind *kind; /* borrowed */
    sqlite3 *db;                /* owned; the connection; NULL: not connected */
    sqlite3_stmt **q;           /* owned; statements, as in kind->sql; NULL: not prepared yet */
    /* true: the connection shares SQLite's files with writers, or is a writer */
    bool shared;
    unsigned depth;      /* nesting depth of db_begin() */
    int64_t connections; /* number of connections that were opened so far */
    int64_t version;     /* version of the database's schema; -1: the version was not read yet */
    /* true: the last failure was caused by a lock of another process, so waiting helps */
    bool locked;
    bool store; /* true: the tables are those of a store (vault/remote/remote.h) */
    /* owned; prepared statements of db_begin_query_text() that are not in use; NULL: the element is
     * free */
    sqlite3_stmt *kept[DB_KEPT];
    unsigned kept_n;              /* how often a statement was stored in db.kept so far */
    const char *table[DB_TABLES]; /* names of tables that exist, as found by db_has_table() */
    size_t tables;
    struct buf file;   /* owned; path of the database; for a database in memory, its name */
    struct buf *error; /* borrowed */
};

/* Opens a database. file: its path, without symbolic links. `error` and `kind` are borrowed until
 * db_close(), which must be called even after an error. */
MI_MUST int db_open(struct db *d, const struct db_kind *kind, const char *file, struct buf *error);
/* Opens a database in memory. name: used in error messages. */
MI_MUST int db_open_memory(struct db *d, const struct db_kind *kind, const char *name,
                           struct buf *error);
/* Connects again. Prepared statements are lost. */
MI_MUST int db_reconnect(struct db *d);
void db_close(struct db *d);
/* Whether the caller must call db_reconnect(): the connection does not share SQLite's files, a
 * writer has started after it was made, and no transaction is open. */
bool db_is_outdated(const struct db *d);

/* Writes to `error` why the last call of SQLite failed. Returns MI_ESTORE or MI_ENOMEM. */
int db_fail(struct db *d);
/* Writes a reason, other than SQLite's, to `error`. Returns MI_ESTORE. */
int db_set_error(struct db *d, const char *why);
/* Reports a row whose id is out of order, because a statement that continues after such a row
 * might never end. Returns MI_ESTORE. */
int db_fail_damaged(struct db *d);

/* ---- values ---- */

static inline struct cell db_int(int64_t n)
{
    return (struct cell){.type = CELL_INT, .number = n};
}

/* Makes a cell of type CELL_TEXT; if the text is {NULL, 0}, of type CELL_NULL. */
static inline struct cell db_text(struct slice text)
{
    return (struct cell){.type = text.p != NULL ? CELL_TEXT : CELL_NULL, .text = text};
}

#define DB_WITH(...)                                                                               \
    ((const struct cell[]){__VA_ARGS__}), MI_COUNT(((const struct cell[]){__VA_ARGS__}))

/* Returns the value of a column of the current row; CELL_NULL for NULL, and for a number with a
 * fraction. Texts are borrowed until the next step. */
struct cell db_get_cell(sqlite3_stmt *q, int column);
/* Binds n values, starting at parameter `first`. Texts are borrowed until the statement is reset.
 * Values for which there is no parameter are ignored. */
void db_bind(sqlite3_stmt *q, int first, const struct cell *value, size_t n);

/* ---- statements ---- */

/* Starts a statement, with its values bound from ?1 on. End it with db_finish_statement(). */
MI_MUST int db_begin_query(struct db *d, size_t i, sqlite3_stmt **ret, const struct cell *value,
                           size_t n);
/* Like db_begin_query(), for a statement whose text is made at run time. The DB_KEPT statements of
 * this kind that ended last stay prepared. */
MI_MUST int db_begin_query_text(struct db *d, const char *sql, sqlite3_stmt **ret,
                                const struct cell *value, size_t n);
/* Ends a statement. rc: the result of its last step; SQLITE_DONE and SQLITE_ROW are not errors. The
 * statement `q` may be NULL. */
MI_MUST int db_finish_statement(struct db *d, sqlite3_stmt *q, int rc);
/* Runs a statement that returns no rows. */
MI_MUST int db_run_statement(struct db *d, size_t i, const struct cell *value, size_t n);
MI_MUST int db_exec(struct db *d, const char *sql);
/* Reads the number in the first column of the first row. MI_ENOENT: there is no row, or the column
 * is NULL; then *ret is 0. */
MI_MUST int db_read_number(struct db *d, size_t i, int64_t *ret, const struct cell *value,
                           size_t n);

/* *ret: whether the table exists. A table that exists is remembered until the next connection,
 * because no version drops a table. table: a string constant, whose pointer is stored. */
MI_MUST int db_has_table(struct db *d, const char *table, bool *ret);

/* ---- transactions ---- */

/* Begins a transaction: BEGIN IMMEDIATE on a connection that writes, otherwise a read of one
 * snapshot. A transaction inside another transaction is a part of the outer one. */
MI_MUST int db_begin(struct db *d);
/* Ends a transaction. st: result of the work in the transaction. If it is 0, commits; if it is an
 * error, rolls back and returns the error. */
MI_MUST int db_end(struct db *d, int st);

#endif
