/* memory.h - makes files in memory that two processes share, and controls the memory of this
 * process.
 *
 * The journal holds messages as they were received, so its files must be in memory and never on a
 * disk. Swap space is not a disk in this sense.
 *
 * Linux     tmpfs(5), memfd_create(2), fallocate(2), madvise(2), mallopt(3).
 * Errors    MI_EIO, and -1: see errno.
 * Blocks    never. */
#ifndef MI_BASE_OS_MEMORY_H
#define MI_BASE_OS_MEMORY_H

#include "base/base.h"

/* ---- files ---- */

/* Returns the directory on a file system in memory where every user may make files, such as
 * /dev/shm. A system without such a directory returns a directory for which memory_contains_file()
 * is false; then journals are files without a name. */
const char *memory_get_directory(void);
/* Returns true if the file or directory is on a file system that keeps everything in memory. */
bool memory_contains_file(int fd);
/* Makes a file without a name in memory, empty, close-on-exec. The file disappears with its last
 * descriptor and mapping. It can be read, written, resized, mapped, and locked with F_OFD_SETLK
 * (fcntl(2)). Returns -1 if it cannot be made. */
MI_MUST int memory_file(const char *title);
/* Allocates memory for n bytes of a file in memory, so that access to them cannot fail later.
 * Returns 0 or MI_EIO. */
MI_MUST int memory_allocate(int fd, uint64_t at, uint64_t n);
/* Gives the memory of n bytes of a file back to the system. The bytes must be complete pages; they
 * then read as zeros. The size of the file does not change. */
MI_MUST int memory_free(int fd, uint64_t at, uint64_t n);

/* ---- mappings; p is the start of a page ---- */

/* Makes the mapping private: child processes do not inherit it, and core files do not contain it.
 * Returns 0 or MI_EIO. */
MI_MUST int memory_make_private(void *p, size_t n);
/* Maps all pages now, so that they are not mapped one by one at their first use. The pages must
 * already have memory. This only saves time, so a system may do nothing here. */
void memory_map_all_pages(void *p, size_t n);

/* ---- malloc() ---- */

/* From now on, free() returns large blocks to the system at once. A system may do nothing here. */
void memory_return_large_blocks(void);

#endif
