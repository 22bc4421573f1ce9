/* replace.h - replaces a configuration file atomically, of this program or of another one.
 *
 * Rules     symbolic links are followed and kept; mode, owner and group are kept; readers see the old file or the new
 *           one. A file that is read-only, or has changed since it was read, is not replaced.
 * Owns      the bytes that were read, and the path.
 * Errors    in `error`: the reason, and what to do.
 * Blocks    on the disk. */
#ifndef MI_CLI_FRAME_REPLACE_H
#define MI_CLI_FRAME_REPLACE_H

#include "base/buf.h"

#include <sys/stat.h>

#define REPLACE_MAX ((size_t)64 << 20) /* bytes of a file */

struct replace {
    char *path;      /* owned; absolute, links resolved */
    struct stat was; /* when it was read */
    struct buf text; /* owned; its old content */
    struct buf error;
};

MI_MUST int replace_open(struct replace *r, const char *path); /* 0, MI_EIO, MI_EINVAL, MI_ENOMEM */
void replace_close(struct replace *r);                         /* safe to call twice */

/* Replaces the content of the file. 0, MI_EIO, MI_EINVAL (it must not be changed) or MI_ENOMEM. */
MI_MUST int replace_write(struct replace *r, struct slice text);
/* The checks of replace_write(), without writing; same results. */
MI_MUST int replace_check(struct replace *r);

#endif
