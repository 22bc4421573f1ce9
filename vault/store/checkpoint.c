#include "vault/store/checkpoint.h"

#include "base/clock.h"

#define PASSES_MAX 8
#define PASS_SHORT_US 3000
/* Maximum number of pages that the last step may have to move. A larger number of pages is left
 * only if a reader prevents SQLite from moving them. */
#define LEFT_MOST 2000

/* Repeats passive checkpoints: each of them moves only the pages that were written during the
 * previous checkpoint. When a checkpoint was short, few pages are left for the last step, which
 * blocks writers. But a checkpoint is also short if a reader of an old snapshot prevents SQLite
 * from moving pages; then many pages are left. *ret_left: the number of pages left. */
static int checkpoint_repeat_passive(sqlite3 *db, int *ret_left)
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

/* Syncs through SQLite's own file descriptor: closing another descriptor of the file would drop all
 * locks of the process on the file (POSIX). */
static int sync_database_file(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc != SQLITE_OK || file == NULL || file->pMethods == NULL)
        return rc != SQLITE_OK ? rc : SQLITE_ERROR;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

int checkpoint_run(sqlite3 *db)
{
    int left = 0;
    int rc = checkpoint_repeat_passive(db, &left);
    /* sync the database now: the last step syncs it too, but that step blocks writers and must be
     * short */
    if (rc == SQLITE_OK)
        rc = sync_database_file(db);
    if (rc == SQLITE_OK)
        rc = checkpoint_repeat_passive(db, &left);
    if (rc == SQLITE_OK && left > LEFT_MOST)
        rc = SQLITE_BUSY;
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    return rc;
}
