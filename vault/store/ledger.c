#include "vault/store/ledger.h"

#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

/* Marks the session as not completely sent, because the log has a new leaf about the session. */
static int mark_session_unsent(sqlite3 *db, struct slice uid)
{
    static const char sql[] = "UPDATE shipped SET complete = 0 WHERE complete"
                              " AND session_id = (SELECT id FROM sessions WHERE uid = ?1)";
    sqlite3_stmt *q = NULL;
    int rc =
        sqlite3_table_column_metadata(db, "main", "shipped", NULL, NULL, NULL, NULL, NULL, NULL);
    /* SQLITE_ERROR: the table does not exist, because the vault is of an older version */
    if (rc == SQLITE_ERROR)
        return 0;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        connect_bind(q, 1, uid);
        rc = sqlite3_step(q);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : failure_keep(db);
}

int ledger_add_leaf(sqlite3 *db, const struct leaf *l, int64_t *ret_n)
{
    static const char sql[] = "INSERT INTO leaves (n, leaf)"
                              " SELECT ifnull(max(n) + 1, 0), ?1 FROM leaves RETURNING n";
    sqlite3_stmt *q = NULL;
    struct buf text = {0};
    leaf_write(&text, l);
    int rc = text.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        connect_bind(q, 1, buf_slice(&text));
        rc = sqlite3_step(q);
    }
    /* do not run the statement again after an error: SQLite may have rolled back the transaction,
     * so the leaf would be added in a transaction of its own */
    if (rc == SQLITE_ROW) {
        *ret_n = sqlite3_column_int64(q, 0);
        rc = sqlite3_step(q);
    }
    int st = text.failed ? MI_ENOMEM : rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_finalize(q);
    buf_close(&text);
    bool changes = l->type == LEAF_SEAL || l->type == LEAF_REDACT;
    return st == 0 && changes ? mark_session_unsent(db, l->uid) : st;
}

/* Reads the session id in the leaf that the statement selects. Returns 0, MI_ENOENT (there is no
 * valid leaf), MI_ENOMEM or MI_ESTORE. */
static int read_id_from_leaf(sqlite3 *db, const char *sql, int64_t *ret)
{
    struct leaf l;
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_ROW    ? leaf_read(connect_column(q, 0), &l)
             : rc == SQLITE_DONE ? MI_ENOENT
                                 : failure_keep(db);
    if (st == 0 && (l.type == LEAF_OPEN || l.type == LEAF_BEGIN) && l.id <= SCHEMA_SESSION_MAX)
        *ret = l.id;
    sqlite3_finalize(q);
    return st < 0 && st != MI_ENOMEM && st != MI_ESTORE ? MI_ENOENT : st;
}

int ledger_find_last_session_id(sqlite3 *db, int64_t *ret)
{
    /* read the log backwards: the last leaf of this type is usually near the end of the log */
    static const char open[] = "SELECT leaf FROM leaves WHERE leaf >= '{\"type\":\"open\"'"
                               " AND leaf < '{\"type\":\"open#' ORDER BY n DESC LIMIT 1";
    *ret = 0;
    int st = read_id_from_leaf(db, open, ret);
    if (st == MI_ENOENT)
        st = read_id_from_leaf(db, "SELECT leaf FROM leaves WHERE n = 0", ret);
    return st == MI_ENOENT ? 0 : st;
}

int ledger_read(sqlite3 *db, int64_t from, ledger_fn fn, void *ctx)
{
    static const char sql[] = "SELECT n, leaf FROM leaves WHERE n >= ?1 ORDER BY n";
    sqlite3_stmt *q = NULL;
    int st = 0, rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    int64_t last = from - 1;
    if (rc == SQLITE_OK)
        sqlite3_bind_int64(q, 1, from);
    while (st == 0 && rc != SQLITE_DONE) {
        if (rc == SQLITE_OK || rc == SQLITE_ROW)
            rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            int64_t n = sqlite3_column_int64(q, 0);
            /* a damaged file may return the same row again and again, so the numbers must
             * increase */
            st = n > last ? fn(ctx, n, connect_column(q, 1)) : failure_keep(db);
            last = n;
        } else if (rc != SQLITE_DONE) {
            st = failure_keep(db);
        }
    }
    sqlite3_finalize(q);
    return st;
}
