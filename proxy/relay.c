#include "proxy/relay.h"

#include "base/os/pipe.h"

#include <poll.h>
#include <sys/ioctl.h>

static void relay_start_or_stop_watch(struct relay *r, ev_io *w, bool on)
{
    if (on && !ev_is_active(w))
        ev_io_start(r->loop, w);
    else if (!on && ev_is_active(w))
        ev_io_stop(r->loop, w);
}

/* ---- pipes for long lines ------------------------------------------------------------------ */

static void relay_widen_pipe(struct relay_width *w, const struct stream *s)
{
    if (!w->tried)
        *w = (struct relay_width){.tried = true, .before = pipe_widen(s->fd, RELAY_WIDE)};
}

static void relay_shrink_pipe(struct relay_width *w, const struct stream *s)
{
    if (w->before == 0 || s->fd < 0 || pipe_reduce_buffer(s->fd, w->before))
        *w = (struct relay_width){0};
    w->full = w->tried;
}

void relay_shrink_pipes(struct relay *r)
{
    relay_shrink_pipe(&r->in_width, &r->in);
    relay_shrink_pipe(&r->out_width, &r->out);
}

bool relay_has_wide_pipe(const struct relay *r)
{
    const struct relay_width *in = &r->in_width, *out = &r->out_width;
    return (in->tried && !in->full) || (out->tried && !out->full);
}

/* ---- incomplete lines --------------------------------------------------------------------- */

static void start_incomplete_line_timer(struct relay *r, double s)
{
    ev_timer_set(&r->unfinished_timer, s, 0.);
    ev_timer_start(r->loop, &r->unfinished_timer);
}

/* Starts or stops the timer of an incomplete line. Bytes do not restart the timer: its callback
 * checks how long ago the last byte came. The timer is not active while nothing is read: the rest
 * of the line may wait in the pipe. */
static void watch_incomplete_line(struct relay *r)
{
    bool waits = r->calls->unfinished != NULL && ev_is_active(&r->read_watch) && !r->reported &&
                 line_count_partial_bytes(&r->lines) > 0;
    if (waits && !ev_is_active(&r->unfinished_timer))
        start_incomplete_line_timer(r, r->unfinished_s);
    else if (!waits && ev_is_active(&r->unfinished_timer))
        ev_timer_stop(r->loop, &r->unfinished_timer);
}

static void relay_on_incomplete_line_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)revents;
    struct relay *r = w->data;
    relay_read_available_bytes(r); /* this process may have been stopped while bytes arrived */
    if (!ev_is_active(&r->read_watch) || line_count_partial_bytes(&r->lines) == 0 ||
        ev_is_active(w))
        return;
    double quiet_s = ev_now(loop) - r->read_at;
    if (quiet_s < r->unfinished_s) {
        start_incomplete_line_timer(r, r->unfinished_s - quiet_s);
        return;
    }
    r->reported = true;
    r->calls->unfinished(r, line_count_partial_bytes(&r->lines));
}

static void relay_start_or_stop_reading(struct relay *r)
{
    bool on = r->in.fd >= 0 && r->stops == 0;
    if (on && !ev_is_active(&r->read_watch))
        r->read_at = ev_now(r->loop);
    relay_start_or_stop_watch(r, &r->read_watch, on);
    watch_incomplete_line(r);
}

void relay_pause(struct relay *r, enum relay_stop why, bool on)
{
    unsigned stops = on ? r->stops | why : r->stops & ~(unsigned)why;
    if (stops == r->stops)
        return;
    r->stops = stops;
    relay_start_or_stop_reading(r);
}

/* ---- reading -------------------------------------------------------------------------------- */

void relay_handle_end_of_input(struct relay *r)
{
    struct line line;
    if (relay_has_ended(r))
        return;
    relay_stop_reading(r);
    if (line_take_unfinished_line(&r->lines, &line) == LINE_READY)
        r->calls->last_line(r, &line);
    r->calls->closed(r);
}

int64_t relay_get_wait_us(const struct relay *r)
{
    bool waits = (r->stops & RELAY_WAITS) != 0;
    return waits ? (int64_t)((ev_now(r->loop) - r->waits_at) * 1e6) : 0;
}

static bool pause_if_line_must_wait(struct relay *r, const struct line *line)
{
    if (r->calls->must_wait == NULL || !r->calls->must_wait(r, line->n, relay_get_wait_us(r))) {
        relay_pause(r, RELAY_WAITS, false);
        return false;
    }
    line_put_back_last_line(&r->lines, line);
    r->waiting_n = line->n;
    if ((r->stops & RELAY_WAITS) == 0)
        r->waits_at = ev_now(r->loop);
    relay_pause(r, RELAY_WAITS, true);
    return true;
}

/* Passes the complete lines to the owner, up to a line that must wait. */
static void relay_deliver_complete_lines(struct relay *r)
{
    for (;;) {
        struct line line;
        switch (line_next(&r->lines, &line)) {
        case LINE_READY:
            if (pause_if_line_must_wait(r, &line))
                return;
            r->reported = false;
            r->calls->line(r, &line);
            break;
        case LINE_TOO_LONG:
            r->reported = false;
            r->calls->too_long(r, &line);
            break;
        case LINE_NEED_MORE:
            return;
        }
    }
}

/* Returns the buffer to read into, or NULL if out of memory. If memory for a long line runs out,
 * that line is dropped. */
static char *get_buffer_to_read_into(struct relay *r, size_t *ret_n)
{
    char *p = line_room(&r->lines, ret_n);
    struct line line;
    if (p != NULL || line_end_too_long_line(&r->lines, &line) != LINE_TOO_LONG)
        return p;
    r->calls->too_long(r, &line);
    return line_room(&r->lines, ret_n);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static void relay_pause_if_out_of_memory(struct relay *r, bool starved)
{
    if (starved && !(r->stops & RELAY_STARVED)) {
        r->starved_at = ev_now(r->loop);
        ev_timer_again(r->loop, &r->starved_timer);
    } else if (!starved) {
        ev_timer_stop(r->loop, &r->starved_timer);
    }
    relay_pause(r, RELAY_STARVED, starved);
}

static void relay_on_no_memory_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)revents;
    struct relay *r = w->data;
    size_t n;
    if (line_room(&r->lines, &n) != NULL) {
        relay_pause_if_out_of_memory(r, false);
    } else if (ev_now(loop) - r->starved_at >= RELAY_STARVED_S) {
        ev_timer_stop(loop, w);
        r->calls->no_memory(r);
    }
}

/* ---- a turn ---------------------------------------------------------------------------------- */

/* Reads until the pipe is empty, or enough has been read for one turn. */
static void read_lines_from_pipe(struct relay *r)
{
    size_t turn = 0;
    while (!relay_has_ended(r)) {
        size_t n;
        char *p = get_buffer_to_read_into(r, &n);
        if (p == NULL) {
            relay_pause_if_out_of_memory(r, true);
            return;
        }
        ssize_t got = stream_read(&r->in, p, n);
        if (got == 0)
            return;
        if (got < 0) {
            relay_handle_end_of_input(r);
            return;
        }
        r->read_at = ev_now(r->loop);
        r->in_width.full = false;
        line_add_filled(&r->lines, (size_t)got);
        if (r->calls->read_bytes != NULL)
            r->calls->read_bytes(r, p, (size_t)got);
        relay_deliver_complete_lines(r);
        if ((r->stops & RELAY_WAITS) != 0)
            return;
        turn += (size_t)got;
        if (line_count_partial_bytes(&r->lines) >= RELAY_WIDE_AT)
            relay_widen_pipe(&r->in_width, &r->in);
        if (r->in.shared || (size_t)got < n)
            /* the pipe is most likely empty; reading a shared descriptor again could block */
            return;
        if (turn >= RELAY_TURN && line_count_partial_bytes(&r->lines) < turn)
            return;
        if (outbox_count_bytes(r->box) >= RELAY_HIGH)
            return;
    }
}

static void finish_reading_lines(struct relay *r)
{
    watch_incomplete_line(r);
    if (outbox_count_bytes(r->box) >= RELAY_HIGH)
        relay_pause(r, RELAY_FULL, true);
}

static void read_lines_and_finish(struct relay *r)
{
    read_lines_from_pipe(r);
    finish_reading_lines(r);
}

void relay_continue(struct relay *r)
{
    if ((r->stops & RELAY_WAITS) == 0 || (r->stops & RELAY_HELD) != 0)
        return;
    relay_deliver_complete_lines(r);
    finish_reading_lines(r);
}

static void relay_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    read_lines_and_finish(w->data);
}

void relay_read_available_bytes(struct relay *r)
{
    struct pollfd input = {.fd = r->in.fd, .events = POLLIN};
    if (r->in.fd >= 0 && !(r->stops & (RELAY_HELD | RELAY_WAITS | RELAY_ENDED)) &&
        poll(&input, 1, 0) == 1)
        read_lines_and_finish(r);
}

/* Ends writing after an error: the peer has closed `out`, or the outbox is broken. */
static void relay_fail_writing(struct relay *r)
{
    outbox_discard_after_error(r->priority != NULL ? r->priority : r->box);
    relay_close_output(r);
    r->calls->write_failed(r);
}

static bool reader_has_closed(int fd)
{
    struct pollfd peer = {.fd = fd, .events = 0};
    return poll(&peer, 1, 0) == 1 && (peer.revents & POLLERR) != 0;
}

static void relay_on_closed(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    struct relay *r = w->data;
    if (reader_has_closed(r->out.fd))
        relay_fail_writing(r);
}

static void relay_on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    relay_flush(w->data);
}

void relay_open(struct relay *r, struct ev_loop *loop, const struct relay_calls *calls, void *data,
                struct outbox *box, size_t max_line)
{
    *r = (struct relay){.loop = loop, .calls = calls, .data = data, .box = box};
    r->in.fd = r->out.fd = -1;
    line_open(&r->lines, max_line);
    ev_init(&r->read_watch, relay_on_readable);
    ev_init(&r->write_watch, relay_on_writable);
    ev_init(&r->closed_watch, relay_on_closed);
    ev_init(&r->unfinished_timer, relay_on_incomplete_line_timer);
    ev_init(&r->starved_timer, relay_on_no_memory_timer);
    r->starved_timer.repeat = RELAY_RETRY_S;
    r->unfinished_s = RELAY_UNFINISHED_S;
    r->read_watch.data = r->write_watch.data = r->closed_watch.data = r->unfinished_timer.data =
        r->starved_timer.data = r;
}

void relay_close(struct relay *r)
{
    relay_stop_reading(r);
    relay_close_output(r);
    line_close(&r->lines);
}

void relay_set_input(struct relay *r, struct stream in)
{
    r->in = in;
    r->in_width = (struct relay_width){0};
    r->stops &= ~(unsigned)RELAY_ENDED;
    ev_io_set(&r->read_watch, in.fd, EV_READ);
    relay_start_or_stop_reading(r);
}

void relay_set_output(struct relay *r, struct stream out)
{
    r->out = out;
    r->out_width = (struct relay_width){0};
    r->unread = 0;
    r->muted = false;
    ev_io_set(&r->write_watch, out.fd, EV_WRITE);
    /* The writing end of a pipe is never readable, but poll(2) reports an error when the reader
     * closes the pipe. */
    ev_io_set(&r->closed_watch, out.fd, EV_READ);
}

void relay_stop_reading(struct relay *r)
{
    r->reported = false;
    relay_pause(r, RELAY_ENDED, true);
    relay_pause(r, RELAY_WAITS, false);
    relay_pause_if_out_of_memory(r, false);
    relay_shrink_pipe(&r->in_width, &r->in);
    stream_close(&r->in);
}

void relay_close_output(struct relay *r)
{
    relay_start_or_stop_watch(r, &r->write_watch, false);
    relay_start_or_stop_watch(r, &r->closed_watch, false);
    if (r->out.fd >= 0) {
        int n = 0;
        bool known = reader_has_closed(r->out.fd) && ioctl(r->out.fd, FIONREAD, &n) == 0;
        r->unread = known && n > 0 ? (size_t)n : 0;
    }
    relay_shrink_pipe(&r->out_width, &r->out);
    stream_close(&r->out);
}

void relay_watch_for_closing(struct relay *r)
{
    relay_start_or_stop_watch(r, &r->closed_watch, true);
}

void relay_stop_writing(struct relay *r)
{
    r->muted = true;
    relay_start_or_stop_watch(r, &r->write_watch, false);
    relay_start_or_stop_watch(r, &r->closed_watch, false);
}

void relay_set_priority_outbox(struct relay *r, struct outbox *priority)
{
    r->priority = priority;
    r->priority_complete = false;
}

void relay_mark_priority_complete(struct relay *r)
{
    r->priority_complete = true;
}

bool relay_is_paused(const struct relay *r)
{
    return r->in.fd >= 0 && !relay_has_ended(r) && (r->stops & ~(unsigned)RELAY_PACED) != 0;
}

void relay_flush(struct relay *r)
{
    if (r->out.fd < 0 || r->muted)
        return;
    if (outbox_count_bytes(r->box) >= RELAY_WIDE_AT)
        relay_widen_pipe(&r->out_width, &r->out);
    int st = 0;
    uint64_t before = r->box->written;
    if (r->priority != NULL) {
        st = r->priority->broken ? MI_EIO : outbox_flush(r->priority, &r->out);
        bool all =
            outbox_count_bytes(r->priority) == 0; /* all bytes of `priority` have been written */
        if (st == 0 && r->priority_complete && all)
            r->priority = NULL;
    }
    if (r->priority == NULL)
        st = r->box->broken ? MI_EIO : outbox_flush(r->box, &r->out);
    r->out_width.full = r->out_width.full && r->box->written == before;
    if (st < 0)
        relay_fail_writing(r);
    else
        relay_start_or_stop_watch(r, &r->write_watch, st == 1);
    if (outbox_count_bytes(r->box) <= RELAY_LOW)
        relay_pause(r, RELAY_FULL, false);
}
