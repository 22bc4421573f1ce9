/* replace.h - replaces a configuration file of this or another program atomically.
 *
 * Rules     symbolic links are followed and kept; mode, owner and group are kept; readers see the
 *           old file or the new one. A file that is read-only, or has changed since it was read, is
 *           not replaced.
 * Owns      the bytes that were read, and the path.
 * Errors    in `error`: the reason, and what to do.
 * Blocks    on the disk. */
#ifndef MI_CLI_FRAME_REPLACE_H
#define MI_CLI_FRAME_REPLACE_H

#include "base/buf.h"

#include <sys/stat.h>

#define REPLACE_MAX ((size_t)64 << 20) /* maximum size of a file in bytes */

struct replace {
    char *path;      /* owned; absolute path without symbolic links */
    struct stat was; /* fstat(2) of the file when it was read */
    struct buf text; /* owned; the old content */
    struct buf error;
};

/* Reads the file. Returns 0, MI_EIO, MI_EINVAL or MI_ENOMEM. */
MI_MUST int replace_open(struct replace *r, const char *path);
void replace_close(struct replace *r); /* safe to call twice */

/* Replaces the content of the file. Returns 0, MI_EIO, MI_EINVAL (the file must not be changed) or
 * MI_ENOMEM. */
MI_MUST int replace_write_file(struct replace *r, struct slice text);
/* Makes the checks of replace_write_file() and returns the same status, but does not write. */
MI_MUST int replace_check_file(struct replace *r);

#endif
