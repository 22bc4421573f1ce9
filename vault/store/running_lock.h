/* running_lock.h - VAULT/running.lock: whether a session runs, as the kernel knows it.
 *
 * Byte N of the file belongs to session N. The processes of the session hold a lock on it (fcntl(2), "Open file
 * description locks") through one open file description, which the recorder opens and passes to the proxy: the lock lasts
 * while either has a descriptor of it. They must not pass it on to the server or to another program.
 * The byte is 'L' once the lock is held and was seen through another description: then an unlocked byte says that the
 * session does not run. Of another session (of an older version, or on a file system without such locks) it says nothing.
 *
 * Errors    MI_EIO: see errno.
 * Blocks    on the file system only; never on a lock. */
#ifndef MI_VAULT_STORE_RUNNING_LOCK_H
#define MI_VAULT_STORE_RUNNING_LOCK_H

#include "model/liveness.h"

#define RUNNING_LOCK "running.lock"

/* vault: a descriptor of the directory. */

/* Opens the file to take a lock, and makes it if it is missing. A descriptor, close-on-exec, or MI_EIO. */
MI_MUST int running_lock_open(int vault);
/* Whether fd is still the file with this name. */
bool running_lock_is_of(int fd, int vault);
/* Takes the lock of a session, says so in the file, and releases all other locks of fd. 0; MI_EFULL: another session
 * has it, so the file is not of the vault's database; MI_EIO: the file system cannot do it. */
MI_MUST int running_lock_take(int fd, int vault, int64_t session_id);
/* Removes the name. Sessions that have locks in it are judged without them. */
void running_lock_remove(int vault);

/* Opens the file to look at locks. -1: there is none. */
int running_lock_find(int vault);
/* fd: of running_lock_find(), or -1. */
enum liveness_lock running_lock_look(int fd, int64_t session_id);

#endif
