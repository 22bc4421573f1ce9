#include "vault/store/failure.h"

#include <stdio.h>

#define DAMAGED "it is damaged: a row is missing or has a wrong value"

static struct {
    const sqlite3 *db; /* only compared: it may be closed by now */
    int code;
    char text[256];
} kept;

static bool is_error(int code)
{
    return code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
}

static bool has_failed(sqlite3 *db)
{
    return is_error(sqlite3_errcode(db) & 0xFF);
}

int failure_keep(sqlite3 *db)
{
    bool failed = db != NULL && has_failed(db);
    if (db == NULL || (!failed && kept.db == db))
        return MI_ESTORE;
    kept.db = db;
    kept.code = failed ? sqlite3_extended_errcode(db) : SQLITE_CORRUPT;
    snprintf(kept.text, sizeof kept.text, "%s", failed ? sqlite3_errmsg(db) : DAMAGED);
    return MI_ESTORE;
}

const char *failure_text(sqlite3 *db)
{
    if (db == NULL)
        return "out of memory";
    if (has_failed(db))
        return sqlite3_errmsg(db);
    return kept.db == db ? kept.text : DAMAGED;
}

int failure_code(sqlite3 *db)
{
    if (db == NULL)
        return SQLITE_NOMEM;
    if (has_failed(db))
        return sqlite3_extended_errcode(db);
    return kept.db == db ? kept.code : SQLITE_CORRUPT;
}
