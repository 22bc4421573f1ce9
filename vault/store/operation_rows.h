/* operation_rows.h - rows of the table `operations` (model/operations.h).
 *
 * Owns      its statements, on the caller's connection: call operation_rows_close() before the
 *           connection is closed.
 * Errors    MI_ESTORE (see failure_text()).
 * Blocks    on the database. */
#ifndef MI_VAULT_STORE_OPERATION_ROWS_H
#define MI_VAULT_STORE_OPERATION_ROWS_H

#include "model/operations.h"

#include <sqlite3.h>

struct operation_rows {
    sqlite3_stmt *q[2]; /* owned; statements, each prepared at its first use */
};

void operation_rows_close(
    struct operation_rows *r); /* the argument may be {0}; safe to call twice */
/* Adds the newest operations of a session to `to`. The values of each operation's first request are
 * read from the table `calls`. */
MI_MUST int operation_rows_read(struct operation_rows *r, sqlite3 *db, int64_t session_id,
                                struct operations *to);
/* Writes the operations that have changed. Call it within a transaction. */
MI_MUST int operation_rows_write(struct operation_rows *r, sqlite3 *db, int64_t session_id,
                                 struct operations *from);

#endif
