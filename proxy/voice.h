/* voice.h - our stderr: what the server says there is passed on, what we have to say goes in between.
 *
 * Nobody may read it: then what does not fit is dropped, and counted, for nothing may hold up the traffic.
 *
 * The server's bytes pass the sanitizer by lines; a line that does not end is shown, as far as it is sure to
 * hold no half a secret, after VOICE_PAUSE_S.
 *
 * Owns      a private stream on descriptor 2, its watcher, an outbox of at most VOICE_MAX bytes, and the
 *           sink of base/log.h while it is open.
 * Blocks    never. */
#ifndef MI_PROXY_VOICE_H
#define MI_PROXY_VOICE_H

#include "base/outbox.h"
#include "vault/redact_stream.h"

#include <ev.h>

#define VOICE_PAUSE_S 0.1
#define VOICE_MAX ((size_t)256 << 10)

struct voice {
    struct ev_loop *loop; /* borrowed */
    struct stream out;
    struct outbox box;
    ev_io watch;
    struct redact_stream stream;
    ev_timer pause;   /* active while a line waits for its end */
    uint64_t dropped; /* bytes since the last note of it */
    bool in_line;     /* the last byte passed on was no newline */
};

void voice_open(struct voice *v, struct ev_loop *loop);
void voice_close(struct voice *v);                    /* a last try to write what is left */
void voice_pass(struct voice *v, struct slice bytes); /* of the server */

#endif
