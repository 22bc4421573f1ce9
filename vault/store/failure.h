/* failure.h - why a statement failed.
 *
 * SQLite knows the error of the last call only: finalizing another statement, or a ROLLBACK, makes it "not an error".
 * Whoever finds that a call failed, and cannot report it, keeps its reason here first.
 *
 * Owns      one reason, of the last failure that was kept: it is reported before another one happens.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_FAILURE_H
#define MI_VAULT_STORE_FAILURE_H

#include "base/base.h"

#include <sqlite3.h>

/* Keeps why the last call on db failed. If it did not fail, what it has read is wrong: then the database is damaged,
 * unless a reason is kept already. Returns MI_ESTORE. */
int failure_keep(sqlite3 *db);
/* The error of the last call on db; if that did not fail, the kept one. NULL: out of memory. The text is valid until
 * the next call. */
const char *failure_text(sqlite3 *db);
int failure_code(sqlite3 *db); /* extended result code; never SQLITE_OK */

#endif
