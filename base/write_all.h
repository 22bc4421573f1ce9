/* write_all.h - writes a whole text to a file, despite interruptions and short writes.
 *
 * If the descriptor is non-blocking, like the pipes of Node.js, the functions wait until it is
 * writable.
 *
 * Errors    MI_EIO, with errno.
 * Blocks    until the whole text is written. */
#ifndef MI_BASE_WRITE_ALL_H
#define MI_BASE_WRITE_ALL_H

#include "base/base.h"

MI_MUST int write_all(int fd, struct slice text);
/* Writes the text, calls fsync(2) if `sync` is set, and always closes the descriptor. errno is set
 * by the first failure. */
MI_MUST int write_and_close(int fd, struct slice text, bool sync);

#endif
