/* backup.h - backups: the original text of a configuration file, kept while any server of the file
 * is wrapped.
 *
 * Files     WHERE/NAME with mode 0600. NAME is the absolute path of the file with resolved links.
 *           Each slash is %2F, and %, control characters and bytes above 126 are %XX. So two files
 *           never share a backup. The directory WHERE is private. It is not in a vault, because
 *           configuration files contain secrets and vaults do not. A missing WHERE is created.
 *           Older versions stored a backup as FILE.mcp-interposer.bak; such backups are also
 *           recognized and removed.
 * Errors    in `error`: one sentence.
 * Blocks    on the disk. */
#ifndef MI_CLI_WRAP_BACKUP_H
#define MI_CLI_WRAP_BACKUP_H

#include "base/buf.h"

/* Writes the backup, replacing an older one. Returns 0, MI_EIO or MI_ENOMEM. */
MI_MUST int backup_make(const char *where, const char *path, struct slice text, struct buf *error);
/* Whether the file has a backup. */
bool backup_exists(const char *where, const char *path);
/* Appends the path of each file that has a backup in the directory `where`. Each path ends with a
 * NUL. Returns 0 or MI_ENOMEM. */
MI_MUST int backup_list(const char *where, struct buf *paths);
/* Removes the file's backups whose content is exactly `text`. If a backup has other content or
 * cannot be removed, sets `kept` to the path of that backup. */
void backup_remove_copies_of_text(const char *where, const char *path, struct slice text,
                                  struct buf *kept);

#endif
