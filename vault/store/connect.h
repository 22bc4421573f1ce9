/* connect.h - connections to a database that another program may have created.
 *
 * Rules     the file is untrusted: its schema cannot run code (SQLite, "Defense Against The Dark
 *           Arts"), its triggers and views have no effect, symbolic links are not followed, and a
 *           statement has a budget.
 * Budget    in a damaged or forged file, a page can be part of a table many times, so that reading
 *           the table would take years. So a statement fails with SQLITE_INTERRUPT if it takes many
 *           more steps of SQLite's virtual machine than a valid file needs; failure_text() then
 *           says that the database is damaged. A reader may use several statements, each of which
 *           continues after the last row of the previous statement: the reader must check that the
 *           ids increase (vault/query/page.c). Do not use count(*) without a condition: it reads
 *           the whole table in a single step, so the budget does not limit its time.
 * Owns      nothing: the caller owns the connection, and closes it after an error as well.
 * Errors    SQLite's result codes; *ret is NULL if there is no memory for a connection.
 * Blocks    opening does not; statements wait up to `wait_ms` for a locked database. */
#ifndef MI_VAULT_STORE_CONNECT_H
#define MI_VAULT_STORE_CONNECT_H

#include "base/base.h"

#include <limits.h>
#include <sqlite3.h>

/* Opens a database. flags: SQLITE_OPEN_READWRITE, or SQLITE_OPEN_READONLY with a VFS that supports
 * it (read_only.h). vfs: name of the VFS; NULL stands for connect_get_vfs_name(). */
MI_MUST int connect_open_database(sqlite3 **ret, const char *path, const char *vfs, int flags,
                                  int wait_ms);
/* Whether SQLite may open this name. False if opening it could block for ever, as for a fifo. True
 * for a missing file, for a symbolic link (SQLite does not follow it), and for NULL, which stands
 * for a temporary file. */
bool connect_may_open_file(const char *name);
/* Returns the name of a VFS like SQLite's own, in which a rollback journal cannot cause the
 * deletion of other files. */
const char *connect_get_vfs_name(void);
/* Makes a connection that connect_open_database() did not open (vault/store/open.c) safe from a
 * hostile schema of its database: disables triggers and views, and limits the steps of each
 * statement. */
MI_MUST int connect_harden_against_schema(sqlite3 *db);
/* Reads the number in the first column of a statement's first row. `arg` is bound to ?1 if the
 * statement has that parameter. Returns SQLITE_OK, SQLITE_DONE (there is no row) or an error
 * code. */
MI_MUST int connect_read_number(sqlite3 *db, const char *sql, int64_t arg, int64_t *ret);
/* Binds a text, which is borrowed until the parameter is bound again; {NULL, 0} binds NULL. */
void connect_bind(sqlite3_stmt *q, int i, struct slice text);
/* Returns a column of the current row, as text or as the bytes of a blob; {NULL, 0} if the column
 * is NULL. Valid until the next step. */
struct slice connect_column(sqlite3_stmt *q, int i);
/* Reads a time or a duration in microseconds, limited to -CLOCK_MAX_US … CLOCK_MAX_US: a damaged or
 * hostile database may have any value. */
int64_t connect_time(sqlite3_stmt *q, int i);
void connect_bind_blob(sqlite3_stmt *q, int i, struct slice bytes); /* like connect_bind() */
/* Finds the path of a vault's database, without symbolic links. false: the vault or its database
 * does not exist. */
MI_MUST bool connect_find_database_path(const char *vault, char ret[PATH_MAX]);

#endif
