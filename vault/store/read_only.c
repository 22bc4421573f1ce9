/* The VFS in this file is SQLite's own, but it creates no files: it does not create a write-ahead
 * log, and has no shared memory. SQLite supports such a VFS since 3.22: it returns
 * SQLITE_READONLY_CANTINIT from xShmMap (wal.c, walBeginShmUnreliable). */
#include "vault/store/read_only.h"

#include "base/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VFS_NAME "mcp-interposer-read-only"

/* Our data, which follows SQLite's own data of a file. */
struct more {
    const char *name;    /* borrowed from SQLite; name of the database file; NULL: another kind of
                          * file */
    struct stat at_lock; /* status of the file when it was locked */
};

static sqlite3_vfs *own;                 /* the default VFS of SQLite */
static const sqlite3_io_methods *files;  /* SQLite's functions for database files */
static sqlite3_io_methods private_files; /* copy of `files` in which some functions are replaced by
                                          * those below */
static size_t more_at;                   /* offset of struct more in SQLite's struct for a file */

static struct more *more_of_file(sqlite3_file *f)
{
    return (struct more *)(void *)((char *)f + more_at);
}

/* ---- a database file ---- */

static int read_only_lock(sqlite3_file *f, int level)
{
    struct more *m = more_of_file(f);
    int rc = files->xLock(f, level);
    if (rc == SQLITE_OK && stat(m->name, &m->at_lock) != 0)
        return SQLITE_IOERR_FSTAT;
    return rc;
}

/* Reads a page. It is valid only if nobody has written to the file since it was locked: a writer
 * copies pages from its -wal. */
static int read_page(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    const struct more *m = more_of_file(f);
    struct stat st;
    int rc = files->xRead(f, to, n, at);
    if (rc != SQLITE_OK || m->at_lock.st_ino == 0)
        return rc;
    if (stat(m->name, &st) != 0)
        return SQLITE_IOERR_FSTAT;
    struct timespec now = file_changed_at(&st), at_lock = file_changed_at(&m->at_lock);
    bool same = st.st_size == m->at_lock.st_size && st.st_ino == m->at_lock.st_ino &&
                now.tv_sec == at_lock.tv_sec && now.tv_nsec == at_lock.tv_nsec;
    return same ? SQLITE_OK : READ_ONLY_CHANGED;
}

static int shm_map(sqlite3_file *f, int page, int n, int extend, void volatile **ret)
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

static void shm_barrier(sqlite3_file *f)
{
    (void)f;
}

static int shm_unmap(sqlite3_file *f, int remove)
{
    (void)f, (void)remove;
    return SQLITE_OK;
}

/* ---- a write-ahead log without content ---- */

static int empty_close(sqlite3_file *f)
{
    (void)f;
    return SQLITE_OK;
}

static int empty_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    (void)f, (void)at;
    memset(to, 0, (size_t)n);
    return SQLITE_IOERR_SHORT_READ;
}

static int empty_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    (void)f, (void)from, (void)n, (void)at;
    return SQLITE_READONLY;
}

static int empty_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    (void)f, (void)n;
    return SQLITE_READONLY;
}

static int empty_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    (void)f;
    *ret = 0;
    return SQLITE_OK;
}

static int empty_with_number(sqlite3_file *f, int number)
{
    (void)f, (void)number;
    return SQLITE_OK;
}

static int empty_reserved(sqlite3_file *f, int *ret)
{
    (void)f;
    *ret = 0;
    return SQLITE_OK;
}

static int empty_control(sqlite3_file *f, int what, void *arg)
{
    (void)f, (void)what, (void)arg;
    return SQLITE_NOTFOUND;
}

static int empty_fact(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static const sqlite3_io_methods empty_file = {.iVersion = 1,
                                              .xClose = empty_close,
                                              .xRead = empty_read,
                                              .xWrite = empty_write,
                                              .xTruncate = empty_truncate,
                                              .xSync = empty_with_number,
                                              .xFileSize = empty_size,
                                              .xLock = empty_with_number,
                                              .xUnlock = empty_with_number,
                                              .xCheckReservedLock = empty_reserved,
                                              .xFileControl = empty_control,
                                              .xSectorSize = empty_fact,
                                              .xDeviceCharacteristics = empty_fact};

/* ---- the VFS ---- */

static void make_private(sqlite3_file *f)
{
    files = f->pMethods;
    private_files = *files;
    private_files.xLock = read_only_lock;
    private_files.xRead = read_page;
    private_files.xShmMap = shm_map;
    private_files.xShmLock = shm_lock;
    private_files.xShmBarrier = shm_barrier;
    private_files.xShmUnmap = shm_unmap;
    f->pMethods = &private_files;
}

/* SQLite ignores a write-ahead log without this header, but only if it has shared memory. */
static bool has_log_header(const char *name)
{
    /* first bytes of the -wal file; 0x82 or 0x83 follows */
    static const unsigned char magic[] = {0x37, 0x7f, 0x06};
    unsigned char head[32]; /* header of the -wal file; see
                             * sqlite.org/fileformat2.html */
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
    *more_of_file(f) = (struct more){0};
    f->pMethods = NULL;
    if (!connect_is_file(name))
        return SQLITE_CANTOPEN;
    if ((flags & SQLITE_OPEN_WAL) != 0)
        flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    if ((flags & SQLITE_OPEN_WAL) != 0 && !has_log_header(name)) {
        f->pMethods = &empty_file;
        *ret_flags = flags;
        return SQLITE_OK;
    }
    int rc = own->xOpen(own, name, f, flags, ret_flags);
    if (rc == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        more_of_file(f)->name = name;
        make_private(f);
    }
    return rc;
}

static int register_vfs(void)
{
    static sqlite3_vfs vfs;
    if (own != NULL)
        return SQLITE_OK;
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    if (found == NULL)
        return SQLITE_NOMEM;
    vfs = *found;
    vfs.zName = VFS_NAME;
    vfs.pNext = NULL;
    vfs.xOpen = read_only_open_file;
    more_at = ((size_t)found->szOsFile + 15) / 16 * 16;
    vfs.szOsFile = (int)(more_at + sizeof(struct more));
    int rc = sqlite3_vfs_register(&vfs, 0);
    if (rc == SQLITE_OK)
        own = found;
    return rc;
}

/* ---- connections ---- */

static bool read_only_exists(const char *path, const char *more)
{
    char name[PATH_MAX + 8];
    int n = snprintf(name, sizeof name, "%s%s", path, more);
    return n > 0 && (size_t)n < sizeof name && file_exists(AT_FDCWD, name);
}

bool read_only_is_shared(const char *path)
{
    return read_only_exists(path, "-shm") && read_only_exists(path, "-wal");
}

int read_only_open(sqlite3 **ret, const char *path, int wait_ms, bool *ret_shared)
{
    bool shared = read_only_is_shared(path);
    int rc = SQLITE_OK;
    *ret = NULL;
    if (!shared)
        rc = register_vfs();
    if (rc == SQLITE_OK)
        rc = connect_open(ret, path, shared ? NULL : VFS_NAME, SQLITE_OPEN_READONLY, wait_ms);
    if (ret_shared != NULL)
        *ret_shared = shared;
    return rc;
}
