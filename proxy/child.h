/* child.h - the server's process: started in a group of its own, ended together with all it started.
 *
 * Owns      the process, its group, and the watcher that reaps it; not the three pipes, which
 *           child_start() hands over.
 * States    one enum, changed in one function. GONE needs two facts: the process is reaped, and its
 *           output is at its end (the owner says so: child_output_ended()). An exit alone never ends the
 *           stream, for a crashed server's last words count.
 * End       child_stop(): SIGTERM to the group at half the grace, SIGKILL at the grace. Whatever is left
 *           when the child is gone, in its group or not, child_sweep() ends.
 * Blocks    child_sweep() only, for at most the time it is given. */
#ifndef MI_PROXY_CHILD_H
#define MI_PROXY_CHILD_H

#include "base/base.h"

#include <ev.h>
#include <signal.h>
#include <sys/types.h>

enum child_state {
    CHILD_IDLE,     /* no process */
    CHILD_RUNNING,  /* pid > 0 */
    CHILD_STOPPING, /* told to stop; kill_timer escalates */
    CHILD_GONE,     /* exit status and end of output both seen */
    CHILD_NSTATES
};

struct child {
    enum child_state state; /* written only by child_move() */
    struct ev_loop *loop;   /* borrowed; the default loop, as ev_child wants it */
    pid_t pid;              /* > 0 until reaped, then 0 */
    pid_t group;            /* of the last process; kept for the sweep */
    bool reaped, output_ended;
    int status; /* as waitpid(2) gives it; once reaped */
    int64_t grace_us;
    sigset_t mask;   /* of the server's process */
    int last_signal; /* that we sent; 0: none */
    ev_child exit_watch;
    ev_timer kill_timer; /* active only while something is to be killed */
    /* All may be NULL. `gone` comes last and may start another child. */
    void (*on_exit)(struct child *);
    void (*on_kill)(struct child *, int sig);
    void (*on_gone)(struct child *);
    void *data;
};

struct child_pipes {
    int in, out, err; /* ours, non-blocking: to its stdin, from its stdout and stderr */
};

/* mask: the signals that are blocked in the server, as they were in whoever started us. */
void child_open(struct child *c, struct ev_loop *loop, int64_t grace_us, const sigset_t *mask);
/* Runs argv (found through PATH). 0; MI_EIO with errno kept: it could not be started. */
MI_MUST int child_start(struct child *c, char *const argv[], struct child_pipes *ret);
void child_stop(struct child *c); /* begins the ladder of signals; once */
/* SIGTERM now, SIGKILL at half the grace: it hangs, or can be of no more use. */
void child_kill(struct child *c);
void child_output_ended(struct child *c); /* its stdout is at its end */
/* It is gone: SIGKILL to what it left in its group, SIGTERM to what was adopted from it. `spare` as below. */
void child_end_rest(struct child *c, pid_t spare);
/* Ends every process that is left of the child's group or was adopted from it. Waits at most so long.
 * `spare` is a child of ours that lives on; 0: none. */
void child_sweep(struct child *c, int64_t wait_us, pid_t spare);
/* 128+N for a signal, else the exit status. */
int child_exit_status(const struct child *c);

#endif
