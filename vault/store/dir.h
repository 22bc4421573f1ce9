/* dir.h - the vault's directory: finds or creates it, keeps it private, and opens files in it
 * safely.
 *
 * Rules     the vault is 0700 and its files 0600. Below it no symbolic link is followed, and file
 *           names are never taken from messages.
 * Owns      a descriptor of the directory.
 * Errors    one sentence in `error` with the object, the reason and the remedy.
 * Blocks    on the file system only. */
#ifndef MI_VAULT_STORE_DIR_H
#define MI_VAULT_STORE_DIR_H

#include "base/buf.h"

#include <sys/types.h>

#define VAULT_DB "interposer.db"
#define VAULT_BODIES "Bodies"
#define VAULT_LOGS "Logs"
#define VAULT_ACTIONS "MCP_Actions" /* name of a folder inside the folder VAULT_LOGS */
#define VAULT_ESCALATIONS "Escalations"
#define VAULT_SEARCH "Search"

struct vault_dir {
    int fd;     /* descriptor of the folder; -1: closed */
    char *path; /* owned; absolute path of the folder, without symbolic links */
};

/* Opens the vault. create: makes missing directories, also the vault's parents. Returns 0,
 * MI_ENOENT (the vault does not exist), MI_EIO or MI_ENOMEM. */
MI_MUST int vault_dir_open(struct vault_dir *d, const char *path, bool create, struct buf *error);
void vault_dir_close(struct vault_dir *d); /* safe to call twice */
/* Opens a directory inside another directory. create: makes it 0700 if it is missing. Returns a
 * file descriptor, or MI_EIO. */
MI_MUST int vault_dir_open_sub(int fd, const char *name, bool create);
/* Opens a file inside a directory; a new file is 0600. flags: as for open(2). Returns a file
 * descriptor, or MI_EIO. */
MI_MUST int vault_dir_open_file(int fd, const char *name, int flags);
/* Returns the process that holds SQLite's write lock; 0: there is none, or it is unknown. */
pid_t vault_dir_find_writer_pid(const char *vault);
/* Whether the open file still has a name. false: the file was removed. */
bool vault_dir_file_still_exists(int fd);

#endif
