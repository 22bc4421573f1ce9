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
 * A system may be able to do less, or nothing: a recorder works in any case.
 *
 * Linux     landlock(7), https://docs.kernel.org/userspace-api/landlock.html.
 * Blocks    never. */
#ifndef MI_BASE_OS_CONFINE_H
#define MI_BASE_OS_CONFINE_H

#include "base/base.h"

/* Confines the calling process and all its later children. dir: open descriptors of directories; those of
 * file_open_dir() are enough. A missing file of the list above is left out. Best effort: returns the version of the
 * mechanism that is in force, or 0 with errno if there is none. Even then the process can get no more privileges. */
int confine_self(const int *dir, size_t n);

/* The version that the system has, and *ret_text is the name of the mechanism, such as "Landlock". 0: none, and
 * *ret_text says why. */
int confine_kernel(const char **ret_text);

#endif
