/* postmortem.h - the state of a server that is about to be killed.
 *
 * All processes of the server's tree (process_tree.h) are read, and one is chosen for the report: a
 * process that is stopped or in uninterruptible sleep; else, if the tree used half a processor
 * since the base, a running process; else the real server.
 *
 * The base is a sample of the tree, taken when a request is written or later. CPU figures count
 * from the base.
 *
 * Source    base/os/process.h and inspect.h. Unknown facts are omitted.
 * Limits    POSTMORTEM_FDS descriptors of the chosen process.
 * Blocks    never.
 * Cost      measured with three processes: 200 us. */
#ifndef MI_PROXY_POSTMORTEM_H
#define MI_PROXY_POSTMORTEM_H

#include "base/buf.h"
#include "base/os/inspect.h"
#include "proxy/process_tree.h"

#define POSTMORTEM_FDS 512 /* descriptors read */

struct postmortem_process {
    struct process p;
    struct inspect_wait wait;
    unsigned depth; /* depth in the tree; 0: started or adopted by the proxy */
};

struct postmortem {
    size_t n; /* number of processes; 0: no process was left */
    /* there were more than PROCESS_TREE_MAX processes; the others are not listed */
    bool more;
    size_t chosen; /* index of the process that is reported */
    /* sorted: each parent before its children */
    struct postmortem_process process[PROCESS_TREE_MAX];
    int pipes, sockets;   /* open pipes and sockets of the chosen process; -1: unknown */
    int64_t unread_bytes; /* unread bytes in the pipe of the server's stdin; -1: unknown */
    bool has_base;    /* a base sample was given; otherwise since_us, cpu_us and helpers_us are 0 */
    int64_t since_us; /* microseconds from the base sample until this report */
    int64_t cpu_us;   /* CPU time of all processes since the base, in steps of 10 ms */
    int64_t helpers_us; /* CPU time of the helpers, which is a part of cpu_us */
};

/* Call this function before the first signal is sent. pid: the process that the proxy started;
 * group: its process group. stdin_fd: our end of the pipe to the server's stdin; -1: none. If base
 * is NULL or was never taken, there are no CPU figures. */
void postmortem_read_processes(struct postmortem *ret, pid_t pid, pid_t group, int stdin_fd,
                               const struct process_sample *base);
/* Appends the JSON object that docs/vault.md describes:
 * {"pid":…,"name":…,"state":…,…,"processes":[…]}. */
void postmortem_append_json(struct buf *b, const struct postmortem *pm);
/* Appends a sentence without a full stop: "node (pid 4242, started by npx) was sleeping in
 * epoll_wait, used 0.00 s of CPU in the last 30.0 s and had 2 children (git, ssh)". Control
 * characters are made visible. */
void postmortem_append_sentence(struct buf *b, const struct postmortem *pm);

#endif
