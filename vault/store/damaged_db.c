#include "vault/store/damaged_db.h"

#include "base/clock.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/rebuild.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 2000
/* Number of attempts to lock the directory, with pauses of LOCK_PAUSE_MS. Another process may hold
 * the lock for a long time while it checks the database. */
#define LOCK_TRIES 200
#define LOCK_PAUSE_MS 50
/* maximum number of file names that are tried, if several databases are renamed in the same
 * second */
#define NAMES_MAX 100

bool damaged_db_is_damage_code(int code)
{
    return (code & 0xFF) == SQLITE_CORRUPT || (code & 0xFF) == SQLITE_NOTADB;
}

/* ---- the check ---- */

/* Checks the database, and appends a description of the damage to `why`. Returns true if the
 * database is damaged; false if it is sound, or cannot be checked now. */
static bool database_is_damaged(const char *path, struct buf *why)
{
    sqlite3 *db;
    int rc = connect_open_database(&db, path, NULL, SQLITE_OPEN_READWRITE, BUSY_MS);
    /* by default, closing the connection makes a checkpoint, which changes the damaged file */
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = rebuild_check_database(db, why);
    if (damaged_db_is_damage_code(rc)) {
        buf_clear(why);
        buf_adds(why, failure_text(db));
    }
    sqlite3_close(db);
    return why->n > 0;
}

/* ---- renaming ---- */

static bool damaged_db_lock_dir(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){0, LOCK_PAUSE_MS * 1000000}, NULL);
    }
    return false;
}

static bool damaged_db_name_is_free(int dir, const char *name, const char *suffix)
{
    char path[DAMAGED_NAME_MAX + 8];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", name, suffix);
    return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static bool damaged_db_choose_name(int dir, char ret[DAMAGED_NAME_MAX])
{
    char when[24] = "";
    struct tm tm;
    time_t now = (time_t)(clock_wall_us() / 1000000);
    if (gmtime_r(&now, &tm) != NULL)
        (void)strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &tm);
    for (int i = 0; i < NAMES_MAX; i++) {
        snprintf(ret, DAMAGED_NAME_MAX, i == 0 ? DAMAGED_PREFIX "%s" : DAMAGED_PREFIX "%s.%d", when,
                 i);
        if (damaged_db_name_is_free(dir, ret, "") && damaged_db_name_is_free(dir, ret, "-wal") &&
            damaged_db_name_is_free(dir, ret, "-shm"))
            return true;
    }
    errno = EEXIST;
    return false;
}

/* Renames -wal and -shm before the database. As long as the damaged database has its name, no
 * process creates a new database; creating one would let SQLite remove an existing -wal. */
static int rename_database_files(int dir, const char *name)
{
    static const char *const suffix[] = {"-wal", "-shm", ""};
    for (size_t i = 0; i < MI_COUNT(suffix); i++) {
        char from[32], to[DAMAGED_NAME_MAX + 8];
        snprintf(from, sizeof from, VAULT_DB "%s", suffix[i]);
        snprintf(to, sizeof to, "%s%s", name, suffix[i]);
        if (renameat(dir, from, dir, to) != 0 && (errno != ENOENT || suffix[i][0] == '\0'))
            return MI_EIO;
    }
    (void)fsync(dir);
    return 0;
}

int damaged_db_move_aside(const struct vault_dir *dir, char ret_name[DAMAGED_NAME_MAX],
                          struct buf *why)
{
    char path[PATH_MAX], name[DAMAGED_NAME_MAX];
    int n = snprintf(path, sizeof path, "%s/" VAULT_DB, dir->path);
    int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), st = MI_ENOENT;
    buf_clear(why);
    if (own < 0)
        return MI_EIO;
    if (n > 0 && (size_t)n < sizeof path && damaged_db_lock_dir(own) &&
        database_is_damaged(path, why))
        st = damaged_db_choose_name(own, name) ? rename_database_files(own, name) : MI_EIO;
    int e = errno;
    close(own);
    errno = e;
    if (st == 0)
        memcpy(ret_name, name, sizeof name);
    return why->failed ? MI_ENOMEM : st;
}

/* ---- databases that were put aside ---- */

static bool is_damaged_database_copy(const char *name)
{
    size_t n = strlen(name);
    return strncmp(name, DAMAGED_PREFIX, sizeof DAMAGED_PREFIX - 1) == 0 && n < DAMAGED_NAME_MAX &&
           strcmp(name + n - 4, "-wal") != 0 && strcmp(name + n - 4, "-shm") != 0;
}

void damaged_db_visit_all(int dir, void (*call)(void *ctx, const char *name), void *ctx)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL && fd >= 0)
        close(fd);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (is_damaged_database_copy(e->d_name))
            call(ctx, e->d_name);
    if (d != NULL)
        closedir(d);
}

struct tally {
    size_t n;
    char newest[DAMAGED_NAME_MAX];
};

static void count_damaged_database(void *ctx, const char *name)
{
    struct tally *t = ctx;
    if (t->n++ == 0 || strcmp(name, t->newest) > 0)
        snprintf(t->newest, sizeof t->newest, "%s", name);
}

size_t damaged_db_count(int dir, char ret_newest[DAMAGED_NAME_MAX])
{
    struct tally t = {.n = 0};
    damaged_db_visit_all(dir, count_damaged_database, &t);
    if (ret_newest != NULL)
        memcpy(ret_newest, t.newest, sizeof t.newest);
    return t.n;
}
