/* connect.h - a connection to a database that somebody else may have made.
 *
 * Rules     it is data: nothing that stands in its schema may act (SQLite, "Defense Against The Dark Arts"). No
 *           symbolic link is followed.
 * Owns      nothing: the connection is the caller's, who closes it after an error as well.
 * Errors    SQLite's result codes, as the connection is SQLite's; *ret is NULL where there is no memory for one.
 * Blocks    opening does not; statements wait for a locked database as long as they are told here. */
#ifndef MI_VAULT_CONNECT_H
#define MI_VAULT_CONNECT_H

#include "base/base.h"

#include <limits.h>
#include <sqlite3.h>

/* flags: SQLITE_OPEN_READONLY or SQLITE_OPEN_READWRITE, and SQLITE_OPEN_URI. */
MI_MUST int connect_open(sqlite3 **ret, const char *path, int flags, int wait_ms);
/* What makes it data, for a connection that was opened in another way (vault/store.c has a VFS of its own). */
MI_MUST int connect_guard(sqlite3 *db);
/* The number in the first column of a statement's first row; arg is bound, where it has a parameter. SQLITE_OK, or
 * what went wrong: SQLITE_DONE, there is no row. */
MI_MUST int connect_number(sqlite3 *db, const char *sql, int64_t arg, int64_t *ret);
/* Text for a parameter, borrowed until it is bound anew; {NULL, 0} is NULL. */
void connect_bind(sqlite3_stmt *q, int i, struct slice text);
/* Where the database of a vault lies, by a path without links. false: the vault, or its database, is not there. */
MI_MUST bool connect_path(const char *vault, char ret[PATH_MAX]);

#endif
