/* process.h - reads facts about processes, and makes settings for the child processes of this
 * process.
 *
 * Identity  the system reuses pids. Pid, start time and boot together identify a process.
 * Units     ticks of sysconf(_SC_CLK_TCK) for CPU time and start time.
 * Errors    MI_ENOENT: no such process, or the system hides it. A field that the system does not
 *           have is 0 or "".
 * Linux     proc(5), pidfd_open(2), prctl(2).
 * Blocks    never, except process_wait_for_exit(). */
#ifndef MI_BASE_OS_PROCESS_H
#define MI_BASE_OS_PROCESS_H

#include "base/base.h"

#include <sys/types.h>

/* Maximum bytes of a process's name, with the NUL. On Linux a name has at most 15 characters; only
 * names of kernel threads are longer. */
#define PROCESS_NAME_MAX 64
#define PROCESS_BOOT_MAX 40 /* bytes of a boot id, with its NUL */

/* state: R running; S, I sleeping; D in an uninterruptible wait; T stopped; t stopped by a
 * debugger; Z, X dead. */
struct process {
    pid_t pid, parent, group, session;
    char name[PROCESS_NAME_MAX]; /* name that the process has chosen: any bytes except NUL */
    char state;
    int64_t cpu_ticks;    /* including waited_ticks */
    int64_t waited_ticks; /* CPU time of children that the process has waited for */
    int64_t threads;
    /* start time since boot; identifies the process together with the pid and the boot id */
    uint64_t start_ticks;
    int64_t rss_bytes;
};

/* ---- other processes ---- */

MI_MUST int process_read(pid_t pid, struct process *ret);
/* Lists at most `max` children, oldest first. Returns the number of listed children. Allocates
 * nothing. */
size_t process_read_children(pid_t pid, pid_t *ret, size_t max);
/* Lists at most `max` running processes of a group. Reads every process of the machine. */
size_t process_list_group_members(pid_t group, struct process *ret, size_t max);
/* Returns the start time of a running process, or 0 if it does not run. A zombie does not count as
 * running. */
uint64_t process_start(pid_t pid);
/* Returns when a process started, in microseconds since the Unix epoch; 0: unknown. Correct only if
 * the wall clock was not set meanwhile. */
int64_t process_start_time_us(pid_t pid);
/* Signals the process with this start time, never a later process with the same pid. Returns 0,
 * MI_ENOENT (the process has exited), or MI_EIO with errno. */
MI_MUST int process_send_signal(pid_t pid, uint64_t start, int sig);
/* Waits until the process with this start time has exited, at most `us` microseconds. Returns
 * true if the process has exited, or if pid is not above 0. */
bool process_wait_for_exit(pid_t pid, uint64_t start, int64_t us);

/* ---- this machine, and this program ---- */

/* Writes the id of this boot of the machine, "" if unknown. ret has PROCESS_BOOT_MAX bytes. */
void process_read_boot_id(char *ret);
/* Returns the number of this process's pid namespace, within which pids are unique; 0 if unknown.
 * A system without namespaces returns 1. */
int64_t process_pid_namespace(void);
int64_t process_ticks_to_us(int64_t ticks);
/* Returns the path of this program's file, which the caller frees; NULL if unknown or out of
 * memory. */
char *process_program_path(void);
/* Returns the user's home directory in the system's user database, which can differ from the
 * environment's; NULL if unknown. Valid until the next call. */
const char *process_find_home_directory(void);
/* Returns the system and the processor that this program was built for, such as "linux-x64". */
const char *process_get_platform_name(void);
/* Returns the C library and its version, such as "glibc 2.36"; "" if unknown. Valid until the next
 * call. */
const char *process_libc_version(void);
/* Returns true if this program was linked without shared libraries. */
bool process_is_statically_linked(void);

/* ---- this process and those that it starts ---- */

/* From now on, a descendant whose parent exits becomes a child of this process, not of init.
 * Otherwise processes that a server leaves outside of its process group are not found at the end of
 * the session. Returns true if the system supports this. */
bool process_adopt_orphans(void);
/* Call it in a child process before exec, also after vfork(2): the system kills the process when
 * its parent dies. On a system that cannot do this, the recorder process kills servers. Returns
 * false if the parent with this pid has already died. */
bool process_die_with_parent(pid_t parent);

#endif
