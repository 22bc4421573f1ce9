/* proxy.h - the live side: a client, a server, and us in between, until one of them ends.
 *
 * proxy_run() owns the loop, the server's process, the recorder and the traffic. It takes over the
 * process: stdin, stdout and stderr, SIGCHLD, SIGPIPE, SIGTERM, SIGINT, SIGHUP. Call it once.
 *
 * The end: on end of stdin or a signal the server's stdin is closed, its last answers are delivered,
 * then SIGTERM, then SIGKILL, all within the grace. When the server ends first, open requests get
 * error answers, and so do we end.
 * Blocks    until the end; inside, nothing blocks but the disk. */
#ifndef MI_PROXY_PROXY_H
#define MI_PROXY_PROXY_H

#include "proxy/traffic.h"
#include "vault/prune.h"

struct proxy_config {
    char *const *argv; /* the server's command, NULL-ended */
    const char *vault; /* directory */
    const char *name;  /* of the server in records */
    enum validate validate;
    enum check_arguments check_arguments;
    enum keep_level level; /* how much is kept */
    bool stop_on_record_error;
    bool sync_full;
    size_t max_message;
    int64_t grace_us;
    const struct deadlines *deadlines;
    int64_t max_timeout_us;       /* 0: none */
    bool kill_hung;               /* a server that is silent past a deadline is ended */
    const char *escalate_command; /* run for each new escalation file; NULL: none */
    unsigned restarts;            /* within PROXY_RESTARTS_US; 0: never */
    struct retention retention;   /* what the attendant removes; all 0: nothing */
};

#define PROXY_RESTARTS_US 60000000
#define PROXY_RESTARTS_MAX 100

#define PROXY_FAILED 3      /* exit status: our own failure */
#define PROXY_HUNG 124      /* the server was ended because it hung, and not started again */
#define PROXY_NO_EXEC 126   /* the server could not be started */
#define PROXY_NOT_FOUND 127 /* the server was not found */

int proxy_libev(void); /* the version of libev that runs: 433 is 4.33 */

/* The exit status of the program. */
int proxy_run(const struct proxy_config *cfg);

#endif
