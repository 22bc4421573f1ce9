/* budget.h - a limit for the work of one statement.
 *
 * Why       in a damaged or forged file a page can be part of a table many times, so that a statement that reads the table
 *           goes on for years. Whoever reads in several statements, each from the last row of the one before, compares
 *           that ids grow (vault/query/page.c).
 *           One step is bounded by the size of the file, but count(*) without a condition is one step: do not use it.
 * Limit     a statement on an honest file needs a few steps of SQLite's machine for each byte: beyond BUDGET_PER_BYTE for
 *           each byte of the file and its write-ahead log, and BUDGET_LEAST, it fails with SQLITE_INTERRUPT
 *           (failure_text(): the database is damaged).
 * Owns      a few bytes, freed when the connection is closed.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_BUDGET_H
#define MI_VAULT_STORE_BUDGET_H

#include "base/base.h"

#include <sqlite3.h>

#define BUDGET_PER_BYTE 64
#define BUDGET_COMPRESSED 16  /* what a file system may make of a byte on the disk */
#define BUDGET_LEAST 50000000 /* steps: about a second */

/* SQLITE_OK or SQLITE_NOMEM. */
MI_MUST int budget_set(sqlite3 *db);

#endif
