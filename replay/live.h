/* live.h - a live server that is asked one thing after the other: its process, and lines to and from it.
 *
 * Rules     the server runs in a process group of its own and dies with us. Its standard error is ours.
 * Owns      the process and its pipes.
 * Lifetime  a line is good until the next call.
 * Errors    a server that is gone is an answer, no failure.
 * Blocks    live_recv() until the deadline, live_close() for the grace; nothing else. SIGPIPE must be ignored. */
#ifndef MI_REPLAY_LIVE_H
#define MI_REPLAY_LIVE_H

#include "base/buf.h"

#define LIVE_LINE_MAX ((size_t)128 << 20)

struct live;

enum live_result {
    LIVE_LINE,
    LIVE_TIMEOUT, /* the deadline passed */
    LIVE_ENDED,   /* the server closed its output, and all of it was read */
    LIVE_FAILED,  /* a line over LIVE_LINE_MAX, or no memory */
};

/* 0, or MI_EIO or MI_ENOMEM with a sentence in error. */
MI_MUST int live_open(struct live **ret, char *const *argv, struct buf *error);
/* Takes a line without its newline; it is written while live_recv() waits. 0 or MI_ENOMEM. */
MI_MUST int live_send(struct live *l, struct slice line);
/* until_us: by clock_mono_us(). */
MI_MUST enum live_result live_recv(struct live *l, int64_t until_us, struct slice *ret);
/* Closes its input; after half the grace SIGTERM, after all of it SIGKILL. NULL is fine. The exit
 * status as a shell says it. */
int live_close(struct live *l, int64_t grace_us);

#endif
