/* The VFS in this file calls SQLite's own VFS, but creates no files. It opens a write-ahead log
 * only to read it, and has no shared memory. SQLite supports such a VFS since version 3.22, if
 * xShmMap returns SQLITE_READONLY_CANTINIT (wal.c, walBeginShmUnreliable). */
#include "vault/store/read_only.h"

#include "base/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VFS_NAME "mcp-interposer-read-only"

/* Data of this VFS for an open file; the data of SQLite's own VFS precede it in memory. */
struct reader_data {
    /* name of the database file, borrowed from SQLite; NULL: the file is of another kind */
    const char *name;
    struct stat at_lock; /* status of the file at the time when it was locked */
};

static sqlite3_vfs *default_vfs; /* SQLite's own VFS */
/* functions of SQLite's own VFS for database files */
static const sqlite3_io_methods *default_methods;
/* a copy of *default_methods in which some functions are replaced by functions of this file */
static sqlite3_io_methods reader_methods;
static size_t data_offset; /* offset of struct reader_data in SQLite's struct for a file */

static struct reader_data *get_reader_data_of_file(sqlite3_file *f)
{
    return (struct reader_data *)(void *)((char *)f + data_offset);
}

/* ---- a database file ---- */

static int read_only_lock_database(sqlite3_file *f, int level)
{
    struct reader_data *m = get_reader_data_of_file(f);
    int rc = default_methods->xLock(f, level);
    if (rc == SQLITE_OK && stat(m->name, &m->at_lock) != 0)
        return SQLITE_IOERR_FSTAT;
    return rc;
}

/* Reads a page. Fails if somebody has written to the file since it was locked: a writer may have
 * copied pages of a later state from the -wal file to the database. */
static int read_only_read_page(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    const struct reader_data *m = get_reader_data_of_file(f);
    struct stat st;
    int rc = default_methods->xRead(f, to, n, at);
    if (rc != SQLITE_OK || m->at_lock.st_ino == 0)
        return rc;
    if (stat(m->name, &st) != 0)
        return SQLITE_IOERR_FSTAT;
    struct timespec now = file_get_change_time(&st), at_lock = file_get_change_time(&m->at_lock);
    bool same = st.st_size == m->at_lock.st_size && st.st_ino == m->at_lock.st_ino &&
                now.tv_sec == at_lock.tv_sec && now.tv_nsec == at_lock.tv_nsec;
    return same ? SQLITE_OK : READ_ONLY_CHANGED;
}

static int refuse_shm_map(sqlite3_file *f, int page, int n, int extend, void volatile **ret)
{
    (void)f, (void)page, (void)n, (void)extend;
    *ret = NULL;
    return SQLITE_READONLY_CANTINIT;
}

static int shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    (void)f, (void)at, (void)n, (void)flags;
    return SQLITE_OK;
}

static void ignore_shm_barrier(sqlite3_file *f)
{
    (void)f;
}

static int shm_unmap(sqlite3_file *f, int remove)
{
    (void)f, (void)remove;
    return SQLITE_OK;
}

/* ---- a write-ahead log without content ---- */

static int empty_file_close(sqlite3_file *f)
{
    (void)f;
    return SQLITE_OK;
}

static int empty_file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    (void)f, (void)at;
    memset(to, 0, (size_t)n);
    return SQLITE_IOERR_SHORT_READ;
}

static int empty_file_refuse_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    (void)f, (void)from, (void)n, (void)at;
    return SQLITE_READONLY;
}

static int empty_file_refuse_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    (void)f, (void)n;
    return SQLITE_READONLY;
}

static int empty_file_get_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    (void)f;
    *ret = 0;
    return SQLITE_OK;
}

static int empty_file_do_nothing(sqlite3_file *f, int number)
{
    (void)f, (void)number;
    return SQLITE_OK;
}

static int empty_file_check_reserved_lock(sqlite3_file *f, int *ret)
{
    (void)f;
    *ret = 0;
    return SQLITE_OK;
}

static int empty_file_refuse_file_control(sqlite3_file *f, int what, void *arg)
{
    (void)f, (void)what, (void)arg;
    return SQLITE_NOTFOUND;
}

static int empty_file_get_property(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static const sqlite3_io_methods empty_file = {.iVersion = 1,
                                              .xClose = empty_file_close,
                                              .xRead = empty_file_read,
                                              .xWrite = empty_file_refuse_write,
                                              .xTruncate = empty_file_refuse_truncate,
                                              .xSync = empty_file_do_nothing,
                                              .xFileSize = empty_file_get_size,
                                              .xLock = empty_file_do_nothing,
                                              .xUnlock = empty_file_do_nothing,
                                              .xCheckReservedLock = empty_file_check_reserved_lock,
                                              .xFileControl = empty_file_refuse_file_control,
                                              .xSectorSize = empty_file_get_property,
                                              .xDeviceCharacteristics = empty_file_get_property};

/* ---- the VFS ---- */

static void replace_file_methods(sqlite3_file *f)
{
    default_methods = f->pMethods;
    reader_methods = *default_methods;
    reader_methods.xLock = read_only_lock_database;
    reader_methods.xRead = read_only_read_page;
    reader_methods.xShmMap = refuse_shm_map;
    reader_methods.xShmLock = shm_lock;
    reader_methods.xShmBarrier = ignore_shm_barrier;
    reader_methods.xShmUnmap = shm_unmap;
    f->pMethods = &reader_methods;
}

/* Whether the file begins like a write-ahead log. Without shared memory, SQLite does not ignore a
 * file with another beginning. */
static bool file_has_log_header(const char *name)
{
    /* first bytes of the -wal file; 0x82 or 0x83 follows */
    static const unsigned char magic[] = {0x37, 0x7f, 0x06};
    unsigned char head[32]; /* header of the -wal file; see sqlite.org/fileformat2.html */
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return n == sizeof head && memcmp(head, magic, sizeof magic) == 0;
}

static int read_only_open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                               int *ret_flags)
{
    (void)vfs;
    *get_reader_data_of_file(f) = (struct reader_data){0};
    f->pMethods = NULL;
    if (!connect_may_open_file(name))
        return SQLITE_CANTOPEN;
    if ((flags & SQLITE_OPEN_WAL) != 0)
        flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    if ((flags & SQLITE_OPEN_WAL) != 0 && !file_has_log_header(name)) {
        f->pMethods = &empty_file;
        *ret_flags = flags;
        return SQLITE_OK;
    }
    int rc = default_vfs->xOpen(default_vfs, name, f, flags, ret_flags);
    if (rc == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        get_reader_data_of_file(f)->name = name;
        replace_file_methods(f);
    }
    return rc;
}

static int read_only_register_vfs(void)
{
    static sqlite3_vfs vfs;
    if (default_vfs != NULL)
        return SQLITE_OK;
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    if (found == NULL)
        return SQLITE_NOMEM;
    vfs = *found;
    vfs.zName = VFS_NAME;
    vfs.pNext = NULL;
    vfs.xOpen = read_only_open_file;
    data_offset = ((size_t)found->szOsFile + 15) / 16 * 16;
    vfs.szOsFile = (int)(data_offset + sizeof(struct reader_data));
    int rc = sqlite3_vfs_register(&vfs, 0);
    if (rc == SQLITE_OK)
        default_vfs = found;
    return rc;
}

/* ---- connections ---- */

static bool file_with_suffix_exists(const char *path, const char *suffix)
{
    char name[PATH_MAX + 8];
    int n = snprintf(name, sizeof name, "%s%s", path, suffix);
    return n > 0 && (size_t)n < sizeof name && file_exists(AT_FDCWD, name);
}

bool read_only_wal_and_shm_exist(const char *path)
{
    return file_with_suffix_exists(path, "-shm") && file_with_suffix_exists(path, "-wal");
}

int read_only_open(sqlite3 **ret, const char *path, int wait_ms, bool *ret_shared)
{
    bool shared = read_only_wal_and_shm_exist(path);
    int rc = SQLITE_OK;
    *ret = NULL;
    if (!shared)
        rc = read_only_register_vfs();
    if (rc == SQLITE_OK)
        rc = connect_open_database(ret, path, shared ? NULL : VFS_NAME, SQLITE_OPEN_READONLY,
                                   wait_ms);
    if (ret_shared != NULL)
        *ret_shared = shared;
    return rc;
}
