/* live.h - runs a live server as a child process, and exchanges lines with it.
 *
 * Rules     the server runs in a process group of its own, inherits our stderr, and is killed when
 *           this process exits.
 * Owns      the process and its pipes.
 * Lifetime  a line is valid until the next call.
 * End       LIVE_ENDED means one of two things, whichever event is noticed first. Either the server
 *           has exited and its output is read. Or the server has closed its stdout, or its stdin
 *           before it had read everything, and did not exit within LIVE_EXIT_FOLLOWS_US (after
 *           live_wait_longer_for_proxy_exit(): LIVE_PROXY_FOLLOWS_US).
 * Errors    the end of the server is reported as LIVE_ENDED, not as an error.
 * Blocks    live_receive_line() until the deadline, live_close() for the grace time; no other
 *           function blocks. SIGPIPE must be ignored. */
#ifndef MI_PEER_LIVE_H
#define MI_PEER_LIVE_H

#include "base/buf.h"

#include <sys/types.h>

#define LIVE_LINE_MAX ((size_t)128 << 20)
/* After the server has closed a stream, it should exit within this time. Equals
 * SERVER_EXIT_FOLLOWS_US of the proxy. */
#define LIVE_EXIT_FOLLOWS_US 1000000
/* After a proxy has closed a stream, it should exit within this time. It first stores the end of
 * its session. */
#define LIVE_PROXY_FOLLOWS_US 10000000

struct live;

enum live_result {
    LIVE_LINE,
    LIVE_TIMEOUT, /* until_us has passed */
    /* a signal handler has run during the wait, perhaps for a signal blocked since live_open() */
    LIVE_INTERRUPTED,
    LIVE_ENDED,    /* the server cannot answer any more (see live_append_server_end_reason()) */
    LIVE_TOO_LONG, /* the server sent a line over LIVE_LINE_MAX */
    LIVE_NO_MEMORY,
};

/* Starts the server. dir: working directory of the server; NULL: that of this process. Returns 0,
 * MI_ENOMEM, or MI_EIO with a sentence in `error`. */
MI_MUST int live_open(struct live **ret, char *const *argv, const char *dir, struct buf *error);
/* Call this function if the server is a proxy of this program, which needs more time to exit. */
void live_wait_longer_for_proxy_exit(struct live *l);
/* Queues a line, given without its newline; live_receive_line() writes it. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int live_send_line(struct live *l, struct slice line);
/* Waits for the server's next line. until_us: time limit by clock_mono_us(); INT64_MAX: none. */
MI_MUST enum live_result live_receive_line(struct live *l, int64_t until_us, struct slice *ret);
/* Returns the descriptors that an event loop must watch for reading and for writing; -1: none.
 * *ret_waits: a line waits to be written. When a descriptor is ready or has an error, or after
 * live_get_us_until_next_receive(), call live_receive_line() with until_us 0 until it returns
 * LIVE_TIMEOUT. */
void live_get_watched_fds(const struct live *l, int *ret_read, int *ret_write, bool *ret_waits);
/* Returns the microseconds until live_receive_line() must be called even if no descriptor is ready;
 * -1: no limit. */
int64_t live_get_us_until_next_receive(const struct live *l);
/* Sets the request that the server's next answer belongs to: then other lines with an id do not
 * count as answers. Without this call, any line with an id counts. */
void live_set_awaited_request(struct live *l, uint64_t id, struct slice method);
/* After LIVE_ENDED, LIVE_TOO_LONG or LIVE_NO_MEMORY: appends what the server did, such as "exited
 * with status 1", "was killed by signal 9" or "closed its output". */
void live_append_server_end_reason(const struct live *l, struct buf *b);
/* Returns the number of bytes of all lines that were given to live_send_line(). */
uint64_t live_count_sent_bytes(const struct live *l);
/* After LIVE_ENDED: returns the number of bytes of the sent lines that the server has
 * read. */
uint64_t live_read_output(const struct live *l);
size_t live_count_unsent_bytes(const struct live *l); /* bytes that wait to be written */
pid_t live_get_pid(const struct live *l);
/* Closes the server's stdin, sends SIGTERM after half the grace time and SIGKILL at its end. l may
 * be NULL. Returns the exit status as a shell does. */
int live_close(struct live *l, int64_t grace_us);

#endif
