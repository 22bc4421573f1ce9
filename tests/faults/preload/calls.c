/* calls.so - calls of mcp-interposer on files below a directory fail at random; for LD_PRELOAD.
 *
 * CALLS_SEED     of the random numbers; without it nothing fails
 * CALLS_ONE_IN   one call in so many fails
 * CALLS_SKIP     so many calls come first, none of which fails
 * CALLS_UNDER    the directory: calls with a path below it, and with descriptors that were opened there
 *
 * A write may also be short. In a child process the same numbers come again, from where its parent was. Built without the library: see
 * the Makefile. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTORS 4096

static struct {
    bool ready;
    unsigned long one_in, skip;
    uint64_t random;
    const char *under;
    size_t under_n;
    bool ours[DESCRIPTORS];
} plan;

static unsigned long number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static uint64_t next(void)
{
    plan.random ^= plan.random << 13;
    plan.random ^= plan.random >> 7;
    plan.random ^= plan.random << 17;
    return plan.random >> 20;
}

static bool is_below(const char *path)
{
    if (!plan.ready) {
        plan.ready = true;
        if (getenv("CALLS_SEED") == NULL ||
            strcmp(program_invocation_short_name, "mcp-interposer") != 0)
            return false;
        plan.one_in = number("CALLS_ONE_IN");
        plan.skip = number("CALLS_SKIP");
        plan.random = (number("CALLS_SEED") + 1) * UINT64_C(0x9E3779B97F4A7C15);
        plan.under = getenv("CALLS_UNDER");
        plan.under_n = plan.under != NULL ? strlen(plan.under) : 0;
    }
    return plan.under_n > 0 && strncmp(path, plan.under, plan.under_n) == 0;
}

static bool fails(bool below)
{
    static const int errors[] = {EIO, ENOSPC, EROFS, EACCES, EMFILE, ENOMEM, EINTR};
    if (!below || plan.one_in == 0)
        return false;
    if (plan.skip > 0) {
        plan.skip--;
        return false;
    }
    if (next() % plan.one_in != 0)
        return false;
    errno = errors[next() % (sizeof errors / sizeof *errors)];
    return true;
}

static bool is_ours(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS && plan.ours[fd];
}

static int open_it(int dir, const char *path, int flags, mode_t mode)
{
    bool below = is_below(path) || (dir != AT_FDCWD && is_ours(dir));
    if (fails(below))
        return -1;
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS)
        plan.ours[fd] = below;
    return fd;
}

#define MODE(flags, last)                                                                          \
    mode_t mode = 0;                                                                               \
    if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {                                                  \
        va_list more;                                                                              \
        va_start(more, last);                                                                      \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_it(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_it(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_it(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_it(dir, path, flags, mode);
}

int close(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        plan.ours[fd] = false;
    return (int)syscall(SYS_close, fd);
}

ssize_t read(int fd, void *p, size_t n)
{
    return fails(is_ours(fd)) ? -1 : syscall(SYS_read, fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    return fails(is_ours(fd)) ? -1 : syscall(SYS_pread64, fd, p, n, at);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
    return pread(fd, p, n, at);
}

/* Half of the writes that fail are short. */
static bool write_fails(int fd, size_t *n)
{
    if (!fails(is_ours(fd)))
        return false;
    if (*n < 2 || next() % 2 == 0)
        return true;
    *n /= 2;
    return false;
}

ssize_t write(int fd, const void *p, size_t n)
{
    return write_fails(fd, &n) ? -1 : syscall(SYS_write, fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return write_fails(fd, &n) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return pwrite(fd, p, n, at);
}

#define ON_DESCRIPTOR(result, name, parameters, below, ...)                                        \
    result name parameters                                                                         \
    {                                                                                              \
        return fails(below) ? -1 : (result)syscall(__VA_ARGS__);                                   \
    }

ON_DESCRIPTOR(int, fsync, (int fd), is_ours(fd), SYS_fsync, fd)
ON_DESCRIPTOR(int, fdatasync, (int fd), is_ours(fd), SYS_fdatasync, fd)
ON_DESCRIPTOR(int, ftruncate, (int fd, off_t n), is_ours(fd), SYS_ftruncate, fd, n)
ON_DESCRIPTOR(int, ftruncate64, (int fd, off64_t n), is_ours(fd), SYS_ftruncate, fd, n)
ON_DESCRIPTOR(int, fallocate, (int fd, int mode, off_t at, off_t n), is_ours(fd), SYS_fallocate, fd,
              mode, at, n)
ON_DESCRIPTOR(int, fallocate64, (int fd, int mode, off64_t at, off64_t n), is_ours(fd),
              SYS_fallocate, fd, mode, at, n)
ON_DESCRIPTOR(int, rename, (const char *a, const char *b), is_below(a) || is_below(b),
              SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0)
ON_DESCRIPTOR(int, unlink, (const char *path), is_below(path), SYS_unlinkat, AT_FDCWD, path, 0)
ON_DESCRIPTOR(int, mkdir, (const char *path, mode_t mode), is_below(path), SYS_mkdirat, AT_FDCWD,
              path, mode)
