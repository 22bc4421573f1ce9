#include "proxy/proxy_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

/* Longer lines of the server's stderr are recorded by their head. */
#define STDERR_LINE_MAX ((size_t)8 << 10)

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

/* ---- the end -------------------------------------------------------------------------------- */

void proxy_reason(struct proxy *p, const char *reason)
{
    if (p->end_reason == NULL)
        p->end_reason = reason;
}

void proxy_finish(struct proxy *p)
{
    ev_break(p->loop, EVBREAK_ALL);
}

static void on_end_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    log_info("ending: signal=%d", w->signum);
    proxy_reason(p, "signal");
    server_signalled(p);
}

/* ---- the relays' calls ---------------------------------------------------------------------- */

static enum row_direction direction(const struct relay *r)
{
    const struct proxy *p = r->data;
    return r == &p->relay[ROW_C2S] ? ROW_C2S : ROW_S2C;
}

static void on_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    trouble_heard(&p->trouble, direction(r), line);
    traffic_line(&p->traffic, direction(r), line);
}

static void on_too_long(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    traffic_too_long(&p->traffic, direction(r), line);
}

static void on_last_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    traffic_last_line(&p->traffic, direction(r), line);
}

static void on_unfinished(struct relay *r, size_t n)
{
    struct proxy *p = r->data;
    traffic_unfinished(&p->traffic, direction(r), n);
}

static void on_client_ended(struct relay *r)
{
    struct proxy *p = r->data;
    if (p->not_started.n > 0 && p->traffic.open[ROW_C2S].open.count == 0)
        proxy_finish(p);
    proxy_reason(p, "client-closed");
    server_end_input(p);
}

static void on_client_broken(struct relay *r)
{
    struct proxy *p = r->data;
    log_info("the client reads no more");
    proxy_reason(p, "client-closed");
    server_stop(p);
}

static void on_server_ended(struct relay *r)
{
    server_output_ended(r->data);
}

static void on_server_broken(struct relay *r)
{
    server_input_broken(r->data);
}

static const struct relay_calls client_calls = {
    .line = on_line,
    .too_long = on_too_long,
    .last_line = on_last_line,
    .ended = on_client_ended,
    .broken = on_server_broken, /* the client's relay writes to the server */
    .unfinished = on_unfinished,
};

static const struct relay_calls server_calls = {
    .line = on_line,
    .too_long = on_too_long,
    .last_line = on_last_line,
    .ended = on_server_ended,
    .broken = on_client_broken,
    .unfinished = on_unfinished,
};

static void on_stderr_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    traffic_stderr(&p->traffic, line, 0);
}

static void on_long_stderr_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    traffic_stderr(&p->traffic, line, FINDING(FIND_TOO_LONG));
}

static void on_stderr_bytes(struct relay *r, const char *bytes, size_t n)
{
    struct proxy *p = r->data;
    voice_pass(&p->voice, (struct slice){bytes, n});
}

static void on_stderr_end(struct relay *r)
{
    (void)r; /* the server may close its stderr and live */
}

static const struct relay_calls stderr_calls = {
    .line = on_stderr_line,
    .too_long = on_long_stderr_line,
    .last_line = on_stderr_line,
    .ended = on_stderr_end,
    .broken = on_stderr_end,
    .read_bytes = on_stderr_bytes,
};

/* ---- the beginning -------------------------------------------------------------------------- */

static void open_watchers(struct proxy *p)
{
    turn_open(p);
    for (size_t i = 0; i < MI_COUNT(end_signals); i++) {
        struct sigaction now;
        ev_signal_init(&p->signals[i], on_end_signal, end_signals[i]);
        p->signals[i].data = p;
        if (sigaction(end_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue; /* nohup */
        ev_signal_start(p->loop, &p->signals[i]);
    }
}

static void command_json(struct buf *b, char *const *argv)
{
    buf_addc(b, '[');
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (i > 0)
            buf_addc(b, ',');
        text_json(b, slice_of(argv[i]));
    }
    buf_addc(b, ']');
}

static int open_recorder(struct proxy *p)
{
    struct buf command = {0};
    command_json(&command, p->cfg->argv);
    struct recorder_config rc = {
        .vault = p->cfg->vault,
        .name = p->cfg->name,
        .command = buf_str(&command),
        .level = p->cfg->level,
        .sync_full = p->cfg->sync_full,
        .stop_on_error = p->cfg->stop_on_record_error,
        .keep_lock = true,
    };
    int st = command.failed ? MI_ENOMEM : recorder_open(&p->recorder, &rc);
    if (st == MI_ENOMEM)
        log_error("out of memory");
    buf_close(&command);
    return st;
}

static void close_session(struct proxy *p)
{
    struct store_update u = {
        .end_reason = slice_of(p->end_reason != NULL ? p->end_reason : "client-closed"),
        .has_exit_status = true,
        .exit_status = p->exit_status,
        .ended_at_us = clock_wall_us(),
    };
    recorder_learn(p->recorder, &u);
    actions_flush(&p->traffic.actions, recorder_dir_fd(p->recorder));
    recorder_close(p->recorder);
}

static void run(struct proxy *p, struct stream in, struct stream out, struct child_pipes pipes)
{
    server_connect(p, pipes);
    relay_write_to(&p->relay[ROW_S2C], out);
    relay_read_from(&p->relay[ROW_C2S], in);
    /* Mostly there by now: one commit with the session's row. */
    relay_read_rest(&p->relay[ROW_C2S]);
    ev_run(p->loop, 0);
    /* The client sees the end of its stream before we tidy up. */
    for (int i = 0; i < 2; i++)
        relay_close(&p->relay[i]);
}

/* Clients show people the answer to what they ask first, and seldom our stderr: so they are waited for, but not
 * somebody at a terminal, who has read it. */
static void run_without_server(struct proxy *p, struct stream in, struct stream out)
{
    if (p->not_started.n == 0 || isatty(in.fd))
        return;
    relay_write_to(&p->relay[ROW_S2C], out);
    relay_read_from(&p->relay[ROW_C2S], in);
    ev_timer_set(&p->linger_timer, (double)p->cfg->grace_us / 2e6, 0.);
    ev_timer_start(p->loop, &p->linger_timer);
    ev_run(p->loop, 0);
    for (int i = 0; i < 2; i++)
        relay_close(&p->relay[i]);
}

static void on_auth(void *owner, const struct pending *q, struct slice answer)
{
    struct proxy *p = owner;
    trouble_auth(&p->trouble, q, answer);
}

static void on_stderr_text(void *owner, struct slice clean)
{
    struct proxy *p = owner;
    trouble_stderr(&p->trouble, clean);
}

static void on_notify_output(void *data, struct slice bytes)
{
    struct proxy *p = data;
    voice_pass(&p->voice, bytes);
}

static void open_trouble(struct proxy *p)
{
    struct buf command = {0};
    command_json(&command, p->cfg->argv);
    trouble_open(&p->trouble, p->recorder, p->cfg->name, buf_slice(&command));
    notify_watch(&p->trouble.notify, p->loop, on_notify_output, p);
    buf_close(&command);
}

static void open_parts(struct proxy *p)
{
    size_t max = p->cfg->max_message;
    traffic_open(&p->traffic, p->recorder, p->cfg->name, p->cfg->validate, max);
    traffic_deadlines(&p->traffic, p->cfg->deadlines, p->cfg->max_timeout_us);
    p->traffic.check_arguments = p->cfg->check_arguments;
    p->traffic.owner = p;
    p->traffic.on_hung = server_hung;
    p->traffic.on_own_answer = restart_own_answer;
    p->traffic.on_auth = on_auth;
    p->traffic.on_stderr = on_stderr_text;
    outbox_open(&p->greeting);
    open_trouble(p);
    voice_open(&p->voice, p->loop);
    relay_open(&p->relay[ROW_C2S], p->loop, &client_calls, p, &p->traffic.out[ROW_C2S], max);
    relay_open(&p->relay[ROW_S2C], p->loop, &server_calls, p, &p->traffic.out[ROW_S2C], max);
    relay_open(&p->err, p->loop, &stderr_calls, p, &p->voice.box, STDERR_LINE_MAX);
}

static void end_server(struct proxy *p)
{
    child_sweep(&p->child, p->cfg->grace_us / 2, p->attendant.pid);
    attendant_guard(&p->attendant, 0);
}

int proxy_libev(void)
{
    return ev_version_major() * 100 + ev_version_minor();
}

int proxy_run(const struct proxy_config *cfg)
{
    struct proxy p = {.cfg = cfg, .exit_status = PROXY_FAILED};
    struct stream in, out;
    struct child_pipes pipes;
    sigset_t none, inherited;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, not the end */
    /* A client may have blocked what we must hear; its server gets its mask back. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &inherited);
    notify_open(&p.trouble.notify, cfg->escalate_command, NOTIFY_LIMIT_US);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* Before there is anything that it would inherit. */
    attendant_open(&p.attendant, cfg->vault, &cfg->retention);
    p.loop = ev_default_loop(EVFLAG_AUTO);
    if (p.loop == NULL) {
        log_error("cannot make an event loop: %s", strerror(errno));
        return PROXY_FAILED;
    }
    if (stream_take_stdio(&in, &out) < 0) {
        log_error("cannot use stdin and stdout: %s", strerror(errno));
        return PROXY_FAILED;
    }
    open_watchers(&p); /* a signal that comes from here on ends the server as well as us */
    server_open(&p, &inherited);
    restart_open(&p);
    bool started = server_start(&p, &pipes) == 0;
    if (open_recorder(&p) < 0) {
        end_server(&p);
        attendant_close(&p.attendant);
        buf_close(&p.not_started);
        return PROXY_FAILED;
    }
    open_parts(&p);
    if (started)
        run(&p, in, out, pipes);
    else
        run_without_server(&p, in, out);
    end_server(&p);
    trouble_close(&p.trouble);
    close_session(&p);
    attendant_close(&p.attendant);
    relay_close(&p.err);
    voice_close(&p.voice);
    traffic_close(&p.traffic);
    outbox_close(&p.greeting);
    buf_close(&p.not_started);
    return p.exit_status;
}
