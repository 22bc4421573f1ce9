/* server_state_names.c - names of states, events, reasons and causes, for log lines, errors and the
 * recording. */
#include "proxy/server_state.h"

const char *server_state_name(enum server_state state)
{
    static const char *const names[SERVER_NSTATES] = {
        [SERVER_STARTING] = "starting",
        [SERVER_UNAVAILABLE] = "unavailable",
        [SERVER_REJECTING] = "rejecting",
        [SERVER_RUNNING] = "running",
        [SERVER_ASKED] = "asked",
        [SERVER_AT_WORK] = "at-work",
        [SERVER_PREPARING] = "preparing",
        [SERVER_INPUT_CLOSED] = "input-closed",
        [SERVER_NOT_READING] = "not-reading",
        [SERVER_OUTPUT_CLOSED] = "output-closed",
        [SERVER_SHUTDOWN] = "shutdown",
        [SERVER_DRAINING] = "draining",
        [SERVER_DRAINING_INPUT_CLOSED] = "draining-input-closed",
        [SERVER_DRAINING_OUTPUT_CLOSED] = "draining-output-closed",
        [SERVER_KILLED] = "killed",
        [SERVER_EXITED] = "exited",
        [SERVER_EXITED_IDLE] = "exited-idle",
        [SERVER_CRASHED_IDLE] = "crashed-idle",
        [SERVER_STOPPING] = "stopping",
        [SERVER_BACKOFF] = "backoff",
        [SERVER_RESTARTING] = "restarting",
        [SERVER_INITIALIZING] = "initializing",
        [SERVER_INITIALIZING_INPUT_CLOSED] = "initializing-input-closed",
        [SERVER_INITIALIZING_DRAINING] = "initializing-draining",
        [SERVER_FLUSHING] = "flushing",
        [SERVER_ENDED] = "ended",
    };
    return names[state];
}

const char *server_event_name(enum server_event event)
{
    static const char *const names[SERVER_NEVENTS] = {
        [SERVER_EV_STARTED] = "started",
        [SERVER_EV_START_FAILED] = "start-failed",
        [SERVER_EV_INITIALIZED] = "initialized",
        [SERVER_EV_INITIALIZE_SENT] = "initialize-sent",
        [SERVER_EV_INITIALIZE_CHANGED] = "initialize-changed",
        [SERVER_EV_INPUT_CLOSED] = "input-closed",
        [SERVER_EV_OUTPUT_CLOSED] = "output-closed",
        [SERVER_EV_EXITED] = "exited",
        [SERVER_EV_LAUNCHER_EXITED] = "launcher-exited",
        [SERVER_EV_FINISHED] = "finished",
        [SERVER_EV_FINISHED_IDLE] = "finished-idle",
        [SERVER_EV_FINISHED_CLEAN] = "finished-clean",
        [SERVER_EV_SILENT] = "silent",
        [SERVER_EV_AT_WORK] = "at-work",
        [SERVER_EV_PREPARING] = "preparing",
        [SERVER_EV_HUNG] = "hung",
        [SERVER_EV_HEARD] = "heard",
        [SERVER_EV_SHUTDOWN] = "shutdown",
        [SERVER_EV_SHUTDOWN_FAILED] = "shutdown-failed",
        [SERVER_EV_CLIENT_CLOSED] = "client-closed",
        [SERVER_EV_CLIENT_WAITS] = "client-waits",
        [SERVER_EV_ANSWERED] = "answered",
        [SERVER_EV_CLIENT_NOT_READING] = "client-not-reading",
        [SERVER_EV_SIGNAL] = "signal",
        [SERVER_EV_REQUEST] = "request",
        [SERVER_EV_FLUSHED] = "flushed",
        [SERVER_EV_RECORD_FAILED] = "record-failed",
        [SERVER_EV_NO_MEMORY] = "no-memory",
        [SERVER_EV_TIMEOUT] = "timeout",
    };
    return names[event];
}

const char *server_reason_name(enum server_reason reason)
{
    static const char *const names[] = {
        [SERVER_REASON_NONE] = "client-closed",
        [SERVER_REASON_CLIENT_CLOSED] = "client-closed",
        [SERVER_REASON_SIGNAL] = "signal",
        [SERVER_REASON_RECORD_ERROR] = "record-error",
        [SERVER_REASON_NO_MEMORY] = "out-of-memory",
        [SERVER_REASON_START_FAILED] = "server-failed",
        [SERVER_REASON_EXITED] = "server-exited",
        [SERVER_REASON_HUNG] = "server-hung",
        [SERVER_REASON_CLOSED] = "server-closed",
        [SERVER_REASON_CHANGED] = "restart-changed",
    };
    return names[reason];
}

const char *server_cause_name(enum server_cause cause)
{
    static const char *const names[] = {
        [SERVER_CAUSE_EXIT] = "server-exited",      [SERVER_CAUSE_START_FAILED] = "server-failed",
        [SERVER_CAUSE_HUNG] = "server-killed",      [SERVER_CAUSE_CLOSED] = "server-closed",
        [SERVER_CAUSE_CHANGED] = "restart-changed", [SERVER_CAUSE_STOPPED] = "interrupted",
        [SERVER_CAUSE_NO_MEMORY] = "out-of-memory",
    };
    return names[cause];
}
