#include "replay/mock/mock_server.h"

#include "base/clock.h"
#include "base/io/outbox.h"
#include "base/log.h"
#include "base/reserve.h"
#include "wire/line.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <unistd.h>

#define OUT_HIGH ((size_t)1 << 20) /* number of unsent bytes at which reading and replaying stop */
/* reading and replaying continue at this number of unsent bytes, or fewer */
#define OUT_LOW ((size_t)256 << 10)
#define READ_TURN ((size_t)256 << 10) /* approximate maximum of bytes that are read in one event */
/* seconds from the end of stdin to the exit of this process; clients kill it after 2 s */
#define LEAVE_S 1.0

struct mock {
    struct mock_config *cfg;
    struct ev_loop *loop;              /* owned */
    struct conversation *conversation; /* owned */
    struct misses misses;              /* owned */
    struct live_side live;             /* owned */
    struct stream in, out, err;
    struct outbox box;
    struct line_reader lines;
    ev_io read_watch, write_watch;
    ev_timer due_timer, leave_timer;
    ev_idle load_watch;
    ev_signal signals[3];
    struct reports reports;
    bool full; /* the output is full: reading and replaying stop until the client reads */
    bool in_ended;
    bool loaded; /* the whole recording has been read */
    bool failed; /* the mock server itself failed: MOCK_FAILED */
    int64_t began_wall_us, began_us;
};

/* ---- output ---- */

static void mock_server_fail(struct mock *m, int st)
{
    if (st == MI_ENOMEM)
        log_error("out of memory");
    else if (st == MI_EFULL)
        log_error("the recording is too long to replay");
    else
        log_error("cannot continue the replay: %s", source_error(m->cfg->source));
    m->failed = true;
    ev_break(m->loop, EVBREAK_ALL);
}

static void mock_server_set_watcher(struct mock *m, ev_io *w, bool on)
{
    if (on && !ev_is_active(w))
        ev_io_start(m->loop, w);
    else if (!on && ev_is_active(w))
        ev_io_stop(m->loop, w);
}

static void mock_server_flush(struct mock *m)
{
    if (m->out.fd < 0)
        return;
    int st = outbox_flush(&m->box, &m->out);
    mock_server_set_watcher(m, &m->write_watch, st == 1);
    if (st < 0) { /* the client has closed its side */
        outbox_discard_after_error(&m->box);
        ev_break(m->loop, EVBREAK_ALL);
    }
    size_t bytes = outbox_count_bytes(&m->box);
    m->full = m->full ? bytes > OUT_LOW : bytes >= OUT_HIGH;
}

static void mock_set_message_timer(struct mock *m)
{
    int64_t due = conversation_next_event_us(m->conversation);
    if (due == CONVERSATION_NEVER || m->full) {
        ev_timer_stop(m->loop, &m->due_timer);
        return;
    }
    int64_t left = due - clock_mono_us();
    m->due_timer.repeat = left > 0 ? (double)left / 1e6 : 1e-6;
    ev_now_update(m->loop);
    ev_timer_again(m->loop, &m->due_timer);
}

/* Called after each event: writes the output, and ends the loop when the conversation has ended. */
static void mock_server_update_after_event(struct mock *m)
{
    mock_server_flush(m);
    mock_server_set_watcher(m, &m->read_watch,
                            !m->in_ended && !m->full && !live_side_output_is_full(&m->live));
    live_side_update_watchers(&m->live, m->full);
    mock_set_message_timer(m);
    bool sent = outbox_count_bytes(&m->box) == 0;
    if (sent && line_count_partial_bytes(&m->lines) == 0)
        chunk_free_spare_memory(); /* frees the memory of large messages, which are rare */
    switch (conversation_get_end_reason(m->conversation)) {
    case CONVERSATION_RUNNING:
        if (m->in_ended && sent && conversation_count_playbacks(m->conversation) == 0)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    case CONVERSATION_CLOSE: /* the fault `close` has occurred */
        if (sent) {
            mock_server_set_watcher(m, &m->write_watch, false);
            stream_close(&m->out);
        }
        if (sent && m->in_ended)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    default:
        if (sent)
            ev_break(m->loop, EVBREAK_ALL);
        break;
    }
}

static int mock_on_send(void *ctx, struct slice line)
{
    struct mock *m = ctx;
    int st = outbox_add_copy(&m->box, line);
    outbox_release_staged_bytes(&m->box);
    return st < 0 ? st : outbox_count_bytes(&m->box) >= OUT_HIGH;
}

/* Output that does not fit is dropped: stderr must not delay the replay. */
static void mock_on_stderr(void *ctx, struct slice line)
{
    static char newline[] = "\n";
    struct iovec v[2] = {{.iov_base = (void *)(uintptr_t)line.p, .iov_len = line.n},
                         {.iov_base = newline, .iov_len = 1}};
    if (stream_write(&((struct mock *)ctx)->err, v, 2) < 0)
        return;
}

/* ---- lines of the client ---- */

static void mock_handle_line(struct mock *m, enum line_result result, const struct line *line)
{
    struct slice text = {line->p, line->n};
    if (conversation_get_end_reason(m->conversation) != CONVERSATION_RUNNING)
        return;
    int st = result == LINE_TOO_LONG
                 ? conversation_handle_long_line(m->conversation, text, clock_mono_us())
                 : conversation_handle_line(m->conversation, text, clock_mono_us());
    if (st < 0)
        mock_server_fail(m, st);
}

static void mock_handle_end_of_input(struct mock *m)
{
    struct line line;
    m->in_ended = true;
    mock_server_set_watcher(m, &m->read_watch, false);
    stream_close(&m->in);
    if (line_take_unfinished_line(&m->lines, &line) == LINE_READY)
        mock_handle_line(m, LINE_READY, &line);
    int st = m->failed ? 0 : conversation_handle_client_hangup(m->conversation, clock_mono_us());
    if (st < 0)
        mock_server_fail(m, st);
    ev_now_update(m->loop);
    ev_timer_start(m->loop, &m->leave_timer);
}

static void mock_read_available_lines(struct mock *m)
{
    size_t turn = 0;
    while (!m->in_ended && !m->failed && turn < READ_TURN &&
           outbox_count_bytes(&m->box) < OUT_HIGH) {
        struct line line;
        size_t n;
        char *p = line_room(&m->lines, &n);
        if (p == NULL && line_end_too_long_line(&m->lines, &line) == LINE_TOO_LONG) {
            mock_handle_line(m, LINE_TOO_LONG, &line);
            p = line_room(&m->lines, &n);
        }
        if (p == NULL) {
            mock_server_fail(m, MI_ENOMEM);
            return;
        }
        ssize_t got = stream_read(&m->in, p, n);
        if (got <= 0) {
            if (got < 0)
                mock_handle_end_of_input(m);
            return;
        }
        line_add_filled(&m->lines, (size_t)got);
        enum line_result result;
        while (!m->failed && (result = line_next(&m->lines, &line)) != LINE_NEED_MORE)
            mock_handle_line(m, result, &line);
        turn += (size_t)got;
        if (m->in.shared || (size_t)got < n)
            return;
    }
}

/* ---- the live server ---- */

static int mock_on_live_line(void *ctx, struct slice line)
{
    struct mock *m = ctx;
    if (conversation_get_end_reason(m->conversation) != CONVERSATION_RUNNING)
        return 0;
    int st = conversation_handle_live_line(m->conversation, line, clock_mono_us());
    return st < 0 ? st : outbox_count_bytes(&m->box) >= OUT_HIGH;
}

static void mock_on_live_lines_read(void *ctx, int st)
{
    struct mock *m = ctx;
    if (st < 0)
        mock_server_fail(m, st);
    mock_server_update_after_event(m);
}

/* ---- events ---- */

static void mock_server_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    mock_read_available_lines(w->data);
    mock_server_update_after_event(w->data);
}

static void mock_server_on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    mock_server_update_after_event(w->data);
}

static void mock_on_message_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct mock *m = w->data;
    int st = conversation_send_due_messages(m->conversation, clock_mono_us());
    if (st < 0)
        mock_server_fail(m, st);
    mock_server_update_after_event(m);
}

static void mock_on_idle_load_messages(struct ev_loop *loop, ev_idle *w, int revents)
{
    (void)revents;
    struct mock *m = w->data;
    int st = conversation_load_messages(m->conversation, &m->loaded);
    if (st < 0)
        mock_server_fail(m, st);
    if (m->loaded || st < 0)
        ev_idle_stop(loop, w);
    mock_server_update_after_event(m);
}

static void mock_stop_loop_on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)w, (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

static void mock_server_on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)w, (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

/* Output that does not fit is dropped: stderr must not delay the replay. */
static void mock_on_log_line(void *ctx, struct slice line)
{
    char place[LOG_FILLED_MAX];
    struct slice text = log_wrap_line(line, place);
    struct iovec v = {.iov_base = (void *)(uintptr_t)text.p, .iov_len = text.n};
    if (stream_write(&((struct mock *)ctx)->err, &v, 1) < 0)
        return;
}

/* ---- the end ---- */

struct listing {
    struct plan *plan;
    uint32_t next;
};

static bool mock_get_next_request(void *ctx, struct misses_request *ret)
{
    struct listing *l = ctx;
    if (l->next == plan_count_exchanges(l->plan)) {
        l->next = 0;
        return false;
    }
    const struct plan_exchange *x = plan_get_exchange(l->plan, l->next++);
    const struct plan_topic *t = plan_get_method_target(l->plan, x->topic);
    *ret = (struct misses_request){
        .seq = source_seq_in_session(x->place),
        .method = t->method,
        .target = t->target,
        .asked = x->times_requested > 0,
        .needed = !slice_is(t->method, "ping") && !slice_is(t->method, "initialize") &&
                  !slice_is(t->method, "server/discover"),
    };
    return true;
}

static void write_reports(struct mock *m, int status)
{
    struct mock_config *cfg = m->cfg;
    struct listing l = {conversation_get_plan(m->conversation), 0};
    struct misses_end end = {
        .recording = cfg->recording,
        .strict = cfg->strict,
        .began_us = m->began_wall_us,
        .lasted_us = clock_mono_us() - m->began_us,
        .exit_status = status,
        .unplaced = plan_count_unlisted_messages(conversation_get_plan(m->conversation)),
        .next = mock_get_next_request,
        .ctx = &l,
    };
    if (!reports_write(&m->reports, &m->misses, &end))
        m->failed = true;
}

static int mock_log_and_write_results(struct mock *m)
{
    const struct misses_counts *c = &m->misses.counts;
    bool wants_all = m->cfg->strict || m->reports.some;
    while (!m->failed && wants_all && !m->loaded) {
        int st = conversation_load_messages(m->conversation, &m->loaded);
        if (st < 0)
            mock_server_fail(m, st);
    }
    if (m->failed)
        return MOCK_FAILED;
    if (m->live.forwarder != NULL)
        log_note("answered: recorded=%llu live=%llu", (unsigned long long)c->matched,
                 (unsigned long long)c->live);
    if (c->missed > 0)
        log_error("the replay does not match: requests=%llu not_recorded=%llu",
                  (unsigned long long)c->requests, (unsigned long long)c->missed);
    if (c->unanswered > 0)
        log_error("the live server did not answer: requests=%llu",
                  (unsigned long long)c->unanswered);
    struct listing l = {conversation_get_plan(m->conversation), 0};
    uint64_t never = m->cfg->strict ? misses_log_requests_not_sent(mock_get_next_request, &l) : 0;
    /* Warn about unused faults: with a misspelt tool name, for example, a test would pass although
     * no fault was injected. */
    struct buf text = {0};
    for (size_t at = 0; faults_append_next_unused_fault(&m->cfg->faults, &at, &text);
         buf_clear(&text))
        log_warn("a fault was never injected, because no request matched it: fault=%s",
                 buf_str(&text));
    buf_close(&text);
    int status = c->missed > 0 || c->unanswered > 0 || never > 0 ? MOCK_MISMATCH
                 : conversation_get_end_reason(m->conversation) == CONVERSATION_SERVER_ENDED
                     ? (int)conversation_exit_status(m->conversation)
                     : MOCK_FINE;
    write_reports(m, status);
    if (m->cfg->done != NULL && !m->cfg->done(m->cfg->ctx))
        m->failed = true;
    return m->failed ? MOCK_FAILED : status;
}

/* ---- start ---- */

static int mock_open_reports(struct mock *m)
{
    const struct mock_config *cfg = m->cfg;
    struct misses *x = &m->misses;
    x->report.junit = cfg->path[REPORT_JUNIT] != NULL;
    x->report.sarif = cfg->path[REPORT_SARIF] != NULL;
    *(cfg->recording_is_file ? &x->place.file : &x->place.session) = cfg->recording;
    report_begin_suite(&x->report, cfg->recording, (struct slice){0}, m->began_us);
    return reports_open(&m->reports, cfg->path);
}

static void start_watchers(struct mock *m)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    ev_io_init(&m->read_watch, mock_server_on_readable, m->in.fd, EV_READ);
    ev_io_init(&m->write_watch, mock_server_on_writable, m->out.fd, EV_WRITE);
    ev_init(&m->due_timer, mock_on_message_timer);
    ev_timer_init(&m->leave_timer, mock_stop_loop_on_timeout, LEAVE_S, 0.);
    ev_idle_init(&m->load_watch, mock_on_idle_load_messages);
    m->read_watch.data = m->write_watch.data = m->due_timer.data = m->load_watch.data = m;
    for (size_t i = 0; i < MI_COUNT(numbers); i++) {
        ev_signal_init(&m->signals[i], mock_server_on_signal, numbers[i]);
        ev_signal_start(m->loop, &m->signals[i]);
    }
    ev_idle_start(m->loop, &m->load_watch);
}

static int mock_server_start(struct mock *m)
{
    struct mock_config *cfg = m->cfg;
    signal(SIGPIPE, SIG_IGN);
    line_open(&m->lines, cfg->max_message);
    outbox_open(&m->box);
    m->in.fd = m->out.fd = m->err.fd = -1;
    m->began_us = clock_mono_us();
    m->began_wall_us = clock_wall_us();
    if (stream_open(&m->err, STDERR_FILENO, true) == 0)
        log_set_sink(mock_on_log_line, m);
    if (mock_open_reports(m) < 0)
        return MI_EIO;
    if (stream_make_stdio_private(&m->in, &m->out) < 0) {
        log_error("cannot use stdin and stdout: %s", strerror(errno));
        return MI_EIO;
    }
    /* libev's own allocator would end the program if memory runs out. */
    ev_set_allocator(reserve_realloc);
    m->loop = ev_loop_new(EVFLAG_AUTO);
    if (m->loop == NULL) {
        log_error("cannot create an event loop: %s", strerror(errno));
        return MI_EIO;
    }
    int st = conversation_open(&m->conversation, &cfg->rules, &cfg->faults, cfg->source, &m->misses,
                               mock_on_send, mock_on_stderr, m);
    if (st == 0)
        st = live_side_open(&m->live, &cfg->live, m->loop, mock_on_live_line,
                            mock_on_live_lines_read, m);
    if (st < 0)
        return st;
    conversation_set_live_server(m->conversation, m->live.forwarder);
    start_watchers(m);
    st = conversation_begin(m->conversation, clock_mono_us());
    if (st < 0)
        mock_server_fail(m, st);
    else
        mock_server_update_after_event(m);
    return st;
}

static void mock_server_close(struct mock *m)
{
    live_side_close(&m->live);
    log_set_sink(NULL, NULL);
    conversation_close(m->conversation);
    misses_close(&m->misses);
    line_close(&m->lines);
    outbox_close(&m->box);
    chunk_free_spare_memory();
    stream_close(&m->in);
    stream_close(&m->out);
    stream_close(&m->err);
    reports_close(&m->reports);
    if (m->loop != NULL)
        ev_loop_destroy(m->loop);
}

int mock_run(struct mock_config *cfg)
{
    struct mock m = {.cfg = cfg};
    int status = MOCK_FAILED;
    if (mock_server_start(&m) == 0) {
        ev_run(m.loop, 0);
        status = mock_log_and_write_results(&m);
        if (conversation_get_end_reason(m.conversation) == CONVERSATION_CRASH)
            kill(getpid(), SIGKILL); /* the fault `crash`; the reports are already written */
    }
    mock_server_close(&m);
    return status;
}
