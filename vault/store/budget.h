/* budget.h - a limit for the work of one statement.
 *
 * Why       in a damaged or forged file a page can be part of a table many times, so that a
 *           statement that reads the table runs for years. A reader that uses several
 *           statements, each of which continues after the last row of the one before, checks that
 *           ids grow (vault/query/page.c). The work of one step grows with the file, and count(*)
 *           without a condition is one step: do not use it.
 * Limit     a statement on a valid file needs a few steps of SQLite's virtual machine for each
 *           byte. After BUDGET_PER_BYTE steps for each byte of the file and its write-ahead log,
 *           but at least BUDGET_LEAST, it fails with SQLITE_INTERRUPT (failure_text(): the database
 *           is damaged).
 * Owns      a few bytes, freed when the connection is closed.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_BUDGET_H
#define MI_VAULT_STORE_BUDGET_H

#include "base/base.h"

#include <sqlite3.h>

#define BUDGET_PER_BYTE 64
#define BUDGET_COMPRESSED 16  /* a file system may compress the file by this factor */
#define BUDGET_LEAST 50000000 /* smallest budget in steps, which take about a second */

/* SQLITE_OK or SQLITE_NOMEM. */
MI_MUST int budget_set(sqlite3 *db);

#endif
