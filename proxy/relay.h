/* relay.h - one direction: read from one peer, hand over lines, write to the other peer.
 *
 * Both directions, and the server's stderr, run the same code. The reader stands still while too much
 * is unsent (RELAY_HIGH), until it has shrunk (RELAY_LOW), or while it is held. A line that has begun and
 * whose next byte does not come for a while is told of once; a timer runs only as long as one is under way.
 *
 * Owns      the two streams, their watchers and the line reader. The outbox is borrowed.
 * Blocks    never. */
#ifndef MI_PROXY_RELAY_H
#define MI_PROXY_RELAY_H

#include "base/outbox.h"
#include "wire/line.h"

#include <ev.h>

#define RELAY_HIGH ((size_t)1 << 20)  /* unsent bytes that stop the reader */
#define RELAY_LOW ((size_t)256 << 10) /* unsent bytes at which it goes on */
/* Bytes read in one loop turn, unless they are one long line. */
#define RELAY_TURN ((size_t)256 << 10)
/* Without a byte in the middle of a line: the newline was forgotten. */
#define RELAY_UNFINISHED_S 5.

struct relay;

struct relay_calls {
    void (*line)(struct relay *, struct line *);      /* a whole line */
    void (*too_long)(struct relay *, struct line *);  /* the head of one over the limit */
    void (*last_line)(struct relay *, struct line *); /* the stream ended inside it */
    void (*ended)(struct relay *);                    /* end of the stream read; once */
    void (*broken)(struct relay *); /* the outbox or its peer takes no more; once */
    void (*read_bytes)(struct relay *, const char *p, size_t n); /* as they come; may be NULL */
    void (*unfinished)(struct relay *,
                       size_t n); /* so much of a line waits for more; may be NULL */
};

struct relay {
    struct ev_loop *loop; /* borrowed */
    const struct relay_calls *calls;
    void *data;
    struct stream in, out;
    struct line_reader lines;
    struct outbox *box; /* borrowed: what goes to `out` */
    struct outbox
        *ahead;      /* borrowed: what goes there first; nothing else does until relay_go_on() */
    bool ahead_last; /* once `ahead` is written, `box` follows */
    size_t
        unread; /* of `out`, since it was closed: what nobody has read, nor ever will; if it was a pipe */
    ev_io read_watch, write_watch;
    ev_timer unfinished_timer; /* active while a line is under way that was not told of */
    double unfinished_s;       /* RELAY_UNFINISHED_S; a test has less time */
    ev_tstamp read_at;         /* when something came last, or reading began */
    bool told;                 /* of the line under way */
    bool ended;                /* nothing more is read */
    bool held;                 /* the reader stands still because it was told to */
    bool full;                 /* the reader stands still because too much is unsent */
};

void relay_open(struct relay *r, struct ev_loop *loop, const struct relay_calls *calls, void *data,
                struct outbox *box, size_t max_line);
void relay_close(struct relay *r); /* safe to call twice */
/* Either may come later than the other; a relay without one of them waits. */
void relay_read_from(struct relay *r, struct stream in);
void relay_write_to(struct relay *r, struct stream out);
void relay_stop_reading(struct relay *r); /* for good; `ended` is not called */
void relay_close_out(struct relay *r);    /* the peer sees the end of its input */
/* Something goes ahead of the outbox, to a new `out`; then, after relay_go_on(), the outbox follows. */
void relay_go_ahead(struct relay *r, struct outbox *ahead);
void relay_go_on(struct relay *r);
/* Takes what has come already, for reading is about to stop. No more than a turn of it. */
void relay_read_rest(struct relay *r);
void relay_hold(struct relay *r, bool hold);
/* Writes what has been released; called at the end of a turn, and by the watcher. */
void relay_flush(struct relay *r);

#endif
