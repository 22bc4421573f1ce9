/* process.h - starts the process of an MCP server: for the proxy, and for commands that ask a server themselves.
 *
 * Process   in a process group of its own, so that it is signalled together with its descendants; it is killed when this
 *           process exits (where the system can do that: process_die_with()). It has its stdin, stdout and stderr, and no
 *           other descriptor of ours. Signals that we handle have their default action in it; those that were ignored when
 *           we were started stay ignored, as nohup(1) wants it. SIGPIPE and SIGXFSZ are not: we ignore them ourselves.
 * Owns      nothing: process and pipes are the caller's.
 * Blocks    until the program is started. */
#ifndef MI_PEER_PROCESS_H
#define MI_PEER_PROCESS_H

#include "base/base.h"

#include <signal.h>
#include <sys/types.h>

struct process_pipes {
    int in, out,
        err; /* ours, non-blocking: to its stdin, from its stdout and stderr; err: -1 if it has our stderr */
};

struct process_start {
    char *const *argv;    /* argv[0] is searched in PATH */
    const char *dir;      /* its working directory; NULL: ours */
    const sigset_t *mask; /* signals that are blocked in it; NULL: as here */
    bool own_stderr;      /* its stderr is a pipe to us */
};

/* MI_EIO with errno set: it could not be started, and no descriptor is left. */
MI_MUST int process_start_server(const struct process_start *how, pid_t *ret,
                                 struct process_pipes *ret_pipes);

#endif
