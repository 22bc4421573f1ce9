/* process.h - what /proc says of one process.
 *
 * Source    proc(5): /proc/PID/stat, statm, task/PID/children and /proc/sys/kernel/random/boot_id. A
 *           process is told from a later one with the same number by its start time, within one boot of
 *           the machine.
 * Units     ticks of sysconf(_SC_CLK_TCK) for CPU time and start time, as the kernel has them.
 * Errors    MI_ENOENT: there is no such process (any more), or it may not be seen.
 * Blocks    never: no file is read here that waits for the process itself. */
#ifndef MI_BASE_PROCESS_H
#define MI_BASE_PROCESS_H

#include "base/base.h"

#include <sys/types.h>

/* Bytes of a name, with its NUL; the kernel gives 15 or, to its own, more. */
#define PROCESS_NAME_MAX 64
#define PROCESS_BOOT_MAX 40 /* bytes of a boot id, with its NUL */

struct process {
    pid_t pid, parent, group, session;
    char name[PROCESS_NAME_MAX]; /* any bytes but NUL: the process chose it */
    char state;                  /* R, S, D, T, t, Z, X, I as in proc(5) */
    int64_t cpu_ticks; /* used by it, and by those of its children that it has waited for */
    int64_t threads;
    uint64_t start_ticks; /* since boot: the process's identity together with pid and boot */
    int64_t rss_bytes;
};

MI_MUST int process_read(pid_t pid, struct process *ret);
/* Children, at most `max` of them; how many were written. They come oldest first. */
size_t process_children(pid_t pid, pid_t *ret, size_t max);
/* Those of a process group that live, at most `max` of them: looks at every process of the machine. */
size_t process_group(pid_t group, struct process *ret, size_t max);
/* The start time of a process that lives; 0: there is none. A zombie lives no more. */
uint64_t process_start(pid_t pid);
/* The id of this boot of the machine, "" when the kernel does not tell. ret has PROCESS_BOOT_MAX
 * bytes. */
void process_boot(char *ret);
int64_t process_ticks_us(int64_t ticks);

#endif
