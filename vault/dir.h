/* dir.h - the vault's directory: found or made, private, and every file in it opened safely.
 *
 * Rules     the vault is 0700 and its files 0600. Below the vault no symbolic link is followed, and no
 *           name comes from a message.
 * Owns      a descriptor of the directory; vault_dir_close() closes it.
 * Errors    one sentence in `error` with the thing, the reason and the remedy.
 * Blocks    on the file system only. */
#ifndef MI_VAULT_DIR_H
#define MI_VAULT_DIR_H

#include "base/buf.h"

#include <sys/types.h>

#define VAULT_DB "interposer.db"
#define VAULT_BODIES "Bodies"
#define VAULT_LOGS "Logs"
#define VAULT_ACTIONS "MCP_Actions" /* in VAULT_LOGS */
#define VAULT_ESCALATIONS "Escalations"
#define VAULT_SEARCH "Search"

struct vault_dir {
    int fd;     /* -1: closed */
    char *path; /* owned; absolute, without symbolic links */
};

/* Opens the vault; with `create` makes it, and the directories above it, if it is not there.
 * 0, MI_ENOENT (not there, not asked to make it), MI_EIO or MI_ENOMEM. */
MI_MUST int vault_dir_open(struct vault_dir *d, const char *path, bool create, struct buf *error);
void vault_dir_close(struct vault_dir *d); /* safe to call twice */
/* Opens a directory inside another one, made 0700 if it is not there. A descriptor, or MI_EIO. */
MI_MUST int vault_dir_sub(int fd, const char *name, bool create);
/* Opens a file 0600 inside a directory. `flags` as in open(2). A descriptor, or MI_EIO. */
MI_MUST int vault_dir_file(int fd, const char *name, int flags);
/* The file of this descriptor still has a name: nobody has removed it. */
bool vault_dir_linked(int fd);

#endif
