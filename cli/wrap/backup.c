#include "cli/wrap/backup.h"

#include "base/make_path.h"
#include "base/os/file.h"
#include "base/write_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum length of a backup's temporary name in bytes. The name has no %, so that it is not
 * decoded as a path. */
#define PART_MAX 64

/* Appends the name of the file's backup. */
static void append_backup_name(const char *path, struct buf *b)
{
    for (const char *p = path; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '/' || c == '%' || c < 0x20 || c > 126)
            buf_printf(b, "%%%02X", c);
        else
            buf_addc(b, *p);
    }
}

static int backup_hex_digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Appends the path of the file whose backup has this name, with its NUL; appends nothing if the
 * name does not belong to a backup. */
static void append_path_of_backup(const char *name, struct buf *b)
{
    size_t before = b->n;
    for (const char *p = name; *p != '\0'; p++) {
        int high = *p == '%' ? backup_hex_digit_value(p[1]) : 0;
        int low = *p == '%' && high >= 0 ? backup_hex_digit_value(p[2]) : 0;
        if (high < 0 || low < 0) {
            b->n = before;
            return;
        }
        buf_addc(b, *p == '%' ? (char)(high << 4 | low) : *p);
        p += *p == '%' ? 2 : 0;
    }
    buf_addc(b, '\0');
    if (!b->failed && b->p[before] != '/')
        b->n = before;
}

static void append_old_backup_path(const char *path, struct buf *b)
{
    buf_adds(b, path);
    buf_adds(b, ".mcp-interposer.bak");
}

/* Opens the directory of backups, and makes it private. Returns its descriptor; -1 with a sentence
 * in `error`. */
static int open_directory(const char *path, bool create, struct buf *error)
{
    struct stat st;
    if (create && make_path(path) < 0)
        goto fail;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        goto fail;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        ((st.st_mode & 077) == 0 || fchmod(fd, 0700) == 0))
        return fd;
    close(fd);
    errno = EPERM;
fail:
    buf_printf(error, "cannot open %s, the directory of backups: %s", path, strerror(errno));
    return -1;
}

/* Writes the text into a file. On an error, returns false with errno set. */
static bool backup_write_file(int dir, const char *name, struct slice text)
{
    char part[PART_MAX];
    snprintf(part, sizeof part, "%ld.part", (long)getpid());
    int fd = openat(dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good =
        fd >= 0 && write_and_close(fd, text, true) == 0 && renameat(dir, part, dir, name) == 0;
    int why = errno;
    if (!good)
        (void)unlinkat(dir, part, 0);
    errno = why;
    return good;
}

int backup_make(const char *where, const char *path, struct slice text, struct buf *error)
{
    struct buf name = {0};
    buf_clear(error);
    append_backup_name(path, &name);
    int dir = name.failed ? -1 : open_directory(where, true, error);
    int st = name.failed || error->failed ? MI_ENOMEM : dir < 0 ? MI_EIO : 0;
    if (st == 0 && !backup_write_file(dir, buf_str(&name), text)) {
        buf_printf(error, "cannot write the file's backup to %s: %s", where,
                   errno == ENAMETOOLONG ? "the path of the file is too long" : strerror(errno));
        st = MI_EIO;
    }
    if (dir >= 0)
        close(dir);
    buf_close(&name);
    return st;
}

static bool file_has_content(int fd, struct slice text)
{
    char part[4096];
    for (;;) {
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && text.n == 0;
        if ((size_t)n > text.n || memcmp(part, text.p, (size_t)n) != 0)
            return false;
        text = (struct slice){text.p + n, text.n - (size_t)n};
    }
}

bool backup_exists(const char *where, const char *path)
{
    struct buf name = {0}, error = {0};
    append_old_backup_path(path, &name);
    bool found = file_exists(AT_FDCWD, buf_str(&name));
    buf_clear(&name);
    append_backup_name(path, &name);
    int dir = found ? -1 : open_directory(where, false, &error);
    found = found || (dir >= 0 && file_exists(dir, buf_str(&name)));
    if (dir >= 0)
        close(dir);
    buf_close(&name);
    buf_close(&error);
    return found;
}

int backup_list(const char *where, struct buf *paths)
{
    struct buf error = {0};
    int fd = open_directory(where, false, &error);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL && fd >= 0)
        close(fd);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        append_path_of_backup(e->d_name, paths);
    if (dir != NULL)
        closedir(dir);
    buf_close(&error);
    return paths->failed ? MI_ENOMEM : 0;
}

/* Removes a backup if its content is `text`. If the backup has other content or cannot be removed,
 * sets `kept` to `shown`, the path of the backup for messages. */
static void backup_drop_file(int dir, const char *name, struct slice text, const char *shown,
                             struct buf *kept)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return;
    bool same = fd >= 0 && file_has_content(fd, text);
    if (fd >= 0)
        close(fd);
    if (!same || unlinkat(dir, name, 0) != 0) {
        buf_clear(kept);
        buf_adds(kept, shown);
    }
}

void backup_remove_copies_of_text(const char *where, const char *path, struct slice text,
                                  struct buf *kept)
{
    struct buf name = {0}, shown = {0}, error = {0};
    append_old_backup_path(path, &name);
    backup_drop_file(AT_FDCWD, buf_str(&name), text, buf_str(&name), kept);
    buf_clear(&name);
    append_backup_name(path, &name);
    int dir = open_directory(where, false, &error);
    buf_printf(&shown, "%s/%s", where, buf_str(&name));
    if (dir >= 0 && !name.failed) {
        backup_drop_file(dir, buf_str(&name), text, buf_str(&shown), kept);
        close(dir);
    }
    buf_close(&name);
    buf_close(&shown);
    buf_close(&error);
}
