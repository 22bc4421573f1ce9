/* notifier.h - `--escalate-command`: runs a command of the user for each new escalation file.
 *
 * CMD is split into words at blanks, tabs and newlines; '…' and "…" group characters into one word,
 * without escapes. It is not run by a shell: variables and patterns are not expanded. The absolute
 * path of the file is the last argument. The command's stdin is /dev/null; its output goes to our
 * stderr, never to the protocol; it inherits environment and working directory. It runs in its own
 * session (setsid(2)).
 *
 * The notifier process runs the commands. The recorder process has a copy of the proxy's socket,
 * and sends the absolute path of each file as a datagram. Each command may run for
 * NOTIFIER_LIMIT_US; then all its processes get SIGTERM, and SIGKILL after NOTIFIER_GRACE_US. At
 * most NOTIFIER_AT_ONCE commands run at a time and NOTIFIER_QUEUE wait; further ones are dropped
 * with a warning. When proxy and recorder process have exited, waiting commands start at once, and
 * the notifier process exits after the last one. The notifier process is not a child of the proxy
 * (child_kill_descendants() does not see it), and has no descriptors of the client.
 *
 * Owns      our end of a socket pair and its watcher.
 * Lifetime  call notifier_open() before the process becomes a subreaper, and before it opens
 *           descriptors that the notifier process must not inherit. A fork is cheap at that time.
 * Blocks    never. */
#ifndef MI_RECORD_NOTIFIER_H
#define MI_RECORD_NOTIFIER_H

#include "base/buf.h"

#include <ev.h>

#define NOTIFIER_LIMIT_US 30000000
#define NOTIFIER_GRACE_US 2000000
#define NOTIFIER_AT_ONCE 2
#define NOTIFIER_QUEUE 16
#define NOTIFIER_WORDS 64

struct notifier {
    int fd; /* socket to the notifier process; -1: there is none */
    struct ev_loop *loop;
    ev_io watch;
    /* called with output of commands, and with warnings about commands */
    void (*on_output)(void *data, struct slice bytes);
    void *data;
};

/* Checks the syntax of a command. Returns 0, or MI_EINVAL with a sentence in `error`. */
MI_MUST int notifier_check_command(const char *command, struct buf *error);
/* Starts the notifier process. command: accepted by notifier_check_command(); if it is NULL or "",
 * no process is started and fd stays -1. server: the server's name, shown by ps(1). limit_us:
 * NOTIFIER_LIMIT_US, except in tests. */
void notifier_open(struct notifier *n, const char *command, const char *server, int64_t limit_us);
/* Starts to pass the output of commands to on_output. */
void notifier_attach_to_loop(struct notifier *n, struct ev_loop *loop,
                             void (*on_output)(void *, struct slice), void *data);
/* Closes the proxy's socket to the notifier process. That process finishes its commands, and exits
 * when the recorder process has closed its socket as well. Safe to call twice. */
void notifier_close(struct notifier *n);

#endif
