#include "vault/store/rebuild.h"

#include "vault/store/failure.h"

int rebuild_check_database(sqlite3 *db, struct buf *why)
{
    sqlite3_stmt *q = NULL;
    /* a row that violates a CHECK does not count as damage */
    int rc = sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (text != NULL && strcmp(text, "ok") != 0)
        buf_adds(why, text);
    if (rc != SQLITE_ROW)
        (void)failure_keep(db);
    sqlite3_finalize(q);
    (void)sqlite3_exec(db, "PRAGMA ignore_check_constraints = 0", NULL, NULL, NULL);
    return rc;
}

int rebuild_database(sqlite3 *db)
{
    struct buf why = {0};
    bool fine = rebuild_check_database(db, &why) == SQLITE_ROW && why.n == 0;
    buf_close(&why);
    return fine && sqlite3_exec(db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK ? 0 : failure_keep(db);
}
