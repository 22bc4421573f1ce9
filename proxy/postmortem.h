/* postmortem.h - what /proc says of a server that is about to be killed, for the record and for people.
 *
 * A server is a tree: `npx` and `sh -c` start the real one as their child, and that one may wait for a
 * helper. All of the tree is looked at, and one process is chosen that says most: behind launchers, which
 * have one child that inherits their stdin and stdout, as no helper does; but rather one that is stopped
 * or in a wait that no signal ends, or one that computes, if the tree used half a processor since the base.
 *
 * Take the base when a request is written or any time later (some 100 ms, when most requests are
 * answered and no cost is left on the hot path): all figures say since when they count.
 *
 * Source    proc(5). wchan, the system call, and counts of descriptors need the rights of a debugger;
 *           without them, or where the kernel does not tell, they are left out.
 * Bounds    POSTMORTEM_MAX processes, POSTMORTEM_FDS descriptors of the chosen one.
 * Blocks    never: cmdline, environ and maps, which may wait for the process, are not touched.
 * Cost      of three processes, measured: 60 us for the base, 200 us for the post-mortem. */
#ifndef MI_PROXY_POSTMORTEM_H
#define MI_PROXY_POSTMORTEM_H

#include "base/buf.h"
#include "base/process.h"

#define POSTMORTEM_MAX 32  /* processes looked at */
#define POSTMORTEM_FDS 512 /* descriptors looked at */

/* CPU time that a server had used at some time. A plain value: copy it, forget it. */
struct postmortem_base {
    int64_t at_us;     /* clock_mono_us(); 0: never taken */
    int64_t cpu_ticks; /* of all its processes */
};

struct postmortem_process {
    struct process p;
    char wchan[48];   /* the kernel function it waits in; "": not told */
    char call[24];    /* the system call it waits in; "": not told, or not one that waits */
    int call_fd;      /* what that call reads, writes or waits on; -1: nothing of that kind */
    char call_on[16]; /* what call_fd is: "pipe", "socket", "file", …; "": not told */
    unsigned depth;   /* 0: what the proxy started, or adopted from it */
};

struct postmortem {
    size_t n;                                          /* processes; 0: there was none left */
    bool more;                                         /* and others for which there was no room */
    size_t chosen;                                     /* the one that says most */
    struct postmortem_process process[POSTMORTEM_MAX]; /* parents before their children */
    int pipes, sockets;   /* descriptors of the chosen one; -1: not readable */
    int64_t unread_bytes; /* in its stdin's pipe, which it has not read; -1: not known */
    bool has_base;
    int64_t since_us; /* from the base to now */
    int64_t cpu_us;   /* used meanwhile by all of them; counts in steps of a tick (10 ms) */
};

/* pid: the process that the proxy started; group: its process group. */
void postmortem_base_take(struct postmortem_base *b, pid_t pid, pid_t group);
/* stdin_fd: our end of the pipe to the server's stdin; -1: none. base: NULL or never taken: no CPU
 * figures. Call it before the first signal. */
void postmortem_read(struct postmortem *ret, pid_t pid, pid_t group, int stdin_fd,
                     const struct postmortem_base *base);
/* One JSON object: {"pid":…,"name":…,"state":…,…,"processes":[…]}; docs/vault.md describes it. */
void postmortem_json(struct buf *b, const struct postmortem *pm);
/* "node (pid 4242, started by npx) was sleeping in epoll_wait, used 0.00 s of CPU in the last 30.0 s
 * and had 2 children (git, ssh)". Control characters are made visible. No full stop at its end. */
void postmortem_sentence(struct buf *b, const struct postmortem *pm);

#endif
