#include "vault/wal_vfs.h"

#include "vault/wal_locks.h"

#define FRAME_HEADER 24
#define LOG_HEADER 32
#define AHEAD_FROM ((sqlite3_int64)64 << 10)    /* a shorter log may be all there will be */
#define AHEAD_SMALL (4 * (FRAME_HEADER + 4096)) /* a larger transaction gets enough pages at once */
_Static_assert(WAL_VFS_BUFFER <= 0x1ffff, "more than SQLite's unix VFS writes in one call");

/* An open write-ahead log; the file of the VFS below lies behind it. */
struct wal_file {
    sqlite3_file base;
    sqlite3_file *below;
    sqlite3_int64 at;   /* offset in the file of the first byte gathered */
    int gathered;       /* bytes in buf */
    bool last_frame;    /* the header gathered last is that of a commit */
    char *buf;          /* owned */
    sqlite3_int64 size; /* the file was this long when last looked at */
    bool begun;         /* the last write was the log's header, into the empty file */
};

/* An open database; the file of the VFS below lies behind it. */
struct db_file {
    sqlite3_file base;
    sqlite3_file *below;
    struct wal_locks locks;
};

static sqlite3_vfs vfs; /* ours; registered once */

/* ---- the log -------------------------------------------------------------------------------- */

/* Whether these n bytes make a file longer that was long already. */
static bool grows(struct wal_file *f, int n)
{
    if (f->at + n <= f->size || f->at < AHEAD_FROM)
        return false;
    return f->below->pMethods->xFileSize(f->below, &f->size) == SQLITE_OK && f->at + n > f->size;
}

/* What is gathered, with zeros behind it. Where there is no room for them, the file is as before. */
static bool write_ahead(struct wal_file *f, int n)
{
    memset(f->buf + n, 0, (size_t)(WAL_VFS_BUFFER - n));
    if (f->below->pMethods->xWrite(f->below, f->buf, WAL_VFS_BUFFER, f->at) == SQLITE_OK) {
        f->size = f->at + WAL_VFS_BUFFER;
        return true;
    }
    (void)f->below->pMethods->xTruncate(f->below, f->size);
    return false;
}

static int write_gathered(struct wal_file *f)
{
    if (f->gathered == 0)
        return SQLITE_OK;
    int n = f->gathered;
    f->gathered = 0;
    f->begun = false;
    if (n <= AHEAD_SMALL && grows(f, n) && write_ahead(f, n))
        return SQLITE_OK;
    return f->below->pMethods->xWrite(f->below, f->buf, n, f->at);
}

static int write_header(struct wal_file *f, const void *p, int n)
{
    sqlite3_int64 size;
    int rc = f->below->pMethods->xFileSize(f->below, &size);
    if (rc != SQLITE_OK)
        return rc;
    f->begun = size == 0;
    return f->below->pMethods->xWrite(f->below, p, n, 0);
}

static int wal_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    struct wal_file *f = (struct wal_file *)file;
    static const char zero[4];
    bool header = n == FRAME_HEADER && at > 0;
    if (f->gathered > 0 && (at != f->at + f->gathered || n > WAL_VFS_BUFFER - f->gathered)) {
        int rc = write_gathered(f);
        if (rc != SQLITE_OK)
            return rc;
    }
    if (n == LOG_HEADER && at == 0)
        return write_header(f, p, n);
    if (!header && f->gathered == 0) { /* nothing of ours: a page by itself */
        f->begun = false;
        return f->below->pMethods->xWrite(f->below, p, n, at);
    }
    if (f->gathered == 0)
        f->at = at;
    memcpy(f->buf + f->gathered, p, (size_t)n);
    f->gathered += n;
    if (header) {
        f->last_frame = memcmp((const char *)p + 4, zero, sizeof zero) != 0;
        return SQLITE_OK;
    }
    return f->last_frame ? write_gathered(f) : SQLITE_OK;
}

static int wal_close(sqlite3_file *file)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    int closed = f->below->pMethods->xClose(f->below);
    sqlite3_free(f->buf);
    f->buf = NULL;
    return rc != SQLITE_OK ? rc : closed;
}

static int wal_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    return rc != SQLITE_OK ? rc : f->below->pMethods->xRead(f->below, p, n, at);
}

static int wal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    f->size = 0;
    return rc != SQLITE_OK ? rc : f->below->pMethods->xTruncate(f->below, size);
}

static int wal_sync(sqlite3_file *file, int flags)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    bool begun = f->begun;
    f->begun = false; /* what is left out is the sync that follows the header at once */
    return rc != SQLITE_OK || begun ? rc : f->below->pMethods->xSync(f->below, flags);
}

static int wal_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    return rc != SQLITE_OK ? rc : f->below->pMethods->xFileSize(f->below, ret);
}

static int wal_lock(sqlite3_file *file, int level)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xLock(f->below, level);
}

static int wal_unlock(sqlite3_file *file, int level)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xUnlock(f->below, level);
}

static int wal_check_lock(sqlite3_file *file, int *ret)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xCheckReservedLock(f->below, ret);
}

static int wal_control(sqlite3_file *file, int op, void *arg)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xFileControl(f->below, op, arg);
}

static int wal_sector(sqlite3_file *file)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xSectorSize(f->below);
}

static int wal_device(sqlite3_file *file)
{
    struct wal_file *f = (struct wal_file *)file;
    return f->below->pMethods->xDeviceCharacteristics(f->below);
}

static const sqlite3_io_methods wal_methods = {
    .iVersion = 1, /* a log needs no shared memory and no mapping */
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_check_lock,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector,
    .xDeviceCharacteristics = wal_device,
};

/* ---- the database --------------------------------------------------------------------------- */

#define BELOW(file) (((struct db_file *)(file))->below)
#define METHOD(file, x) (BELOW(file)->pMethods->x)

static int db_close(sqlite3_file *file)
{
    return METHOD(file, xClose)(BELOW(file));
}

static int db_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
    return METHOD(file, xRead)(BELOW(file), p, n, at);
}

static int db_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    return METHOD(file, xWrite)(BELOW(file), p, n, at);
}

static int db_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return METHOD(file, xTruncate)(BELOW(file), size);
}

static int db_sync(sqlite3_file *file, int flags)
{
    return METHOD(file, xSync)(BELOW(file), flags);
}

static int db_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return METHOD(file, xFileSize)(BELOW(file), ret);
}

static int db_lock(sqlite3_file *file, int level)
{
    return METHOD(file, xLock)(BELOW(file), level);
}

static int db_unlock(sqlite3_file *file, int level)
{
    return METHOD(file, xUnlock)(BELOW(file), level);
}

static int db_check_lock(sqlite3_file *file, int *ret)
{
    return METHOD(file, xCheckReservedLock)(BELOW(file), ret);
}

static int db_control(sqlite3_file *file, int op, void *arg)
{
    struct db_file *f = (struct db_file *)file;
    if (op != WAL_VFS_LOCKS)
        return METHOD(file, xFileControl)(BELOW(file), op, arg);
    *(struct wal_locks **)arg = &f->locks;
    return SQLITE_OK;
}

static int db_sector(sqlite3_file *file)
{
    return METHOD(file, xSectorSize)(BELOW(file));
}

static int db_device(sqlite3_file *file)
{
    return METHOD(file, xDeviceCharacteristics)(BELOW(file));
}

static int db_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return METHOD(file, xShmMap)(BELOW(file), page, size, extend, ret);
}

static int db_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
    struct db_file *f = (struct db_file *)file;
    return wal_locks_lock(&f->locks, at, n, flags);
}

static void db_shm_barrier(sqlite3_file *file)
{
    METHOD(file, xShmBarrier)(BELOW(file));
}

static int db_shm_unmap(sqlite3_file *file, int remove)
{
    struct db_file *f = (struct db_file *)file;
    wal_locks_rest(&f->locks); /* while there is something to unlock it in */
    return METHOD(file, xShmUnmap)(BELOW(file), remove);
}

static const sqlite3_io_methods db_methods = {
    .iVersion = 2, /* shared memory, but no mapping of the database itself */
    .xClose = db_close,
    .xRead = db_read,
    .xWrite = db_write,
    .xTruncate = db_truncate,
    .xSync = db_sync,
    .xFileSize = db_size,
    .xLock = db_lock,
    .xUnlock = db_unlock,
    .xCheckReservedLock = db_check_lock,
    .xFileControl = db_control,
    .xSectorSize = db_sector,
    .xDeviceCharacteristics = db_device,
    .xShmMap = db_shm_map,
    .xShmLock = db_shm_lock,
    .xShmBarrier = db_shm_barrier,
    .xShmUnmap = db_shm_unmap,
};

/* ---- opening -------------------------------------------------------------------------------- */

/* The file of the VFS below lies at `below`, whose methods are NULL when there is nothing to close. */
static int open_below(sqlite3_vfs *v, const char *name, sqlite3_file *below, int flags,
                      int *ret_flags)
{
    sqlite3_vfs *lower = v->pAppData;
    memset(below, 0, (size_t)lower->szOsFile);
    int rc = lower->xOpen(lower, name, below, flags, ret_flags);
    if (rc != SQLITE_OK && below->pMethods != NULL)
        below->pMethods->xClose(below);
    return rc;
}

static int open_log(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    struct wal_file *f = (struct wal_file *)file;
    *f = (struct wal_file){.below = (sqlite3_file *)(f + 1)};
    f->buf = sqlite3_malloc(WAL_VFS_BUFFER);
    if (f->buf == NULL)
        return SQLITE_NOMEM;
    int rc = open_below(v, name, f->below, flags, ret_flags);
    if (rc == SQLITE_OK) {
        f->base.pMethods = &wal_methods;
        return SQLITE_OK;
    }
    sqlite3_free(f->buf);
    f->buf = NULL;
    return rc;
}

static int open_db(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    struct db_file *f = (struct db_file *)file;
    *f = (struct db_file){.below = (sqlite3_file *)(f + 1)};
    f->locks.below = f->below;
    int rc = open_below(v, name, f->below, flags, ret_flags);
    if (rc == SQLITE_OK)
        f->base.pMethods = &db_methods;
    return rc;
}

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    sqlite3_vfs *lower = v->pAppData;
    if (flags & SQLITE_OPEN_WAL)
        return open_log(v, name, file, flags, ret_flags);
    if (flags & SQLITE_OPEN_MAIN_DB)
        return open_db(v, name, file, flags, ret_flags);
    return lower->xOpen(lower, name, file, flags, ret_flags);
}

const char *wal_vfs(void)
{
    if (vfs.zName != NULL)
        return vfs.zName;
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);
    if (below == NULL)
        return NULL;
    vfs =
        *below; /* every call but xOpen is the one below, which takes no offence at another's name */
    vfs.pNext = NULL;
    vfs.pAppData = below;
    vfs.xOpen = open_file;
    size_t own = sizeof(struct wal_file) > sizeof(struct db_file) ? sizeof(struct wal_file)
                                                                  : sizeof(struct db_file);
    vfs.szOsFile = below->szOsFile + (int)own;
    vfs.zName = WAL_VFS_NAME;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        vfs.zName = NULL;
        return NULL;
    }
    return vfs.zName;
}
