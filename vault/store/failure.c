#include "vault/store/failure.h"

#include <stdio.h>

#define DAMAGED "it is damaged: a row is missing or has a wrong value"
#define ENDLESS "it is damaged: its pages have no end"

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

/* The text of an error. SQLITE_INTERRUPT: the statement exceeded its budget (budget.h). */
static const char *failure_text_of(sqlite3 *db)
{
    return (sqlite3_errcode(db) & 0xFF) == SQLITE_INTERRUPT ? ENDLESS : sqlite3_errmsg(db);
}

int failure_keep(sqlite3 *db)
{
    bool failed = db != NULL && has_failed(db);
    if (db == NULL || (!failed && kept.db == db))
        return MI_ESTORE;
    kept.db = db;
    kept.code = failed ? sqlite3_extended_errcode(db) : SQLITE_CORRUPT;
    snprintf(kept.text, sizeof kept.text, "%s", failed ? failure_text_of(db) : DAMAGED);
    return MI_ESTORE;
}

const char *failure_text(sqlite3 *db)
{
    if (db == NULL)
        return "out of memory";
    if (has_failed(db))
        return failure_text_of(db);
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
