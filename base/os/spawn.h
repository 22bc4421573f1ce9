/* spawn.h - starts programs, and limits the descriptors that child processes inherit.
 *
 * Linux     vfork(2), close_range(2).
 * Blocks    spawn() until the program is started. */
#ifndef MI_BASE_OS_SPAWN_H
#define MI_BASE_OS_SPAWN_H

#include "base/base.h"

#include <signal.h>
#include <sys/types.h>

/* A function that runs in the child process before the program. The child shares the caller's
 * memory, and the caller waits: so the function must not allocate or free memory, and what it
 * writes is there when spawn() returns. It returns 0, or an errno if the program must not be
 * started. */
typedef int (*spawn_fn)(const void *ctx);

/* Starts argv[0], searched in PATH, in a child process. mask: the signals that are blocked in the
 * program; NULL: the caller's mask. All signals are blocked while `prepare` runs. The duration of
 * the call should not depend on the size of the caller's memory. Returns 0, or MI_EIO with the
 * errno of the failed step; then no process is left. */
MI_MUST int spawn(char *const argv[], const sigset_t *mask, spawn_fn prepare, const void *ctx,
                  pid_t *ret);

/* Closes all descriptors from `first` on. */
void close_fds_from_number(int first);

#endif
