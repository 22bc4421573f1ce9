/* worker.h - the proxy's side of the recorder process: starts it, watches it, and starts it again
 * after an exit.
 *
 * Unless worker_start() has started the first process, the loop starts it after WORKER_START_US: so
 * a client's first message is forwarded without waiting for the fork. After the first two exits
 * within a minute a new process is started at once, after further exits with a delay. The delay
 * doubles each time, up to WORKER_DELAY_MAX_US.
 * Owns      the process, our ends of its control socket and of the pipe from its stderr, their
 *           watchers.
 * Lifetime  the fields of `cfg` are borrowed, except the descriptors.
 * Blocks    never, except worker_wait_for_reports(). */
#ifndef MI_RECORD_WORKER_H
#define MI_RECORD_WORKER_H

#include "record/process/process.h"

#include <ev.h>

#define WORKER_MINUTE_US ((int64_t)60 * 1000000)
/* delay before the event loop starts the first recorder process */
#define WORKER_START_US 1000
#define WORKER_DELAY_US 100000
/* If this many recorder processes in a row cannot open the journal or their store, nothing will be
 * stored. After each of the first two, the next one is started at once. */
#define WORKER_UNABLE 3
#define WORKER_DELAY_MAX_US 10000000

struct worker {
    /* the members control, text, notifier and lock of `cfg` are set for each process */
    struct process_config cfg;
    const int *notifier; /* borrowed: a descriptor for the notifier; -1: none */
    const int *lock;     /* borrowed: the descriptor of VAULT/running.lock; -1: none */
    pid_t pid;           /* the recorder process; 0: none is running */
    int control, text;   /* -1: closed */
    bool opened;         /* the recorder process has opened the vault */
    /* the session has ended: an exit is expected, and no other process is started */
    bool ending;
    /* number of successive recorder processes that could not open the journal or their store */
    unsigned unable;
    /* time since which no recorder process is running: the end of the last one, or the time of
     * worker_open(); 0: one is running */
    int64_t gone_since_us;
    /* start of the minute in which exits of recorder processes are counted */
    int64_t counted_since_us;
    unsigned exits;       /* number of recorder processes that exited in this minute */
    struct ev_loop *loop; /* the event loop; NULL: events are not watched */
    ev_io control_watch, text_watch;
    ev_child exit_watch;
    ev_timer start_timer; /* the timer is active during the delay before a new process is started */
    /* Called for a report of the recorder process. The callee closes fd. If fd is -1, the report
     * has no descriptor. */
    void (*on_report)(void *data, char what, int fd);
    /* called with bytes of the recorder process's stderr */
    void (*on_text)(void *data, struct slice bytes);
    void (*on_restart)(void *data); /* called after another recorder process was started */
    void *data;
};

/* Prepares w, without starting a process. From here on the callbacks may be called. */
void worker_open(struct worker *w, const struct process_config *cfg);
/* Starts a recorder process. Returns 0, or MI_EIO with errno. */
MI_MUST int worker_start(struct worker *w);
/* watches the recorder process; starts one if none is running */
void worker_attach_to_loop(struct worker *w, struct ev_loop *loop);
/* tells the recorder process that there are entries to store */
void worker_wake(struct worker *w);
/* Call this function after the loop has ended: stops watching, so that no report arrives through
 * the loop and no other process is started. */
void worker_stop_watching(struct worker *w);
/* Waits, without the event loop, at most `us` microseconds for reports, text, or the exit of the
 * recorder process. */
void worker_wait_for_reports(struct worker *w, int64_t us);
void worker_kill(struct worker *w); /* kills the recorder process and waits for its exit */
/* Closes the descriptors. A recorder process that has not exited continues. Safe to call twice. */
void worker_close(struct worker *w);

#endif
