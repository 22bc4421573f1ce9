#include "replay/mock/live_side.h"

#include "base/log.h"

/* number of unsent bytes for the server at which reading from the client stops */
#define UNSENT_MAX ((size_t)1 << 20)

/* ---- lines of the server ---- */

static int live_side_read_lines(struct live_side *l)
{
    struct slice line;
    int st = 0;
    while (st == 0 && !l->ended) {
        switch (live_receive_line(l->live, 0, &line)) {
        case LIVE_LINE:
            st = l->on_line(l->ctx, line);
            break;
        case LIVE_TIMEOUT:
        case LIVE_INTERRUPTED:
            return 0;
        case LIVE_TOO_LONG:
            log_error("the live server is not read any more: it sent a line of more than %zu bytes",
                      LIVE_LINE_MAX);
            l->ended = true;
            break;
        case LIVE_NO_MEMORY:
            log_error("the live server is not read any more: out of memory");
            l->ended = true;
            break;
        case LIVE_ENDED:
            l->ended = true;
            break;
        }
    }
    l->waits = st > 0;
    return st == 0 ? l->on_line(l->ctx, (struct slice){0}) : st;
}

static void live_side_read_lines_and_notify(struct live_side *l)
{
    int st = live_side_read_lines(l);
    l->on_turn(l->ctx, st < 0 ? st : 0);
}

static void live_side_on_fd_ready(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    live_side_read_lines_and_notify(w->data);
}

static void live_side_on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    /* Stop the timer here: live_side_update_watchers() starts it again, perhaps with a longer
     * delay. An active timer would keep its shorter delay. */
    ev_timer_stop(loop, w);
    live_side_read_lines_and_notify(w->data);
}

static void live_side_watch_fd(struct live_side *l, ev_io *w, int fd, int events)
{
    if (fd >= 0 && ev_is_active(w) && w->fd == fd && (w->events & (EV_READ | EV_WRITE)) == events)
        return;
    ev_io_stop(l->loop, w);
    if (fd < 0)
        return;
    ev_io_set(w, fd, events);
    ev_io_start(l->loop, w);
}

void live_side_update_watchers(struct live_side *l, bool full)
{
    int in = -1, out = -1;
    bool waits = false, runs = l->live != NULL && !l->ended;
    if (runs)
        live_get_watched_fds(l->live, &in, &out, &waits);
    live_side_watch_fd(l, &l->read_watch, full ? -1 : in, EV_READ);
    /* If no data waits to be written, EV_READ still reports that the server has closed the pipe. */
    live_side_watch_fd(l, &l->write_watch, out, waits ? EV_WRITE : EV_READ);
    int64_t next_us = runs && !full ? live_get_us_until_next_receive(l->live) : -1;
    if (next_us < 0) {
        ev_timer_stop(l->loop, &l->wait_timer);
    } else if (!ev_is_active(&l->wait_timer) ||
               (double)next_us / 1e6 < ev_timer_remaining(l->loop, &l->wait_timer)) {
        l->wait_timer.repeat = (double)(next_us > 0 ? next_us : 1) / 1e6;
        ev_now_update(l->loop);
        ev_timer_again(l->loop, &l->wait_timer);
    }
    if (l->waits && !full) {
        l->waits = false;
        ev_feed_event(l->loop, &l->read_watch, EV_READ);
    }
}

bool live_side_output_is_full(const struct live_side *l)
{
    return l->live != NULL && live_count_unsent_bytes(l->live) >= UNSENT_MAX;
}

/* ---- callbacks of forwarder.h ---- */

static int live_side_start_server(void *ctx)
{
    struct live_side *l = ctx;
    struct buf error = {0};
    int st = live_open(&l->live, l->cfg->argv, NULL, &error);
    if (st == MI_EIO)
        log_error("%s", buf_str(&error));
    if (st == 0)
        live_wait_longer_for_proxy_exit(l->live);
    buf_close(&error);
    return st;
}

static int live_side_send_line(void *ctx, struct slice line)
{
    return live_send_line(((struct live_side *)ctx)->live, line);
}

static void live_side_append_end_reason(void *ctx, struct buf *b)
{
    live_append_server_end_reason(((struct live_side *)ctx)->live, b);
}

static int live_side_record_message(void *ctx, bool from_client, struct slice message,
                                    int64_t now_us)
{
    const struct live_side_config *cfg = ((struct live_side *)ctx)->cfg;
    return cfg->keep != NULL ? cfg->keep(cfg->ctx, from_client, message, now_us) : 0;
}

int live_side_open(struct live_side *l, const struct live_side_config *cfg, struct ev_loop *loop,
                   live_side_line_fn on_line, live_side_turn_fn on_turn, void *ctx)
{
    static const struct forwarder_callbacks calls = {live_side_start_server, live_side_send_line,
                                                     live_side_record_message,
                                                     live_side_append_end_reason};
    *l = (struct live_side){
        .cfg = cfg, .loop = loop, .on_line = on_line, .on_turn = on_turn, .ctx = ctx};
    ev_init(&l->read_watch, live_side_on_fd_ready);
    ev_init(&l->write_watch, live_side_on_fd_ready);
    ev_init(&l->wait_timer, live_side_on_timeout);
    l->read_watch.data = l->write_watch.data = l->wait_timer.data = l;
    return cfg->argv != NULL ? forwarder_open(&l->forwarder, &cfg->rules, &calls, l) : 0;
}

void live_side_close(struct live_side *l)
{
    if (l->forwarder == NULL)
        return;
    l->ended = true;
    live_side_update_watchers(l, true);
    (void)live_close(l->live, LIVE_SIDE_GRACE_US);
    forwarder_close(l->forwarder);
    l->live = NULL;
    l->forwarder = NULL;
}
