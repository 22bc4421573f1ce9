/* read_only.h - opens a database to read it, and neither adds nor changes a file in its directory.
 *
 * Rules     in WAL mode SQLite needs two files beside the database, -wal and -shm, and creates them even for a reader.
 *           If both exist, somebody uses the database, or was killed: the reader shares them, as SQLite intends. If one
 *           is missing, nobody uses it: the reader keeps in its own memory what SQLite keeps in -shm, and takes a
 *           missing -wal for an empty one. This needs no right to write.
 *           A writer may start at any time after that, and does not see such a reader: before each transaction the
 *           reader asks read_only_is_shared(), and connects again if it is true. (-shm cannot vanish while a reader is
 *           connected.) If the writer changes the database during a transaction, the transaction fails with
 *           READ_ONLY_CHANGED: no page of a later state is read.
 * Owns      nothing: the caller owns the connection, and closes it after an error as well.
 * Errors    SQLite's result codes; *ret is NULL if there is no memory for a connection.
 * Blocks    opening does not; statements wait up to `wait_ms` for a locked database. */
#ifndef MI_VAULT_STORE_READ_ONLY_H
#define MI_VAULT_STORE_READ_ONLY_H

#include "vault/store/connect.h"

#define READ_ONLY_CHANGED SQLITE_BUSY_SNAPSHOT /* an extended result code */

/* *ret_shared: it shares SQLite's two files. NULL: the connection is for one short use. */
MI_MUST int read_only_open(sqlite3 **ret, const char *path, int wait_ms, bool *ret_shared);
/* Do both of SQLite's files exist beside the database? */
bool read_only_is_shared(const char *path);

#endif
