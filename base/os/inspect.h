/* inspect.h - finds out what another process is doing, for a report to people.
 *
 * Every fact may be unknown, because the system does not have it or does not show it for this
 * process.
 *
 * Linux     proc(5): cmdline; wchan, syscall and fd, which need ptrace access to the process;
 *           FIONREAD.
 * Blocks    never: no read waits for the process. */
#ifndef MI_BASE_OS_INSPECT_H
#define MI_BASE_OS_INSPECT_H

#include "base/base.h"

#include <sys/types.h>

/* What a process waits for. */
struct inspect_wait {
    char wchan[48];   /* kernel function in which the process waits; "": unknown */
    char call[24];    /* name of the system call; "": none or unknown */
    int call_fd;      /* descriptor that the call uses; -1: none */
    char call_on[16]; /* type of call_fd: "pipe", "socket", "file", "terminal", …; "": unknown */
};

void inspect_wait(pid_t pid, struct inspect_wait *ret);
/* Returns true if the descriptor refers to the same file in both processes; false if that is
 * unknown. */
bool processes_have_same_open_file(pid_t a, pid_t b, int fd);
/* Returns true if both processes have the same command line, as after a fork without exec. Only the
 * first 1023 bytes are compared. Returns false if a command line is unknown. */
bool processes_have_same_command(pid_t a, pid_t b);
/* Counts the pipes and sockets of a process; reads at most `max` descriptors. Returns false if
 * unknown. */
bool count_pipes_of_process(pid_t pid, int max, int *ret_pipes, int *ret_sockets);
/* Returns the number of unread bytes in the pipe whose writing end is `fd`; -1: unknown. For a
 * socket the number is 0 or too large. */
int64_t count_unread_bytes_of_fd(int fd);

#endif
