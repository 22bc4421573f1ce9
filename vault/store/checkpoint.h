/* checkpoint.h - checkpoints the write-ahead log.
 *
 * Most pages are moved without blocking writers; a short last step then restarts the log, so that
 * it does not grow for ever while several processes write.
 * Blocks    on disk I/O (files are synced), and up to CHECKPOINT_WAIT_US for locks. */
#ifndef MI_VAULT_STORE_CHECKPOINT_H
#define MI_VAULT_STORE_CHECKPOINT_H

#include "base/base.h"

#include <sqlite3.h>

#define CHECKPOINT_WAIT_US 8000

/* Makes a checkpoint, without opening or closing the database file. Call it without an open
 * transaction. The connection's busy handler must wait CHECKPOINT_WAIT_US. Returns an SQLite code;
 * SQLITE_BUSY: another process prevents the checkpoint now. */
MI_MUST int checkpoint_run(sqlite3 *db);

#endif
