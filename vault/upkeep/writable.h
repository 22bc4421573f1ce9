/* writable.h - whether a vault can be written. Permissions do not tell: root passes every check of them, and they do not
 * show a read-only mount, an immutable file or a full disk. So writing is tried.
 *
 * Rules     in each directory a file without a name (O_TMPFILE) gets WRITABLE_BYTES of disk space; the files of the
 *           database are opened for writing. Nothing in the vault changes. A file system without O_TMPFILE is not tried.
 * Owns      nothing.
 * Blocks    on the file system only. */
#ifndef MI_VAULT_UPKEEP_WRITABLE_H
#define MI_VAULT_UPKEEP_WRITABLE_H

#include "base/buf.h"

#define WRITABLE_BYTES ((size_t)64 << 10)

/* 0, or MI_EIO: `where` has the path of the directory or file that cannot be written, *ret_errno the reason. */
MI_MUST int writable_try(const char *vault, struct buf *where, int *ret_errno);

#endif
