#include "proxy/server_state.h"

#include "base/log.h"

/* ---- the table ------------------------------------------------------------------------------ */

#define ASK SERVER_DO_ASK
#define REPORT_HANG SERVER_DO_REPORT_HANG
#define STOP_CLIENT SERVER_DO_STOP_CLIENT
#define DISCONNECT SERVER_DO_DISCONNECT
#define STOP SERVER_DO_STOP
#define KILL SERVER_DO_KILL
#define RESUME SERVER_DO_RESUME
#define PREPARE_RESTART SERVER_DO_PREPARE_RESTART
#define START SERVER_DO_START
#define REJECT SERVER_DO_REJECT
#define REJECT_UNREAD SERVER_DO_REJECT_UNREAD
#define GIVE_UP SERVER_DO_GIVE_UP
#define END_SESSION SERVER_DO_END_SESSION
#define FINISH SERVER_DO_FINISH

struct cell {
    enum server_state to;    /* STARTING: no entry, because no event leads to STARTING */
    unsigned todo;           /* actions: bits of enum server_action */
    enum server_cause cause; /* 0: unchanged */
    /* reason for the end of the session, unless one is already set; 0: none */
    enum server_reason reason;
};

#define CLIENT_CLOSED SERVER_REASON_CLIENT_CLOSED
#define SIGNAL SERVER_REASON_SIGNAL
#define STOPPED SERVER_CAUSE_STOPPED

#define RECORD_FAILS                                                                               \
    [SERVER_EV_RECORD_FAILED] = {SERVER_ENDED, FINISH, 0, SERVER_REASON_RECORD_ERROR}
/* Transitions of every state except FLUSHING and ENDED. */
#define WE_FAIL                                                                                    \
    RECORD_FAILS, [SERVER_EV_NO_MEMORY] = {SERVER_FLUSHING, STOP_CLIENT | END_SESSION,             \
                                           SERVER_CAUSE_NO_MEMORY, SERVER_REASON_NO_MEMORY}
/* Transitions while no server could be started. */
#define REJECTS                                                                                    \
    WE_FAIL, [SERVER_EV_REQUEST] = {SERVER_REJECTING, REJECT},                                     \
             [SERVER_EV_CLIENT_CLOSED] = {SERVER_FLUSHING, REJECT},                                \
             [SERVER_EV_CLIENT_WAITS] = {SERVER_FLUSHING, REJECT},                                 \
             [SERVER_EV_CLIENT_NOT_READING] = {SERVER_FLUSHING, REJECT},                           \
             [SERVER_EV_SIGNAL] = {SERVER_FLUSHING, REJECT}
/* The client or a signal ends the session. `cause` is STOPPED, or 0 if the server could not answer
 * any more. */
#define SESSION_ENDS(cause)                                                                        \
    WE_FAIL, [SERVER_EV_CLIENT_CLOSED] = {SERVER_STOPPING, STOP, cause, CLIENT_CLOSED},            \
             [SERVER_EV_CLIENT_NOT_READING] = {SERVER_STOPPING, STOP_CLIENT | STOP, cause,         \
                                               CLIENT_CLOSED},                                     \
             [SERVER_EV_SIGNAL] = {SERVER_STOPPING, STOP_CLIENT | STOP, cause, SIGNAL}
/* Like SESSION_ENDS, but if the client awaits answers, the next state is `to`. */
#define CLIENT_ENDS(to, cause)                                                                     \
    SESSION_ENDS(cause), [SERVER_EV_CLIENT_WAITS] = {to, 0, 0, CLIENT_CLOSED}
/* The client ends the session while no server process is running. */
#define CLIENT_ENDS_WITHOUT_PROCESS                                                                \
    WE_FAIL, [SERVER_EV_CLIENT_CLOSED] = {SERVER_FLUSHING, END_SESSION, 0, CLIENT_CLOSED},         \
             [SERVER_EV_CLIENT_WAITS] = {SERVER_FLUSHING, END_SESSION, 0, CLIENT_CLOSED},          \
             [SERVER_EV_CLIENT_NOT_READING] = {SERVER_FLUSHING, STOP_CLIENT | END_SESSION, 0,      \
                                               CLIENT_CLOSED},                                     \
             [SERVER_EV_SIGNAL] = {SERVER_FLUSHING, STOP_CLIENT | END_SESSION, 0, SIGNAL}
/* The client ends the session while the process is being killed or has exited. */
#define CLIENT_ENDS_WHILE_ENDING                                                                   \
    WE_FAIL, [SERVER_EV_CLIENT_CLOSED] = {SERVER_STOPPING, 0, 0, CLIENT_CLOSED},                   \
             [SERVER_EV_CLIENT_WAITS] = {SERVER_STOPPING, 0, 0, CLIENT_CLOSED},                    \
             [SERVER_EV_CLIENT_NOT_READING] = {SERVER_STOPPING, STOP_CLIENT, 0, CLIENT_CLOSED},    \
             [SERVER_EV_SIGNAL] = {SERVER_STOPPING, STOP_CLIENT, 0, SIGNAL}
/* The client closed its output and awaits answers. must_kill_server_now() decides whether a signal
 * leads to KILL. */
#define DRAIN_ENDS                                                                                 \
    WE_FAIL, [SERVER_EV_ANSWERED] = {SERVER_STOPPING, STOP, STOPPED},                              \
             [SERVER_EV_EXITED] = {SERVER_STOPPING, DISCONNECT},                                   \
             [SERVER_EV_CLIENT_NOT_READING] = {SERVER_STOPPING, STOP_CLIENT | STOP, STOPPED},      \
             [SERVER_EV_SIGNAL] = {SERVER_STOPPING, STOP_CLIENT | STOP | KILL, STOPPED}
/* Transitions while the server is in doubt: the server is silent past a deadline. A server that
 * closes its stdin is alive, although it cannot answer. */
#define DOUBTED                                                                                    \
    [SERVER_EV_HEARD] = {SERVER_RUNNING}, [SERVER_EV_INPUT_CLOSED] = {SERVER_INPUT_CLOSED},        \
    [SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},                                            \
    [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},                                              \
    [SERVER_EV_HUNG] = KILL_SILENT(SERVER_KILLED), [SERVER_EV_SHUTDOWN] = {SERVER_SHUTDOWN},       \
    CLIENT_ENDS(SERVER_DRAINING, STOPPED)
#define KILL_HUNG(to)                                                                              \
    {                                                                                              \
        to, DISCONNECT | KILL, SERVER_CAUSE_HUNG                                                   \
    }
/* Kills a server that is silent at or after a deadline. */
#define KILL_SILENT(to)                                                                            \
    {                                                                                              \
        to, REPORT_HANG | DISCONNECT | KILL, SERVER_CAUSE_HUNG                                     \
    }
/* Kills a server that is silent at a deadline and has closed a stream: the server could not read a
 * liveness ping, or could not answer it. */
#define CANNOT_ANSWER(to) [SERVER_EV_SILENT] = KILL_SILENT(to), [SERVER_EV_HUNG] = KILL_SILENT(to)
#define KILL_CHANGED                                                                               \
    {                                                                                              \
        SERVER_STOPPING, KILL, SERVER_CAUSE_CHANGED                                                \
    }

static const struct cell table[SERVER_NSTATES][SERVER_NEVENTS] = {
    [SERVER_STARTING] = {[SERVER_EV_STARTED] = {SERVER_RUNNING},
                         [SERVER_EV_START_FAILED] = {SERVER_UNAVAILABLE, 0,
                                                     SERVER_CAUSE_START_FAILED,
                                                     SERVER_REASON_START_FAILED},
                         WE_FAIL},
    [SERVER_UNAVAILABLE] = {REJECTS, [SERVER_EV_TIMEOUT] = {SERVER_ENDED, FINISH}},
    [SERVER_REJECTING] = {REJECTS},
    [SERVER_RUNNING] = {[SERVER_EV_INPUT_CLOSED] = {SERVER_INPUT_CLOSED},
                        [SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},
                        [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                        [SERVER_EV_SILENT] = {SERVER_ASKED, ASK},
                        [SERVER_EV_AT_WORK] = {SERVER_AT_WORK},
                        [SERVER_EV_PREPARING] = {SERVER_PREPARING},
                        [SERVER_EV_HUNG] = KILL_SILENT(SERVER_KILLED),
                        [SERVER_EV_SHUTDOWN] = {SERVER_SHUTDOWN},
                        CLIENT_ENDS(SERVER_DRAINING, STOPPED)},
    [SERVER_ASKED] = {[SERVER_EV_AT_WORK] = {SERVER_AT_WORK},
                      [SERVER_EV_TIMEOUT] = KILL_SILENT(SERVER_KILLED),
                      DOUBTED},
    [SERVER_AT_WORK] = {[SERVER_EV_SILENT] = {SERVER_ASKED, ASK},
                        [SERVER_EV_TIMEOUT] = {SERVER_ASKED, ASK},
                        DOUBTED},
    [SERVER_PREPARING] = {[SERVER_EV_TIMEOUT] = KILL_SILENT(SERVER_KILLED), DOUBTED},
    [SERVER_INPUT_CLOSED] = {[SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},
                             [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                             CANNOT_ANSWER(SERVER_KILLED),
                             [SERVER_EV_SHUTDOWN] = {SERVER_SHUTDOWN},
                             [SERVER_EV_TIMEOUT] = {SERVER_NOT_READING, REJECT_UNREAD},
                             CLIENT_ENDS(SERVER_DRAINING_INPUT_CLOSED, STOPPED)},
    [SERVER_NOT_READING] = {[SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},
                            [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                            CANNOT_ANSWER(SERVER_KILLED),
                            [SERVER_EV_SHUTDOWN] = {SERVER_SHUTDOWN},
                            [SERVER_EV_REQUEST] = {SERVER_NOT_READING, REJECT_UNREAD},
                            SESSION_ENDS(STOPPED),
                            [SERVER_EV_CLIENT_WAITS] = {SERVER_DRAINING_INPUT_CLOSED, REJECT_UNREAD,
                                                        0, CLIENT_CLOSED}},
    [SERVER_OUTPUT_CLOSED] = {[SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                              CANNOT_ANSWER(SERVER_KILLED),
                              [SERVER_EV_SHUTDOWN] = {SERVER_STOPPING, STOP},
                              [SERVER_EV_TIMEOUT] = {SERVER_KILLED, DISCONNECT | KILL,
                                                     SERVER_CAUSE_CLOSED},
                              CLIENT_ENDS(SERVER_DRAINING_OUTPUT_CLOSED, 0)},
    [SERVER_SHUTDOWN] = {[SERVER_EV_OUTPUT_CLOSED] = {SERVER_STOPPING, STOP},
                         [SERVER_EV_EXITED] = {SERVER_STOPPING, DISCONNECT},
                         CANNOT_ANSWER(SERVER_STOPPING),
                         [SERVER_EV_SHUTDOWN_FAILED] = {SERVER_RUNNING},
                         SESSION_ENDS(STOPPED),
                         [SERVER_EV_CLIENT_WAITS] = {SERVER_STOPPING, STOP, STOPPED,
                                                     CLIENT_CLOSED}},
    [SERVER_DRAINING] = {[SERVER_EV_INPUT_CLOSED] = {SERVER_DRAINING_INPUT_CLOSED},
                         [SERVER_EV_OUTPUT_CLOSED] = {SERVER_DRAINING_OUTPUT_CLOSED},
                         DRAIN_ENDS},
    [SERVER_DRAINING_INPUT_CLOSED] = {[SERVER_EV_TIMEOUT] = {SERVER_DRAINING_INPUT_CLOSED,
                                                             REJECT_UNREAD},
                                      [SERVER_EV_OUTPUT_CLOSED] = {SERVER_DRAINING_OUTPUT_CLOSED},
                                      DRAIN_ENDS},
    [SERVER_DRAINING_OUTPUT_CLOSED] = {[SERVER_EV_TIMEOUT] = {SERVER_STOPPING, STOP,
                                                              SERVER_CAUSE_CLOSED},
                                       DRAIN_ENDS},
    [SERVER_KILLED] = {[SERVER_EV_EXITED] = {SERVER_KILLED, DISCONNECT},
                       [SERVER_EV_FINISHED] = {SERVER_BACKOFF, PREPARE_RESTART},
                       [SERVER_EV_FINISHED_IDLE] = {SERVER_BACKOFF, PREPARE_RESTART},
                       [SERVER_EV_FINISHED_CLEAN] = {SERVER_BACKOFF, PREPARE_RESTART},
                       [SERVER_EV_SHUTDOWN] = {SERVER_STOPPING},
                       CLIENT_ENDS_WHILE_ENDING},
    [SERVER_EXITED] = {[SERVER_EV_FINISHED] = {SERVER_BACKOFF, PREPARE_RESTART},
                       [SERVER_EV_FINISHED_IDLE] = {SERVER_BACKOFF, PREPARE_RESTART},
                       [SERVER_EV_FINISHED_CLEAN] = {SERVER_EXITED_IDLE},
                       [SERVER_EV_SHUTDOWN] = {SERVER_STOPPING},
                       CLIENT_ENDS_WHILE_ENDING},
    [SERVER_EXITED_IDLE] = {[SERVER_EV_REQUEST] = {SERVER_BACKOFF, PREPARE_RESTART},
                            [SERVER_EV_SHUTDOWN] = {SERVER_FLUSHING, END_SESSION},
                            [SERVER_EV_TIMEOUT] = {SERVER_FLUSHING, END_SESSION},
                            CLIENT_ENDS_WITHOUT_PROCESS},
    [SERVER_CRASHED_IDLE] = {[SERVER_EV_REQUEST] = {SERVER_FLUSHING, GIVE_UP | END_SESSION},
                             [SERVER_EV_SHUTDOWN] = {SERVER_FLUSHING, GIVE_UP | END_SESSION},
                             [SERVER_EV_TIMEOUT] = {SERVER_FLUSHING, GIVE_UP | END_SESSION},
                             CLIENT_ENDS_WITHOUT_PROCESS},
    [SERVER_STOPPING] = {[SERVER_EV_EXITED] = {SERVER_STOPPING, DISCONNECT},
                         [SERVER_EV_LAUNCHER_EXITED] = {SERVER_STOPPING, DISCONNECT},
                         [SERVER_EV_FINISHED] = {SERVER_FLUSHING, END_SESSION},
                         [SERVER_EV_FINISHED_IDLE] = {SERVER_FLUSHING, END_SESSION},
                         [SERVER_EV_FINISHED_CLEAN] = {SERVER_FLUSHING, END_SESSION},
                         [SERVER_EV_INITIALIZED] = {SERVER_STOPPING, RESUME},
                         [SERVER_EV_INITIALIZE_CHANGED] = KILL_CHANGED,
                         CLIENT_ENDS_WHILE_ENDING},
    [SERVER_BACKOFF] = {[SERVER_EV_TIMEOUT] = {SERVER_RESTARTING, START},
                        CLIENT_ENDS_WITHOUT_PROCESS},
    [SERVER_RESTARTING] = {[SERVER_EV_STARTED] = {SERVER_RUNNING, RESUME},
                           [SERVER_EV_START_FAILED] = {SERVER_FLUSHING, END_SESSION,
                                                       SERVER_CAUSE_START_FAILED,
                                                       SERVER_REASON_START_FAILED},
                           [SERVER_EV_INITIALIZE_SENT] = {SERVER_INITIALIZING},
                           WE_FAIL},
    [SERVER_INITIALIZING] = {[SERVER_EV_INITIALIZED] = {SERVER_RUNNING, RESUME},
                             [SERVER_EV_INITIALIZE_CHANGED] = KILL_CHANGED,
                             [SERVER_EV_INPUT_CLOSED] = {SERVER_INITIALIZING_INPUT_CLOSED},
                             [SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},
                             [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                             [SERVER_EV_TIMEOUT] = KILL_HUNG(SERVER_KILLED),
                             CLIENT_ENDS(SERVER_INITIALIZING_DRAINING, STOPPED)},
    [SERVER_INITIALIZING_INPUT_CLOSED] = {[SERVER_EV_INITIALIZED] = {SERVER_INPUT_CLOSED, RESUME},
                                          [SERVER_EV_INITIALIZE_CHANGED] = KILL_CHANGED,
                                          [SERVER_EV_OUTPUT_CLOSED] = {SERVER_OUTPUT_CLOSED},
                                          [SERVER_EV_EXITED] = {SERVER_EXITED, DISCONNECT},
                                          [SERVER_EV_TIMEOUT] = {SERVER_INITIALIZING},
                                          CLIENT_ENDS(SERVER_INITIALIZING_DRAINING, STOPPED)},
    [SERVER_INITIALIZING_DRAINING] = {[SERVER_EV_INITIALIZED] = {SERVER_DRAINING, RESUME},
                                      [SERVER_EV_INITIALIZE_CHANGED] = KILL_CHANGED,
                                      [SERVER_EV_OUTPUT_CLOSED] = {SERVER_DRAINING_OUTPUT_CLOSED},
                                      [SERVER_EV_TIMEOUT] = KILL_HUNG(SERVER_STOPPING),
                                      DRAIN_ENDS},
    [SERVER_FLUSHING] = {[SERVER_EV_FLUSHED] = {SERVER_ENDED, FINISH},
                         [SERVER_EV_TIMEOUT] = {SERVER_ENDED, FINISH},
                         [SERVER_EV_NO_MEMORY] = {SERVER_ENDED, FINISH},
                         RECORD_FAILS},
};

/* ---- restarts ------------------------------------------------------------------------------- */

static unsigned count_recent_restarts(const struct restart_times *t, int64_t now_us)
{
    unsigned n = 0;
    for (uint64_t i = 0; i < t->n && i < SERVER_RESTARTS_MAX; i++)
        n += now_us - t->at_us[i] < SERVER_RESTARTS_US;
    return n;
}

unsigned server_state_count_recent_restarts(const struct server_machine *s, int64_t now_us)
{
    return count_recent_restarts(&s->restarts, now_us) +
           count_recent_restarts(&s->uncounted, now_us);
}

static bool has_restarts_left(const struct server_machine *s, int64_t now_us)
{
    return !s->handshake_lost && !s->cannot_start &&
           ((s->tried && s->forgives) ||
            count_recent_restarts(&s->restarts, now_us) < s->max_restarts);
}

bool server_state_may_restart(const struct server_machine *s, int64_t now_us)
{
    return (s->state == SERVER_KILLED || s->state == SERVER_EXITED) && has_restarts_left(s, now_us);
}

bool server_state_is_final(const struct server_machine *s, int64_t now_us)
{
    return s->state == SERVER_STOPPING ||
           ((s->state == SERVER_KILLED || s->state == SERVER_EXITED) &&
            !has_restarts_left(s, now_us));
}

static void count_restart_and_set_backoff(struct server_machine *s, int64_t now_us)
{
    unsigned n = count_recent_restarts(&s->restarts, now_us);
    s->backoff_us = SERVER_BACKOFF_US;
    for (unsigned i = 0; i < n && s->backoff_us < SERVER_BACKOFF_MAX_US; i++)
        s->backoff_us *= 2;
    if (s->backoff_us > SERVER_BACKOFF_MAX_US)
        s->backoff_us = SERVER_BACKOFF_MAX_US;
    bool counts = !(s->tried && s->forgives);
    s->forgives = counts;
    struct restart_times *t = counts ? &s->restarts : &s->uncounted;
    t->at_us[t->n++ % SERVER_RESTARTS_MAX] = now_us;
}

/* ---- one event ------------------------------------------------------------------------------ */

static enum server_reason get_end_reason_of_cause(enum server_cause cause)
{
    switch (cause) {
    case SERVER_CAUSE_START_FAILED:
        return SERVER_REASON_START_FAILED;
    case SERVER_CAUSE_HUNG:
        return SERVER_REASON_HUNG;
    case SERVER_CAUSE_CLOSED:
        return SERVER_REASON_CLOSED;
    case SERVER_CAUSE_CHANGED:
        return SERVER_REASON_CHANGED;
    case SERVER_CAUSE_EXIT:
    /* with each of the next two causes, the session's end reason has already been set */
    case SERVER_CAUSE_STOPPED:
    case SERVER_CAUSE_NO_MEMORY:
        break;
    }
    return SERVER_REASON_EXITED;
}

static void set_end_reason(struct server_machine *s, enum server_reason reason)
{
    if (s->reason == SERVER_REASON_NONE || reason == SERVER_REASON_RECORD_ERROR)
        s->reason = reason;
}

/* Returns true if the server must get SIGTERM at once: a client that sends a signal after half the
 * grace time will soon send SIGKILL. */
static bool must_kill_server_now(const struct server_machine *s, int64_t now_us)
{
    return now_us - s->drain_since_us >= s->grace_us / 2;
}

/* The client awaits answers, and the server has closed its stdin or stdout. */
static bool drains_with_closed_stream(const struct server_machine *s)
{
    return s->state == SERVER_DRAINING_INPUT_CLOSED || s->state == SERVER_DRAINING_OUTPUT_CLOSED;
}

bool server_state_has_time_limit(const struct server_machine *s)
{
    return s->state == SERVER_INITIALIZING || s->state == SERVER_INITIALIZING_DRAINING ||
           drains_with_closed_stream(s) || s->state == SERVER_ASKED || s->state == SERVER_AT_WORK ||
           s->state == SERVER_PREPARING;
}

/* Called when a state is entered: sets the time before which TIMEOUT changes nothing. */
static void set_state_deadline(struct server_machine *s, enum server_event e, int64_t now_us)
{
    if (e == SERVER_EV_INITIALIZE_SENT)
        s->due_us = now_us + s->initialize_us;
    else if (s->state == SERVER_ASKED)
        s->due_us = now_us + s->grace_us;
    else if (drains_with_closed_stream(s))
        s->due_us = now_us + SERVER_EXIT_FOLLOWS_US;
    else if (s->state == SERVER_AT_WORK || s->state == SERVER_PREPARING)
        s->due_us = s->max_timeout_at_us;
}

/* Returns the transition from the table, changed if the time or the number of restarts left
 * requires another transition. */
static struct cell find_state_transition(const struct server_machine *s, enum server_event e,
                                         int64_t now_us)
{
    struct cell c = table[s->state][e];
    if (c.to == SERVER_BACKOFF && !has_restarts_left(s, now_us) &&
        (e == SERVER_EV_FINISHED_IDLE || e == SERVER_EV_FINISHED_CLEAN))
        return (struct cell){SERVER_CRASHED_IDLE, 0, 0, 0};
    if (c.to == SERVER_BACKOFF && !has_restarts_left(s, now_us))
        return (struct cell){SERVER_FLUSHING, GIVE_UP | END_SESSION, 0, 0};
    if (e == SERVER_EV_TIMEOUT && server_state_has_time_limit(s) && now_us < s->due_us)
        return (struct cell){0};
    if (server_state_is_draining(s) && e == SERVER_EV_SIGNAL && !must_kill_server_now(s, now_us))
        c.todo &= ~(unsigned)KILL;
    return c;
}

unsigned server_state_apply_event(struct server_machine *s, enum server_event e, int64_t now_us)
{
    struct cell c = find_state_transition(s, e, now_us);
    enum server_state from = s->state;
    if (c.to == SERVER_STARTING)
        return 0;
    if (c.cause != 0)
        s->cause = c.cause;
    else if (from == SERVER_RESTARTING)
        /* the cause of the previous process does not apply: the new process was not killed or
         * stopped yet */
        s->cause = SERVER_CAUSE_EXIT;
    if (c.reason != 0)
        set_end_reason(s, c.reason);
    else if (c.todo & END_SESSION)
        set_end_reason(s, get_end_reason_of_cause(s->cause));
    bool was_draining = server_state_is_draining(s);
    s->state = c.to;
    if (server_state_is_draining(s) && !was_draining)
        s->drain_since_us = now_us;
    if (from != c.to)
        set_state_deadline(s, e, now_us);
    if (c.to == SERVER_BACKOFF)
        count_restart_and_set_backoff(s, now_us);
    if (from != c.to)
        log_debug("server state %s -> %s: event=%s", server_state_name(from),
                  server_state_name(c.to), server_event_name(e));
    return c.todo;
}

int64_t server_state_timeout_us(const struct server_machine *s, int64_t now_us)
{
    switch (s->state) {
    case SERVER_INPUT_CLOSED:
    case SERVER_OUTPUT_CLOSED:
    case SERVER_INITIALIZING_INPUT_CLOSED:
        return SERVER_EXIT_FOLLOWS_US;
    case SERVER_EXITED_IDLE:
    case SERVER_CRASHED_IDLE:
        return SERVER_REQUEST_FOLLOWS_US;
    case SERVER_DRAINING:
    case SERVER_DRAINING_INPUT_CLOSED:
    case SERVER_DRAINING_OUTPUT_CLOSED:
    case SERVER_INITIALIZING_DRAINING:
        return SERVER_DRAIN_TICK_US;
    case SERVER_INITIALIZING:
    case SERVER_ASKED:
    case SERVER_AT_WORK:
    case SERVER_PREPARING:
        return s->due_us == 0 ? 0 : s->due_us > now_us ? s->due_us - now_us : 1;
    case SERVER_BACKOFF:
        return s->backoff_us;
    case SERVER_UNAVAILABLE:
    case SERVER_FLUSHING:
        return s->grace_us / 2;
    default:
        return 0;
    }
}

void server_state_extend_deadline(struct server_machine *s, int64_t now_us)
{
    if (s->state == SERVER_ASKED)
        s->due_us = now_us + s->grace_us;
    else if (drains_with_closed_stream(s))
        s->due_us = now_us + SERVER_EXIT_FOLLOWS_US;
    else if (s->state != SERVER_AT_WORK && s->state != SERVER_PREPARING)
        s->due_us = now_us + s->initialize_us;
}

void server_state_skip_stalled_time(struct server_machine *s, int64_t us, int64_t least_us,
                                    int64_t now_us)
{
    int64_t most_us = s->state == SERVER_ASKED       ? s->grace_us
                      : drains_with_closed_stream(s) ? SERVER_EXIT_FOLLOWS_US
                                                     : s->initialize_us;
    if (!server_state_has_time_limit(s) || s->state == SERVER_AT_WORK ||
        s->state == SERVER_PREPARING) /* the server may stay in these states until --max-timeout */
        return;
    int64_t left_us = s->due_us + us - now_us;
    left_us = left_us > least_us ? left_us : least_us;
    s->due_us = now_us + (left_us < most_us ? left_us : most_us);
}

void server_state_open(struct server_machine *s, unsigned max_restarts, int64_t grace_us,
                       int64_t initialize_us)
{
    *s = (struct server_machine){
        .max_restarts = max_restarts, .grace_us = grace_us, .initialize_us = initialize_us};
}

/* ---- queries -------------------------------------------------------------------------------- */

bool server_state_pauses_client(const struct server_machine *s)
{
    return s->state == SERVER_INPUT_CLOSED || s->state == SERVER_OUTPUT_CLOSED ||
           s->state == SERVER_INITIALIZING_INPUT_CLOSED;
}

bool server_state_missed_deadline(const struct server_machine *s)
{
    return s->state == SERVER_ASKED || s->state == SERVER_AT_WORK || s->state == SERVER_PREPARING;
}

bool server_state_accepts_requests(const struct server_machine *s)
{
    return s->state == SERVER_RUNNING || s->state == SERVER_DRAINING ||
           s->state == SERVER_SHUTDOWN || server_state_missed_deadline(s);
}

bool server_state_reports_requests(const struct server_machine *s)
{
    return s->state == SERVER_UNAVAILABLE || s->state == SERVER_REJECTING ||
           s->state == SERVER_NOT_READING || s->state == SERVER_EXITED_IDLE ||
           s->state == SERVER_CRASHED_IDLE;
}

bool server_state_is_draining(const struct server_machine *s)
{
    return s->state == SERVER_DRAINING || drains_with_closed_stream(s) ||
           s->state == SERVER_INITIALIZING_DRAINING;
}

bool server_state_was_ended_by_server(const struct server_machine *s)
{
    return s->reason >= SERVER_REASON_EXITED;
}
