/* These functions override libc's, for the program and for libsqlite3. */
#undef _FORTIFY_SOURCE /* it would replace some of them by inline functions */
#include "tests/faults/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int spared[8];
static size_t spared_n;

void calls_spare(int fd)
{
    if (spared_n == MI_COUNT(spared))
        abort();
    spared[spared_n++] = fd;
}

static bool is_spared(int fd)
{
    for (size_t i = 0; i < spared_n; i++)
        if (fd == spared[i])
            return true;
    return fd == STDOUT_FILENO || fd == STDERR_FILENO;
}

/* The errno to fail with, or 0: make the call. May reduce *n. */
static int write_fault(int fd, size_t *n)
{
    if (is_spared(fd))
        return 0;
    if (fault_hits(CALLS_WRITE))
        return ENOSPC;
    if (fault_hits(CALLS_IO))
        return EIO;
    if (*n > 1 && fault_hits(CALLS_SHORT))
        *n /= 2;
    return 0;
}

static ssize_t failed(int e)
{
    errno = e;
    return -1;
}

ssize_t write(int fd, const void *p, size_t n)
{
    int e = write_fault(fd, &n);
    return e != 0 ? failed(e) : syscall(SYS_write, fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    int e = write_fault(fd, &n);
    return e != 0 ? failed(e) : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    size_t len = v[0].iov_len;
    int e = write_fault(fd, &len);
    if (e != 0)
        return failed(e);
    if (len < v[0].iov_len)
        return syscall(SYS_pwrite64, fd, v[0].iov_base, len, at);
    return syscall(SYS_pwritev, fd, v, n, at, 0);
}

int fsync(int fd)
{
    return fault_hits(CALLS_SYNC) ? (int)failed(EIO) : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fault_hits(CALLS_SYNC) ? (int)failed(EIO) : (int)syscall(SYS_fdatasync, fd);
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    static const int errors[] = {EMFILE, EACCES, EIO, ENOSPC};
    if (fault_hits(CALLS_OPEN))
        return (int)failed(errors[fault.count % 4]);
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(AT_FDCWD, path, flags, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fault_hits(CALLS_OPEN) ? (int)failed(ENOSPC)
                                  : (int)syscall(SYS_mkdirat, dir, path, mode);
}

/* Memory of the journal. */
int fallocate64(int fd, int mode, off64_t at, off64_t n)
{
    if (mode == 0 && fault_hits(CALLS_WRITE))
        return (int)failed(ENOSPC);
    return (int)syscall(SYS_fallocate, fd, mode, at, n);
}

int memfd_create(const char *name, unsigned flags)
{
    return fault_hits(CALLS_OPEN) ? (int)failed(EMFILE)
                                  : (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate64(int fd, off64_t n)
{
    return !is_spared(fd) && fault_hits(CALLS_OTHER) ? (int)failed(EIO)
                                                     : (int)syscall(SYS_ftruncate, fd, n);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
    return fault_hits(CALLS_OTHER) ? failed(EIO) : syscall(SYS_pread64, fd, p, n, at);
}

void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t at)
{
    if (fd >= 0 && fault_hits(CALLS_OTHER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, at);
}
