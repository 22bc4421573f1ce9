#include "vault/store/dir.h"

#include "base/make_path.h"
#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool vault_dir_is_empty(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return false;
    }
    bool empty = true;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            empty = false;
    closedir(d);
    return empty;
}

/* Makes a directory private if it is empty or a vault. The mode of any other directory is not
 * changed, because the user may not have meant it as a vault. */
static int vault_dir_make_private(int fd, const char *path, struct buf *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return MI_EIO;
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        buf_printf(error,
                   "vault %s belongs to another user; choose a directory of your own with --vault",
                   path);
        errno = EPERM;
        return MI_EIO;
    }
    if ((st.st_mode & 077) == 0)
        return 0;
    if (!file_exists(fd, VAULT_DB) && !vault_dir_is_empty(fd)) {
        buf_printf(error,
                   "vault %s contains other files and is accessible to other users; choose an "
                   "empty directory with --vault, or run chmod 700 on it",
                   path);
        errno = EPERM;
        return MI_EIO;
    }
    return fchmod(fd, 0700) == 0 ? 0 : MI_EIO;
}

int vault_dir_open(struct vault_dir *d, const char *path, bool create, struct buf *error)
{
    *d = (struct vault_dir){.fd = -1};
    buf_clear(error);
    if (create && make_path(path) < 0) {
        buf_printf(error, "cannot make vault %s: %s; choose another with --vault", path,
                   strerror(errno));
        return MI_EIO;
    }
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0) {
        int st = errno == ENOENT ? MI_ENOENT : MI_EIO;
        buf_printf(error, "cannot open vault %s: %s; choose another with --vault", path,
                   strerror(errno));
        return st;
    }
    if (vault_dir_make_private(d->fd, path, error) < 0) {
        if (error->n == 0)
            buf_printf(error, "cannot make vault %s private: %s; choose another with --vault", path,
                       strerror(errno));
        vault_dir_close(d);
        return MI_EIO;
    }
    d->path = realpath(path, NULL);
    if (d->path == NULL) {
        int st = errno == ENOMEM ? MI_ENOMEM : MI_EIO;
        buf_printf(error, "cannot resolve vault %s: %s", path, strerror(errno));
        vault_dir_close(d);
        return st;
    }
    return 0;
}

void vault_dir_close(struct vault_dir *d)
{
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
    *d = (struct vault_dir){.fd = -1};
}

int vault_dir_open_sub(int fd, const char *name, bool create)
{
    if (create && mkdirat(fd, name, 0700) != 0 && errno != EEXIST)
        return MI_EIO;
    int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return sub < 0 ? MI_EIO : sub;
}

int vault_dir_open_file(int fd, const char *name, int flags)
{
    /* O_NONBLOCK, because opening a fifo without a peer would block */
    int file = openat(fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    return file < 0 ? MI_EIO : file;
}

bool vault_dir_file_still_exists(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Offset of the write lock in the -shm file; see sqlite.org/walformat.html. */
#define WAL_WRITE_LOCK 120

pid_t vault_dir_find_writer_pid(const char *vault)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/" VAULT_DB "-shm", vault);
    return n > 0 && (size_t)n < sizeof path ? file_find_lock_owner(path, WAL_WRITE_LOCK) : 0;
}
