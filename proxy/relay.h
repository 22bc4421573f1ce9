/* relay.h - one direction: reads lines from one peer, writes an outbox to the other.
 *
 * Both directions and the server's stderr use the same code. Reading pauses while too many bytes are unsent
 * (from RELAY_HIGH down to RELAY_LOW), while the relay is held or paced, and while a complete line waits. A line that stays
 * incomplete is reported once; its timer is active only while a line is incomplete and more is
 * read. If there is no memory to read into, reading pauses and is tried again every RELAY_RETRY_S;
 * after RELAY_STARVED_S the lack of memory is reported.
 *
 * Owns      the two streams, their watchers and the line reader. The outbox is borrowed.
 * Blocks    never. */
#ifndef MI_PROXY_RELAY_H
#define MI_PROXY_RELAY_H

#include "base/io/outbox.h"
#include "wire/line.h"

#include <ev.h>

#define RELAY_HIGH ((size_t)1 << 20)  /* unsent bytes at which reading pauses */
#define RELAY_LOW ((size_t)256 << 10) /* unsent bytes at which reading continues */
/* Bytes read in one loop turn, unless they belong to one long line. */
#define RELAY_TURN ((size_t)256 << 10)
#define RELAY_RETRY_S 0.02
#define RELAY_STARVED_S 0.5
/* For a line of RELAY_WIDE_AT bytes or more, a pipe is enlarged to RELAY_WIDE bytes, which saves
 * context switches. relay_narrow_pipes() undoes it, because a user may have only some hundred such
 * pipes. */
#define RELAY_WIDE ((size_t)256 << 10)
#define RELAY_WIDE_AT ((size_t)128 << 10)
/* Time without a byte after which an incomplete line is reported. */
#define RELAY_UNFINISHED_S 5.

struct relay;

struct relay_calls {
    void (*line)(struct relay *, struct line *);      /* a complete line */
    void (*too_long)(struct relay *, struct line *);  /* the head of a line over the limit */
    void (*last_line)(struct relay *, struct line *); /* the stream ended before its newline */
    void (*closed)(struct relay *);                   /* end of the stream; once */
    void (*write_failed)(struct relay *); /* writing failed, or the outbox is broken; once */
    void (*read_bytes)(struct relay *, const char *p, size_t n); /* may be NULL */
    void (*unfinished)(struct relay *, size_t n); /* n bytes of a line wait; may be NULL */
    void (*no_memory)(struct relay *);            /* called once when nothing could be read for
                                        * RELAY_STARVED_S */
    /* Whether a complete line of n bytes must wait, as it has for waited_us: relay_continue(). May be NULL. */
    bool (*must_wait)(struct relay *, size_t n, int64_t waited_us);
};

struct relay_width {
    bool tried; /* the pipe was made wide, as far as that is possible */
    bool
        full; /* the pipe contains more than its previous size: it is narrowed after the next bytes */
    size_t before; /* the pipe's previous size in bytes; 0: the size was not changed */
};

/* Reasons not to read. */
enum relay_stop {
    RELAY_HELD = 1,    /* the owner does not want to read */
    RELAY_PACED = 2,   /* the owner does not want to read, but relay_read_available() reads */
    RELAY_FULL = 4,    /* too many bytes are unsent */
    RELAY_STARVED = 8, /* there is no memory to read into */
    RELAY_WAITS = 16,  /* a complete line waits: relay_continue() */
    RELAY_ENDED = 32,  /* reading has ended for good */
};

struct relay {
    struct ev_loop *loop; /* borrowed */
    const struct relay_calls *calls;
    void *data;
    struct stream in, out;
    struct relay_width in_width, out_width;
    struct line_reader lines;
    struct outbox *box; /* borrowed: written to `out` */
    struct outbox
        *priority; /* borrowed: written before `box`, and instead of it until it is complete */
    bool priority_complete; /* once `priority` is written, `box` follows */
    size_t unread; /* set when `out` is closed: bytes in its pipe that the peer never read */
    bool muted;    /* nothing more is written, but `out` stays open: relay_stop_writing() */
    ev_io read_watch, write_watch;
    ev_io closed_watch; /* active after relay_watch_closing(), while `out` is open */
    ev_timer
        unfinished_timer;   /* active while the rest of a line is awaited, until it is reported */
    double unfinished_s;    /* RELAY_UNFINISHED_S; shorter in tests */
    ev_tstamp read_at;      /* time of the last byte, or when reading began */
    bool reported;          /* the incomplete line has been reported */
    ev_timer starved_timer; /* active while the relay is starved */
    ev_tstamp starved_at;   /* when the lack of memory began */
    unsigned stops;         /* reasons for not reading, bits of enum relay_stop; 0: the relay
                             * reads */
    size_t waiting_n;       /* RELAY_WAITS: bytes of the line */
    ev_tstamp waits_at;     /* with RELAY_WAITS: when the line began to wait */
};

void relay_open(struct relay *r, struct ev_loop *loop, const struct relay_calls *calls, void *data,
                struct outbox *box, size_t max_line);
void relay_close(struct relay *r); /* safe to call twice */
/* Call relay_read_from() and relay_write_to() in any order. Nothing is written before
 * relay_write_to(). */
void relay_read_from(struct relay *r, struct stream in);
void relay_write_to(struct relay *r, struct stream out);
void relay_stop_reading(struct relay *r); /* reading ends for good; `closed` is not called */
/* Acts as if the stream had ended: the rest of a line becomes the last line, and `closed` is
 * called. Does nothing after the end. */
void relay_end_input(struct relay *r);
void relay_close_out(struct relay *r); /* closes `out`: the peer sees the end of its input */
/* For an `out` that is a pipe: notices at once that its reader has closed it, not at the next
 * write. */
void relay_watch_closing(struct relay *r);
/* Writes nothing more. `out` stays open until relay_close_out(), so that what the peer does not read is counted when the
 * peer has ended. */
void relay_stop_writing(struct relay *r);
/* Writes `priority` first. The outbox follows after relay_end_priority(). */
void relay_set_priority(struct relay *r, struct outbox *priority);
void relay_end_priority(struct relay *r);
/* Reads what is available now, at most RELAY_TURN bytes, even if too many are unsent; nothing while
 * the relay is held. Used before reading stops, and before a deadline is taken as passed. */
void relay_read_available(struct relay *r);
/* Sets or ends RELAY_HELD or RELAY_PACED. */
void relay_pause(struct relay *r, enum relay_stop why, bool on);
static inline bool relay_has_ended(const struct relay *r) /* whether reading has ended */
{
    return (r->stops & RELAY_ENDED) != 0;
}
/* Asks again whether the waiting line must still wait. Does nothing if no line waits, or if the
 * relay is held. */
void relay_continue(struct relay *r);
/* How long a line has waited. */
int64_t relay_waited_us(const struct relay *r);
/* The peer may have sent something, but is not read now. */
bool relay_is_paused(const struct relay *r);
/* Restores the pipe sizes from before a long line, where that is possible now. */
void relay_narrow_pipes(struct relay *r);
/* Whether a pipe can be narrowed. False while a pipe is too full for that and is not read. */
bool relay_is_wide(const struct relay *r);
/* Writes the released bytes. Called at the end of a turn, and when `out` is writable. */
void relay_flush(struct relay *r);

#endif
