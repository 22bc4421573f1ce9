/* live.h - struct proxy, and the functions that the files of the live proxy share.
 *
 *   proxy_run.c       opens and closes everything; passes lines from the relays to the session
 *   server_state.c    the states of the server: pure; decides which actions follow from an event
 *   server.c          reports events to the state machine, and carries out its actions
 *   server_process.c  starts and connects the server process; describes how it ended
 *   restart.c         starts the next process; decides which pending requests are sent again
 *   silence.c         decides whether a server that is silent at a deadline is slow, working,
 *                     starting or hung
 *   turn.c            start of a loop turn: checks that it began in time; end: publishes, writes
 *   pipes.c           reads the pipes before a deadline counts as passed
 *   stall.c           notices that this process did not run: pure
 *
 * Owns      see the fields. A process has one struct proxy.
 * Blocks    never. */
#ifndef MI_PROXY_LIVE_H
#define MI_PROXY_LIVE_H

#include "proxy/child.h"
#include "proxy/incidents.h"
#include "proxy/proxy_run.h"
#include "proxy/relay.h"
#include "proxy/server_state.h"
#include "proxy/silence.h"
#include "proxy/stall.h"
#include "proxy/stderr_relay.h"
#include "record/recorder.h"

struct proxy {
    const struct proxy_config *cfg;
    struct ev_loop *loop;
    ev_check turn_start;
    ev_prepare turn_end;
    /* the timer is active while memory and wide pipes are kept for the next large line */
    ev_timer large_timer;
    struct stall stall;
    ev_signal signals[3];
    int exit_status; /* exit status of this program, unless a later event changes it */

    /* recording */
    struct recorder *recorder;     /* owned */
    const struct journal *journal; /* the recorder's journal */
    /* row of this session in the table `running`, as last passed to the recorder */
    struct running running;
    bool holding; /* at the end of the last turn the recorder allowed no output */
    bool pacing; /* the client is not read, because recorder_must_slow_client() has returned true */

    /* the session between client and server */
    struct traffic traffic;
    /* timer that fires at the next deadline or earlier; inactive if there is no deadline */
    ev_timer deadline_timer;
    struct relay relay[2];            /* [ROW_C2S], [ROW_S2C] */
    struct relay server_stderr;       /* the server's stderr */
    struct stderr_relay stderr_relay; /* writes to this program's stderr */
    struct incidents incidents;
    struct silence silence;

    /* the server */
    struct child child;
    struct server_machine machine;
    ev_timer state_timer;        /* the timer is active in states that have a timeout */
    int64_t state_timer_due_us;  /* when state_timer fires */
    struct outbox handshake_box; /* bytes for a restarted process, written before all other bytes */
    struct buf start_error;      /* owned; why no process could be started */
    /* length of the part of start_error that is repeated in later errors */
    size_t start_error_short;
    bool resends; /* in this session, a request had to wait to be sent again */
};

/* ---- server_process.c ---- */

void server_process_announce_itself(void *data); /* data: a struct proxy; see struct child */
/* Starts a server process. Returns 0, or MI_EIO: then the error was logged, and exit_status and
 * start_error are set. */
MI_MUST int server_process_start(struct proxy *p, struct process_pipes *ret);
void server_process_connect(struct proxy *p, struct process_pipes pipes);
/* Appends a sentence, without a full stop, that says how the last process ended. */
void server_process_append_end_cause(const struct proxy *p, struct buf *b);
/* Returns how many bytes of the repeated handshake and of the outbox the server has read, counted
 * like pending.written_at. The number is exact once the server's stdin is closed. */
uint64_t server_process_count_read_bytes(const struct proxy *p);

/* ---- restart.c ---- */

/* Call this function when the process has ended: answers the requests that a new process must not
 * get; the other requests stay pending. */
void restart_answer_or_keep_requests(struct proxy *p);
/* Starts the next process and repeats the client's initialize to it. Returns the event to
 * report. */
MI_MUST enum server_event restart_start_next_process(struct proxy *p);
/* Call this function when the new process is initialized: sends the rest of the handshake, then the
 * pending requests. */
void restart_send_pending_requests(struct proxy *p);
/* Call this function at the end of a turn, before publishing: sends one request to the new process
 * if requests wait to be sent again. */
void restart_resend_next_request(struct proxy *p);

/* ---- server.c ---- */

void server_open(struct proxy *p, const sigset_t *mask);

/* Passes an event to the state machine, and carries out the actions that it returns. */
void server_handle_event(struct proxy *p, enum server_event e);

/* Call this function after a time in which the server's output was not read: restarts the server's
 * timers. */
void server_extend_timers(struct proxy *p);
/* Call this function when this process did not run for `us` microseconds: the server's timers end
 * that much later, but not earlier than least_us from now. */
void server_skip_stalled_time(struct proxy *p, int64_t us, int64_t least_us);
/* Pauses reading, or continues it, as the recorder, the session and the state of the server
 * require. */
void server_pause_or_resume_reading(struct proxy *p);
/* Call this function when the client has closed its output. */
void server_on_client_closed(struct proxy *p);
void server_on_output_closed(struct proxy *p);
/* Call the following functions at the end of a turn. They report the events REQUEST, ANSWERED and
 * FLUSHED. */
void server_check_requests(struct proxy *p);        /* before publishing */
void server_check_pending_answers(struct proxy *p); /* after publishing */
void server_report_output_flushed(struct proxy *p); /* after writing */

/* A callback of the session: judges a server that is silent at a deadline. owner is the proxy. */
enum liveness server_handle_silence_timeout(void *owner, const struct pending *q, int64_t waited_us,
                                            struct buf *why);
/* Call this function after a line of the server was handled. A message proves that a server in
 * doubt is alive. */
void server_handle_received_line(struct proxy *p);

/* A callback of the session: the server answered the interposer's own request. */
void server_handle_answer_to_proxy(void *owner, const struct rpc *m);

/* ---- pipes.c ---- */

/* Writes to the server, and reads a bounded amount from both pipes. Call this function before a
 * deadline counts as passed: after a pause of this process, libev runs timers before it reads the
 * pipes. */
void pipes_read_and_flush(struct proxy *p);
/* Pauses the deadlines while the server's output is not read. Returns true when reading has started
 * again. */
bool pipes_watch_reading(struct proxy *p);

/* ---- turn.c ---- */

void turn_open_loop_watchers(struct proxy *p);

#endif
