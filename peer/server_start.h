/* server_start.h - starts the process of an MCP server.
 *
 * Process   the server runs in a process group of its own, so that it is signalled together with
 *           its descendants. It is killed when this process exits (if the system supports it:
 *           process_die_with_parent()). It has stdin, stdout and stderr, and no other descriptor of
 *           this process. Signals that this process handles have their default action in the
 *           server. Signals that were ignored when this process started stay ignored, as nohup(1)
 *           requires. SIGPIPE and SIGXFSZ, which this process ignores itself, are not ignored in
 *           the server.
 * Owns      nothing: the caller owns the process and its pipes.
 * Blocks    until the program is started. */
#ifndef MI_PEER_SERVER_START_H
#define MI_PEER_SERVER_START_H

#include "base/base.h"

#include <signal.h>
#include <sys/types.h>

struct process_pipes {
    /* Our ends of the pipes, non-blocking: `in` leads to the server's stdin, `out` comes from its
     * stdout, `err` from its stderr. `err` is -1 if the server inherits our stderr. */
    int in, out, err;
};

struct process_start {
    char *const *argv; /* argv[0] is searched in PATH */
    const char *dir;   /* working directory of the server; NULL: that of this process */
    /* signals that are blocked in the server; NULL: those that are blocked in this process */
    const sigset_t *mask;
    bool own_stderr; /* the server's stderr is a pipe to this process */
    /* Called in the server's process, after its process group was made and before its program is
     * executed. May only do what a spawn_fn may do. NULL: nothing is called. */
    void (*before_exec)(void *owner);
    void *owner;
};

/* Returns 0, or MI_EIO with errno if the server could not be started; then no descriptor is left
 * open. */
MI_MUST int process_start_server(const struct process_start *how, pid_t *ret,
                                 struct process_pipes *ret_pipes);

#endif
