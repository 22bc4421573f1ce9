/* unsent_open.c - opens the connection, locks a target, and reads large bodies. */
#include "vault/unsent/state.h"

#include "vault/store/bodies.h"
#include "vault/store/layout.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK "ship.lock"

/* This connection makes no checkpoints, because recorders make them. */
static const struct db_kind shipper = {
    .writes = true,
    .wait_ms = UNSENT_WAIT_MS,
    .settings = "PRAGMA wal_autocheckpoint = 0",
    .sql = unsent_sql,
    .n = UNSENT_STATEMENTS,
    .can_not = "use",
};

const char *unsent_error(struct unsent *u)
{
    return u->error.n > 0 && !u->error.failed ? buf_str(&u->error) : "out of memory";
}

const char *unsent_get_vault_path(const struct unsent *u)
{
    return u->dir.path;
}

static int unsent_connect_to_vault(struct unsent *u)
{
    char path[PATH_MAX];
    struct buf why = {0};
    if (!connect_find_database_path(u->dir.path, path))
        return MI_ENOENT;
    int st = db_open(&u->d, &shipper, path, &u->error);
    if (st < 0)
        return st;
    st = schema_make_ready(u->d.db);
    if (st == MI_EINVAL)
        buf_printf(&u->error,
                   "%s/" VAULT_DB " was made by a newer mcp-interposer; use that version",
                   u->dir.path);
    if (st == 0 && (st = layout_find_misleading_table(u->d.db, &why)) == MI_EINVAL)
        buf_printf(&u->error, "cannot read %s: %s", path, buf_str(&why));
    buf_close(&why);
    return st == MI_ESTORE ? db_fail(&u->d) : st;
}

int unsent_open(struct unsent **ret, const char *vault, struct buf *error)
{
    struct unsent *u = calloc(1, sizeof *u);
    if (u == NULL)
        return MI_ENOMEM;
    u->body_fd = u->lock_fd = -1;
    u->synced = -1;
    int st = vault_dir_open(&u->dir, vault, false, error);
    if (st == 0 && (st = unsent_connect_to_vault(u)) < 0) {
        buf_clear(error);
        if (st == MI_ENOENT)
            buf_printf(error, "nothing has been recorded in %s; choose another vault with --vault",
                       vault);
        else
            buf_adds(error, unsent_error(u));
    }
    if (st < 0)
        unsent_close(u);
    else
        *ret = u;
    return st;
}

void unsent_close(struct unsent *u)
{
    if (u == NULL)
        return;
    if (u->d.kind != NULL)
        db_close(&u->d);
    if (u->body_fd >= 0)
        close(u->body_fd);
    if (u->lock_fd >= 0)
        close(u->lock_fd);
    vault_dir_close(&u->dir);
    buf_close(&u->error);
    free(u);
}

/* ---- the lock ---- */

/* Returns the offset in the lock file of the byte for a target. The process that sends to the
 * target holds a lock on this byte. */
static off_t lock_offset_of_target(struct slice target)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < target.n; i++)
        h = (h ^ (unsigned char)target.p[i]) * 16777619u;
    return (off_t)(h & 0x7FFFFFFF);
}

static int unsent_set_lock_error(struct unsent *u)
{
    buf_clear(&u->error);
    buf_printf(&u->error, "cannot lock %s/" LOCK ": %s", u->dir.path, strerror(errno));
    return MI_EIO;
}

int unsent_lock_target(struct unsent *u, const char *target)
{
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = lock_offset_of_target(slice_of(target)),
                      .l_len = 1};
    if (u->lock_fd < 0)
        u->lock_fd = vault_dir_open_file(u->dir.fd, LOCK, O_RDWR | O_CREAT);
    if (u->lock_fd < 0)
        return unsent_set_lock_error(u);
    if (fcntl(u->lock_fd, F_SETLK, &l) == 0)
        return 0;
    if (errno != EACCES && errno != EAGAIN)
        return unsent_set_lock_error(u);
    bool held = fcntl(u->lock_fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
    buf_clear(&u->error);
    buf_printf(&u->error, "process %d sends this vault to %s; stop it first",
               held ? (int)l.l_pid : 0, target);
    return MI_EBUSY;
}

/* ---- large bodies ---- */

static int unsent_set_body_error(struct unsent *u, const char *uid)
{
    int missing = errno == ENOENT || errno == ENODATA;
    buf_clear(&u->error);
    buf_printf(&u->error, "%s/" VAULT_BODIES "/%s: %s", u->dir.path, uid,
               errno == ENODATA ? "the file is too short" : strerror(errno));
    return missing ? MI_ENOENT : MI_ESTORE;
}

static int unsent_open_body_file(struct unsent *u, const char *uid)
{
    if (!uid_is_valid(slice_of(uid))) { /* check the uid, because it is used as a file name */
        errno = EINVAL;
        return unsent_set_body_error(u, "?");
    }
    if (u->body_fd >= 0 && strcmp(uid, u->body_uid) == 0)
        return 0;
    if (u->body_fd >= 0)
        close(u->body_fd);
    int dir = vault_dir_open_sub(u->dir.fd, VAULT_BODIES, false);
    u->body_fd = dir >= 0 ? vault_dir_open_file(dir, uid, O_RDONLY | O_NONBLOCK) : -1;
    int e = errno;
    if (dir >= 0)
        close(dir);
    errno = e;
    if (u->body_fd < 0)
        return unsent_set_body_error(u, uid);
    memcpy(u->body_uid, uid, sizeof u->body_uid);
    return 0;
}

int unsent_has_body(struct unsent *u, const char *uid, int64_t offset, int64_t length, bool *ret)
{
    struct stat file;
    int st = unsent_open_body_file(u, uid);
    *ret = false;
    if (st == MI_ENOENT)
        return 0;
    if (st == 0 && fstat(u->body_fd, &file) != 0)
        st = unsent_set_body_error(u, uid);
    *ret = st == 0 && offset >= 0 && length >= 0 && offset <= file.st_size &&
           length <= file.st_size - offset && bodies_range_is_written(u->body_fd, offset, length);
    return st;
}

int unsent_read_body_bytes(struct unsent *u, const char *uid, int64_t offset, size_t length,
                           struct buf *ret)
{
    int st = unsent_open_body_file(u, uid);
    if (st == 0 && !buf_reserve(ret, length))
        st = MI_ENOMEM;
    while (st == 0 && length > 0) {
        ssize_t n = pread(u->body_fd, ret->p + ret->n, length, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENODATA : errno;
            return unsent_set_body_error(u, uid);
        }
        ret->n += (size_t)n;
        offset += n;
        length -= (size_t)n;
    }
    return st;
}
