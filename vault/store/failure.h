/* failure.h - why a statement failed.
 *
 * SQLite remembers only the error of the last call: after another statement was finalized, or after
 * a ROLLBACK, the error is "not an error". A caller that cannot report a failure at once first
 * stores the reason with failure_keep().
 *
 * Owns      the reason that was stored last.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_FAILURE_H
#define MI_VAULT_STORE_FAILURE_H

#include "base/base.h"

#include <sqlite3.h>

/* Stores the reason why the last call on db failed. If that call succeeded, the caller has found
 * invalid data: then the reason "damaged" is stored, unless a reason is stored already. Returns
 * MI_ESTORE. */
int failure_keep(sqlite3 *db);
/* Returns the error of the last call on db, with the system's reason for an I/O error. If that call
 * succeeded, returns the reason that failure_keep() has stored. NULL: out of memory. The text is
 * valid until the next call. */
const char *failure_text(sqlite3 *db);
int failure_get_sqlite_code(sqlite3 *db); /* returns an extended result code, never SQLITE_OK */

#endif
