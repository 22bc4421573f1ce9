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
MI_MUST int rebuild_check(sqlite3 *db, struct buf *why);
/* Writes the database anew. MI_ESTORE, with failure_text(): the database is damaged, or VACUUM
 * failed. A damaged database is not changed: unreadable content would be lost, and a page that is
 * part of a table many times would be written as many times. */
MI_MUST int rebuild_database(sqlite3 *db);

#endif
