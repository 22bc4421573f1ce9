#include "base/os/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3 */
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define LARGE_BLOCK ((size_t)256 << 10)

/* ---- files ---------------------------------------------------------------------------------- */

const char *memory_get_directory(void)
{
    return "/dev/shm";
}

bool memory_contains_file(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

/* The system's setting vm.memfd_noexec can require MFD_NOEXEC_SEAL; older kernels do not know this
 * flag. */
int memory_file(const char *title)
{
    int fd = memfd_create(title, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(title, MFD_CLOEXEC) : fd;
}

static int memory_fallocate(int fd, int mode, uint64_t at, uint64_t n)
{
    int rc;
    do
        rc = fallocate(fd, mode, (off_t)at, (off_t)n);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? MI_EIO : 0;
}

int memory_allocate(int fd, uint64_t at, uint64_t n)
{
    return memory_fallocate(fd, 0, at, n);
}

int memory_free(int fd, uint64_t at, uint64_t n)
{
    return memory_fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n);
}

/* ---- mappings ------------------------------------------------------------------------------- */

int memory_make_private(void *p, size_t n)
{
    bool done = madvise(p, n, MADV_DONTFORK) == 0 && madvise(p, n, MADV_DONTDUMP) == 0;
    return done ? 0 : MI_EIO;
}

void memory_map_all_pages(void *p, size_t n)
{
    (void)madvise(p, n, MADV_POPULATE_WRITE);
}

/* ---- malloc() ------------------------------------------------------------------------------- */

/* Blocks of LARGE_BLOCK bytes or more are mapped separately. By default glibc raises the threshold
 * after the first large message, and keeps the memory of later messages. */
void memory_return_large_blocks(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}
