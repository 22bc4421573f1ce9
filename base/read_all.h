/* read_all.h - reads a whole file into a buffer, despite interruptions and short reads.
 *
 * Owns      nothing: the bytes are appended to the caller's buffer.
 * Errors    an errno: EFBIG: the buffer would get more than `max` bytes; ENOMEM; or that of the failed
 *           system call. Then the buffer has the bytes that were read.
 * Blocks    on the file. */
#ifndef MI_BASE_READ_ALL_H
#define MI_BASE_READ_ALL_H

#include "base/buf.h"

/* Reads an open file from its position to its end. Returns 0 or an errno. */
MI_MUST int read_all(int fd, size_t max, struct buf *b);
/* Opens a file by its path, and reads it. Returns 0 or an errno. */
MI_MUST int read_all_of_file(const char *path, size_t max, struct buf *b);

#endif
