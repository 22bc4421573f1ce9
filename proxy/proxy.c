#include "proxy/proxy.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "proxy/attendant.h"
#include "proxy/child.h"
#include "proxy/relay.h"
#include "proxy/voice.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STDERR_LINE_MAX                                                                            \
    ((size_t)8 << 10) /* longer lines of the server's stderr are recorded by their head */
#define IDLE_S 0.5    /* without a commit for so long, the pipes are idle */
#define CHECKPOINT_IDLE_PAGES 1000 /* a write-ahead log worth a checkpoint when they are: 4 MiB */
#define CHECKPOINT_PAGES 16384     /* one that waits for no idle moment: 64 MiB */
#define CHECKPOINT_OWN_PAGES 65536 /* one that we checkpoint ourselves, if there is no attendant */

struct proxy {
    const struct proxy_config *cfg;
    struct ev_loop *loop;
    struct recorder *recorder; /* owned */
    struct traffic traffic;
    struct relay relay[2]; /* [ROW_C2S], [ROW_S2C] */
    struct relay err;      /* the server's stderr */
    struct voice voice;    /* our stderr */
    struct child child;
    struct attendant attendant;
    ev_prepare turn_end;
    ev_signal signals[3];
    ev_timer retry_timer; /* active while the recorder is behind */
    ev_timer idle_timer;  /* active while the log is worth a checkpoint and the pipes may be busy */
    int64_t idle_pages;   /* in the log at the end of the last turn */
    ev_timer log_timer;   /* active while lines for the log directory wait */
    ev_timer linger_timer; /* the client's last chance to read its answers */
    bool holding;          /* the recorder lets nothing through */
    bool finishing;        /* the server is gone; last answers are on their way */
    const char *end_reason;
    int exit_status;
};

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

/* ---- the end -------------------------------------------------------------------------------- */

static void note_reason(struct proxy *p, const char *reason)
{
    if (p->end_reason == NULL)
        p->end_reason = reason;
}

/* The server is to end: its stdin closes as soon as everything for it is written, or at once. */
static void stop_server(struct proxy *p)
{
    relay_stop_reading(&p->relay[ROW_C2S]);
    if (outbox_bytes(&p->traffic.out[ROW_C2S]) == 0)
        relay_close_out(&p->relay[ROW_C2S]);
    child_stop(&p->child);
}

static void finish(struct proxy *p)
{
    ev_break(p->loop, EVBREAK_ALL);
}

static void finish_when_written(struct proxy *p)
{
    if (p->finishing && !p->holding &&
        (outbox_bytes(&p->traffic.out[ROW_S2C]) == 0 || p->relay[ROW_S2C].out.fd < 0))
        finish(p);
}

static void on_linger(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    if (outbox_bytes(&p->traffic.out[ROW_S2C]) > 0)
        log_warn("the client did not read its last answers: bytes=%zu",
                 outbox_bytes(&p->traffic.out[ROW_S2C]));
    finish(p);
}

static void on_end_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    log_info("ending: signal=%d", w->signum);
    note_reason(p, "signal");
    stop_server(p);
}

/* ---- the server's process ------------------------------------------------------------------- */

static void on_server_exit(struct child *c)
{
    struct proxy *p = c->data;
    char detail[64];
    int status = child_exit_status(c);
    if (status >= 128)
        snprintf(detail, sizeof detail, "{\"signal\":%d}", status - 128);
    else
        snprintf(detail, sizeof detail, "{\"status\":%d}", status);
    recorder_event(p->recorder, "exit", detail);
    relay_close_out(&p->relay[ROW_C2S]);
    outbox_break(&p->traffic.out[ROW_C2S]);
    p->exit_status = status;
}

static void on_server_kill(struct child *c, int sig)
{
    struct proxy *p = c->data;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"signal\":%d}", sig);
    recorder_event(p->recorder, "kill", detail);
    log_warn("the server did not end, sent signal %d: server=%s", sig, p->cfg->name);
}

static void on_server_gone(struct child *c)
{
    struct proxy *p = c->data;
    struct buf why = {0};
    int status = child_exit_status(c);
    size_t open = p->traffic.open[ROW_C2S].open.count;
    if (status >= 128)
        buf_printf(&why, "the server %s was ended by signal %d before it answered", p->cfg->name,
                   status - 128);
    else
        buf_printf(&why, "the server %s exited with status %d before it answered", p->cfg->name,
                   status);
    if (p->end_reason == NULL && (status != 0 || open > 0))
        log_warn("the server ended: server=%s status=%d open_requests=%zu", p->cfg->name, status,
                 open);
    note_reason(p, "server-exited");
    traffic_server_gone(&p->traffic, "server-exited", buf_str(&why));
    buf_close(&why);
    relay_stop_reading(&p->relay[ROW_C2S]);
    relay_stop_reading(&p->relay[ROW_S2C]);
    p->finishing = true; /* the end of this turn commits, releases and writes */
    ev_timer_set(&p->linger_timer, (double)p->cfg->grace_us / 2e6, 0.);
    ev_timer_start(p->loop, &p->linger_timer);
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

static void on_client_ended(struct relay *r)
{
    struct proxy *p = r->data;
    note_reason(p, "client-closed");
    child_stop(&p->child); /* its stdin closes at the end of the turn, when all is written */
}

static void on_client_broken(struct relay *r)
{
    struct proxy *p = r->data;
    log_info("the client reads no more");
    note_reason(p, "client-closed");
    stop_server(p);
}

static void on_server_ended(struct relay *r)
{
    struct proxy *p = r->data;
    if (p->child.pid > 0 && p->end_reason == NULL) {
        log_warn("the server closed its stdout: server=%s", p->cfg->name);
        p->end_reason = "server-closed";
        traffic_server_gone(&p->traffic, "server-closed",
                            "the server closed its output before it answered");
    }
    stop_server(p);
    child_output_ended(&p->child);
}

static void on_server_broken(struct relay *r)
{
    struct proxy *p = r->data;
    if (p->child.pid > 0)
        log_info("the server closed its stdin: server=%s", p->cfg->name);
}

static const struct relay_calls client_calls = {
    .line = on_line,
    .too_long = on_too_long,
    .last_line = on_last_line,
    .ended = on_client_ended,
    .broken = on_server_broken, /* the client's relay writes to the server */
};

static const struct relay_calls server_calls = {
    .line = on_line,
    .too_long = on_too_long,
    .last_line = on_last_line,
    .ended = on_server_ended,
    .broken = on_client_broken,
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

/* ---- the end of a turn ---------------------------------------------------------------------- */

static void hold(struct proxy *p, bool on)
{
    p->holding = on;
    relay_hold(&p->relay[ROW_C2S], on || traffic_must_wait(&p->traffic));
    relay_hold(&p->relay[ROW_S2C], on);
    relay_hold(&p->err, on);
}

static void give_up_recording(struct proxy *p)
{
    log_error("cannot record, ending the session: --on-record-error=stop");
    p->end_reason = "record-error";
    p->exit_status = PROXY_FAILED;
    /* Nothing of what is staged was recorded, so nothing of it goes on; the client is told why. */
    outbox_break(&p->traffic.out[ROW_C2S]);
    traffic_drop_unrecorded(&p->traffic, "record-error",
                            "the interposer cannot record and was told to stop serving then");
    relay_flush(&p->relay[ROW_S2C]);
    finish(p);
}

static void checkpoint(struct proxy *p, int64_t pages)
{
    if (!attendant_checkpoint(&p->attendant) && pages >= CHECKPOINT_OWN_PAGES)
        recorder_checkpoint(p->recorder);
}

/* A burst of messages is over before the disk is troubled, unless it is a long one. */
static void checkpoint_when_due(struct proxy *p)
{
    int64_t pages = recorder_wal_pages(p->recorder);
    if (pages >= CHECKPOINT_PAGES)
        checkpoint(p, pages);
    else if (pages >= CHECKPOINT_IDLE_PAGES && pages != p->idle_pages)
        ev_timer_again(p->loop, &p->idle_timer);
    p->idle_pages = pages;
}

static void on_idle(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)revents;
    struct proxy *p = w->data;
    ev_timer_stop(loop, w);
    checkpoint(p, p->idle_pages);
}

static void write_log(struct proxy *p)
{
    ev_timer_stop(p->loop, &p->log_timer);
    actions_flush(&p->traffic.actions, recorder_dir_fd(p->recorder));
}

/* Log lines are no part of the promise to record before forwarding: they leave a moment later, many in
 * one write, and off the way of a message. */
static void write_log_when_due(struct proxy *p)
{
    if (actions_due(&p->traffic.actions)) {
        write_log(p);
    } else if (p->traffic.actions.lines.n > 0 && !ev_is_active(&p->log_timer)) {
        ev_timer_set(&p->log_timer, ACTIONS_DELAY_US / 1e6, 0.);
        ev_timer_start(p->loop, &p->log_timer);
    }
}

static void on_log_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    write_log(w->data);
}

/* Commit what the turn has read; then, and only then, let it go on. */
static void on_turn_end(struct ev_loop *loop, ev_prepare *w, int revents)
{
    (void)revents;
    struct proxy *p = w->data;
    enum recorder_result result = recorder_commit(p->recorder);
    if (result == RECORDER_FAILED) {
        give_up_recording(p);
        return;
    }
    hold(p, result == RECORDER_HOLD);
    if (recorder_behind(p->recorder) && !ev_is_active(&p->retry_timer)) {
        ev_timer_set(&p->retry_timer, RECORDER_RETRY_US / 1e6, 0.);
        ev_timer_start(loop, &p->retry_timer);
    }
    if (!p->holding) {
        for (int i = 0; i < 2; i++) {
            outbox_release(&p->traffic.out[i]);
            relay_flush(&p->relay[i]);
        }
        write_log_when_due(p);
        checkpoint_when_due(p);
        if (p->relay[ROW_C2S].ended && outbox_bytes(&p->traffic.out[ROW_C2S]) == 0)
            relay_close_out(&p->relay[ROW_C2S]);
    }
    finish_when_written(p);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w, (void)revents; /* the end of this turn tries again */
}

/* ---- the beginning -------------------------------------------------------------------------- */

static void open_watchers(struct proxy *p)
{
    ev_prepare_init(&p->turn_end, on_turn_end);
    ev_init(&p->retry_timer, on_retry);
    ev_timer_init(&p->idle_timer, on_idle, 0., IDLE_S);
    ev_init(&p->log_timer, on_log_timer);
    ev_init(&p->linger_timer, on_linger);
    p->idle_timer.data = p->log_timer.data = p->turn_end.data = p->retry_timer.data =
        p->linger_timer.data = p;
    ev_prepare_start(p->loop, &p->turn_end);
    for (size_t i = 0; i < MI_COUNT(end_signals); i++) {
        struct sigaction now;
        ev_signal_init(&p->signals[i], on_end_signal, end_signals[i]);
        p->signals[i].data = p;
        if (sigaction(end_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue; /* nohup */
        ev_signal_start(p->loop, &p->signals[i]);
    }
}

/* Our stdin and stdout become private streams; descriptors 0 and 1 become /dev/null, so that nothing
 * but the relay can ever write to the client, and its pipes close when we close them. */
static int take_stdio(struct stream *in, struct stream *out)
{
    if (stream_open(in, STDIN_FILENO, false) < 0 || stream_open(out, STDOUT_FILENO, true) < 0) {
        log_error("cannot use stdin and stdout: %s", strerror(errno));
        return MI_EIO;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) {
        log_error("cannot open /dev/null: %s", strerror(errno));
        return MI_EIO;
    }
    if (null > STDERR_FILENO)
        close(null);
    return 0;
}

/* The server starts before the vault is opened, so that both take their time at once. */
static int start_server(struct proxy *p, struct child_pipes *ret)
{
    if (child_start(&p->child, p->cfg->argv, ret) < 0) {
        int e = errno;
        const char *path = getenv("PATH");
        if (e == ENOENT)
            log_error(
                "cannot find the server '%s'; give its full path, or add its directory to PATH=%s",
                p->cfg->argv[0], path != NULL ? path : "");
        else
            log_error("cannot start the server '%s': %s", p->cfg->argv[0], strerror(e));
        p->end_reason = "server-failed";
        p->exit_status = e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
        return MI_EIO;
    }
    attendant_guard(&p->attendant, p->child.group);
    return 0;
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
        .sync_full = p->cfg->sync_full,
        .stop_on_error = p->cfg->stop_on_record_error,
    };
    int st = command.failed ? MI_ENOMEM : recorder_open(&p->recorder, &rc);
    if (st == MI_ENOMEM)
        log_error("out of memory");
    buf_close(&command);
    return st;
}

static void note_spawn(struct proxy *p)
{
    char detail[64];
    snprintf(detail, sizeof detail, "{\"pid\":%d}", (int)p->child.pid);
    recorder_event(p->recorder, "spawn", detail);
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
    note_spawn(p);
    relay_write_to(&p->relay[ROW_C2S], stream_own(pipes.in));
    relay_read_from(&p->relay[ROW_S2C], stream_own(pipes.out));
    relay_read_from(&p->err, stream_own(pipes.err));
    relay_write_to(&p->relay[ROW_S2C], out);
    relay_read_from(&p->relay[ROW_C2S], in);
    ev_run(p->loop, 0);
    /* The client sees the end of its stream before we tidy up. */
    for (int i = 0; i < 2; i++)
        relay_close(&p->relay[i]);
}

static void open_parts(struct proxy *p)
{
    size_t max = p->cfg->max_message;
    traffic_open(&p->traffic, p->recorder, p->cfg->name, p->cfg->validate, max);
    voice_open(&p->voice, p->loop);
    relay_open(&p->relay[ROW_C2S], p->loop, &client_calls, p, &p->traffic.out[ROW_C2S], max);
    relay_open(&p->relay[ROW_S2C], p->loop, &server_calls, p, &p->traffic.out[ROW_S2C], max);
    relay_open(&p->err, p->loop, &stderr_calls, p, &p->voice.box, STDERR_LINE_MAX);
}

static void open_child(struct proxy *p, const sigset_t *mask)
{
    child_open(&p->child, p->loop, p->cfg->grace_us, mask);
    p->child.data = p;
    p->child.on_exit = on_server_exit;
    p->child.on_kill = on_server_kill;
    p->child.on_gone = on_server_gone;
}

static void end_server(struct proxy *p)
{
    child_sweep(&p->child, p->cfg->grace_us / 2, p->attendant.pid);
    attendant_guard(&p->attendant, 0);
}

int proxy_run(const struct proxy_config *cfg)
{
    struct proxy p = {.cfg = cfg, .exit_status = PROXY_FAILED};
    struct stream in, out;
    struct child_pipes pipes;
    sigset_t none, inherited;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, not the end */
    sigemptyset(
        &none); /* a client may have blocked what we must hear; its server gets its mask back */
    sigprocmask(SIG_SETMASK, &none, &inherited);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    attendant_open(&p.attendant, cfg->vault); /* before there is anything that it would inherit */
    p.loop = ev_default_loop(EVFLAG_AUTO);
    if (p.loop == NULL) {
        log_error("cannot make an event loop: %s", strerror(errno));
        return PROXY_FAILED;
    }
    if (take_stdio(&in, &out) < 0)
        return PROXY_FAILED;
    open_watchers(&p); /* a signal that comes from here on ends the server as well as us */
    open_child(&p, &inherited);
    bool started = start_server(&p, &pipes) == 0;
    if (open_recorder(&p) < 0) {
        end_server(&p);
        attendant_close(&p.attendant);
        return PROXY_FAILED;
    }
    open_parts(&p);
    if (started)
        run(&p, in, out, pipes);
    end_server(&p);
    close_session(&p);
    attendant_close(&p.attendant);
    relay_close(&p.err);
    voice_close(&p.voice);
    traffic_close(&p.traffic);
    return p.exit_status;
}
