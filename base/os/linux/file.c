#include "base/os/file.h"

#include "base/os/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- names ---------------------------------------------------------------------------------- */

int file_reopen(int fd, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, flags);
}

int file_open_dev_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fd < 0 && errno != EMFILE && errno != ENFILE ? memory_file("null") : fd;
}

int file_open_dir(const char *path, int flags)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
}

/* faccessat(3) of glibc calls faccessat2(2), which older filters of system calls do not know and
 * deny. */
int file_may_write(int dir, const char *name)
{
    return syscall(SYS_faccessat, dir, name, R_OK | W_OK) == 0 ? 0 : MI_EIO;
}

bool file_exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int file_rename_no_replace(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    /* The file system, the kernel, or a filter of system calls does not support the call. */
    if (errno == EINVAL || errno == ENOSYS || errno == EPERM)
        errno = ENOTSUP;
    return MI_EIO;
}

/* Parses lines of /proc/locks, such as "1: POSIX ADVISORY WRITE 4711 00:1b:1234567 120 120". */
pid_t file_find_lock_owner(const char *path, int64_t at)
{
    struct stat st;
    char line[256], type[16], mode[16];
    long pid, found = 0;
    unsigned long long inode;
    long long from;
    FILE *f = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (f != NULL && found == 0 && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "%*d: %15s %*s %15s %ld %*x:%*x:%llu %lld", type, mode, &pid, &inode,
                   &from) == 5 &&
            strcmp(type, "POSIX") == 0 && strcmp(mode, "WRITE") == 0 && inode == st.st_ino &&
            from == at && pid > 0)
            found = pid;
    if (f != NULL)
        fclose(f);
    return (pid_t)found;
}

/* Tests the disk space with an unnamed temporary file. */
int file_test_free_space(int dir, const char *folder, size_t n)
{
    int fd = openat(dir, folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT ? 0 : errno;
    int e = posix_fallocate(fd, 0, (off_t)n);
    close(fd);
    return e == EOPNOTSUPP || e == EINVAL ? 0 : e;
}

/* ---- times and contents --------------------------------------------------------------------- */

int64_t file_find_next_hole(int fd, int64_t at)
{
    struct stat st;
    off_t hole = lseek(fd, at, SEEK_HOLE);
    return hole >= 0 && fstat(fd, &st) == 0 && hole < st.st_size ? hole : INT64_MAX;
}

int64_t file_find_next_data(int fd, int64_t at)
{
    off_t data = lseek(fd, at, SEEK_DATA);
    return data >= 0 ? data : errno == ENXIO ? INT64_MAX : at;
}

struct timespec file_get_change_time(const struct stat *st)
{
    return st->st_mtim;
}

int file_sync_data(int fd)
{
    return fdatasync(fd) == 0 ? 0 : MI_EIO;
}

void file_write_to_disk(int fd, int64_t from, int64_t to)
{
    const unsigned wait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (sync_file_range(fd, from, to - from, wait) == 0)
        (void)posix_fadvise(fd, from, to - from, POSIX_FADV_DONTNEED);
}
