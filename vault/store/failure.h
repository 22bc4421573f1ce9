/* failure.h - why a statement failed.
 *
 * SQLite remembers only the error of the last call: after another statement was finalized, or after
 * a ROLLBACK, the error is "not an error". A caller that cannot report a failure at once keeps the
 * reason here first.
 *
 * Owns      the reason of the last failure that was kept.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_FAILURE_H
#define MI_VAULT_STORE_FAILURE_H

#include "base/base.h"

#include <sqlite3.h>

/* Keeps the reason why the last call on db failed. If that call succeeded, the caller has found
 * invalid data: then the reason is that the database is damaged, unless a reason is kept already.
 * Returns MI_ESTORE. */
int failure_keep(sqlite3 *db);
/* The error of the last call on db, with the system's reason for an I/O error; if that call
 * succeeded, the kept reason. NULL: out of memory. The text is valid until the next call. */
const char *failure_text(sqlite3 *db);
int failure_code(sqlite3 *db); /* an extended result code; never SQLITE_OK */

#endif
