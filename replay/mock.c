#include "replay/mock.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/outbox.h"
#include "wire/line.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define OUT_HIGH ((size_t)1 << 20)  /* unsent bytes at which nothing more is read or said */
#define OUT_LOW ((size_t)256 << 10) /* unsent bytes at which it goes on */
#define READ_TURN ((size_t)256 << 10)
#define LEAVE_S 1.0 /* after the client has closed its side; clients kill us after 2 s */

struct mock {
    struct mock_config *cfg;
    struct ev_loop *loop; /* owned */
    struct stage *stage;  /* owned */
    struct report report; /* owned */
    struct stream in, out, err;
    struct outbox box;
    struct line_reader lines;
    ev_io read_watch, write_watch;
    ev_timer due_timer, leave_timer;
    ev_idle load_watch;
    ev_signal signals[3];
    int report_fd, junit_fd; /* -1: none */
    bool full;               /* nothing is read or said until the client has read */
    bool in_ended;
    bool loaded; /* all of the recording has been read */
    bool failed; /* our own failure */
    int64_t began_wall_us, began_us;
};

/* ---- what comes of it ---- */

static void fail(struct mock *m, int st)
{
    if (st == MI_ENOMEM)
        log_error("out of memory");
    else if (st == MI_EFULL)
        log_error("the recording is too long to replay");
    else
        log_error("cannot go on: %s", source_error(m->cfg->source));
    m->failed = true;
    ev_break(m->loop, EVBREAK_ALL);
}

static void set(struct mock *m, ev_io *w, bool on)
{
    if (on && !ev_is_active(w))
        ev_io_start(m->loop, w);
    else if (!on && ev_is_active(w))
        ev_io_stop(m->loop, w);
}

static void flush(struct mock *m)
{
    if (m->out.fd < 0)
        return;
    int st = outbox_flush(&m->box, &m->out);
    set(m, &m->write_watch, st == 1);
    if (st < 0) { /* nobody reads any more */
        outbox_break(&m->box);
        ev_break(m->loop, EVBREAK_ALL);
    }
    size_t bytes = outbox_bytes(&m->box);
    m->full = m->full ? bytes > OUT_LOW : bytes >= OUT_HIGH;
}

/* The server's stdout ends, and the process stays: a fault. */
static void close_out(struct mock *m)
{
    set(m, &m->write_watch, false);
    stream_close(&m->out);
}

static void wait_for_due(struct mock *m)
{
    int64_t due = stage_due(m->stage);
    if (due == STAGE_NEVER || m->full) {
        ev_timer_stop(m->loop, &m->due_timer);
        return;
    }
    int64_t left = due - clock_mono_us();
    m->due_timer.repeat = left > 0 ? (double)left / 1e6 : 1e-6;
    ev_now_update(m->loop);
    ev_timer_again(m->loop, &m->due_timer);
}

/* At the end of each turn: what was said goes out, and if the play is over we leave. */
static void settle(struct mock *m)
{
    flush(m);
    set(m, &m->read_watch, !m->in_ended && !m->full);
    wait_for_due(m);
    bool sent = outbox_bytes(&m->box) == 0;
    switch (stage_ended(m->stage)) {
    case STAGE_GOES_ON:
        if (m->in_ended && sent && stage_plays(m->stage) == 0)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    case STAGE_CLOSE:
        if (sent)
            close_out(m);
        if (sent && m->in_ended)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    default:
        if (sent)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    }
}

static int on_send(void *ctx, struct slice line)
{
    struct mock *m = ctx;
    int st = outbox_add_copy(&m->box, line);
    outbox_release(&m->box);
    return st < 0 ? st : outbox_bytes(&m->box) >= OUT_HIGH;
}

/* What does not fit is dropped: nothing may hold up the play. */
static void on_stderr(void *ctx, struct slice line)
{
    static char newline[] = "\n";
    struct iovec v[2] = {{.iov_base = (void *)(uintptr_t)line.p, .iov_len = line.n},
                         {.iov_base = newline, .iov_len = 1}};
    if (stream_write(&((struct mock *)ctx)->err, v, 2) < 0)
        return;
}

/* ---- lines of the client ---- */

static void hear(struct mock *m, enum line_result result, const struct line *line)
{
    struct slice text = {line->p, line->n};
    if (stage_ended(m->stage) != STAGE_GOES_ON)
        return;
    int st = result == LINE_TOO_LONG ? stage_too_long(m->stage, text, clock_mono_us())
                                     : stage_line(m->stage, text, clock_mono_us());
    if (st < 0)
        fail(m, st);
}

static void end_input(struct mock *m)
{
    struct line line;
    m->in_ended = true;
    set(m, &m->read_watch, false);
    stream_close(&m->in);
    if (line_last(&m->lines, &line) == LINE_READY)
        hear(m, LINE_READY, &line);
    int st = m->failed ? 0 : stage_hangup(m->stage, clock_mono_us());
    if (st < 0)
        fail(m, st);
    ev_now_update(m->loop);
    ev_timer_start(m->loop, &m->leave_timer);
}

static void take_lines(struct mock *m)
{
    struct line line;
    enum line_result got;
    while (!m->failed && (got = line_next(&m->lines, &line)) != LINE_NEED_MORE)
        hear(m, got, &line);
}

static char *room(struct mock *m, size_t *ret_n)
{
    struct line line;
    char *p = line_room(&m->lines, ret_n);
    if (p != NULL || line_give_up(&m->lines, &line) != LINE_TOO_LONG)
        return p;
    hear(m, LINE_TOO_LONG, &line);
    return line_room(&m->lines, ret_n);
}

static void read_turn(struct mock *m)
{
    size_t turn = 0;
    while (!m->in_ended && !m->failed && turn < READ_TURN && outbox_bytes(&m->box) < OUT_HIGH) {
        size_t n;
        char *p = room(m, &n);
        if (p == NULL)
            return;
        ssize_t got = stream_read(&m->in, p, n);
        if (got == 0)
            return;
        if (got < 0) {
            end_input(m);
            return;
        }
        line_filled(&m->lines, (size_t)got);
        take_lines(m);
        turn += (size_t)got;
        if (m->in.shared || (size_t)got < n)
            return;
    }
}

/* ---- events ---- */

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    read_turn(w->data);
    settle(w->data);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    settle(w->data);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct mock *m = w->data;
    int st = stage_advance(m->stage, clock_mono_us());
    if (st < 0)
        fail(m, st);
    settle(m);
}

static void on_load(struct ev_loop *loop, ev_idle *w, int revents)
{
    (void)revents;
    struct mock *m = w->data;
    int st = stage_load(m->stage, &m->loaded);
    if (st < 0)
        fail(m, st);
    if (m->loaded || st < 0)
        ev_idle_stop(loop, w);
    settle(m);
}

static void on_leave(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)w, (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)w, (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

/* What does not fit is dropped: nothing may hold up the play. */
static void on_log_line(void *ctx, struct slice line)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)line.p, .iov_len = line.n};
    if (stream_write(&((struct mock *)ctx)->err, &v, 1) < 0)
        return; /* nobody is there */
}

/* ---- the end ---- */

struct listing {
    struct plan *plan;
    uint32_t next;
};

static bool next_request(void *ctx, struct report_request *ret)
{
    struct listing *l = ctx;
    if (l->next == plan_exchanges(l->plan)) {
        l->next = 0;
        return false;
    }
    const struct plan_exchange *x = plan_exchange(l->plan, l->next++);
    const struct plan_topic *t = plan_topic(l->plan, x->topic);
    *ret = (struct report_request){
        .seq = source_seq(x->place),
        .method = t->method,
        .target = t->target,
        .asked = x->asked > 0,
        .needed = !slice_is(t->method, "ping") && !slice_is(t->method, "initialize") &&
                  !slice_is(t->method, "server/discover"),
    };
    return true;
}

static uint64_t never_asked(struct mock *m)
{
    struct listing l = {stage_plan(m->stage), 0};
    struct report_request q;
    uint64_t n = 0;
    while (next_request(&l, &q))
        n += q.needed && !q.asked;
    return n;
}

static void write_file(struct mock *m, int fd, const char *path, const struct buf *b)
{
    size_t put = 0;
    while (!b->failed && put < b->n) {
        ssize_t n = write(fd, b->p + put, b->n - put);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        put += (size_t)n;
    }
    if (b->failed || put < b->n || close(fd) != 0) {
        log_error("cannot write %s: %s", path, b->failed ? "no memory" : strerror(errno));
        m->failed = true;
    }
}

static void write_reports(struct mock *m, int status)
{
    struct mock_config *cfg = m->cfg;
    struct listing l = {stage_plan(m->stage), 0};
    struct report_end end = {
        .recording = cfg->recording,
        .strict = cfg->strict,
        .began_us = m->began_wall_us,
        .lasted_us = clock_mono_us() - m->began_us,
        .exit_status = status,
        .unplaced = plan_unplaced(stage_plan(m->stage)),
        .next = next_request,
        .ctx = &l,
    };
    struct buf b = {0};
    if (m->report_fd >= 0) {
        report_json(&m->report, &end, &b);
        write_file(m, m->report_fd, cfg->report_path, &b);
    }
    buf_clear(&b);
    if (m->junit_fd >= 0) {
        report_junit(&m->report, &end, &b);
        write_file(m, m->junit_fd, cfg->junit_path, &b);
    }
    m->report_fd = m->junit_fd = -1;
    buf_close(&b);
}

static int conclude(struct mock *m)
{
    const struct report_counts *c = &m->report.counts;
    bool wants_all = m->cfg->strict || m->report_fd >= 0 || m->junit_fd >= 0;
    while (!m->failed && wants_all && !m->loaded) {
        int st = stage_load(m->stage, &m->loaded);
        if (st < 0)
            fail(m, st);
    }
    if (m->failed)
        return MOCK_FAILED;
    uint64_t never = m->cfg->strict ? never_asked(m) : 0;
    if (c->missed > 0)
        log_error("a replay that does not match: requests=%llu not_recorded=%llu",
                  (unsigned long long)c->requests, (unsigned long long)c->missed);
    if (never > 0)
        log_error("recorded and never asked for: requests=%llu", (unsigned long long)never);
    int status = c->missed > 0 || never > 0                    ? MOCK_MISMATCH
                 : stage_ended(m->stage) == STAGE_SERVER_ENDED ? (int)stage_exit_status(m->stage)
                                                               : MOCK_FINE;
    write_reports(m, status);
    return m->failed ? MOCK_FAILED : status;
}

/* ---- the beginning ---- */

static int open_report(const char *path, int *ret)
{
    if (path == NULL)
        return 0;
    *ret = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (*ret >= 0)
        return 0;
    log_error("cannot write %s: %s; name another file", path, strerror(errno));
    return MI_EIO;
}

static void start_watchers(struct mock *m)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    ev_io_init(&m->read_watch, on_readable, m->in.fd, EV_READ);
    ev_io_init(&m->write_watch, on_writable, m->out.fd, EV_WRITE);
    ev_init(&m->due_timer, on_due);
    ev_timer_init(&m->leave_timer, on_leave, LEAVE_S, 0.);
    ev_idle_init(&m->load_watch, on_load);
    m->read_watch.data = m->write_watch.data = m->due_timer.data = m->load_watch.data = m;
    for (size_t i = 0; i < MI_COUNT(numbers); i++) {
        ev_signal_init(&m->signals[i], on_signal, numbers[i]);
        ev_signal_start(m->loop, &m->signals[i]);
    }
    ev_idle_start(m->loop, &m->load_watch);
}

static int begin(struct mock *m)
{
    struct mock_config *cfg = m->cfg;
    signal(SIGPIPE, SIG_IGN);
    line_open(&m->lines, cfg->max_message);
    outbox_open(&m->box);
    m->in.fd = m->out.fd = m->err.fd = -1;
    m->report_fd = m->junit_fd = -1;
    m->began_us = clock_mono_us();
    m->began_wall_us = clock_wall_us();
    if (stream_open(&m->err, STDERR_FILENO, true) == 0)
        log_set_sink(on_log_line, m);
    if (open_report(cfg->report_path, &m->report_fd) < 0 ||
        open_report(cfg->junit_path, &m->junit_fd) < 0)
        return MI_EIO;
    if (stream_take_stdio(&m->in, &m->out) < 0) {
        log_error("cannot use stdin and stdout: %s", strerror(errno));
        return MI_EIO;
    }
    m->loop = ev_loop_new(EVFLAG_AUTO);
    if (m->loop == NULL) {
        log_error("cannot make an event loop: %s", strerror(errno));
        return MI_EIO;
    }
    int st = stage_open(&m->stage, &cfg->rules, &cfg->faults, cfg->source, &m->report, on_send,
                        on_stderr, m);
    if (st < 0)
        return st;
    start_watchers(m);
    st = stage_begin(m->stage, clock_mono_us());
    if (st < 0)
        fail(m, st);
    else
        settle(m);
    return st;
}

static void end(struct mock *m)
{
    log_set_sink(NULL, NULL);
    stage_close(m->stage);
    report_close(&m->report);
    line_close(&m->lines);
    outbox_close(&m->box);
    stream_close(&m->in);
    stream_close(&m->out);
    stream_close(&m->err);
    if (m->report_fd >= 0)
        close(m->report_fd);
    if (m->junit_fd >= 0)
        close(m->junit_fd);
    if (m->loop != NULL)
        ev_loop_destroy(m->loop);
}

int mock_run(struct mock_config *cfg)
{
    struct mock m = {.cfg = cfg};
    int status = MOCK_FAILED;
    if (begin(&m) == 0) {
        ev_run(m.loop, 0);
        status = conclude(&m);
        if (stage_ended(m.stage) == STAGE_CRASH)
            kill(getpid(), SIGKILL); /* a fault; the reports are written */
    }
    end(&m);
    return status;
}
