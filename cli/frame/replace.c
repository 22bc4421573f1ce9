#include "cli/frame/replace.h"

#include "base/os/file.h"
#include "base/read_all.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int replace_set_error(struct replace *r, int status, const char *what, const char *remedy)
{
    buf_clear(&r->error);
    buf_printf(&r->error, "%s%s", what, remedy);
    return status;
}

int replace_open(struct replace *r, const char *path)
{
    *r = (struct replace){0};
    r->path = realpath(path, NULL);
    if (r->path == NULL)
        return replace_set_error(r, MI_EIO, strerror(errno), "");
    int fd = open(r->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return replace_set_error(r, MI_EIO, strerror(errno), "");
    int st = fstat(fd, &r->was) == 0 ? 0 : MI_EIO;
    if (st == 0 && !S_ISREG(r->was.st_mode))
        st = replace_set_error(r, MI_EINVAL, "not a regular file", "");
    else if (st == 0 && (uintmax_t)r->was.st_size > REPLACE_MAX - 128 * 1024)
        st = replace_set_error(r, MI_EINVAL,
                               "the file is larger than 64 MiB; expected a configuration file", "");
    else if (st == 0 && (errno = read_all(fd, REPLACE_MAX, &r->text)) != 0)
        st = errno == ENOMEM ? MI_ENOMEM : MI_EIO;
    if (st == MI_EIO)
        (void)replace_set_error(r, st, strerror(errno), "");
    close(fd);
    return st;
}

void replace_close(struct replace *r)
{
    free(r->path);
    buf_close(&r->text);
    buf_close(&r->error);
    *r = (struct replace){0};
}

int replace_check_file(struct replace *r)
{
    struct stat now;
    if ((r->was.st_mode & S_IWUSR) == 0 || access(r->path, W_OK) != 0)
        return replace_set_error(r, MI_EINVAL, "the file is read-only",
                                 "; to allow changes: chmod u+w");
    if (stat(r->path, &now) != 0)
        return replace_set_error(r, MI_EIO, strerror(errno), "");
    struct timespec at = file_get_change_time(&now), was_at = file_get_change_time(&r->was);
    if (now.st_ino != r->was.st_ino || now.st_dev != r->was.st_dev ||
        now.st_size != r->was.st_size || at.tv_sec != was_at.tv_sec || at.tv_nsec != was_at.tv_nsec)
        return replace_set_error(r, MI_EINVAL, "another program has changed the file meanwhile",
                                 "; try again");
    return 0;
}

/* Writes and syncs a new file in the same directory, and renames it to r->path. */
int replace_write_file(struct replace *r, struct slice text)
{
    char *beside;
    int st = replace_check_file(r);
    if (st < 0)
        return st;
    if (asprintf(&beside, "%s.%ld.part", r->path, (long)getpid()) < 0)
        return MI_ENOMEM;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        free(beside);
        return replace_set_error(r, MI_EIO, strerror(errno),
                                 ": cannot create a file in the same directory");
    }
    bool same = r->was.st_uid == geteuid() && r->was.st_gid == getegid();
    bool good = write_all(fd, text) == 0 &&
                (same || fchown(fd, r->was.st_uid, r->was.st_gid) == 0) &&
                fchmod(fd, r->was.st_mode & 07777) == 0 && fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good && rename(beside, r->path) != 0) {
        good = false;
        why = errno;
    }
    if (!good)
        (void)unlink(beside);
    free(beside);
    return good ? 0 : replace_set_error(r, MI_EIO, strerror(why), "");
}
