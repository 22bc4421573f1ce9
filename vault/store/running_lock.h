/* running_lock.h - the file VAULT/running.lock, whose locks tell whether a session runs.
 *
 * Byte N of the file belongs to session N. The recorder opens the file, and passes a descriptor of
 * the same open file description to the proxy. Through it, the recorder locks byte N (fcntl(2),
 * "Open file description locks"). The lock lasts while either process has a descriptor. They must
 * not pass a descriptor to the server or to another program. 'L' is written to the byte as soon as
 * the lock has been seen through another file description. From then on, an unlocked byte means
 * that the session does not run. Without 'L' (an older version, or a file system without such
 * locks), an unlocked byte means nothing.
 *
 * Errors    MI_EIO: see errno.
 * Blocks    on the file system only; never on a lock. */
#ifndef MI_VAULT_STORE_RUNNING_LOCK_H
#define MI_VAULT_STORE_RUNNING_LOCK_H

#include "model/liveness.h"

#define RUNNING_LOCK "running.lock"

/* In these functions, vault is a file descriptor of the vault's directory. */

/* Opens the file to take a lock, and creates it if it is missing. Returns a descriptor,
 * close-on-exec, or MI_EIO. */
MI_MUST int running_lock_open(int vault);
/* Whether the file that fd has open is still VAULT/running.lock. */
bool running_lock_is_file_of_vault(int fd, int vault);
/* Takes the lock of a session, writes 'L', and releases all other locks of fd. Returns 0, MI_EFULL
 * (another session has the lock, so the lock file belongs to another database) or MI_EIO (the file
 * system does not support such locks, or 'L' cannot be written). */
MI_MUST int running_lock_take(int fd, int vault, int64_t session_id);
/* Deletes the lock file. A session that has a lock in the deleted file may still run: from then on,
 * whether it runs is decided without the lock. */
void running_lock_remove(int vault);

/* Opens the file to test locks. Returns -1 if it does not exist. */
int running_lock_open_existing(int vault);
/* Returns what the lock says about the session. fd: the result of running_lock_open_existing(),
 * even if it is -1. */
enum liveness_lock running_lock_get_state(int fd, int64_t session_id);

#endif
