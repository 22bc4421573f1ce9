/* process_tree.h - the processes of a server, and the CPU time that they have used.
 *
 * A server is a tree of processes: `npx` and `sh -c` start the real server as their child, and the
 * server may start helpers. To find the real server, the code follows the only child that inherits
 * stdin and stdout and has another command than its parent.
 *
 * Source    base/os/process.h and inspect.h. Unknown facts are omitted.
 * Limits    PROCESS_TREE_MAX processes.
 * Units     ticks of sysconf(_SC_CLK_TCK), usually 10 ms.
 * Blocks    never.
 * Cost      measured with three processes: 60 us. */
#ifndef MI_PROXY_PROCESS_TREE_H
#define MI_PROXY_PROCESS_TREE_H

#include "base/os/process.h"

#define PROCESS_TREE_MAX 32

struct process_tree {
    size_t n;
    /* there were more than PROCESS_TREE_MAX processes; the others are not listed */
    bool more;
    struct process process[PROCESS_TREE_MAX]; /* sorted: each parent before its children */
    /* depth in the tree; 0: started or adopted by the proxy */
    unsigned depth[PROCESS_TREE_MAX];
};

/* The CPU time that the tree has used until one moment, and which processes ran at that moment.
 * Helpers are all processes except the real server and the processes that started it. Exited
 * children of the real server and of those processes count as helpers. */
struct process_sample {
    int64_t at_us;        /* time of the sample by clock_mono_us(); 0: never taken */
    int64_t cpu_ticks;    /* CPU time of all processes */
    int64_t helper_ticks; /* CPU time of the helpers */
    bool runs;            /* a process runs, or waits only for a processor */
    bool helper_runs;
    bool server_runs;
};

/* Reads the tree. pid: the process that the proxy started; 0: none. group: its process group. */
void process_tree_read(struct process_tree *t, pid_t pid, pid_t group);
/* Returns the index of the real server. The tree must not be empty. */
size_t process_tree_find_server(const struct process_tree *t);
/* Adds up the CPU time of the processes. */
void process_tree_sum_cpu_times(const struct process_tree *t, struct process_sample *ret);
/* Reads the tree and adds up the CPU time of its processes. */
void process_tree_take_sample(struct process_sample *ret, pid_t pid, pid_t group);
/* Returns the microseconds of CPU time between two samples; 0 if the sum is smaller now because
 * processes have ended. */
int64_t process_tree_cpu_us_between(int64_t before_ticks, int64_t after_ticks);

#endif
