/* server_state.h - the state machine of the server: states, events, and the actions that follow
 * from an event.
 *
 * The proxy reports an event; server_state_apply_event() moves to the next state and returns the
 * actions that the proxy carries out (server.c). The table in server_state.c has an entry for each
 * pair of a state and an event that matters; other events change nothing.
 *
 * The machine also decides why the process ended (cause), why the session ends (reason), and
 * whether another process is started (at most max_restarts within SERVER_RESTARTS_US, after a
 * backoff). A restart is not counted if a request that was sent again has ended the new process
 * as well (session/resend.h); this exception applies once after each counted restart.
 *
 * Owns      nothing.
 * Units     microseconds of a monotonic clock, passed in.
 * Blocks    never. Pure: no loop, no process, no clock. */
#ifndef MI_PROXY_SERVER_STATE_H
#define MI_PROXY_SERVER_STATE_H

#include "base/base.h"

#define SERVER_RESTARTS_US 60000000 /* time within which restarts are counted */
#define SERVER_RESTARTS_MAX 100     /* upper limit of max_restarts */
#define SERVER_BACKOFF_US 100000    /* delay before a restart; doubled for each recent restart */
#define SERVER_BACKOFF_MAX_US 10000000
enum {
    /* After an exiting server has closed a stream, it exits within this time, even on a busy
     * machine. */
    SERVER_EXIT_FOLLOWS_US = 1000000,
    /* A client usually sends its next request within this time after an answer. After an exit with
     * status 0 the session waits this long for a request. */
    SERVER_REQUEST_FOLLOWS_US = 1000000,
    /* time between two checks whether a client that closed its output still reads answers */
    SERVER_DRAIN_TICK_US = 100000,
};

enum server_state {
    SERVER_STARTING,    /* the first process is being started */
    SERVER_UNAVAILABLE, /* the server could not be started; the first request is awaited */
    /* the server could not be started; each request is answered with the reason */
    SERVER_REJECTING,
    SERVER_RUNNING, /* messages are forwarded */
    /* RUNNING, but silent past a deadline; the server was asked whether it is alive */
    SERVER_ASKED,
    /* RUNNING, but silent past a deadline; the server's helper processes work */
    SERVER_AT_WORK,
    /* RUNNING, but silent past a deadline; the server works on its first answer */
    SERVER_PREPARING,
    SERVER_INPUT_CLOSED,  /* RUNNING, but the server closed its stdin and should exit */
    SERVER_NOT_READING,   /* RUNNING, but the server closed its stdin and did not exit */
    SERVER_OUTPUT_CLOSED, /* the server closed its stdout, and is killed if it does not exit soon */
    SERVER_SHUTDOWN,      /* RUNNING, and the client asked the server to shut down */
    SERVER_DRAINING,      /* RUNNING, but the client closed its output and awaits answers */
    /* like DRAINING, and the server closed its stdin; the server may never exit */
    SERVER_DRAINING_INPUT_CLOSED,
    /* like DRAINING, and the server closed its stdout: it should exit, or is stopped */
    SERVER_DRAINING_OUTPUT_CLOSED,
    SERVER_KILLED, /* the process is being killed; a restart follows if allowed */
    SERVER_EXITED, /* the process exited; its output is being read */
    /* The server exited with status 0 while no request was pending. The next request restarts the
     * server. */
    SERVER_EXITED_IDLE,
    SERVER_CRASHED_IDLE, /* the server crashed with no pending request; no restart is possible */
    SERVER_STOPPING,     /* the process is being stopped, or exited; no restart follows */
    SERVER_BACKOFF,      /* no process; the next one is started after a delay */
    SERVER_RESTARTING,   /* the next process is being started */
    SERVER_INITIALIZING, /* the new process has not yet answered the repeated initialize */
    /* like INITIALIZING, and the new process closed its stdin */
    SERVER_INITIALIZING_INPUT_CLOSED,
    /* like INITIALIZING, and the client closed its output and awaits answers */
    SERVER_INITIALIZING_DRAINING,
    SERVER_FLUSHING, /* no process runs; the last answers are being written */
    SERVER_ENDED,    /* the session has ended */
    SERVER_NSTATES
};

enum server_event {
    SERVER_EV_STARTED,         /* a process was started; it gets no repeated initialize */
    SERVER_EV_START_FAILED,    /* a process could not be started */
    SERVER_EV_INITIALIZE_SENT, /* a process was started and got a repeated initialize */
    SERVER_EV_INITIALIZED,     /* the new process answered initialize like its predecessor */
    /* the new process answered initialize with other data than its predecessor */
    SERVER_EV_INITIALIZE_CHANGED,
    SERVER_EV_INPUT_CLOSED,  /* the server closed its stdin */
    SERVER_EV_OUTPUT_CLOSED, /* the server closed its stdout */
    SERVER_EV_EXITED,        /* the process exited */
    /* the process exited with status 0; another process holds its stdout */
    SERVER_EV_LAUNCHER_EXITED,
    /* the process exited, its output was read to the end, and requests are pending */
    SERVER_EV_FINISHED,
    /* the process exited, its output was read to the end, and no request is pending */
    SERVER_EV_FINISHED_IDLE,
    SERVER_EV_FINISHED_CLEAN, /* like FINISHED_IDLE, but the process exited with status 0 */
    /* The next four events say that a request timed out, and that the server has sent nothing since
     * the request (session/liveness.h). */
    SERVER_EV_SILENT,    /* nothing is known about the server's processes */
    SERVER_EV_AT_WORK,   /* the server's child processes work (also reported in the state ASKED) */
    SERVER_EV_PREPARING, /* the server works, but has not answered any request yet */
    SERVER_EV_HUNG,      /* the server hangs */
    /* the server sent a message (reported only if server_state_missed_deadline()) */
    SERVER_EV_HEARD,
    SERVER_EV_SHUTDOWN,        /* the client sent `shutdown` or `exit` */
    SERVER_EV_SHUTDOWN_FAILED, /* the server answered `shutdown` with an error */
    SERVER_EV_CLIENT_CLOSED,   /* the client closed its output and awaits no answers */
    SERVER_EV_CLIENT_WAITS,    /* the client closed its output and awaits answers */
    /* the client awaits no more answers (reported only if server_state_is_draining()) */
    SERVER_EV_ANSWERED,
    SERVER_EV_CLIENT_NOT_READING, /* the client closed its input */
    SERVER_EV_SIGNAL,             /* this program has received SIGTERM, SIGINT or SIGHUP */
    SERVER_EV_REQUEST, /* a request is pending (reported only if server_state_reports_requests()) */
    SERVER_EV_FLUSHED, /* the last answers are written (reported in the state FLUSHING) */
    SERVER_EV_RECORD_FAILED, /* recording failed, and --on-record-error is `stop` */
    SERVER_EV_NO_MEMORY,     /* out of memory for reading from a peer */
    SERVER_EV_TIMEOUT,       /* server_state_timeout_us() has passed */
    SERVER_NEVENTS
};

/* Actions as bits. The actions are carried out in the order of this list. */
enum server_action {
    SERVER_DO_ASK = 1 << 0,         /* ask the server whether it is alive */
    SERVER_DO_REPORT_HANG = 1 << 1, /* record what the process is doing before it is killed */
    SERVER_DO_STOP_CLIENT = 1 << 2, /* stop reading the client; close the server's stdin */
    SERVER_DO_DISCONNECT = 1 << 3,  /* send nothing more to this process */
    SERVER_DO_STOP = 1 << 4,        /* stop the process within the grace time */
    SERVER_DO_KILL = 1 << 5,        /* send SIGTERM now, SIGKILL after half the grace time */
    SERVER_DO_RESUME = 1 << 6,      /* send pending messages to the initialized process */
    /* answer each pending request, or keep it for the next process */
    SERVER_DO_PREPARE_RESTART = 1 << 7,
    SERVER_DO_START = 1 << 8,          /* start the next process */
    SERVER_DO_REJECT = 1 << 9,         /* answer pending requests with "no server was started" */
    SERVER_DO_REJECT_UNREAD = 1 << 10, /* answer the requests that the server cannot read */
    SERVER_DO_GIVE_UP = 1 << 11,       /* report that no restart is possible */
    SERVER_DO_END_SESSION = 1 << 12,   /* answer pending requests with "the server exited" */
    SERVER_DO_FINISH = 1 << 13,        /* leave the loop */
};

/* Why the last process ended. */
enum server_cause {
    SERVER_CAUSE_EXIT,         /* the process exited, or another process killed it */
    SERVER_CAUSE_START_FAILED, /* the server could not be started */
    SERVER_CAUSE_HUNG,         /* the process was killed because it hung */
    SERVER_CAUSE_CLOSED,       /* the process was killed because it closed its output */
    SERVER_CAUSE_CHANGED,      /* the process was killed: it answered initialize with other data */
    /* the process was stopped: the client or a signal ended the session */
    SERVER_CAUSE_STOPPED,
    SERVER_CAUSE_NO_MEMORY, /* the process was stopped: the interposer ran out of memory */
};

/* Why the session ends. The first reason stays, except that RECORD_ERROR replaces it. */
enum server_reason {
    SERVER_REASON_NONE,
    SERVER_REASON_CLIENT_CLOSED,
    SERVER_REASON_SIGNAL,
    SERVER_REASON_RECORD_ERROR,
    SERVER_REASON_NO_MEMORY,
    SERVER_REASON_START_FAILED,
    SERVER_REASON_EXITED,
    SERVER_REASON_HUNG,
    SERVER_REASON_CLOSED,
    SERVER_REASON_CHANGED,
};

struct server_machine {
    enum server_state state; /* `state` is written only by server_state_apply_event() */
    enum server_cause cause;
    enum server_reason reason;
    unsigned max_restarts; /* restarts allowed within SERVER_RESTARTS_US; 0: none */
    int64_t grace_us;      /* --grace */
    int64_t initialize_us; /* time limit of the repeated initialize */
    bool handshake_lost;   /* initialize cannot be repeated: no restart */
    bool cannot_start;     /* the next process would end for the same reason: no restart */
    /* a request that was sent again is pending, and the server has read it */
    bool tried;
    bool forgives; /* if `tried` is true, the next restart is not counted in `restarts` */
    int64_t max_timeout_at_us; /* when --max-timeout of the silent request passes; 0: never */
    /* In states with server_state_has_time_limit(): time before which TIMEOUT changes nothing; 0:
     * TIMEOUT never comes. */
    int64_t due_us;
    int64_t drain_since_us; /* in the states *DRAINING*: time when the client closed its output */
    int64_t backoff_us;     /* delay of the last restart */
    struct restart_times {
        int64_t at_us[SERVER_RESTARTS_MAX]; /* times of the last restarts; a ring buffer */
        uint64_t n;                         /* number of restarts in total */
    } restarts, uncounted;
};

void server_state_open(struct server_machine *s, unsigned max_restarts, int64_t grace_us,
                       int64_t initialize_us);
/* Moves to the next state and returns the actions to carry out; 0 if there are none. */
MI_MUST unsigned server_state_apply_event(struct server_machine *s, enum server_event e,
                                          int64_t now_us);
/* Returns the time after which the caller must report TIMEOUT, again and again while the state does
 * not change; 0: never. */
int64_t server_state_timeout_us(const struct server_machine *s, int64_t now_us);

/* Restarts the deadline of the state, if it has one: that of a repeated initialize, of the answer
 * to a liveness ping, or of the exit after a stream was closed (*DRAINING*). Call this function if the proxy did not read the server's output, or the server got no processor. */
void server_state_extend_deadline(struct server_machine *s, int64_t now_us);
/* Call this function if this process did not run for `us` microseconds: moves the same
 * deadline by `us`. After that, it is not earlier than least_us from now. */
void server_state_skip_stalled_time(struct server_machine *s, int64_t us, int64_t least_us,
                                    int64_t now_us);
/* True in the states in which TIMEOUT changes nothing before due_us. */
bool server_state_has_time_limit(const struct server_machine *s);

/* True if the client must not be read: the server is about to exit, and the client's next messages
 * are for the restarted server. */
bool server_state_pauses_client(const struct server_machine *s);
/* True if the process is initialized and reads its stdin. */
bool server_state_accepts_requests(const struct server_machine *s);
/* True if the client has closed its output and awaits answers. */
bool server_state_is_draining(const struct server_machine *s);
/* True if the server was silent past a deadline. Then its next message must be reported as
 * HEARD. */
bool server_state_missed_deadline(const struct server_machine *s);
/* True if pending requests must be reported as REQUEST at the end of each turn. */
bool server_state_reports_requests(const struct server_machine *s);
/* True if the process was killed or exited, and a restart follows. */
bool server_state_may_restart(const struct server_machine *s, int64_t now_us);
/* True if the process is being stopped, was killed or exited, and no restart follows. */
bool server_state_is_final(const struct server_machine *s, int64_t now_us);
/* Returns the number of restarts within SERVER_RESTARTS_US, including those that do not count
 * against max_restarts. */
unsigned server_state_count_recent_restarts(const struct server_machine *s, int64_t now_us);
/* True if the session ends because of the server, not because of the client or a signal. */
bool server_state_was_ended_by_server(const struct server_machine *s);

const char *server_state_name(enum server_state state);
const char *server_event_name(enum server_event event);
/* returns the reason as stored in sessions.end_reason */
const char *server_reason_name(enum server_reason reason);
/* returns the cause as in error.data.cause */
const char *server_cause_name(enum server_cause cause);

#endif
