/* confine.h - gives up the rights that a process does not need, until the process exits.
 *
 * The recorder process reads messages from untrusted peers. If a message makes the process
 * misbehave, the process must not be able to do more than a recorder does. After confine_self():
 *
 *   files       only below the given directories; in addition /proc and /dev/urandom (SQLite's
 *               random numbers) for reading, and /dev/null. Nothing can be executed. Special files
 *               and symbolic links cannot be made. Descriptors that are already open keep working.
 *               Files of the time zone cannot be read: UTC only.
 *   TCP         no bind(2), no connect(2) (Linux 6.7)
 *   sockets     no connection to an abstract Unix socket of another process (Linux 6.12)
 *   processes   no ptrace(2) of a process that is not confined in the same way; no privileges from
 *               setuid programs
 *
 * After confine_system_calls(), any system call that a recorder does not need fails with EPERM: no
 * sockets (TCP, UDP, Unix sockets with a path), no new processes, no chmod, chown or times of files
 * by their path, no io_uring, no mounts or namespaces. Denied calls are counted, except those that
 * make a process or thread.
 *
 * Not restricted: SIGKILL to process groups by kill(2), because the recorder must kill the process
 * group of a server whose proxy was killed. Landlock and seccomp cannot limit kill(2) to that
 * group.
 *
 * Temporary files outside the given directories are also forbidden: SQLite must keep its temporary
 * files in memory (PRAGMA temp_store = MEMORY).
 *
 * A system may support fewer of these restrictions, or none: a recorder works in any case.
 *
 * Linux     landlock(7), https://docs.kernel.org/userspace-api/landlock.html; seccomp(2), by
 *           libseccomp.
 * Blocks    never. */
#ifndef MI_BASE_OS_CONFINE_H
#define MI_BASE_OS_CONFINE_H

#include "base/buf.h"

#include <stdatomic.h>

/* Confines the calling process and all its later children, as far as the system can. dir: open
 * descriptors of directories; those of file_open_dir() are enough. /proc or a device that is
 * missing is skipped. Returns the version of the mechanism that is in force, or 0 with errno if
 * there is none. Even if 0 is returned, the process cannot gain privileges. */
int confine_self(const int *dir, size_t n);

/* Returns the version of the system's mechanism; *ret_text is its name, such as "Landlock". Returns
 * 0 if there is none; *ret_text says why. */
int confine_detect_kernel_support(const char **ret_text);

/* System calls that were denied. Counted only on 64-bit x86 and ARM. */
struct confine_denied {
    _Atomic uint32_t n;    /* how many */
    _Atomic uint32_t last; /* number of the last denied call */
};

/* Confines the calling thread and its later children. *ret must live as long as the process: a
 * signal handler for SIGSYS writes to it. SIGSYS must not be blocked. Returns 0, or MI_ENOMEM or
 * MI_EIO if no filter was installed. */
MI_MUST int confine_system_calls(struct confine_denied *ret);
/* Appends the name of a system call, such as "connect", or its number, such as "1234", if the name
 * is unknown. */
void system_call_append_name(uint32_t call, struct buf *b);
/* Appends the name and version of the library, such as "libseccomp 2.5.4". */
void libseccomp_append_version(struct buf *b);

#endif
