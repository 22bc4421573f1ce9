/* each.h - the SQL function each(COLUMN, …), which passes every row of a statement to a callback: an aggregate, so that SQLite
 * makes no rows of the result, which takes half of the time where there are many.
 *
 * Rules     values are borrowed for the call. The statement has one row, which says nothing. A callback that returns an error
 *           ends it with SQLITE_ABORT.
 * Owns      nothing.
 * Blocks    never. */
#ifndef MI_VAULT_QUERY_EACH_H
#define MI_VAULT_QUERY_EACH_H

#include "base/base.h"

#include <sqlite3.h>

typedef int (*each_fn)(void *ctx, sqlite3_value **column); /* returns 0, or an error */

struct each {
    each_fn fn;
    void *ctx;
    int status; /* what the callback returned last */
};

/* Makes the function, which uses *e while a statement runs. SQLite's code. */
MI_MUST int each_register(sqlite3 *db, struct each *e);
/* As connect_column() and connect_time(). */
struct slice each_text(sqlite3_value *v);
int64_t each_time(sqlite3_value *v);

#endif
