#include "cli/frame/save.h"

#include "base/log.h"
#include "base/write_all.h"
#include "cli/settings/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void save_set_error(struct save *s)
{
    if (s->error == 0)
        s->error = errno != 0 ? errno : EIO;
}

/* Gives the new file the mode of the file that it replaces. Returns false with errno set on an
 * error. */
static bool save_copy_file_mode(int fd, const char *target)
{
    struct stat old, now;
    if (stat(target, &old) != 0)
        return errno == ENOENT;
    return fstat(fd, &now) == 0 &&
           (((old.st_mode ^ now.st_mode) & 0777) == 0 || fchmod(fd, old.st_mode & 0777) == 0);
}

static void open_temporary_file(struct save *s, enum save_access access)
{
    char *beside = NULL;
    /* resolves symbolic links; a path that does not exist is used unchanged */
    char *real = realpath(s->path, NULL);
    s->target = real != NULL ? real : strdup(s->path);
    if (s->target == NULL || asprintf(&beside, "%s.%ld.part", s->target, (long)getpid()) < 0) {
        errno = ENOMEM;
        save_set_error(s);
        return;
    }
    s->beside = beside;
    s->fd = open(s->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, access);
    if (s->fd >= 0 && save_copy_file_mode(s->fd, s->target))
        return;
    save_set_error(s);
    if (s->fd >= 0)
        return; /* save_close() will remove the new file */
    /* Forget the name, because open() has failed: if a file has this name, it belongs to another
     * process, and save_close() must not remove it. */
    free(s->beside);
    s->beside = NULL;
}

void save_open(struct save *s, const char *path, enum save_access access)
{
    struct stat st;
    *s = (struct save){.fd = -1, .path = strdup(path)};
    if (s->path == NULL) {
        errno = ENOMEM;
        save_set_error(s);
    } else if (strcmp(path, "-") == 0) {
        s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        s->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
        open_temporary_file(s, access);
        return;
    }
    if (s->fd < 0)
        save_set_error(s);
}

bool save_write_bytes(struct save *s, struct slice bytes)
{
    if (s->error == 0 && write_all(s->fd, bytes) < 0)
        save_set_error(s);
    if (s->error == 0)
        s->bytes += bytes.n;
    return s->error == 0;
}

int save_close(struct save *s, bool keep)
{
    if (s->fd >= 0 && close(s->fd) != 0)
        save_set_error(s);
    s->fd = -1;
    if (s->beside != NULL && keep && s->error == 0 && rename(s->beside, s->target) != 0)
        save_set_error(s);
    if (s->beside != NULL && (!keep || s->error != 0))
        (void)unlink(s->beside);
    if (s->error != 0)
        log_error("cannot write %s: %s; choose another file",
                  s->path != NULL ? s->path : "the file", strerror(s->error));
    int status = s->error != 0 ? EXIT_TROUBLE : EXIT_FINE;
    free(s->path);
    free(s->target);
    free(s->beside);
    *s = (struct save){.fd = -1};
    return status;
}

int save_buffer_to_file(const char *path, const struct buf *b)
{
    struct save s;
    if (b->failed) {
        log_error("cannot write %s: out of memory", path);
        return EXIT_TROUBLE;
    }
    save_open(&s, path, SAVE_SHARED);
    bool written = save_write_bytes(&s, buf_slice(b));
    return save_close(&s, written);
}
