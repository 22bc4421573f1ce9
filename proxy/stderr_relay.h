/* stderr_relay.h - writes the server's stderr and the log lines of this program to stderr.
 *
 * The server's output is sanitized line by line. An incomplete line is written after
 * STDERR_RELAY_PAUSE_S, up to the offset at which a secret could begin. If stderr is not read,
 * output that does not fit is dropped and counted: nothing may delay the messages.
 *
 * Owns      a private stream on descriptor 2, its watcher, and an outbox of at most
 *           STDERR_RELAY_MAX bytes. While it is open, it is the sink of base/log.h.
 * Blocks    never. */
#ifndef MI_PROXY_STDERR_RELAY_H
#define MI_PROXY_STDERR_RELAY_H

#include "base/io/outbox.h"
#include "redact/redact_stream.h"

#include <ev.h>

#define STDERR_RELAY_PAUSE_S 0.1
#define STDERR_RELAY_MAX ((size_t)256 << 10)

struct stderr_relay {
    struct ev_loop *loop; /* borrowed */
    struct stream out;
    struct outbox box;
    ev_io watch;
    struct redact_stream stream;
    ev_timer pause;   /* the timer is active while an incomplete line waits */
    uint64_t dropped; /* bytes of output dropped since dropped bytes were last reported */
    bool in_line;     /* the last byte written was not a newline */
};

void stderr_relay_open(struct stderr_relay *v, struct ev_loop *loop);
void stderr_relay_close(struct stderr_relay *v); /* tries once more to write waiting bytes */
/* Sanitizes and writes output of the server. */
void stderr_relay_add(struct stderr_relay *v, struct slice bytes);

#endif
