/* relay.h - one direction: reads lines from one peer, and writes an outbox to the other peer.
 *
 * Both directions and the server's stderr use the same code. Reading pauses while too many bytes
 * are unsent (from RELAY_HIGH down to RELAY_LOW), while RELAY_HELD or RELAY_PACED is set, and while
 * a complete line waits. A line that stays incomplete is reported once. The timer for this report
 * is active only while a line is incomplete and the relay reads. If there is no memory to read
 * into, reading pauses and is tried again every RELAY_RETRY_S. After RELAY_STARVED_S the lack of
 * memory is reported.
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
/* Maximum bytes that are read in one loop turn, unless the bytes belong to one long line. */
#define RELAY_TURN ((size_t)256 << 10)
#define RELAY_RETRY_S 0.02
#define RELAY_STARVED_S 0.5
/* For a line of RELAY_WIDE_AT bytes or more, a pipe is enlarged to RELAY_WIDE bytes, which saves
 * context switches. relay_shrink_pipes() restores the size, because a user may have only some
 * hundred such pipes. */
#define RELAY_WIDE ((size_t)256 << 10)
#define RELAY_WIDE_AT ((size_t)128 << 10)
/* Time without a byte after which an incomplete line is reported. */
#define RELAY_UNFINISHED_S 5.

struct relay;

struct relay_calls {
    void (*line)(struct relay *, struct line *); /* called for a complete line */
    /* called with the start of a line that is longer than max_line of relay_open() */
    void (*too_long)(struct relay *, struct line *);
    /* called with an incomplete line, inside which the stream ended */
    void (*last_line)(struct relay *, struct line *);
    void (*closed)(struct relay *);       /* the stream has ended; called once */
    void (*write_failed)(struct relay *); /* writing failed, or the outbox is broken; called once */
    /* Called with the n bytes that were read; they may be parts of lines. May be NULL. */
    void (*read_bytes)(struct relay *, const char *p, size_t n);
    /* Called if a line stays incomplete: n bytes of it were read so far. May be NULL. */
    void (*unfinished)(struct relay *, size_t n);
    /* Called once, if there was no memory to read into for RELAY_STARVED_S. */
    void (*no_memory)(struct relay *);
    /* Returns true if a complete line of n bytes, which has waited for waited_us, must wait until
     * relay_continue() is called. May be NULL. */
    bool (*must_wait)(struct relay *, size_t n, int64_t waited_us);
};

struct relay_width {
    bool tried; /* an attempt was made to enlarge the pipe */
    /* the previous size is restored later, because the pipe holds more bytes than that */
    bool full;
    size_t before; /* the pipe's previous size in bytes; 0: the size was not changed */
};

/* Reasons not to read. */
enum relay_stop {
    RELAY_HELD = 1,    /* the owner does not want to read */
    RELAY_PACED = 2,   /* the owner does not want to read, except by relay_read_available_bytes() */
    RELAY_FULL = 4,    /* too many bytes are unsent */
    RELAY_STARVED = 8, /* there is no memory to read into */
    RELAY_WAITS = 16,  /* a complete line waits for relay_continue() */
    RELAY_ENDED = 32,  /* reading has ended for good */
};

struct relay {
    struct ev_loop *loop; /* borrowed */
    const struct relay_calls *calls;
    void *data;
    struct stream in, out;
    struct relay_width in_width, out_width;
    struct line_reader lines;
    struct outbox *box;      /* borrowed: written to `out` */
    struct outbox *priority; /* borrowed: written before `box`; may be NULL */
    bool priority_complete;  /* `priority` gets no more bytes; `box` is written after it */
    /* number of bytes in the pipe that the peer never read; set when `out` is closed */
    size_t unread;
    /* relay_stop_writing() was called: nothing more is written, but `out` stays open */
    bool muted;
    ev_io read_watch, write_watch;
    /* the watcher is active after relay_watch_for_closing(), while `out` is open */
    ev_io closed_watch;
    /* the timer is active while a line is incomplete, until that is reported */
    ev_timer unfinished_timer;
    double unfinished_s;    /* RELAY_UNFINISHED_S; shorter in tests */
    ev_tstamp read_at;      /* time when a byte was last read, or when reading began */
    bool reported;          /* the incomplete line has been reported */
    ev_timer starved_timer; /* the timer is active while `stops` contains RELAY_STARVED */
    ev_tstamp starved_at;   /* when the lack of memory began */
    /* reasons not to read: bits of enum relay_stop; 0: the relay reads */
    unsigned stops;
    size_t waiting_n;   /* if RELAY_WAITS is set: length of the line that waits */
    ev_tstamp waits_at; /* if RELAY_WAITS is set: time when the line began to wait */
};

void relay_open(struct relay *r, struct ev_loop *loop, const struct relay_calls *calls, void *data,
                struct outbox *box, size_t max_line);
void relay_close(struct relay *r); /* safe to call twice */
/* Call relay_set_input() and relay_set_output() in any order. Nothing is written before
 * relay_set_output(). */
void relay_set_input(struct relay *r, struct stream in);
void relay_set_output(struct relay *r, struct stream out);
void relay_stop_reading(struct relay *r); /* reading ends for good; `closed` is not called */
/* Acts as if the stream had ended: the rest of a line becomes the last line, and `closed` is
 * called. Does nothing after the end. */
void relay_handle_end_of_input(struct relay *r);
void relay_close_output(struct relay *r); /* closes `out`: the peer sees the end of its input */
/* `out` must be a pipe: from now on the relay notices at once that the reader has closed it, not
 * only at the next write. */
void relay_watch_for_closing(struct relay *r);
/* Writes nothing more. `out` stays open until relay_close_output(), so that the bytes which the
 * peer did not read are counted when the peer has ended. */
void relay_stop_writing(struct relay *r);
/* Writes only `priority` until relay_mark_priority_complete() is called; then writes the rest of
 * `priority`, and the outbox after that. */
void relay_set_priority_outbox(struct relay *r, struct outbox *priority);
void relay_mark_priority_complete(struct relay *r);
/* Reads the bytes that are available now, at most RELAY_TURN, even if too many bytes are unsent.
 * Reads nothing while RELAY_HELD is set. Call this function before reading stops, and before a
 * deadline counts as passed. */
void relay_read_available_bytes(struct relay *r);
/* Sets or clears the reason `why` not to read: RELAY_HELD or RELAY_PACED. */
void relay_pause(struct relay *r, enum relay_stop why, bool on);
/* Returns true if reading has ended for good. */
static inline bool relay_has_ended(const struct relay *r)
{
    return (r->stops & RELAY_ENDED) != 0;
}
/* Asks the owner again whether the waiting line must still wait. Does nothing if no line waits, or
 * while RELAY_HELD is set. */
void relay_continue(struct relay *r);
/* Returns for how long a complete line has waited; 0 if no line waits. */
int64_t relay_get_wait_us(const struct relay *r);
/* Returns true while the relay does not read bytes that the peer may have sent. RELAY_PACED alone
 * does not count. */
bool relay_is_paused(const struct relay *r);
/* Restores the previous size of each wide pipe, unless the pipe holds too many bytes now. */
void relay_shrink_pipes(struct relay *r);
/* Returns true if relay_shrink_pipes() should be called: the relay has tried to enlarge a pipe. A
 * pipe that was too full to be shrunk does not count until more bytes were read from it or written
 * to it. */
bool relay_has_wide_pipe(const struct relay *r);
/* Writes the released bytes. Call this function at the end of a turn; the relay calls it when `out`
 * is writable. */
void relay_flush(struct relay *r);

#endif
