/* live_side.h - the live server behind a replay: its process on the event loop, and its
 * struct forwarder.
 *
 * Owns      the process, the watchers and the forwarder; live_side_close() frees them. The
 *           configuration is borrowed.
 * Flow      the server is not read while the client does not read. The client must not be read
 *           while live_side_output_is_full(): then the server does not read.
 * Blocks    live_side_close() blocks until the server has exited, at most LIVE_SIDE_GRACE_US. */
#ifndef MI_REPLAY_MOCK_LIVE_SIDE_H
#define MI_REPLAY_MOCK_LIVE_SIDE_H

#include "peer/live.h"
#include "replay/mock/forwarder.h"

#include <ev.h>

/* microseconds from closing the server's stdin to SIGKILL; SIGTERM is sent after half of this
 * time */
#define LIVE_SIDE_GRACE_US 1600000

struct live_side_config {
    char *const *argv; /* the server's command; NULL: no live server */
    struct forwarder_rules rules;
    /* callback, which may be NULL; see forwarder_callbacks.keep() (forwarder.h) */
    int (*keep)(void *ctx, bool from_client, struct slice message, int64_t now_us);
    void *ctx; /* context of keep() */
};

/* Handles a line of the server; {NULL, 0}: the server has ended. Returns 0, 1 (the client does not
 * read, so later lines wait) or an error. */
typedef int (*live_side_line_fn)(void *ctx, struct slice line);
/* Called at the end of each event, after its lines and the lines that waited. st: the first error,
 * or 0. */
typedef void (*live_side_turn_fn)(void *ctx, int st);

struct live_side {
    const struct live_side_config *cfg;
    struct ev_loop *loop;
    struct forwarder *forwarder; /* owned; the queue for the live server; NULL: no live server */
    struct live *live;           /* owned; the process; NULL: not started */
    ev_io read_watch, write_watch;
    /* The timer is active while an incomplete line or an unreadable answer waits (peer/lines.h), or
     * while the server still runs after it has closed a stream. */
    ev_timer wait_timer;
    bool ended;
    bool waits; /* some lines were read, and will be handled when the client reads again */
    live_side_line_fn on_line;
    live_side_turn_fn on_turn;
    void *ctx;
};

/* Prepares the live server without starting it. Returns 0 or MI_ENOMEM. */
MI_MUST int live_side_open(struct live_side *l, const struct live_side_config *cfg,
                           struct ev_loop *loop, live_side_line_fn on_line,
                           live_side_turn_fn on_turn, void *ctx);
void live_side_close(struct live_side *l);
/* Call this function at the end of each event. full: the client does not read. */
void live_side_update_watchers(struct live_side *l, bool full);
bool live_side_output_is_full(const struct live_side *l);

#endif
