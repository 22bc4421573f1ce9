#include "vault/wal_vfs.h"

#include "base/base.h"

#include <sqlite3.h>

#define FRAME_HEADER 24
_Static_assert(WAL_VFS_BUFFER <= 0x1ffff, "more than SQLite's unix VFS writes in one call");

/* An open write-ahead log; the file of the VFS below lies behind it. */
struct wal_file {
    sqlite3_file base;
    sqlite3_file *below;
    sqlite3_int64 at; /* offset in the file of the first byte gathered */
    int gathered;     /* bytes in buf */
    bool last_frame;  /* the header gathered last is that of a commit */
    char *buf;        /* owned */
};

static sqlite3_vfs vfs; /* ours; registered once */

static int write_gathered(struct wal_file *f)
{
    if (f->gathered == 0)
        return SQLITE_OK;
    int n = f->gathered;
    f->gathered = 0;
    return f->below->pMethods->xWrite(f->below, f->buf, n, f->at);
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
    if (!header &&
        f->gathered == 0) /* nothing of ours: the log's own header, or a page by itself */
        return f->below->pMethods->xWrite(f->below, p, n, at);
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
    return rc != SQLITE_OK ? rc : f->below->pMethods->xTruncate(f->below, size);
}

static int wal_sync(sqlite3_file *file, int flags)
{
    struct wal_file *f = (struct wal_file *)file;
    int rc = write_gathered(f);
    return rc != SQLITE_OK ? rc : f->below->pMethods->xSync(f->below, flags);
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

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    sqlite3_vfs *below = v->pAppData;
    if ((flags & SQLITE_OPEN_WAL) == 0)
        return below->xOpen(below, name, file, flags, ret_flags);
    struct wal_file *f = (struct wal_file *)file;
    *f = (struct wal_file){.below = (sqlite3_file *)(f + 1)};
    f->buf = sqlite3_malloc(WAL_VFS_BUFFER);
    if (f->buf == NULL)
        return SQLITE_NOMEM;
    memset(f->below, 0, (size_t)below->szOsFile);
    int rc = below->xOpen(below, name, f->below, flags, ret_flags);
    if (rc == SQLITE_OK) {
        f->base.pMethods = &wal_methods;
        return SQLITE_OK;
    }
    if (f->below->pMethods != NULL)
        f->below->pMethods->xClose(f->below);
    sqlite3_free(f->buf);
    f->buf = NULL;
    return rc;
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
    vfs.szOsFile = below->szOsFile + (int)sizeof(struct wal_file);
    vfs.zName = WAL_VFS_NAME;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        vfs.zName = NULL;
        return NULL;
    }
    return vfs.zName;
}
