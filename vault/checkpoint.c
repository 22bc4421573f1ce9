#include "vault/checkpoint.h"

#include "base/clock.h"
#include "vault/connect.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define PASSES_MAX 8
#define PASS_SHORT_US 3000
/* Pages; more than that may come only while a reader keeps them from being moved. */
#define LEFT_MOST 2000

/* Writers stand still while this step waits for the last reader: it looks often, and gives up soon. SQLite's
 * own handler sleeps for many milliseconds at a time. */
static int on_busy(void *ctx, int times)
{
    (void)times;
    const int64_t *until_us = ctx;
    nanosleep(&(struct timespec){0, 50000}, NULL);
    return clock_mono_us() < *until_us;
}

/* Each pass finds only what came during the one before. When a pass was short, so little is left to move
 * and to sync that the last step, which keeps writers out, is short as well. A pass is short, too, when somebody
 * still reads an old state of the database: if he ended right now, the last step would have to move all that
 * came since, and writers would stand still for it. Then there is none: *ret_left says so. */
static int catch_up(sqlite3 *db, int *ret_left)
{
    int rc = SQLITE_OK, in_log = 0, moved = 0;
    int64_t took_us = INT64_MAX;
    for (int i = 0; i < PASSES_MAX && rc == SQLITE_OK && took_us > PASS_SHORT_US; i++) {
        int64_t start = clock_mono_us();
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
        took_us = clock_mono_us() - start;
    }
    *ret_left = in_log - moved;
    return rc;
}

int checkpoint_vault(const char *vault)
{
    char path[PATH_MAX];
    if (!connect_path(vault, path))
        return MI_ESTORE;
    sqlite3 *db = NULL;
    int left = 0;
    int rc = connect_open(&db, path, SQLITE_OPEN_READWRITE, 0);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = catch_up(db, &left);
    /* SQLite syncs the database in the last step, which keeps writers out: let it find little to sync. The
     * descriptor is closed after SQLite's, for any close drops a process's locks on a file (POSIX). */
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && rc == SQLITE_OK && (fdatasync(file) != 0 || catch_up(db, &left) != SQLITE_OK))
        rc = SQLITE_IOERR;
    if (rc == SQLITE_OK && left > LEFT_MOST)
        rc = SQLITE_BUSY;
    if (rc == SQLITE_OK) {
        int64_t until_us = clock_mono_us() + CHECKPOINT_WAIT_US;
        sqlite3_busy_handler(db, on_busy, &until_us);
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    }
    sqlite3_close(db);
    if (file >= 0)
        close(file);
    return rc == SQLITE_OK ? 0 : MI_ESTORE;
}
