/* db.h - a connection to a database of the vault: how it is opened, its statements, its transactions, its errors.
 *
 *     static const char *const sql[] = {[Q_ONE] = "SELECT … WHERE id = ?1"};
 *     static const struct db_kind kind = {.sql = sql, .n = MI_COUNT(sql), .can_not = "read"};
 *
 *     st = db_ask(&d, Q_ONE, &q, DB_WITH(db_int(id)));
 *     while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW)
 *         … connect_column(q, 0) …
 *     return st < 0 ? st : db_done(&d, q, rc);
 *
 * Rules     a statement has a name, which is its place in a table of SQL; it is prepared when it is first used. Values are
 *           bound, never printed into SQL. The fields of records are named by their record (columns.h).
 *           A connection that only reads adds no file to the vault (read_only.h). Before a transaction it connects again
 *           if a writer has started since.
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
    const char *settings; /* PRAGMAs of each connection; NULL: none */
    const char *const *sql;
    size_t n;            /* of statements */
    const char *can_not; /* the verb of the sentence: "read", "use", "change" */
};

#define DB_KEPT 4   /* statements whose text is made for each use, such as that of a filter */
#define DB_TABLES 8 /* tables whose existence is remembered */

struct db {
    const struct db_kind *kind; /* borrowed */
    sqlite3 *db;                /* owned; NULL: not connected */
    sqlite3_stmt **q;           /* owned; by name; NULL: not prepared yet */
    bool shared;                /* it shares SQLite's files with writers, or writes itself */
    unsigned depth;             /* of db_begin() */
    int64_t connections;        /* how often it connected */
    int64_t version;            /* of the schema; -1: not read yet */
    bool locked; /* whether the last failure was another process that used it: waiting helps */
    bool store;  /* its tables are those of a store (vault/remote/remote.h) */
    /* Owned; texts that were asked last, and are not in use; or NULL. */
    sqlite3_stmt *kept[DB_KEPT];
    unsigned kept_n;              /* all texts that were kept so far */
    const char *table[DB_TABLES]; /* that exist, of those that db_has_table() was asked for */
    size_t tables;
    struct buf file;   /* owned; path of the database, or its name */
    struct buf *error; /* borrowed */
};

/* file: without symbolic links. *d is closed with db_close() in any case; `error` and `kind` are borrowed until then. */
MI_MUST int db_open(struct db *d, const struct db_kind *kind, const char *file, struct buf *error);
/* The same for a database in memory, which only `name` stands for in a sentence. */
MI_MUST int db_open_memory(struct db *d, const struct db_kind *kind, const char *name,
                           struct buf *error);
/* Connects again. Prepared statements are gone. */
MI_MUST int db_reconnect(struct db *d);
void db_close(struct db *d);
/* Whether db_reconnect() is due: it is for the database without SQLite's files, a writer has started since, and no
 * transaction is open. */
bool db_is_outdated(const struct db *d);

/* The sentence of the last failure. MI_ESTORE or MI_ENOMEM. */
int db_fail(struct db *d);
/* The same with another reason than SQLite's. MI_ESTORE. */
int db_complain(struct db *d, const char *why);
/* A row is not in the order of its id: a statement that continues after it might never end. MI_ESTORE. */
int db_damaged(struct db *d);

/* ---- values ---- */

static inline struct cell db_int(int64_t n)
{
    return (struct cell){.type = CELL_INT, .number = n};
}

/* {NULL, 0} is NULL. */
static inline struct cell db_text(struct slice text)
{
    return (struct cell){.type = text.p != NULL ? CELL_TEXT : CELL_NULL, .text = text};
}

#define DB_WITH(...)                                                                               \
    ((const struct cell[]){__VA_ARGS__}), MI_COUNT(((const struct cell[]){__VA_ARGS__}))

/* The value of a column of the current row. CELL_NULL: NULL, or a number with a fraction. Texts are borrowed until the next
 * step. */
struct cell db_cell(sqlite3_stmt *q, int column);
/* Binds n values from ?first on; texts are borrowed until the statement is reset. Values without a parameter are left
 * out. */
void db_bind(sqlite3_stmt *q, int first, const struct cell *value, size_t n);

/* ---- statements ---- */

/* The statement with its values from ?1 on. End it with db_done(). */
MI_MUST int db_ask(struct db *d, size_t i, sqlite3_stmt **ret, const struct cell *value, size_t n);
/* The same for a text that is made when it is used. The last DB_KEPT of them need not be prepared again. */
MI_MUST int db_ask_text(struct db *d, const char *sql, sqlite3_stmt **ret, const struct cell *value,
                        size_t n);
/* Ends it. rc: the result of its last step; SQLITE_DONE and SQLITE_ROW are not errors. NULL is fine. */
MI_MUST int db_done(struct db *d, sqlite3_stmt *q, int rc);
/* Runs a statement without rows. */
MI_MUST int db_run(struct db *d, size_t i, const struct cell *value, size_t n);
MI_MUST int db_exec(struct db *d, const char *sql);
/* The number in the first column of the first row. MI_ENOENT: no row, or NULL; *ret is 0. */
MI_MUST int db_number(struct db *d, size_t i, int64_t *ret, const struct cell *value, size_t n);

/* *ret: whether the table exists. That it does is remembered until the next connection, as no version drops a table. table: a
 * string constant, which is kept. */
MI_MUST int db_has_table(struct db *d, const char *table, bool *ret);

/* ---- transactions ---- */

/* A snapshot, or of a connection that writes BEGIN IMMEDIATE; within another one it is a part of that. */
MI_MUST int db_begin(struct db *d);
/* st: the result so far. 0 commits, an error rolls back and is returned. */
MI_MUST int db_end(struct db *d, int st);

#endif
