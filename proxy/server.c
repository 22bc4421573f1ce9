/* server.c - the life of the server's process: its start, its end, and what follows from that: another one, or
 * the end of the session (mcp-wire.md 6.3). */
#include "proxy/proxy_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/message.h"
#include "wire/json_text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define BACKOFF_US 100000 /* before the first restart; doubled for each more within the minute */
#define BACKOFF_MAX_US 10000000
#define EXIT_FOLLOWS_S 0.1 /* the end of its output is mostly the end of the process */
#define GREET_US 30000000  /* for the answer to our initialize, when no deadline says otherwise */

static const char *server_name_of(const struct proxy *p)
{
    return p->cfg->name;
}

/* ---- starting ------------------------------------------------------------------------------- */

static void say_not_started(const char *server, int e)
{
    const char *path = getenv("PATH");
    if (e == ENOENT && strchr(server, '/') == NULL)
        log_error(
            "cannot find the server '%s'; give its full path, or add its directory to PATH=%s",
            server, path != NULL ? path : "");
    else if (e == ENOENT)
        log_error("cannot find the server '%s', or the interpreter that its first line names; "
                  "correct the path",
                  server);
    else
        log_error("cannot start the server '%s': %s%s", server, strerror(e),
                  e == EACCES || e == ENOEXEC ? "; name an executable file" : "");
}

/* The server starts before the vault is opened, so that both take their time at once. */
int server_start(struct proxy *p, struct child_pipes *ret)
{
    if (child_start(&p->child, p->cfg->argv, ret) < 0) {
        int e = errno;
        say_not_started(p->cfg->argv[0], e);
        p->end_reason = "server-failed";
        p->exit_status = e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
        return MI_EIO;
    }
    attendant_guard(&p->attendant, p->child.group);
    return 0;
}

static void note_spawn(struct proxy *p)
{
    char detail[64];
    snprintf(detail, sizeof detail, "{\"pid\":%d}", (int)p->child.pid);
    recorder_event(p->recorder, "spawn", detail);
    if (p->running.pid == 0)
        running_self(&p->running); /* once: whoever started us may be gone later */
    running_server(&p->running, p->child.pid, p->child.group);
    recorder_running(p->recorder, &p->running);
}

void server_connect(struct proxy *p, struct child_pipes pipes)
{
    note_spawn(p);
    relay_write_to(&p->relay[ROW_C2S], stream_own(pipes.in));
    relay_read_from(&p->relay[ROW_S2C], stream_own(pipes.out));
    relay_read_from(&p->err, stream_own(pipes.err));
}

/* ---- the end of the session ----------------------------------------------------------------- */

static void say_how_it_ended(const struct proxy *p, struct buf *b)
{
    int status = child_exit_status(&p->child);
    if (p->hung)
        buf_printf(b, "the server %s was ended because it hung", server_name_of(p));
    else if (p->closed_early)
        buf_printf(b, "the server %s closed its output before it answered", server_name_of(p));
    else if (status >= 128)
        buf_printf(b, "the server %s was ended by signal %d before it answered", server_name_of(p),
                   status - 128);
    else
        buf_printf(b, "the server %s exited with status %d before it answered", server_name_of(p),
                   status);
}

static const char *cause_of_end(const struct proxy *p)
{
    return p->unlike         ? "restart-changed"
           : p->hung         ? "server-killed"
           : p->closed_early ? "server-closed"
                             : "server-exited";
}

/* No process follows: what is open is answered, and we end as the server did. */
static void end_session(struct proxy *p, const char *reason)
{
    struct buf why = {0};
    bool by_itself = p->end_reason == NULL;
    proxy_reason(p, reason);
    relay_read_rest(&p->relay[ROW_C2S]); /* what the client has asked by now is answered as well */
    size_t open = p->traffic.open[ROW_C2S].open.count;
    say_how_it_ended(p, &why);
    if (by_itself && (p->exit_status != 0 || open > 0))
        log_warn("the server ended: server=%s status=%d open_requests=%zu", server_name_of(p),
                 p->exit_status, open);
    outbox_break(&p->traffic.out[ROW_C2S]);
    traffic_server_gone(&p->traffic, cause_of_end(p),
                        why.failed ? "the server ended" : buf_str(&why));
    buf_close(&why);
    relay_stop_reading(&p->relay[ROW_C2S]);
    relay_stop_reading(&p->relay[ROW_S2C]);
    turn_linger(p);
}

static bool is_between(struct proxy *p)
{
    return ev_is_active(&p->start_timer);
}

void server_end_input(struct proxy *p)
{
    if (is_between(p)) {
        ev_timer_stop(p->loop, &p->start_timer);
        end_session(p, "client-closed");
    }
    child_stop(&p->child);
}

void server_stop(struct proxy *p)
{
    relay_stop_reading(&p->relay[ROW_C2S]);
    if (outbox_bytes(&p->traffic.out[ROW_C2S]) == 0)
        relay_close_out(&p->relay[ROW_C2S]);
    server_end_input(p);
}

/* ---- another process ------------------------------------------------------------------------ */

/* Restarts within the last minute. */
static unsigned recent_restarts(const struct proxy *p, int64_t now_us)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->restarts && i < PROXY_RESTARTS_MAX; i++)
        n += now_us - p->restarts_us[i] < PROXY_RESTARTS_US;
    return n;
}

static bool may_restart(const struct proxy *p)
{
    return p->end_reason == NULL && !p->unlike &&
           recent_restarts(p, clock_mono_us()) < p->cfg->restarts;
}

/* A request that the new process gets: the old one never had it whole, or asking twice changes nothing. */
static bool goes_again(const struct proxy *p, const struct pending *q, bool had)
{
    if (!had)
        return q->text.p != NULL;
    return (!p->hung || json_key_is(q->method, "subscriptions/listen")) &&
           handshake_repeats(&p->traffic.handshake, q);
}

/* Nothing more goes to this process, which is being ended: what comes from now on is for the next. */
static void leave_process(struct proxy *p)
{
    ev_timer_stop(p->loop, &p->greet_timer);
    ev_timer_stop(p->loop, &p->broken_timer);
    relay_close_out(&p->relay[ROW_C2S]);
    if (may_restart(p))
        outbox_mend(&p->traffic.out[ROW_C2S]);
    timers_away(&p->traffic.timers, true, recorder_now_us(p->recorder));
}

static void part_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf why = {0};
    uint64_t taken = outbox_taken(&t->out[ROW_C2S]), unread = p->relay[ROW_C2S].unread;
    uint64_t read = taken > unread ? taken - unread : 0;
    say_how_it_ended(p, &why);
    for (struct pending *q = t->open[ROW_C2S].open.oldest, *next; q != NULL; q = next) {
        size_t n = why.n;
        bool had = q->written_us != 0 && q->written_at <= read;
        next = q->next;
        q->sent_again = goes_again(p, q, had);
        if (q->sent_again) {
            q->written_at = PENDING_NOWHERE; /* until it is sent again */
            continue;
        }
        buf_adds(&why, had ? "; this call may have run, so it is not made again"
                           : "; this call did not reach it");
        message_answer_for_server(t, q, cause_of_end(p),
                                  why.failed ? "the server ended" : buf_str(&why));
        why.n = n;
    }
    buf_close(&why);
}

/* What the old process asked the client is of no use any more. */
static void withdraw_questions(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf b = {0};
    for (struct pending *q = t->open[ROW_S2C].open.oldest, *next; q != NULL; q = next) {
        next = q->next;
        buf_clear(&b);
        buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                     "cancelled\",\"params\":{\"requestId\":");
        buf_slice_add(&b, q->id);
        buf_adds(&b, ",\"reason\":\"the server was started again\"}}");
        q->dead = true;
        if (!b.failed)
            (void)message_own(t, ROW_S2C, &t->out[ROW_S2C], buf_slice(&b));
        message_give_up(t, ROW_S2C, q);
    }
    buf_close(&b);
}

static void start_again_later(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    int64_t now = clock_mono_us();
    unsigned recent = recent_restarts(p, now);
    int64_t delay = BACKOFF_US << (recent < 7 ? recent : 7);
    part_requests(p);
    withdraw_questions(p);
    outbox_close(&t->out[ROW_C2S]); /* what the old process did not read is not for the new one */
    outbox_open(&t->out[ROW_C2S]);
    outbox_close(&p->greeting);
    outbox_open(&p->greeting);
    timers_restart(&t->timers, t->open[ROW_C2S].open.oldest, recorder_now_us(p->recorder));
    relay_stop_reading(&p->relay[ROW_S2C]);
    relay_stop_reading(&p->err);
    relay_close_out(&p->relay[ROW_C2S]);
    child_end_rest(&p->child, p->attendant.pid);
    p->restarts_us[p->restarts++ % PROXY_RESTARTS_MAX] = now;
    if (delay > BACKOFF_MAX_US)
        delay = BACKOFF_MAX_US;
    log_warn("the server is started again: server=%s status=%d attempt=%u delay_ms=%lld",
             server_name_of(p), p->exit_status, recent + 1, (long long)(delay / 1000));
    char detail[96];
    snprintf(detail, sizeof detail, "{\"attempt\":%u,\"delay_ms\":%lld}", recent + 1,
             (long long)(delay / 1000));
    recorder_event(p->recorder, "restart", detail);
    p->hung = p->closed_early = false;
    ev_timer_set(&p->start_timer, (double)delay / 1e6, 0.);
    ev_timer_start(p->loop, &p->start_timer);
}

static void send_again(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf b = {0};
    for (struct pending *q = t->open[ROW_C2S].open.oldest; q != NULL; q = q->next) {
        if (!q->sent_again || q->written_us != 0)
            continue;
        buf_clear(&b);
        buf_slice_add(&b, q->text);
        buf_addc(&b, '\n');
        if (b.failed || outbox_add_copy(&p->greeting, buf_slice(&b)) < 0) {
            outbox_break(&p->greeting);
            break;
        }
        q->written_at = 0; /* its clock begins with those behind it */
        char detail[64];
        snprintf(detail, sizeof detail, "{\"seq\":%llu}", (unsigned long long)q->request_seq);
        recorder_event(p->recorder, "resent", detail);
        q->sent_again = json_key_is(q->method, "subscriptions/listen");
    }
    buf_close(&b);
}

/* The new process knows what the old one did: now what waits may go to it. */
static void greeted(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf b = {0};
    ev_timer_stop(p->loop, &p->greet_timer);
    t->handshake.initialize_id = 0;
    if (t->handshake.initialize.n > 0) {
        for (size_t at = 0; buf_clear(&b), handshake_next(&t->handshake, &at, &b);)
            (void)message_own(t, ROW_C2S, &p->greeting, buf_slice(&b));
        for (size_t at = 0; buf_clear(&b), handshake_hint(&t->handshake, &at, &b);)
            (void)message_own(t, ROW_S2C, &t->out[ROW_S2C], buf_slice(&b));
    }
    send_again(p);
    buf_close(&b);
    relay_go_on(&p->relay[ROW_C2S]);
    timers_away(&t->timers, false, recorder_now_us(p->recorder));
}

static void greet(struct proxy *p)
{
    struct buf b = {0};
    if (!handshake_first(&p->traffic.handshake, &b)) {
        greeted(p);
        return;
    }
    int64_t us = deadline_of(p->cfg->deadlines, 0, slice_of("initialize"), (struct slice){0});
    (void)message_own(&p->traffic, ROW_C2S, &p->greeting, buf_slice(&b));
    ev_timer_set(&p->greet_timer, (double)(us > 0 ? us : GREET_US) / 1e6, 0.);
    ev_timer_start(p->loop, &p->greet_timer);
    buf_close(&b);
}

static void on_start_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    struct child_pipes pipes;
    if (server_start(p, &pipes) < 0) {
        end_session(p, "server-failed");
        return;
    }
    server_connect(p, pipes);
    relay_go_ahead(&p->relay[ROW_C2S], &p->greeting);
    greet(p);
}

void server_own_answer(void *owner, const struct rpc *m)
{
    struct proxy *p = owner;
    struct buf why = {0};
    if (!handshake_is_answer(&p->traffic.handshake, m))
        return;
    if (handshake_same(&p->traffic.handshake, m, &why)) {
        greeted(p);
    } else {
        log_error("the session ends: %s: server=%s", buf_str(&why), server_name_of(p));
        p->traffic.handshake.initialize_id = 0;
        ev_timer_stop(p->loop, &p->greet_timer);
        recorder_event(p->recorder, "restart-changed", NULL);
        p->unlike = true;
        p->exit_status = PROXY_FAILED;
        child_kill(&p->child);
    }
    buf_close(&why);
}

static void on_greet_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    log_warn("the new process does not answer initialize: server=%s", server_name_of(p));
    p->hung = true;
    leave_process(p);
    child_kill(&p->child);
}

/* ---- what happens to the process ------------------------------------------------------------ */

bool server_hung(void *owner, const struct pending *q, int64_t waited_us, struct buf *why)
{
    struct proxy *p = owner;
    if (!p->cfg->kill_hung || p->child.state != CHILD_RUNNING || p->end_reason != NULL)
        return false;
    trouble_hang(&p->trouble, p->child.pid, p->child.group, p->relay[ROW_C2S].out.fd, q, waited_us,
                 may_restart(p), why);
    log_error("the server hangs and is ended: server=%s pid=%d", server_name_of(p),
              (int)p->child.pid);
    p->hung = true;
    leave_process(p);
    child_kill(&p->child);
    return true;
}

static void on_exit_of_server(struct child *c)
{
    struct proxy *p = c->data;
    char detail[64];
    int status = child_exit_status(c);
    if (status >= 128)
        snprintf(detail, sizeof detail, "{\"signal\":%d}", status - 128);
    else
        snprintf(detail, sizeof detail, "{\"status\":%d}", status);
    recorder_event(p->recorder, "exit", detail);
    if (!p->unlike)
        p->exit_status = p->hung ? PROXY_HUNG : status;
    ev_timer_stop(p->loop, &p->closed_timer);
    if (status == 0 && c->state == CHILD_RUNNING && !c->output_ended)
        return; /* a launcher that has left the real server behind, or the end of its output follows */
    leave_process(p);
    if (!may_restart(p))
        outbox_break(&p->traffic.out[ROW_C2S]);
}

static void on_kill_of_server(struct child *c, int sig)
{
    struct proxy *p = c->data;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"signal\":%d}", sig);
    recorder_event(p->recorder, "kill", detail);
    log_warn("sent signal %d to the server, which had not ended: server=%s", sig,
             server_name_of(p));
}

static void on_server_gone(struct child *c)
{
    struct proxy *p = c->data;
    bool ended_well = child_exit_status(c) == 0 && !p->hung && !p->closed_early && !p->unlike &&
                      p->traffic.open[ROW_C2S].open.count == 0;
    leave_process(p);
    if (!ended_well && may_restart(p)) {
        start_again_later(p);
        return;
    }
    if (!ended_well && p->end_reason == NULL && !p->unlike && p->cfg->restarts > 0) {
        struct buf what = {0};
        say_how_it_ended(p, &what);
        buf_printf(&what, ", and was started again %u times within a minute before",
                   recent_restarts(p, clock_mono_us()));
        trouble_crash_loop(&p->trouble, buf_str(&what));
        buf_close(&what);
    }
    end_session(p, p->unlike         ? "restart-changed"
                   : p->hung         ? "server-hung"
                   : p->closed_early ? "server-closed"
                                     : "server-exited");
}

/* Its output has ended, and no exit followed: a server that lives and cannot be heard. */
static void on_closed(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    if (p->child.pid == 0 || p->end_reason != NULL)
        return;
    log_warn("the server closed its stdout: server=%s", server_name_of(p));
    p->closed_early = true;
    leave_process(p);
    child_kill(&p->child);
}

/* The end of its stdin is mostly the end of the process: what the client says now is for the next one. */
void server_input_broken(struct proxy *p)
{
    if (p->child.pid == 0)
        return;
    log_info("the server closed its stdin: server=%s", server_name_of(p));
    if (!may_restart(p) || p->child.state != CHILD_RUNNING)
        return;
    relay_hold(&p->relay[ROW_C2S], true);
    ev_timer_set(&p->broken_timer, EXIT_FOLLOWS_S, 0.);
    ev_timer_start(p->loop, &p->broken_timer);
}

static void on_broken(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w,
        (void)revents; /* it lives: the end of this turn lets the client be read again */
}

void server_output_ended(struct proxy *p)
{
    if (p->child.pid > 0 && p->end_reason == NULL) {
        ev_timer_set(&p->closed_timer, EXIT_FOLLOWS_S, 0.);
        ev_timer_start(p->loop, &p->closed_timer);
    }
    child_output_ended(&p->child);
}

void server_open(struct proxy *p, const sigset_t *mask)
{
    child_open(&p->child, p->loop, p->cfg->grace_us, mask);
    p->child.data = p;
    p->child.on_exit = on_exit_of_server;
    p->child.on_kill = on_kill_of_server;
    p->child.on_gone = on_server_gone;
    ev_init(&p->start_timer, on_start_again);
    ev_init(&p->greet_timer, on_greet_deadline);
    ev_init(&p->closed_timer, on_closed);
    ev_init(&p->broken_timer, on_broken);
    p->start_timer.data = p->greet_timer.data = p->closed_timer.data = p;
}
