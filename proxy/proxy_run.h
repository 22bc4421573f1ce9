/* proxy_run.h - the live proxy: forwards messages between a client and a server until the session
 * ends.
 *
 * proxy_run() owns the loop, the server process, the recorder and the session. It takes over stdin,
 * stdout and stderr of this process, SIGCHLD, SIGPIPE, SIGTERM, SIGINT and SIGHUP. Call it once.
 *
 * Shutdown  at the end of stdin or on a signal the server's stdin is closed and its last answers
 *           are delivered; SIGTERM and SIGKILL follow within the grace time. If the server exits
 *           first, pending requests get errors.
 * Blocks    until the session has ended. */
#ifndef MI_PROXY_PROXY_RUN_H
#define MI_PROXY_PROXY_RUN_H

#include "proxy/session/traffic.h"
#include "record/recorder.h"
#include "vault/upkeep/prune/remove.h"

struct proxy_config {
    char *const *argv; /* the server's command, NULL-terminated */
    const char *vault; /* directory of the vault */
    const char *name;  /* name under which the server is recorded */
    const char *url;   /* URL that the server's command connects to, for error texts; NULL: none */
    enum validate validate;
    enum check_arguments check_arguments;
    struct tool_rule *tools; /* the rule that says which tools the client sees; NULL: all tools */
    /* what to do with a call that equals an uncertain call, which may have run */
    enum on_repeat on_repeat;
    int64_t repeat_window_us; /* how long uncertain calls are remembered; 0: not at all */
    enum record_level level;  /* how much of each message is stored */
    bool stop_on_record_error;
    bool sync_full;
    size_t max_message;
    uint64_t max_waiting; /* struct recorder_config */
    int64_t grace_us;
    const struct deadlines *deadlines;
    int64_t max_timeout_us;       /* 0: none */
    enum on_hang on_hang;         /* what to do with a server that is silent past a deadline */
    const char *escalate_command; /* run for each new escalation file; NULL: none */
    const char *sent;  /* the request that `send` sends, recorded as an event; NULL: not `send` */
    unsigned restarts; /* restarts allowed in a minute, <= PROXY_RESTARTS_MAX; 0: none */
    /* rules that say which old sessions the recorder removes; all 0: none */
    struct retention retention;
    pid_t *ret_recorder; /* gets the pid of a recorder that still runs at the end; 0: none */
};

#define PROXY_RESTARTS_MAX 100

#define PROXY_FAILED 3      /* exit status: the interposer failed */
#define PROXY_HUNG 124      /* exit status: the server hung, was killed, and was not restarted */
#define PROXY_NO_EXEC 126   /* exit status: the command was found, but could not be started */
#define PROXY_NOT_FOUND 127 /* exit status: the server's command was not found */

int proxy_libev_version(void); /* version of the loaded libev: 433 means 4.33 */

/* Returns the exit status of the program. */
int proxy_run(const struct proxy_config *cfg);

#endif
