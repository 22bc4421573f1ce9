#include "vault/store/failure.h"

#include <stdio.h>
#include <string.h>

#define DAMAGED "it is damaged: a row is missing or has a wrong value"
#define ENDLESS "it is damaged: its pages have no end"

static struct {
    /* the pointer is only compared, never dereferenced: the connection may be closed by now */
    const sqlite3 *db;
    int code;
    char text[256];
} kept;

static bool connection_has_failed(sqlite3 *db)
{
    int code = sqlite3_errcode(db) & 0xFF;
    return code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
}

/* Returns the text of an error. The text for SQLITE_INTERRUPT says that the statement exceeded its
 * budget (connect.h). The text for an error of the system names the system's error, because SQLite
 * says only "disk I/O error" or "unable to open database file". */
static const char *failure_get_error_text(sqlite3 *db)
{
    static char text[256];
    int code = sqlite3_errcode(db) & 0xFF, error = sqlite3_system_errno(db);
    if (code == SQLITE_INTERRUPT)
        return ENDLESS;
    if ((code != SQLITE_IOERR && code != SQLITE_CANTOPEN) || error == 0)
        return sqlite3_errmsg(db);
    snprintf(text, sizeof text, "%s: %s", sqlite3_errmsg(db), strerror(error));
    return text;
}

int failure_keep(sqlite3 *db)
{
    bool failed = db != NULL && connection_has_failed(db);
    if (db == NULL || (!failed && kept.db == db))
        return MI_ESTORE;
    kept.db = db;
    kept.code = failed ? sqlite3_extended_errcode(db) : SQLITE_CORRUPT;
    snprintf(kept.text, sizeof kept.text, "%s", failed ? failure_get_error_text(db) : DAMAGED);
    return MI_ESTORE;
}

const char *failure_text(sqlite3 *db)
{
    if (db == NULL)
        return "out of memory";
    if (connection_has_failed(db))
        return failure_get_error_text(db);
    return kept.db == db ? kept.text : DAMAGED;
}

int failure_get_sqlite_code(sqlite3 *db)
{
    if (db == NULL)
        return SQLITE_NOMEM;
    if (connection_has_failed(db))
        return sqlite3_extended_errcode(db);
    return kept.db == db ? kept.code : SQLITE_CORRUPT;
}
