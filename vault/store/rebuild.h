/* rebuild.h - checks a database, and writes it anew without its unused pages (VACUUM).
 *
 * Owns      nothing; the connection is the caller's.
 * Errors    see each function.
 * Blocks    on the disk: all pages are read, and written. */
#ifndef MI_VAULT_STORE_REBUILD_H
#define MI_VAULT_STORE_REBUILD_H

#include "base/buf.h"

#include <sqlite3.h>

/* Appends the first finding of PRAGMA quick_check to `why`, or nothing if there is none. Returns a
 * result code of SQLite. */
MI_MUST int rebuild_check_database(sqlite3 *db, struct buf *why);
/* Writes the whole database again with VACUUM. Returns MI_ESTORE, with failure_text(), if the
 * database is damaged or VACUUM fails. A damaged database is not changed: VACUUM would lose
 * unreadable content, and would copy a page once for each table position that refers to it. */
MI_MUST int rebuild_database(sqlite3 *db);

#endif
