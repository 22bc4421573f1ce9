/* file.h - operations on files and directories that POSIX does not offer.
 *
 * Linux     open(2), renameat2(2), sync_file_range(2), proc(5).
 * Errors    MI_EIO, and -1: see errno. ENOTSUP: the system or the file system does not support the
 *           operation; the caller has an alternative.
 * Blocks    on the file system only. */
#ifndef MI_BASE_OS_FILE_H
#define MI_BASE_OS_FILE_H

#include "base/base.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Opens the file of a descriptor again: a new open file description, with its own O_NONBLOCK,
 * offset and locks. flags: see open(2). Returns -1 if this is not possible; on some systems it
 * never is. */
MI_MUST int file_reopen(int fd, int flags);
/* Opens /dev/null, close-on-exec; if /dev/null is missing, an empty file in memory, which is not
 * shared. Returns -1 with errno on failure. */
MI_MUST int file_open_dev_null(void);
/* Opens a directory to find files in it, which needs no permission to list it; close-on-exec.
 * flags: 0 or O_NOFOLLOW. The descriptor works with fstat(2) and as the directory of openat(2) and
 * similar calls; a system may allow more. */
MI_MUST int file_open_dir(const char *path, int flags);
/* Returns true if the directory has an entry with this name. A symbolic link is not followed. */
bool file_exists(int dir, const char *name);
/* Returns 0 if this user may read and write the file, else MI_EIO. */
MI_MUST int file_may_write(int dir, const char *name);
/* Renames within a directory, unless the new name exists. Returns 0, or MI_EIO with errno: EEXIST,
 * ENOTSUP, or another error. */
MI_MUST int file_rename_no_replace(int dir, const char *from, const char *to);
/* Tests whether a new file in a directory would get n bytes of disk space. Changes nothing. Returns
 * 0 or an errno; also 0 if the test is not possible without changing the file system. dir: a
 * descriptor from file_open_dir(); folder: a path below that directory, or ".". */
MI_MUST int file_test_free_space(int dir, const char *folder, size_t n);

/* Returns the process that holds a POSIX write lock on the byte at the offset `at` of a file; 0:
 * none, or unknown. Does not open the file, because closing it would drop the locks of this
 * process. */
pid_t file_find_lock_owner(const char *path, int64_t at);

/* Returns the time of the last change of the contents. */
struct timespec file_get_change_time(const struct stat *st);

/* file_find_next_hole() returns the offset of the first byte at or after `at` that is in a hole of
 * the file; file_find_next_data() returns the offset of the first byte at or after `at` that is not
 * in a hole. Both return INT64_MAX if there is no such byte, and change the offset of the
 * descriptor. On a file system without holes, no byte is in a hole. */
int64_t file_find_next_hole(int fd, int64_t at);
int64_t file_find_next_data(int fd, int64_t at);

/* Writes a file's bytes, and the metadata needed to read them, to the medium, and waits until they
 * are written. Returns 0 or MI_EIO. */
MI_MUST int file_sync_data(int fd);
/* Writes the bytes from `from` to `to` of a file to the disk, waits until they are written, and
 * drops them from memory. A system may do nothing here. */
void file_write_to_disk(int fd, int64_t from, int64_t to);

#endif
