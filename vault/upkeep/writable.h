/* writable.h - tests whether a vault can be written, by trying to write. Permissions do not show
 * whether a vault can be written: root passes every check of permissions, and a mount may be
 * read-only, a file immutable or the disk full.
 *
 * Rules     each directory must have WRITABLE_BYTES of disk space for a new file
 *           (file_test_free_space()); the files of the database are opened for writing. Nothing in
 *           the vault changes.
 * Owns      nothing.
 * Blocks    on the file system only. */
#ifndef MI_VAULT_UPKEEP_WRITABLE_H
#define MI_VAULT_UPKEEP_WRITABLE_H

#include "base/buf.h"

#define WRITABLE_BYTES ((size_t)64 << 10)

/* Tests whether the vault can be written. Returns 0, or MI_EIO; then `where` has the path of the
 * directory or file that cannot be written, and *ret_errno the reason. */
MI_MUST int writability_check_vault(const char *vault, struct buf *where, int *ret_errno);

#endif
