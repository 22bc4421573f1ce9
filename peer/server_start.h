/* server_start.h - starts the process of an MCP server.
 *
 * Process   in a process group of its own, so that it is signalled together with its descendants; it is killed when this
 *           process exits (where the system can do that: process_die_with()). It has its stdin, stdout and stderr, and no
 *           other descriptor of ours. Signals that we handle have their default action there.
 *           Signals that were already ignored when we were started stay ignored, for nohup(1),
 *           except SIGPIPE and SIGXFSZ, which we ignore ourselves.
 * Owns      nothing: the caller owns the process and its pipes.
 * Blocks    until the program is started. */
#ifndef MI_PEER_SERVER_START_H
#define MI_PEER_SERVER_START_H

#include "base/base.h"

#include <signal.h>
#include <sys/types.h>

struct process_pipes {
    int in, out,
        err; /* our ends, non-blocking: to its stdin, from its stdout and its stderr; err is -1 if
              * it has our stderr */
};

struct process_start {
    char *const *argv;    /* argv[0] is searched in PATH */
    const char *dir;      /* its working directory; NULL: ours */
    const sigset_t *mask; /* signals that are blocked in the server; NULL: those blocked here */
    bool own_stderr;      /* its stderr is a pipe to us */
};

/* Returns 0, or MI_EIO with errno if the server could not be started; then no descriptor is left
 * open. */
MI_MUST int process_start_server(const struct process_start *how, pid_t *ret,
                                 struct process_pipes *ret_pipes);

#endif
