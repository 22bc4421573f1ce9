/* child.h - a child process in a process group of its own, stopped together with all its
 * descendants.
 *
 * Owns      the process, its group, and the watcher that reaps it. The three pipes belong to the
 *           caller of child_start().
 * States    FINISHED needs two facts: the process is reaped, and its stdout is read to the end
 *           (reported by child_set_output_ended()). An exit alone does not end the stream, so the
 *           last output of a crashed server is still read.
 * Stopping  child_stop() sends SIGTERM to the group after half the grace time, and SIGKILL at its
 *           end. child_kill_descendants() kills the processes that are still in the group, and all
 *           other children of this process, also adopted ones.
 * Blocks    child_kill_descendants() only, for at most the given time. */
#ifndef MI_PROXY_CHILD_H
#define MI_PROXY_CHILD_H

#include "peer/server_start.h"

#include <ev.h>
#include <signal.h>
#include <sys/types.h>

enum child_state {
    CHILD_IDLE,     /* no process */
    CHILD_RUNNING,  /* the process runs, or it exited with status 0 and its output is open */
    CHILD_STOPPING, /* the process may exit by itself: no signal has been sent yet */
    CHILD_SIGTERM,  /* SIGTERM was sent to the process group */
    CHILD_SIGKILL,  /* SIGKILL was sent to the process group */
    CHILD_FINISHED, /* the process was reaped, and its output was read to the end */
    CHILD_NSTATES
};

struct child {
    enum child_state state; /* `state` is written only by child_enter_state() */
    struct ev_loop *loop;   /* borrowed; the default loop, which ev_child needs */
    pid_t pid;              /* pid of the process; 0 after it was reaped */
    /* group of the last process; child_kill_descendants() uses this group later */
    pid_t group;
    bool reaped, output_ended;
    int status; /* status from waitpid(2), valid once reaped */
    int64_t grace_us;
    sigset_t mask; /* signals blocked in the process */
    ev_child exit_watch;
    /* the timer is active while a signal, or the forced end of the output, is scheduled */
    ev_timer kill_timer;
    /* Each callback may be NULL. on_finished is called last and may start another process.
     * before_exec gets `data`, and is called in the new process: see struct process_start. */
    void (*before_exec)(void *data);
    void (*on_exit)(struct child *);
    void (*on_kill)(struct child *, int sig); /* called when a signal was sent */
    /* Called when SIGKILL was sent and the process is gone, but its output has not ended. Returns
     * false if the output is not being read now; then this callback is called again soon. */
    bool (*on_last_output)(struct child *);
    void (*on_finished)(struct child *);
    void *data;
};

/* mask: signals that are blocked in the child process: those that were blocked when this program
 * started. */
void child_open(struct child *c, struct ev_loop *loop, int64_t grace_us, const sigset_t *mask);
/* Starts the program argv[0], which is searched in PATH. Returns 0, or MI_EIO with errno if the
 * program could not be started. */
MI_MUST int child_start(struct child *c, char *const argv[], struct process_pipes *ret);
/* Sends SIGTERM after half the grace time, and SIGKILL after all of it. */
void child_stop(struct child *c);
/* Sends SIGTERM now, and SIGKILL after half the grace time. */
void child_kill(struct child *c);
/* Call this function when this process, and perhaps the child, did not run for `us` microseconds:
 * the next signal is sent that much later, but not earlier than least_us from now. After SIGKILL
 * nothing changes. */
void child_extend_grace_period(struct child *c, int64_t us, int64_t least_us);
/* Call this function when the child's stdout has been read to its end. */
void child_set_output_ended(struct child *c);
/* Call this function after the process is finished: sends SIGKILL to the rest of its group, and
 * SIGTERM to processes adopted from it. `spare`: see child_kill_descendants(). */
void child_kill_leftovers(struct child *c, pid_t spare);
/* Kills every process that is left in the group, and all other children of this process, also
 * adopted ones. Waits at most wait_us for their exit. `spare`: a child process that must not be
 * killed; 0: none. */
void child_kill_descendants(struct child *c, int64_t wait_us, pid_t spare);
/* Returns the exit status of the process, or 128+N if signal N ended it. */
int child_exit_status(const struct child *c);

#endif
