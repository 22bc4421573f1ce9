/* confine.h - gives up the rights that a process does not need, for the rest of its life.
 *
 * The recorder process reads messages that strangers wrote. If one of them makes it misbehave, it must not be able to
 * do more than a recorder does. After confine_self():
 *
 *   files       only below the given directories; in addition /proc and /dev/urandom (SQLite's random numbers) for
 *               reading, and /dev/null. Nothing can be executed. Special files and symbolic links cannot be made.
 *               Descriptors that are already open keep working. Files of the time zone cannot be read: UTC only.
 *   TCP         no bind(2), no connect(2) (Linux 6.7)
 *   sockets     no connection to an abstract Unix socket of another process (Linux 6.12)
 *   processes   no ptrace(2) of a process that is not confined in the same way; no privileges from setuid programs
 *
 * Not restricted: signals, because the recorder must kill the process group of a server whose proxy was killed, and
 * Landlock's scope for signals would forbid that; UDP; Unix sockets with a path; chmod, chown and times of files,
 * for which Landlock has no right.
 *
 * Temporary files outside the given directories are forbidden, too: SQLite must keep its own in memory (PRAGMA
 * temp_store = MEMORY).
 *
 * Rules     landlock(7), https://docs.kernel.org/userspace-api/landlock.html. The system calls and constants are part of
 *           the kernel's stable interface; they are defined here because libc has no functions for them, and headers are
 *           often older than the kernel.
 * Blocks    never. */
#ifndef MI_BASE_OS_CONFINE_H
#define MI_BASE_OS_CONFINE_H

#include "base/base.h"

/* Confines the calling process and all its later children. dir: open descriptors of directories; O_PATH
 * is enough. A missing file of the list above is left out. Best effort: returns the version of Landlock that is in force, or 0 with errno if there is
 * none. Even then the process has no_new_privs. */
int confine_self(const int *dir, size_t n);

/* The kernel's version of Landlock; 0: none, and *why says why. */
int confine_kernel(const char **why);

#endif
