#include "vault/checkpoint.h"

#include "vault/dir.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

int checkpoint_vault(const char *vault)
{
    char path[4096];
    char *real = realpath(vault, NULL); /* SQLITE_OPEN_NOFOLLOW wants no link at all in the path */
    int n = real != NULL ? snprintf(path, sizeof path, "%s/%s", real, VAULT_DB) : -1;
    free(real);
    if (n < 0 || (size_t)n >= sizeof path)
        return MI_ESTORE;
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    /* The second time only what came during the first is left, and so little to sync after it that the
     * third, which keeps writers out, is short. */
    for (int i = 0; i < 2 && rc == SQLITE_OK; i++)
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(db, CHECKPOINT_WAIT_US / 1000);
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    }
    sqlite3_close(db);
    return rc == SQLITE_OK ? 0 : MI_ESTORE;
}
