/* write_all.h - writes a whole text to a file, after interruptions and short writes, too.
 *
 * A descriptor that does not block, as the pipes of Node, is waited for.
 *
 * Errors    MI_EIO, with errno.
 * Blocks    until the whole text is written. */
#ifndef MI_BASE_WRITE_ALL_H
#define MI_BASE_WRITE_ALL_H

#include "base/base.h"

MI_MUST int write_all(int fd, struct slice text);
/* Then, with `sync`, calls fsync(2), and in any case closes the descriptor. errno is that of the first failure. */
MI_MUST int write_and_close(int fd, struct slice text, bool sync);

#endif
