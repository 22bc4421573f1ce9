/* read_only.h - opens a database to read it, and neither adds nor changes a file in its directory.
 *
 * Rules     in WAL mode SQLite needs two files beside the database, -wal and -shm, and creates them
 *           even for a reader. If both exist, a process uses the database, or was killed: the
 *           reader shares the files, as SQLite intends. If one is missing, no process uses the
 *           database: the reader keeps the content of -shm in its own memory, and treats a missing
 *           -wal as empty. Such a reader needs no permission to write. Later, a writer may start at
 *           any time, and does not see such a reader. So before each transaction the reader calls
 *           read_only_wal_and_shm_exist(), and connects again if it returns true. (-shm cannot
 *           vanish while a reader is connected.) If the writer changes the database during a
 *           transaction, the transaction fails with READ_ONLY_CHANGED: no page of a later state is
 *           read.
 * Owns      nothing: the caller owns the connection, and closes it after an error as well.
 * Errors    SQLite's result codes; *ret is NULL if there is no memory for a connection.
 * Blocks    opening does not; statements wait up to `wait_ms` for a locked database. */
#ifndef MI_VAULT_STORE_READ_ONLY_H
#define MI_VAULT_STORE_READ_ONLY_H

#include "vault/store/connect.h"

/* extended result code: the file was changed during the transaction */
#define READ_ONLY_CHANGED SQLITE_BUSY_SNAPSHOT

/* Opens a database to read it. *ret_shared: whether the connection shares the files -wal and -shm.
 * ret_shared may be NULL if the connection is used only once and for a short time. */
MI_MUST int read_only_open(sqlite3 **ret, const char *path, int wait_ms, bool *ret_shared);
/* Whether the files -wal and -shm exist beside the database. */
bool read_only_wal_and_shm_exist(const char *path);

#endif
