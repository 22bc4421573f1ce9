#include "proxy/voice.h"

#include "base/buf.h"
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

static void flush(struct voice *v)
{
    if (v->out.fd < 0)
        return;
    outbox_release(&v->box);
    int st = outbox_flush(&v->box, &v->out);
    if (st < 0) {
        outbox_break(&v->box);
        ev_io_stop(v->loop, &v->watch);
    } else if (st == 1) {
        ev_io_start(v->loop, &v->watch);
    } else {
        ev_io_stop(v->loop, &v->watch);
    }
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    flush(w->data);
}

static void add(struct voice *v, struct slice bytes)
{
    if (v->box.broken)
        return;
    if (bytes.n > VOICE_MAX - size_min(outbox_bytes(&v->box), VOICE_MAX) ||
        outbox_add_copy(&v->box, bytes) < 0)
        v->dropped += bytes.n;
}

static void note_dropped(struct voice *v)
{
    char text[128];
    if (v->dropped == 0 || outbox_bytes(&v->box) > VOICE_MAX / 2)
        return;
    int n = snprintf(text, sizeof text,
                     "%smcp-interposer: warn: nobody read stderr: dropped_bytes=%llu\n",
                     v->in_line ? "\n" : "", (unsigned long long)v->dropped);
    v->dropped = 0;
    v->in_line = false;
    add(v, (struct slice){text, (size_t)n});
}

void voice_pass(struct voice *v, struct slice bytes)
{
    note_dropped(v);
    add(v, bytes);
    if (bytes.n > 0)
        v->in_line = bytes.p[bytes.n - 1] != '\n';
    flush(v);
}

static void on_log_line(void *ctx, struct slice line)
{
    struct voice *v = ctx;
    note_dropped(v);
    if (v->in_line)
        add(v, slice_of("\n"));
    v->in_line = false;
    add(v, line);
    flush(v);
}

void voice_open(struct voice *v, struct ev_loop *loop)
{
    *v = (struct voice){.loop = loop};
    outbox_open(&v->box);
    ev_init(&v->watch, on_writable);
    v->watch.data = v;
    if (stream_open(&v->out, STDERR_FILENO, true) < 0) {
        v->out.fd = -1; /* no stderr at all */
        v->box.broken = true;
    } else {
        ev_io_set(&v->watch, v->out.fd, EV_WRITE);
    }
    log_set_sink(on_log_line, v);
}

void voice_close(struct voice *v)
{
    flush(v);
    log_set_sink(NULL, NULL);
    ev_io_stop(v->loop, &v->watch);
    outbox_close(&v->box);
    stream_close(&v->out);
}
