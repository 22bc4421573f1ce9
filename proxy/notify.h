/* notify.h - `--escalate-command`: run a command of the user for each new escalation file.
 *
 * CMD is split into words at blanks, tabs and newlines; '…' and "…" keep them together, and nothing is
 * special inside but the closing quote. No shell, no variable, no pattern. The file's absolute path is
 * appended as the last word. The command's stdin is /dev/null; what it prints goes to our stderr, never
 * to the protocol; environment and working directory are ours. It runs in a session of its own.
 *
 * A small process of ours, the courier, starts them, so that a notification survives the end of the
 * session that it tells of: it has NOTIFY_LIMIT_US, then SIGTERM to all it has started, then after
 * NOTIFY_GRACE_US SIGKILL. At most NOTIFY_AT_ONCE run at once, NOTIFY_QUEUE wait, more are dropped and
 * that is said. When the proxy is gone, what waits is started at once, and the courier ends with the
 * last of them: after limit and grace nothing is left. It is no child of the proxy (child_sweep() does
 * not see it) and holds nothing of the client's.
 *
 * Owns      our end of a socket pair and its watcher. The courier belongs to itself.
 * Lifetime  notify_open() before the process becomes a subreaper, and before there is anything open
 *           that a child must not hold open for long (an early fork is a cheap one as well).
 * Blocks    never. */
#ifndef MI_PROXY_NOTIFY_H
#define MI_PROXY_NOTIFY_H

#include "base/buf.h"

#include <ev.h>

#define NOTIFY_LIMIT_US 30000000
#define NOTIFY_GRACE_US 2000000
#define NOTIFY_AT_ONCE 2
#define NOTIFY_QUEUE 16
#define NOTIFY_WORDS 64

struct notify {
    int fd; /* to the courier; -1: there is none */
    struct ev_loop *loop;
    ev_io watch;
    void (*on_output)(void *data,
                      struct slice bytes); /* what commands print, and what is said of them */
    void *data;
};

/* Is this a command that can be run? 0, or MI_EINVAL with a sentence in error. For the command line. */
MI_MUST int notify_check(const char *command, struct buf *error);
/* Starts the courier. command: as notify_check() accepts it; NULL or "": no courier, and notify_run()
 * does nothing. limit_us: NOTIFY_LIMIT_US but in tests. */
void notify_open(struct notify *n, const char *command, int64_t limit_us);
/* From here on what commands print is handed to on_output (voice_pass() is meant). */
void notify_watch(struct notify *n, struct ev_loop *loop, void (*on_output)(void *, struct slice),
                  void *data);
void notify_run(struct notify *n, const char *path); /* absolute; copied */
void notify_close(struct notify *n); /* safe to call twice; the courier finishes alone */

#endif
