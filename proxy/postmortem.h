/* postmortem.h - the state of a server that is about to be killed.
 *
 * A server is a tree of processes: `npx` and `sh -c` start the real server as their child, and it may have
 * helpers. All processes are read, and one is chosen for the report: a process that is stopped or in
 * uninterruptible sleep; else, if the tree used half a processor since the base, one that is running; else the
 * real server, found by following the only child that inherits stdin and stdout.
 *
 * The base is the CPU time at an earlier moment, taken when a request is written or later. CPU figures count from
 * the base.
 *
 * Source    base/os/process.h and inspect.h. What is unknown is left out.
 * Limits    POSTMORTEM_MAX processes, POSTMORTEM_FDS descriptors of the chosen one.
 * Blocks    never.
 * Cost      measured with three processes: 60 us for the base, 200 us for the post-mortem. */
#ifndef MI_PROXY_POSTMORTEM_H
#define MI_PROXY_POSTMORTEM_H

#include "base/buf.h"
#include "base/os/inspect.h"
#include "base/os/process.h"

#define POSTMORTEM_MAX 32  /* processes read */
#define POSTMORTEM_FDS 512 /* descriptors read */

/* The CPU time that the server had used at one moment. */
struct postmortem_base {
    int64_t at_us;     /* clock_mono_us(); 0: never taken */
    int64_t cpu_ticks; /* of all its processes */
};

struct postmortem_process {
    struct process p;
    struct inspect_wait wait;
    unsigned depth; /* 0: started by the proxy, or adopted */
};

struct postmortem {
    size_t n;                                          /* processes; 0: none was left */
    bool more;                                         /* more than POSTMORTEM_MAX were found */
    size_t chosen;                                     /* index of the process that is reported */
    struct postmortem_process process[POSTMORTEM_MAX]; /* parents before their children */
    int pipes, sockets;   /* descriptors of the chosen one; -1: not readable */
    int64_t unread_bytes; /* in the pipe of its stdin; -1: unknown */
    bool has_base;
    int64_t since_us; /* from the base until now */
    int64_t cpu_us;   /* used in that time by all processes, in ticks of 10 ms */
};

/* pid: the process that the proxy started; group: its process group. */
void postmortem_base_take(struct postmortem_base *b, pid_t pid, pid_t group);
/* Call it before the first signal. stdin_fd: our end of the pipe to the server's stdin; -1: none. Without a base
 * (NULL, or never taken) there are no CPU figures. */
void postmortem_read(struct postmortem *ret, pid_t pid, pid_t group, int stdin_fd,
                     const struct postmortem_base *base);
/* One JSON object: {"pid":…,"name":…,"state":…,…,"processes":[…]}; docs/vault.md describes it. */
void postmortem_json(struct buf *b, const struct postmortem *pm);
/* "node (pid 4242, started by npx) was sleeping in epoll_wait, used 0.00 s of CPU in the last 30.0 s
 * and had 2 children (git, ssh)". Control characters are made visible. No full stop at the end. */
void postmortem_sentence(struct buf *b, const struct postmortem *pm);

#endif
