/* The states of the server: every pair of a state and an event, then what depends on time. */
#include "proxy/server_state.h"

#include "tests/support/unit.h"

#define MS INT64_C(1000)
#define S (1000 * MS)
#define NOW (100 * S)
#define GRACE (2 * S)

/* What is expected of one pair. */
struct pair {
    enum server_state state;
    enum server_event event;
    enum server_state next;
    unsigned todo;
    enum server_cause cause;
    enum server_reason reason;
};

#define PAIR(state, event, next, todo, cause, reason)                                              \
    {                                                                                              \
        SERVER_##state, SERVER_EV_##event, SERVER_##next, todo, SERVER_CAUSE_##cause,              \
            SERVER_REASON_##reason                                                                 \
    }
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

/* Of a machine with restarts left, in which the client has waited for long. Every other pair changes nothing. */
static const struct pair pairs[] = {
    PAIR(STARTING, STARTED, RUNNING, 0, EXIT, NONE),
    PAIR(STARTING, START_FAILED, UNAVAILABLE, 0, START_FAILED, START_FAILED),
    PAIR(STARTING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(STARTING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(UNAVAILABLE, REQUEST, REJECTING, REJECT, EXIT, NONE),
    PAIR(UNAVAILABLE, CLIENT_CLOSED, FLUSHING, REJECT, EXIT, NONE),
    PAIR(UNAVAILABLE, CLIENT_WAITS, FLUSHING, REJECT, EXIT, NONE),
    PAIR(UNAVAILABLE, CLIENT_NOT_READING, FLUSHING, REJECT, EXIT, NONE),
    PAIR(UNAVAILABLE, SIGNAL, FLUSHING, REJECT, EXIT, NONE),
    PAIR(UNAVAILABLE, TIMEOUT, ENDED, FINISH, EXIT, NONE),
    PAIR(UNAVAILABLE, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(UNAVAILABLE, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(REJECTING, REQUEST, REJECTING, REJECT, EXIT, NONE),
    PAIR(REJECTING, CLIENT_CLOSED, FLUSHING, REJECT, EXIT, NONE),
    PAIR(REJECTING, CLIENT_WAITS, FLUSHING, REJECT, EXIT, NONE),
    PAIR(REJECTING, CLIENT_NOT_READING, FLUSHING, REJECT, EXIT, NONE),
    PAIR(REJECTING, SIGNAL, FLUSHING, REJECT, EXIT, NONE),
    PAIR(REJECTING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(REJECTING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(RUNNING, INPUT_CLOSED, INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(RUNNING, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(RUNNING, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(RUNNING, SILENT, ASKED, ASK, EXIT, NONE),
    PAIR(RUNNING, AT_WORK, AT_WORK, 0, EXIT, NONE),
    PAIR(RUNNING, PREPARING, PREPARING, 0, EXIT, NONE),
    PAIR(RUNNING, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(RUNNING, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(RUNNING, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(RUNNING, CLIENT_WAITS, DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(RUNNING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(RUNNING, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(RUNNING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(RUNNING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(ASKED, HEARD, RUNNING, 0, EXIT, NONE),
    PAIR(ASKED, AT_WORK, AT_WORK, 0, EXIT, NONE),
    PAIR(ASKED, TIMEOUT, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(ASKED, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(ASKED, INPUT_CLOSED, INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(ASKED, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(ASKED, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(ASKED, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(ASKED, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(ASKED, CLIENT_WAITS, DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(ASKED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(ASKED, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(ASKED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(ASKED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(AT_WORK, HEARD, RUNNING, 0, EXIT, NONE),
    PAIR(AT_WORK, SILENT, ASKED, ASK, EXIT, NONE),
    PAIR(AT_WORK, TIMEOUT, ASKED, ASK, EXIT, NONE),
    PAIR(AT_WORK, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(AT_WORK, INPUT_CLOSED, INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(AT_WORK, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(AT_WORK, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(AT_WORK, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(AT_WORK, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(AT_WORK, CLIENT_WAITS, DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(AT_WORK, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(AT_WORK, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(AT_WORK, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(AT_WORK, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(PREPARING, HEARD, RUNNING, 0, EXIT, NONE),
    PAIR(PREPARING, TIMEOUT, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(PREPARING, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(PREPARING, INPUT_CLOSED, INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(PREPARING, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(PREPARING, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(PREPARING, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(PREPARING, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(PREPARING, CLIENT_WAITS, DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(PREPARING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(PREPARING, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(PREPARING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(PREPARING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(INPUT_CLOSED, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(INPUT_CLOSED, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(INPUT_CLOSED, SILENT, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(INPUT_CLOSED, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(INPUT_CLOSED, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(INPUT_CLOSED, TIMEOUT, NOT_READING, REJECT_UNREAD, EXIT, NONE),
    PAIR(INPUT_CLOSED, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(INPUT_CLOSED, CLIENT_WAITS, DRAINING_INPUT_CLOSED, 0, EXIT, CLIENT_CLOSED),
    PAIR(INPUT_CLOSED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(INPUT_CLOSED, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(INPUT_CLOSED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(INPUT_CLOSED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(NOT_READING, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(NOT_READING, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(NOT_READING, SILENT, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(NOT_READING, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(NOT_READING, SHUTDOWN, SHUTDOWN, 0, EXIT, NONE),
    PAIR(NOT_READING, REQUEST, NOT_READING, REJECT_UNREAD, EXIT, NONE),
    PAIR(NOT_READING, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(NOT_READING, CLIENT_WAITS, DRAINING_INPUT_CLOSED, REJECT_UNREAD, EXIT, CLIENT_CLOSED),
    PAIR(NOT_READING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(NOT_READING, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(NOT_READING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(NOT_READING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(OUTPUT_CLOSED, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(OUTPUT_CLOSED, SILENT, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(OUTPUT_CLOSED, HUNG, KILLED, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(OUTPUT_CLOSED, SHUTDOWN, STOPPING, STOP, EXIT, NONE),
    PAIR(OUTPUT_CLOSED, TIMEOUT, KILLED, DISCONNECT | KILL, CLOSED, NONE),
    PAIR(OUTPUT_CLOSED, CLIENT_CLOSED, STOPPING, STOP, EXIT, CLIENT_CLOSED),
    PAIR(OUTPUT_CLOSED, CLIENT_WAITS, DRAINING_OUTPUT_CLOSED, 0, EXIT, CLIENT_CLOSED),
    PAIR(OUTPUT_CLOSED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, EXIT, CLIENT_CLOSED),
    PAIR(OUTPUT_CLOSED, SIGNAL, STOPPING, STOP_CLIENT | STOP, EXIT, SIGNAL),
    PAIR(OUTPUT_CLOSED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(OUTPUT_CLOSED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(SHUTDOWN, OUTPUT_CLOSED, STOPPING, STOP, EXIT, NONE),
    PAIR(SHUTDOWN, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(SHUTDOWN, SILENT, STOPPING, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(SHUTDOWN, HUNG, STOPPING, REPORT_HANG | DISCONNECT | KILL, HUNG, NONE),
    PAIR(SHUTDOWN, SHUTDOWN_FAILED, RUNNING, 0, EXIT, NONE),
    PAIR(SHUTDOWN, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(SHUTDOWN, CLIENT_WAITS, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(SHUTDOWN, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(SHUTDOWN, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(SHUTDOWN, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(SHUTDOWN, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(DRAINING, INPUT_CLOSED, DRAINING_INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(DRAINING, OUTPUT_CLOSED, DRAINING_OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(DRAINING, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(DRAINING, ANSWERED, STOPPING, STOP, STOPPED, NONE),
    PAIR(DRAINING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, NONE),
    PAIR(DRAINING, SIGNAL, STOPPING, STOP_CLIENT | STOP | KILL, STOPPED, NONE),
    PAIR(DRAINING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(DRAINING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(DRAINING_OUTPUT_CLOSED, TIMEOUT, STOPPING, STOP, CLOSED, NONE),
    PAIR(DRAINING_OUTPUT_CLOSED, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(DRAINING_OUTPUT_CLOSED, ANSWERED, STOPPING, STOP, STOPPED, NONE),
    PAIR(DRAINING_OUTPUT_CLOSED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, NONE),
    PAIR(DRAINING_OUTPUT_CLOSED, SIGNAL, STOPPING, STOP_CLIENT | STOP | KILL, STOPPED, NONE),
    PAIR(DRAINING_OUTPUT_CLOSED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(DRAINING_OUTPUT_CLOSED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY,
         NO_MEMORY),

    PAIR(DRAINING_INPUT_CLOSED, OUTPUT_CLOSED, DRAINING_OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(DRAINING_INPUT_CLOSED, TIMEOUT, DRAINING_INPUT_CLOSED, REJECT_UNREAD, EXIT, NONE),
    PAIR(DRAINING_INPUT_CLOSED, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(DRAINING_INPUT_CLOSED, ANSWERED, STOPPING, STOP, STOPPED, NONE),
    PAIR(DRAINING_INPUT_CLOSED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, NONE),
    PAIR(DRAINING_INPUT_CLOSED, SIGNAL, STOPPING, STOP_CLIENT | STOP | KILL, STOPPED, NONE),
    PAIR(DRAINING_INPUT_CLOSED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(DRAINING_INPUT_CLOSED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY,
         NO_MEMORY),

    PAIR(KILLED, EXITED, KILLED, DISCONNECT, EXIT, NONE),
    PAIR(KILLED, FINISHED, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(KILLED, FINISHED_IDLE, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(KILLED, FINISHED_CLEAN, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(KILLED, SHUTDOWN, STOPPING, 0, EXIT, NONE),
    PAIR(KILLED, CLIENT_CLOSED, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(KILLED, CLIENT_WAITS, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(KILLED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT, EXIT, CLIENT_CLOSED),
    PAIR(KILLED, SIGNAL, STOPPING, STOP_CLIENT, EXIT, SIGNAL),
    PAIR(KILLED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(KILLED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(EXITED, FINISHED, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(EXITED, FINISHED_IDLE, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(EXITED, FINISHED_CLEAN, EXITED_IDLE, 0, EXIT, NONE),
    PAIR(EXITED, SHUTDOWN, STOPPING, 0, EXIT, NONE),
    PAIR(EXITED, CLIENT_CLOSED, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(EXITED, CLIENT_WAITS, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(EXITED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT, EXIT, CLIENT_CLOSED),
    PAIR(EXITED, SIGNAL, STOPPING, STOP_CLIENT, EXIT, SIGNAL),
    PAIR(EXITED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(EXITED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(EXITED_IDLE, REQUEST, BACKOFF, PREPARE_RESTART, EXIT, NONE),
    PAIR(EXITED_IDLE, SHUTDOWN, FLUSHING, END_SESSION, EXIT, EXITED),
    PAIR(EXITED_IDLE, TIMEOUT, FLUSHING, END_SESSION, EXIT, EXITED),
    PAIR(EXITED_IDLE, CLIENT_CLOSED, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(EXITED_IDLE, CLIENT_WAITS, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(EXITED_IDLE, CLIENT_NOT_READING, FLUSHING, STOP_CLIENT | END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(EXITED_IDLE, SIGNAL, FLUSHING, STOP_CLIENT | END_SESSION, EXIT, SIGNAL),
    PAIR(EXITED_IDLE, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(EXITED_IDLE, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(CRASHED_IDLE, REQUEST, FLUSHING, GIVE_UP | END_SESSION, EXIT, EXITED),
    PAIR(CRASHED_IDLE, SHUTDOWN, FLUSHING, GIVE_UP | END_SESSION, EXIT, EXITED),
    PAIR(CRASHED_IDLE, TIMEOUT, FLUSHING, GIVE_UP | END_SESSION, EXIT, EXITED),
    PAIR(CRASHED_IDLE, CLIENT_CLOSED, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(CRASHED_IDLE, CLIENT_WAITS, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(CRASHED_IDLE, CLIENT_NOT_READING, FLUSHING, STOP_CLIENT | END_SESSION, EXIT,
         CLIENT_CLOSED),
    PAIR(CRASHED_IDLE, SIGNAL, FLUSHING, STOP_CLIENT | END_SESSION, EXIT, SIGNAL),
    PAIR(CRASHED_IDLE, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(CRASHED_IDLE, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(STOPPING, INITIALIZED, STOPPING, RESUME, EXIT, NONE),
    PAIR(STOPPING, INITIALIZE_CHANGED, STOPPING, KILL, CHANGED, NONE),
    PAIR(STOPPING, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(STOPPING, LAUNCHER_EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(STOPPING, FINISHED, FLUSHING, END_SESSION, EXIT, EXITED),
    PAIR(STOPPING, FINISHED_IDLE, FLUSHING, END_SESSION, EXIT, EXITED),
    PAIR(STOPPING, FINISHED_CLEAN, FLUSHING, END_SESSION, EXIT, EXITED),
    PAIR(STOPPING, CLIENT_CLOSED, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(STOPPING, CLIENT_WAITS, STOPPING, 0, EXIT, CLIENT_CLOSED),
    PAIR(STOPPING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT, EXIT, CLIENT_CLOSED),
    PAIR(STOPPING, SIGNAL, STOPPING, STOP_CLIENT, EXIT, SIGNAL),
    PAIR(STOPPING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(STOPPING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(BACKOFF, TIMEOUT, RESTARTING, START, EXIT, NONE),
    PAIR(BACKOFF, CLIENT_CLOSED, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(BACKOFF, CLIENT_WAITS, FLUSHING, END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(BACKOFF, CLIENT_NOT_READING, FLUSHING, STOP_CLIENT | END_SESSION, EXIT, CLIENT_CLOSED),
    PAIR(BACKOFF, SIGNAL, FLUSHING, STOP_CLIENT | END_SESSION, EXIT, SIGNAL),
    PAIR(BACKOFF, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(BACKOFF, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(RESTARTING, STARTED, RUNNING, RESUME, EXIT, NONE),
    PAIR(RESTARTING, INITIALIZE_SENT, INITIALIZING, 0, EXIT, NONE),
    PAIR(RESTARTING, START_FAILED, FLUSHING, END_SESSION, START_FAILED, START_FAILED),
    PAIR(RESTARTING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(RESTARTING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(INITIALIZING, INITIALIZED, RUNNING, RESUME, EXIT, NONE),
    PAIR(INITIALIZING, INITIALIZE_CHANGED, STOPPING, KILL, CHANGED, NONE),
    PAIR(INITIALIZING, INPUT_CLOSED, INITIALIZING_INPUT_CLOSED, 0, EXIT, NONE),
    PAIR(INITIALIZING, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(INITIALIZING, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(INITIALIZING, TIMEOUT, KILLED, DISCONNECT | KILL, HUNG, NONE),
    PAIR(INITIALIZING, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(INITIALIZING, CLIENT_WAITS, INITIALIZING_DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(INITIALIZING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, CLIENT_CLOSED),
    PAIR(INITIALIZING, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(INITIALIZING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(INITIALIZING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY, NO_MEMORY),

    PAIR(INITIALIZING_INPUT_CLOSED, INITIALIZED, INPUT_CLOSED, RESUME, EXIT, NONE),
    PAIR(INITIALIZING_INPUT_CLOSED, INITIALIZE_CHANGED, STOPPING, KILL, CHANGED, NONE),
    PAIR(INITIALIZING_INPUT_CLOSED, OUTPUT_CLOSED, OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(INITIALIZING_INPUT_CLOSED, EXITED, EXITED, DISCONNECT, EXIT, NONE),
    PAIR(INITIALIZING_INPUT_CLOSED, TIMEOUT, INITIALIZING, 0, EXIT, NONE),
    PAIR(INITIALIZING_INPUT_CLOSED, CLIENT_CLOSED, STOPPING, STOP, STOPPED, CLIENT_CLOSED),
    PAIR(INITIALIZING_INPUT_CLOSED, CLIENT_WAITS, INITIALIZING_DRAINING, 0, EXIT, CLIENT_CLOSED),
    PAIR(INITIALIZING_INPUT_CLOSED, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED,
         CLIENT_CLOSED),
    PAIR(INITIALIZING_INPUT_CLOSED, SIGNAL, STOPPING, STOP_CLIENT | STOP, STOPPED, SIGNAL),
    PAIR(INITIALIZING_INPUT_CLOSED, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(INITIALIZING_INPUT_CLOSED, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY,
         NO_MEMORY),

    PAIR(INITIALIZING_DRAINING, INITIALIZED, DRAINING, RESUME, EXIT, NONE),
    PAIR(INITIALIZING_DRAINING, INITIALIZE_CHANGED, STOPPING, KILL, CHANGED, NONE),
    PAIR(INITIALIZING_DRAINING, OUTPUT_CLOSED, DRAINING_OUTPUT_CLOSED, 0, EXIT, NONE),
    PAIR(INITIALIZING_DRAINING, EXITED, STOPPING, DISCONNECT, EXIT, NONE),
    PAIR(INITIALIZING_DRAINING, TIMEOUT, STOPPING, DISCONNECT | KILL, HUNG, NONE),
    PAIR(INITIALIZING_DRAINING, ANSWERED, STOPPING, STOP, STOPPED, NONE),
    PAIR(INITIALIZING_DRAINING, CLIENT_NOT_READING, STOPPING, STOP_CLIENT | STOP, STOPPED, NONE),
    PAIR(INITIALIZING_DRAINING, SIGNAL, STOPPING, STOP_CLIENT | STOP | KILL, STOPPED, NONE),
    PAIR(INITIALIZING_DRAINING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(INITIALIZING_DRAINING, NO_MEMORY, FLUSHING, STOP_CLIENT | END_SESSION, NO_MEMORY,
         NO_MEMORY),

    PAIR(FLUSHING, FLUSHED, ENDED, FINISH, EXIT, NONE),
    PAIR(FLUSHING, TIMEOUT, ENDED, FINISH, EXIT, NONE),
    PAIR(FLUSHING, RECORD_FAILED, ENDED, FINISH, EXIT, RECORD_ERROR),
    PAIR(FLUSHING, NO_MEMORY, ENDED, FINISH, EXIT, NONE),
};

static struct server_machine machine_in(enum server_state state)
{
    struct server_machine s;
    server_state_open(&s, 3, GRACE, 5 * S);
    s.state = state;
    return s;
}

static struct pair expected_of(enum server_state state, enum server_event event)
{
    for (size_t i = 0; i < MI_COUNT(pairs); i++)
        if (pairs[i].state == state && pairs[i].event == event)
            return pairs[i];
    return (struct pair){state, event, state, 0, SERVER_CAUSE_EXIT, SERVER_REASON_NONE};
}

static void check_pair(const struct pair *x)
{
    struct server_machine s = machine_in(x->state);
    unsigned todo = server_state_apply_event(&s, x->event, NOW);
    if (s.state != x->next || todo != x->todo || s.cause != x->cause || s.reason != x->reason)
        fail_msg(
            "%s + %s: state %s, todo %#x, cause %s, reason %s (%d); expected %s, %#x, %s, %s (%d)",
            server_state_name(x->state), server_event_name(x->event), server_state_name(s.state),
            todo, server_cause_name(s.cause), server_reason_name(s.reason), (int)s.reason,
            server_state_name(x->next), x->todo, server_cause_name(x->cause),
            server_reason_name(x->reason), (int)x->reason);
}

static void test_server_state_every_pair_does_what_the_table_says(void **state)
{
    (void)state;
    for (int from = 0; from < SERVER_NSTATES; from++)
        for (int event = 0; event < SERVER_NEVENTS; event++) {
            struct pair x = expected_of((enum server_state)from, (enum server_event)event);
            check_pair(&x);
        }
}

static void test_server_state_every_state_but_the_last_can_be_left(void **state)
{
    (void)state;
    for (int from = 0; from < SERVER_ENDED; from++) {
        bool can_be_left = false;
        for (size_t i = 0; i < MI_COUNT(pairs); i++)
            can_be_left |= (int)pairs[i].state == from && (int)pairs[i].next != from;
        if (!can_be_left)
            fail_msg("no event leaves %s", server_state_name((enum server_state)from));
    }
}

/* ---- reasons and causes --------------------------------------------------------------------- */

/* Reports the event and drops the actions. */
static void happens(struct server_machine *s, enum server_event e, int64_t now_us)
{
    (void)!server_state_apply_event(s, e, now_us);
}

static void test_server_state_first_reason_is_kept(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    happens(&s, SERVER_EV_CLIENT_WAITS, NOW);
    happens(&s, SERVER_EV_SIGNAL, NOW);
    happens(&s, SERVER_EV_EXITED, NOW);
    happens(&s, SERVER_EV_FINISHED, NOW);
    assert_string_equal(server_reason_name(s.reason), "client-closed");
    assert_false(server_state_was_ended_by_server(&s));
}

static void test_server_state_record_error_replaces_the_reason(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    happens(&s, SERVER_EV_CLIENT_CLOSED, NOW);
    happens(&s, SERVER_EV_RECORD_FAILED, NOW);
    assert_string_equal(server_reason_name(s.reason), "record-error");
}

static void check_end(enum server_state from, enum server_event killed_by, const char *reason,
                      const char *cause)
{
    struct server_machine s = machine_in(from);
    s.max_restarts = 0;
    happens(&s, killed_by, NOW);
    happens(&s, SERVER_EV_EXITED, NOW);
    unsigned todo = server_state_apply_event(&s, SERVER_EV_FINISHED, NOW);
    assert_int_equal(s.state, SERVER_FLUSHING);
    assert_true(todo & END_SESSION);
    assert_string_equal(server_reason_name(s.reason), reason);
    assert_string_equal(server_cause_name(s.cause), cause);
    assert_true(server_state_was_ended_by_server(&s));
}

static void test_server_state_reason_follows_from_the_cause(void **state)
{
    (void)state;
    check_end(SERVER_RUNNING, SERVER_EV_HUNG, "server-hung", "server-killed");
    check_end(SERVER_INITIALIZING, SERVER_EV_TIMEOUT, "server-hung", "server-killed");
    check_end(SERVER_OUTPUT_CLOSED, SERVER_EV_TIMEOUT, "server-closed", "server-closed");
    check_end(SERVER_INITIALIZING, SERVER_EV_INITIALIZE_CHANGED, "restart-changed",
              "restart-changed");
    check_end(SERVER_RUNNING, SERVER_EV_EXITED, "server-exited", "server-exited");
    check_end(SERVER_SHUTDOWN, SERVER_EV_HUNG, "server-hung", "server-killed");
}

static void test_server_state_restart_clears_the_cause_of_the_previous_end(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    happens(&s, SERVER_EV_HUNG, NOW);
    happens(&s, SERVER_EV_FINISHED, NOW);
    assert_int_equal(s.state, SERVER_BACKOFF);
    struct server_machine last = s;
    happens(&last, SERVER_EV_CLIENT_CLOSED, NOW);
    assert_int_equal(last.cause, SERVER_CAUSE_HUNG); /* pending requests get it in their errors */
    happens(&s, SERVER_EV_TIMEOUT, NOW);
    happens(&s, SERVER_EV_INITIALIZE_SENT, NOW);
    assert_int_equal(s.cause, SERVER_CAUSE_EXIT);
}

/* ---- restarts ------------------------------------------------------------------------------- */

/* One crash and the start of the next process. False: none is started. */
static bool restarts(struct server_machine *s, int64_t now_us)
{
    happens(s, SERVER_EV_EXITED, now_us);
    happens(s, SERVER_EV_FINISHED, now_us);
    if (s->state != SERVER_BACKOFF)
        return false;
    happens(s, SERVER_EV_TIMEOUT, now_us);
    happens(s, SERVER_EV_STARTED, now_us);
    assert_int_equal(s->state, SERVER_RUNNING);
    return true;
}

static void test_server_state_restarts_are_limited_within_a_minute(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    for (int i = 0; i < 3; i++)
        assert_true(restarts(&s, NOW + i * S));
    assert_int_equal(server_state_count_recent_restarts(&s, NOW + 3 * S), 3);
    struct server_machine late = s;
    assert_true(restarts(&late, NOW + SERVER_RESTARTS_US)); /* the first restart no longer counts */
    happens(&s, SERVER_EV_EXITED, NOW + 3 * S);
    assert_false(server_state_may_restart(&s, NOW + 3 * S));
    assert_true(server_state_is_final(&s, NOW + 3 * S));
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_FINISHED, NOW + 3 * S),
                     GIVE_UP | END_SESSION);
    assert_int_equal(s.state, SERVER_FLUSHING);
}

static void test_server_state_without_restarts_the_first_crash_ends_the_session(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    s.max_restarts = 0;
    assert_false(restarts(&s, NOW));
    assert_int_equal(s.state, SERVER_FLUSHING);
}

/* Whether a client that has its answer sends the next request before or after the exit is noticed: it is answered. */
static void test_server_state_exit_between_two_requests_waits_for_the_second(void **state)
{
    (void)state;
    for (int restarts_max = 0; restarts_max <= 3; restarts_max += 3)
        for (int clean = 0; clean <= 1; clean++) {
            struct server_machine s = machine_in(SERVER_RUNNING);
            s.max_restarts = (unsigned)restarts_max;
            happens(&s, SERVER_EV_EXITED, NOW);
            happens(&s, clean ? SERVER_EV_FINISHED_CLEAN : SERVER_EV_FINISHED_IDLE, NOW);
            if (clean || restarts_max == 0) {
                assert_true(server_state_reports_requests(&s));
                assert_int_equal(server_state_timeout_us(&s, NOW), SERVER_REQUEST_FOLLOWS_US);
                unsigned todo = server_state_apply_event(&s, SERVER_EV_REQUEST, NOW);
                assert_int_equal(todo, restarts_max > 0 ? PREPARE_RESTART : GIVE_UP | END_SESSION);
            }
            assert_int_equal(s.state, restarts_max > 0 ? SERVER_BACKOFF : SERVER_FLUSHING);
        }
}

static void test_server_state_lost_handshake_allows_no_restart(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_EXITED);
    assert_true(server_state_may_restart(&s, NOW));
    s.handshake_lost = true;
    assert_false(server_state_may_restart(&s, NOW));
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_FINISHED, NOW), GIVE_UP | END_SESSION);
    s = machine_in(SERVER_EXITED);
    s.cannot_start = true;
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_FINISHED, NOW), GIVE_UP | END_SESSION);
}

/* The restart after a request that was sent again is not counted; the next one is, also if another was sent again. */
static void test_server_state_one_restart_for_each_counted_one_is_forgiven(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    s.max_restarts = 2;
    s.tried = true;
    for (unsigned counted = 1; counted <= 2; counted++) {
        assert_true(restarts(&s, NOW));
        assert_int_equal(server_state_count_recent_restarts(&s, NOW), 2 * counted - 1);
        assert_true(restarts(&s, NOW));
        assert_int_equal(server_state_count_recent_restarts(&s, NOW), 2 * counted);
    }
    assert_false(restarts(&s, NOW));
    s = machine_in(SERVER_RUNNING);
    s.max_restarts = 1;
    assert_true(restarts(&s, NOW));
    assert_false(restarts(&s, NOW)); /* not forgiven without such a request */
    s = machine_in(SERVER_RUNNING);
    s.max_restarts = 0;
    s.tried = true;
    assert_false(restarts(&s, NOW));
}

static void test_server_state_backoff_doubles_up_to_its_limit(void **state)
{
    (void)state;
    static const int64_t expected_ms[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
    struct server_machine s = machine_in(SERVER_RUNNING);
    s.max_restarts = SERVER_RESTARTS_MAX;
    for (size_t i = 0; i < MI_COUNT(expected_ms); i++) {
        assert_true(restarts(&s, NOW));
        assert_int_equal(s.backoff_us, expected_ms[i] * MS);
    }
    assert_true(restarts(&s, NOW + SERVER_RESTARTS_US));
    assert_int_equal(s.backoff_us, 100 * MS);
}

static void test_server_state_restarts_are_counted_when_the_ring_wraps_around(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    s.max_restarts = SERVER_RESTARTS_MAX;
    for (int i = 0; i < SERVER_RESTARTS_MAX; i++)
        assert_true(restarts(&s, NOW));
    assert_false(restarts(&s, NOW));
    s = machine_in(SERVER_RUNNING);
    s.max_restarts = SERVER_RESTARTS_MAX;
    for (int i = 0; i < 3 * SERVER_RESTARTS_MAX; i++)
        assert_true(restarts(&s, NOW + i * S));
}

static void test_server_state_signal_prevents_a_restart(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    assert_false(server_state_is_final(&s, NOW));
    happens(&s, SERVER_EV_EXITED, NOW);
    assert_false(server_state_is_final(&s, NOW));
    happens(&s, SERVER_EV_SIGNAL, NOW);
    assert_true(server_state_is_final(&s, NOW));
    assert_false(server_state_may_restart(&s, NOW));
}

/* ---- time ----------------------------------------------------------------------------------- */

static void check_signal(int64_t waited_us, bool killed)
{
    struct server_machine s = machine_in(SERVER_RUNNING);
    happens(&s, SERVER_EV_CLIENT_WAITS, NOW);
    unsigned todo = server_state_apply_event(&s, SERVER_EV_SIGNAL, NOW + waited_us);
    assert_int_equal(s.state, SERVER_STOPPING);
    assert_int_equal(todo, STOP_CLIENT | STOP | (killed ? KILL : 0));
}

static void test_server_state_signal_after_half_the_grace_of_draining_kills(void **state)
{
    (void)state;
    check_signal(0, false);
    check_signal(GRACE / 2 - 1, false);
    check_signal(GRACE / 2, true);
}

static void test_server_state_extend_starts_the_deadline_of_initialize_again(void **state)
{
    (void)state;
    static const enum server_state states[] = {SERVER_INITIALIZING, SERVER_INITIALIZING_DRAINING};
    for (size_t i = 0; i < MI_COUNT(states); i++) {
        struct server_machine s = machine_in(states[i]);
        server_state_extend_deadline(&s, NOW);
        assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, NOW + s.initialize_us - 1),
                         0);
        assert_int_equal(s.state, states[i]);
        assert_int_not_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, NOW + s.initialize_us),
                             0);
        assert_int_equal(s.cause, SERVER_CAUSE_HUNG);
    }
}

static void test_server_state_draining_continues_after_initialize_of_the_new_process(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_INITIALIZING);
    happens(&s, SERVER_EV_CLIENT_WAITS, NOW);
    happens(&s, SERVER_EV_INITIALIZED, NOW + GRACE / 2);
    assert_int_equal(s.state, SERVER_DRAINING);
    assert_true(server_state_apply_event(&s, SERVER_EV_SIGNAL, NOW + GRACE / 2) & KILL);
}

static struct server_machine initializing_machine(void)
{
    struct server_machine s = machine_in(SERVER_RESTARTING);
    happens(&s, SERVER_EV_INITIALIZE_SENT, NOW);
    return s;
}

static void test_server_state_initialize_keeps_its_deadline_after_stdin_is_closed(void **state)
{
    (void)state;
    struct server_machine s = initializing_machine();
    assert_int_equal(server_state_timeout_us(&s, NOW), 5 * S);
    happens(&s, SERVER_EV_INPUT_CLOSED, NOW + S);
    assert_true(server_state_pauses_client(&s));
    assert_int_equal(server_state_timeout_us(&s, NOW + S), SERVER_EXIT_FOLLOWS_US);
    happens(&s, SERVER_EV_TIMEOUT, NOW + S + SERVER_EXIT_FOLLOWS_US);
    assert_int_equal(s.state, SERVER_INITIALIZING);
    assert_false(server_state_pauses_client(&s));
    assert_int_equal(server_state_timeout_us(&s, NOW + 2 * S), 3 * S);
    assert_true(server_state_timeout_us(&s, NOW + 6 * S) > 0); /* overdue: at once, not never */
}

static void test_server_state_initialize_deadline_applies_while_draining(void **state)
{
    (void)state;
    struct server_machine s = initializing_machine();
    happens(&s, SERVER_EV_CLIENT_WAITS, NOW);
    assert_int_equal(server_state_timeout_us(&s, NOW), SERVER_DRAIN_TICK_US);
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, NOW + 5 * S - 1), 0);
    assert_int_equal(s.state, SERVER_INITIALIZING_DRAINING);
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, NOW + 5 * S),
                     DISCONNECT | KILL);
    assert_int_equal(s.state, SERVER_STOPPING);
}

static void test_server_state_draining_server_that_closes_stdin_has_time_to_exit(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    int64_t due_us = NOW + S + SERVER_EXIT_FOLLOWS_US;
    happens(&s, SERVER_EV_CLIENT_WAITS, NOW);
    happens(&s, SERVER_EV_INPUT_CLOSED, NOW + S);
    assert_int_equal(server_state_timeout_us(&s, NOW + S), SERVER_DRAIN_TICK_US);
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, due_us - 1), 0);
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, due_us), REJECT_UNREAD);
    server_state_extend_deadline(&s, due_us);
    assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, due_us + 1), 0);
    assert_true(server_state_apply_event(&s, SERVER_EV_SIGNAL, NOW + GRACE / 2) & KILL);
}

static void test_server_state_question_has_one_grace_and_the_rest_max_timeout(void **state)
{
    (void)state;
    static const struct {
        enum server_event why;
        enum server_state state, next;
        int64_t due_us;
    } rows[] = {
        {SERVER_EV_SILENT, SERVER_ASKED, SERVER_KILLED, NOW + GRACE},
        {SERVER_EV_AT_WORK, SERVER_AT_WORK, SERVER_ASKED, NOW + 70 * S},
        {SERVER_EV_PREPARING, SERVER_PREPARING, SERVER_KILLED, NOW + 70 * S},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct server_machine s = machine_in(SERVER_RUNNING);
        s.max_timeout_at_us = NOW + 70 * S;
        happens(&s, rows[i].why, NOW);
        assert_int_equal(s.state, rows[i].state);
        assert_true(server_state_missed_deadline(&s));
        assert_int_equal(server_state_timeout_us(&s, NOW), rows[i].due_us - NOW);
        happens(&s, rows[i].why, NOW + 1); /* another request: the time does not start again */
        assert_int_equal(server_state_apply_event(&s, SERVER_EV_TIMEOUT, rows[i].due_us - 1), 0);
        assert_int_equal(s.state, rows[i].state);
        happens(&s, SERVER_EV_TIMEOUT, rows[i].due_us);
        assert_int_equal(s.state, rows[i].next);
    }
}

static void test_server_state_work_without_max_timeout_has_no_end(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    happens(&s, SERVER_EV_AT_WORK, NOW);
    assert_int_equal(server_state_timeout_us(&s, NOW), 0);
}

static void test_server_state_extend_starts_the_time_of_the_question_again(void **state)
{
    (void)state;
    struct server_machine s = machine_in(SERVER_RUNNING);
    s.max_timeout_at_us = NOW + 70 * S;
    happens(&s, SERVER_EV_SILENT, NOW);
    server_state_extend_deadline(&s, NOW + S);
    assert_int_equal(server_state_timeout_us(&s, NOW + S), GRACE);
    happens(&s, SERVER_EV_AT_WORK, NOW + S);
    server_state_extend_deadline(&s, NOW + 2 * S);
    assert_int_equal(server_state_timeout_us(&s, NOW + 2 * S), 68 * S);
}

static void test_server_state_skip_moves_a_deadline_by_the_pause(void **state)
{
    (void)state;
    static const struct {
        int64_t pause_us, least_us, left_us; /* at NOW + 4 s, of 5 s */
    } rows[] = {{0, 0, S},
                {300 * MS, 0, 1300 * MS},
                {300 * MS, 2 * S, 2 * S},
                {2 * S, S, 3 * S},
                {60 * S, S, 5 * S}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct server_machine s = initializing_machine();
        server_state_skip_stalled_time(&s, rows[i].pause_us, rows[i].least_us, NOW + 4 * S);
        assert_int_equal(server_state_timeout_us(&s, NOW + 4 * S), rows[i].left_us);
        s = machine_in(SERVER_RUNNING);
        happens(&s, SERVER_EV_SILENT, NOW);
        server_state_skip_stalled_time(&s, rows[i].pause_us, rows[i].least_us, NOW + GRACE - S);
        int64_t left_us = rows[i].left_us < GRACE ? rows[i].left_us : GRACE;
        assert_int_equal(server_state_timeout_us(&s, NOW + GRACE - S), left_us);
    }
}

static void test_server_state_skip_leaves_max_timeout_alone(void **state)
{
    (void)state;
    static const enum server_event why[] = {SERVER_EV_AT_WORK, SERVER_EV_PREPARING};
    for (size_t i = 0; i < MI_COUNT(why); i++) {
        struct server_machine s = machine_in(SERVER_RUNNING);
        s.max_timeout_at_us = NOW + 70 * S;
        happens(&s, why[i], NOW);
        server_state_skip_stalled_time(&s, 10 * S, S, NOW + S);
        assert_int_equal(server_state_timeout_us(&s, NOW + S), 69 * S);
    }
}

static void test_server_state_timeout_is_correct_in_every_state(void **state)
{
    (void)state;
    static const int64_t expected[SERVER_NSTATES] = {
        [SERVER_UNAVAILABLE] = GRACE / 2,
        [SERVER_INPUT_CLOSED] = SERVER_EXIT_FOLLOWS_US,
        [SERVER_OUTPUT_CLOSED] = SERVER_EXIT_FOLLOWS_US,
        [SERVER_EXITED_IDLE] = SERVER_REQUEST_FOLLOWS_US,
        [SERVER_CRASHED_IDLE] = SERVER_REQUEST_FOLLOWS_US,
        [SERVER_DRAINING] = SERVER_DRAIN_TICK_US,
        [SERVER_DRAINING_INPUT_CLOSED] = SERVER_DRAIN_TICK_US,
        [SERVER_DRAINING_OUTPUT_CLOSED] = SERVER_DRAIN_TICK_US,
        [SERVER_BACKOFF] = 700 * MS,
        [SERVER_INITIALIZING] = 5 * S,
        [SERVER_ASKED] = 5 * S,
        [SERVER_AT_WORK] = 5 * S,
        [SERVER_PREPARING] = 5 * S,
        [SERVER_INITIALIZING_INPUT_CLOSED] = SERVER_EXIT_FOLLOWS_US,
        [SERVER_INITIALIZING_DRAINING] = SERVER_DRAIN_TICK_US,
        [SERVER_FLUSHING] = GRACE / 2,
    };
    for (int i = 0; i < SERVER_NSTATES; i++) {
        struct server_machine s = machine_in((enum server_state)i);
        s.backoff_us = 700 * MS;
        s.due_us = NOW + 5 * S;
        if (server_state_timeout_us(&s, NOW) != expected[i])
            fail_msg("%s has a timeout of %jd us, not %jd", server_state_name(s.state),
                     (intmax_t)server_state_timeout_us(&s, NOW), (intmax_t)expected[i]);
    }
}

static void test_server_state_queries_are_correct_in_every_state(void **state)
{
    (void)state;
    for (int i = 0; i < SERVER_NSTATES; i++) {
        struct server_machine s = machine_in((enum server_state)i);
        assert_int_equal(server_state_pauses_client(&s), i == SERVER_INPUT_CLOSED ||
                                                             i == SERVER_OUTPUT_CLOSED ||
                                                             i == SERVER_INITIALIZING_INPUT_CLOSED);
        assert_int_equal(server_state_is_draining(&s), i == SERVER_DRAINING ||
                                                           i == SERVER_DRAINING_INPUT_CLOSED ||
                                                           i == SERVER_DRAINING_OUTPUT_CLOSED ||
                                                           i == SERVER_INITIALIZING_DRAINING);
        assert_int_equal(server_state_missed_deadline(&s),
                         i == SERVER_ASKED || i == SERVER_AT_WORK || i == SERVER_PREPARING);
        assert_int_equal(server_state_reports_requests(&s),
                         i == SERVER_UNAVAILABLE || i == SERVER_REJECTING ||
                             i == SERVER_NOT_READING || i == SERVER_EXITED_IDLE ||
                             i == SERVER_CRASHED_IDLE);
        assert_int_equal(server_state_may_restart(&s, NOW),
                         i == SERVER_KILLED || i == SERVER_EXITED);
        assert_int_equal(server_state_is_final(&s, NOW), i == SERVER_STOPPING);
    }
}

static void test_server_state_names_are_complete(void **state)
{
    (void)state;
    for (int i = 0; i < SERVER_NSTATES; i++)
        assert_non_null(server_state_name((enum server_state)i));
    for (int i = 0; i < SERVER_NEVENTS; i++)
        assert_non_null(server_event_name((enum server_event)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_state_every_pair_does_what_the_table_says),
        cmocka_unit_test(test_server_state_every_state_but_the_last_can_be_left),
        cmocka_unit_test(test_server_state_first_reason_is_kept),
        cmocka_unit_test(test_server_state_record_error_replaces_the_reason),
        cmocka_unit_test(test_server_state_reason_follows_from_the_cause),
        cmocka_unit_test(test_server_state_restart_clears_the_cause_of_the_previous_end),
        cmocka_unit_test(test_server_state_restarts_are_limited_within_a_minute),
        cmocka_unit_test(test_server_state_without_restarts_the_first_crash_ends_the_session),
        cmocka_unit_test(test_server_state_exit_between_two_requests_waits_for_the_second),
        cmocka_unit_test(test_server_state_lost_handshake_allows_no_restart),
        cmocka_unit_test(test_server_state_backoff_doubles_up_to_its_limit),
        cmocka_unit_test(test_server_state_one_restart_for_each_counted_one_is_forgiven),
        cmocka_unit_test(test_server_state_restarts_are_counted_when_the_ring_wraps_around),
        cmocka_unit_test(test_server_state_signal_prevents_a_restart),
        cmocka_unit_test(test_server_state_signal_after_half_the_grace_of_draining_kills),
        cmocka_unit_test(test_server_state_extend_starts_the_deadline_of_initialize_again),
        cmocka_unit_test(test_server_state_draining_continues_after_initialize_of_the_new_process),
        cmocka_unit_test(test_server_state_initialize_keeps_its_deadline_after_stdin_is_closed),
        cmocka_unit_test(test_server_state_initialize_deadline_applies_while_draining),
        cmocka_unit_test(test_server_state_draining_server_that_closes_stdin_has_time_to_exit),
        cmocka_unit_test(test_server_state_question_has_one_grace_and_the_rest_max_timeout),
        cmocka_unit_test(test_server_state_work_without_max_timeout_has_no_end),
        cmocka_unit_test(test_server_state_extend_starts_the_time_of_the_question_again),
        cmocka_unit_test(test_server_state_skip_moves_a_deadline_by_the_pause),
        cmocka_unit_test(test_server_state_skip_leaves_max_timeout_alone),
        cmocka_unit_test(test_server_state_timeout_is_correct_in_every_state),
        cmocka_unit_test(test_server_state_queries_are_correct_in_every_state),
        cmocka_unit_test(test_server_state_names_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
