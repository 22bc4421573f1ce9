/* each.h - the SQL function each(COLUMN, …), which passes every row of a statement to a callback.
 * It is an aggregate function, so SQLite makes no result rows, which saves half of the time if
 * there are many rows.
 *
 * Rules     values are borrowed for the call. The statement returns one row, which the caller
 *           ignores. If a callback returns an error, the statement ends with SQLITE_ABORT.
 * Owns      nothing.
 * Blocks    never. */
#ifndef MI_VAULT_QUERY_EACH_H
#define MI_VAULT_QUERY_EACH_H

#include "base/base.h"

#include <sqlite3.h>

/* Called for each row; returns 0 or an error. */
typedef int (*each_fn)(void *ctx, sqlite3_value **column);

struct each {
    each_fn fn;
    void *ctx;
    int status; /* last result of the callback */
};

/* Registers each(), which uses *e while a statement runs. Returns SQLite's code. */
MI_MUST int each_register_function(sqlite3 *db, struct each *e);
/* Like connect_column() and connect_time(), but for an argument of each() instead of a column. */
struct slice each_get_argument_text(sqlite3_value *v);
int64_t each_read_clamped_time(sqlite3_value *v);

#endif
