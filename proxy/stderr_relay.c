#include "proxy/stderr_relay.h"

#include "base/buf.h"
#include "base/log.h"

#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

static void stderr_relay_flush(struct stderr_relay *v)
{
    if (v->out.fd < 0)
        return;
    outbox_release_staged_bytes(&v->box);
    int st = outbox_flush(&v->box, &v->out);
    if (st < 0) {
        outbox_discard_after_error(&v->box);
        ev_io_stop(v->loop, &v->watch);
    } else if (st == 1) {
        ev_io_start(v->loop, &v->watch);
    } else {
        ev_io_stop(v->loop, &v->watch);
    }
}

static void stderr_relay_on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    stderr_relay_flush(w->data);
}

static void stderr_relay_add_bytes(struct stderr_relay *v, struct slice bytes)
{
    if (v->box.broken || bytes.n == 0)
        return;
    if (bytes.n > STDERR_RELAY_MAX - size_min(outbox_count_bytes(&v->box), STDERR_RELAY_MAX)) {
        v->dropped += bytes.n;
    } else if (outbox_add_copy(&v->box, bytes) < 0) {
        /* There is no memory for a copy: write at once the bytes that stderr takes, unless other
         * bytes wait. */
        struct iovec one = {.iov_base = (void *)(uintptr_t)bytes.p, .iov_len = bytes.n};
        ssize_t n = outbox_count_bytes(&v->box) == 0 ? stream_write(&v->out, &one, 1) : 0;
        v->dropped += bytes.n - (n > 0 ? (size_t)n : 0);
    }
}

static void report_dropped_bytes(struct stderr_relay *v)
{
    char text[128];
    if (v->dropped == 0 || outbox_count_bytes(&v->box) > STDERR_RELAY_MAX / 2)
        return;
    int n = snprintf(
        text, sizeof text,
        "%smcp-interposer: warn: stderr was not read, so output was dropped: dropped_bytes=%llu\n",
        v->in_line ? "\n" : "", (unsigned long long)v->dropped);
    v->dropped = 0;
    v->in_line = false;
    stderr_relay_add_bytes(v, (struct slice){text, (size_t)n});
}

static void stderr_relay_write_sanitized(struct stderr_relay *v, struct buf *clean)
{
    struct slice bytes = buf_slice(clean);
    if (clean->failed || v->stream.failed)
        v->dropped++; /* out of memory: a part of the line was lost */
    v->stream.failed = false;
    report_dropped_bytes(v);
    stderr_relay_add_bytes(v, bytes);
    if (bytes.n > 0)
        v->in_line = bytes.p[bytes.n - 1] != '\n';
    stderr_relay_flush(v);
    buf_close(clean);
}

void stderr_relay_add(struct stderr_relay *v, struct slice bytes)
{
    struct buf clean = {0};
    if (v->box.broken)
        return; /* stderr is closed */
    redact_stream_feed(&v->stream, bytes, &clean);
    stderr_relay_write_sanitized(v, &clean);
    ev_timer_stop(v->loop, &v->pause);
    if (redact_stream_has_partial_line(&v->stream)) {
        ev_timer_set(&v->pause, STDERR_RELAY_PAUSE_S, 0.);
        ev_timer_start(v->loop, &v->pause);
    }
}

static void stderr_relay_on_pause(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct stderr_relay *v = w->data;
    struct buf clean = {0};
    redact_stream_pause(&v->stream, &clean);
    stderr_relay_write_sanitized(v, &clean);
}

static void stderr_relay_on_log_line(void *ctx, struct slice line)
{
    struct stderr_relay *v = ctx;
    char filled[LOG_FILLED_MAX];
    report_dropped_bytes(v);
    if (v->in_line)
        stderr_relay_add_bytes(v, slice_of("\n"));
    v->in_line = false;
    stderr_relay_add_bytes(v, log_wrap_line(line, filled));
    stderr_relay_flush(v);
}

void stderr_relay_open(struct stderr_relay *v, struct ev_loop *loop)
{
    *v = (struct stderr_relay){.loop = loop};
    outbox_open(&v->box);
    ev_init(&v->watch, stderr_relay_on_writable);
    v->watch.data = v;
    ev_init(&v->pause, stderr_relay_on_pause);
    v->pause.data = v;
    if (stream_open(&v->out, STDERR_FILENO, true) < 0) {
        v->out.fd = -1; /* stderr is not open */
        v->box.broken = true;
    } else {
        ev_io_set(&v->watch, v->out.fd, EV_WRITE);
    }
    log_set_sink(stderr_relay_on_log_line, v);
}

void stderr_relay_close(struct stderr_relay *v)
{
    struct buf clean = {0};
    redact_stream_end(&v->stream, &clean);
    stderr_relay_write_sanitized(v, &clean);
    stderr_relay_flush(v);
    log_set_sink(NULL, NULL);
    ev_io_stop(v->loop, &v->watch);
    ev_timer_stop(v->loop, &v->pause);
    redact_stream_close(&v->stream);
    outbox_close(&v->box);
    stream_close(&v->out);
}
