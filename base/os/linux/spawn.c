#include "base/os/spawn.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the child between vfork and exec, while the child shares the parent's memory. */
static void exec_in_spawned_child(char *const argv[], const sigset_t *mask, spawn_fn prepare,
                                  const void *ctx, volatile int *ret_errno)
{
    int e = prepare(ctx);
    if (e == 0) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(argv[0], argv);
        e = errno;
    }
    *ret_errno = e;
    _exit(127);
}

/* Uses vfork(2), because the duration of fork(2) depends on the size of this process. Signals are
 * blocked, because no signal handler may run in the child before exec. */
int spawn(char *const argv[], const sigset_t *mask, spawn_fn prepare, const void *ctx, pid_t *ret)
{
    sigset_t all, before;
    volatile int error = 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0)
        exec_in_spawned_child(argv, mask != NULL ? mask : &before, prepare, ctx, &error);
    int e = pid < 0 ? errno : error;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && e != 0)
        waitpid(pid, NULL, 0);
    errno = e;
    if (e != 0)
        return MI_EIO;
    *ret = pid;
    return 0;
}

/* close_range() exists in glibc 2.34 and later, and in Linux 5.9 and later. */
void close_fds_from_number(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) != 0)
        for (int i = first; i < 1024; i++)
            close(i);
}
