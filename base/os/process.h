/* process.h - processes, as described by /proc.
 *
 * Source    proc(5): /proc/PID/stat, statm, task/PID/children and /proc/sys/kernel/random/boot_id. Start time and
 *           boot distinguish a process from a later one with the same pid.
 * Units     ticks of sysconf(_SC_CLK_TCK) for CPU time and start time, as the kernel has them.
 * Errors    MI_ENOENT: no such process, or /proc hides it.
 * Blocks    never: none of these files waits for the process. */
#ifndef MI_BASE_OS_PROCESS_H
#define MI_BASE_OS_PROCESS_H

#include "base/base.h"

#include <sys/types.h>

/* Bytes of a name, with its NUL; 15 characters, more for kernel threads. */
#define PROCESS_NAME_MAX 64
#define PROCESS_BOOT_MAX 40 /* bytes of a boot id, with its NUL */

struct process {
    pid_t pid, parent, group, session;
    char name[PROCESS_NAME_MAX]; /* chosen by the process: any bytes but NUL */
    char state;                  /* R, S, D, T, t, Z, X, I as in proc(5) */
    int64_t cpu_ticks;           /* including children that the process has waited for */
    int64_t threads;
    uint64_t start_ticks; /* since boot; with pid and boot id it identifies the process */
    int64_t rss_bytes;
};

MI_MUST int process_read(pid_t pid, struct process *ret);
/* The children, oldest first, at most `max`. Returns their number. */
size_t process_children(pid_t pid, pid_t *ret, size_t max);
/* The running processes of a group, at most `max`. Reads every process of the machine. */
size_t process_group(pid_t group, struct process *ret, size_t max);
/* The start time of a running process; 0: none. A zombie does not count as running. */
uint64_t process_start(pid_t pid);
/* The id of this boot of the machine, "" if unknown. ret has PROCESS_BOOT_MAX bytes. */
void process_boot(char *ret);
int64_t process_ticks_us(int64_t ticks);

#endif
