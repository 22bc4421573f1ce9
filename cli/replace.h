/* replace.h - a file that belongs to another program, changed in one step.
 *
 * Rules     a link is followed, and stays; mode, owner and group stay; whoever reads sees the old file or the
 *           new one. A file that its owner cannot write is left alone, and so is one that has
 *           changed since it was read. The backup lies beside it, NAME.mcp-interposer.bak.
 * Owns      the bytes that were read, and the path.
 * Errors    one sentence in `error`: the reason and the remedy.
 * Blocks    on the disk. */
#ifndef MI_CLI_REPLACE_H
#define MI_CLI_REPLACE_H

#include "base/buf.h"

#include <sys/stat.h>

#define REPLACE_MAX ((size_t)64 << 20) /* bytes of such a file */

struct replace {
    char *path;      /* owned; absolute, links followed */
    char *backup;    /* owned; the path of its backup */
    struct stat was; /* when it was read */
    struct buf text; /* owned; what it said */
    struct buf error;
};

MI_MUST int replace_open(struct replace *r, const char *path); /* 0, MI_EIO, MI_EINVAL, MI_ENOMEM */
void replace_close(struct replace *r);                         /* safe to call twice */

/* What was read becomes the backup, in place of an older one. 0 or MI_EIO. */
MI_MUST int replace_keep(struct replace *r);
bool replace_has_backup(const struct replace *r);
/* Is the backup the same as this? Then it is removed. */
bool replace_drop_backup(const struct replace *r, struct slice text);
/* The file says this from now on. 0, MI_EIO or MI_EINVAL (it may not be changed). */
MI_MUST int replace_write(struct replace *r, struct slice text);
/* Would replace_write() try? The same, without doing it. */
MI_MUST int replace_check(struct replace *r);

#endif
