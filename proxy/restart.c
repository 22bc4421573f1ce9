/* restart.c - another process for a server that crashed or was ended: when it is started, what it is told first,
 * which requests it gets, and whether it is the same server (mcp-wire.md 6.3). */
#include "proxy/proxy_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/message.h"
#include "wire/json_text.h"

#include <stdio.h>

#define BACKOFF_US 100000 /* before the first restart; doubled for each more within the minute */
#define BACKOFF_MAX_US 10000000
#define GREET_US 30000000 /* for the answer to our initialize, when no deadline says otherwise */

unsigned restart_recent(const struct proxy *p, int64_t now_us)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->restarts && i < PROXY_RESTARTS_MAX; i++)
        n += now_us - p->restarts_us[i] < PROXY_RESTARTS_US;
    return n;
}

bool restart_allowed(const struct proxy *p)
{
    return p->end_reason == NULL && !p->unlike && !p->traffic.handshake.lost &&
           !p->traffic.leaving && restart_recent(p, clock_mono_us()) < p->cfg->restarts;
}

/* ---- what the old process leaves ------------------------------------------------------------ */

/* A request that the new process gets: the old one never had it whole, or asking twice changes nothing. */
static bool goes_again(const struct proxy *p, const struct pending *q, bool had)
{
    if (q->called_off)
        return false;
    if (!had)
        return q->text.p != NULL;
    return (!p->hung || (q->flags & METHOD_LISTENS)) && handshake_repeats(&p->traffic.handshake, q);
}

static void part_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf why = {0};
    uint64_t read = server_read(p);
    server_say_end(p, &why);
    for (struct pending *q = t->open[ROW_C2S].open.oldest, *next; q != NULL; q = next) {
        size_t n = why.n;
        bool had = traffic_had(q, read);
        next = q->next;
        q->sent_again = goes_again(p, q, had);
        if (q->sent_again) {
            q->written_at = PENDING_NOWHERE; /* until it is sent again */
            continue;
        }
        buf_adds(&why, had ? "; this call may have run, so it is not made again"
                           : "; this call did not reach it");
        message_answer_for_server(t, q, server_end_cause(p),
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

void restart_later(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    int64_t now = clock_mono_us();
    unsigned recent = restart_recent(p, now);
    int64_t delay = BACKOFF_US << (recent < 7 ? recent : 7);
    part_requests(p);
    withdraw_questions(p);
    outbox_close(&t->out[ROW_C2S]); /* what the old process did not read is not for the new one */
    outbox_open(&t->out[ROW_C2S]);
    outbox_close(&p->greeting);
    outbox_open(&p->greeting);
    tools_forget(&t->tools); /* the new process may have others */
    timers_restart(&t->timers, t->open[ROW_C2S].open.oldest, recorder_now_us(p->recorder));
    relay_stop_reading(&p->relay[ROW_S2C]);
    relay_stop_reading(&p->err);
    relay_close_out(&p->relay[ROW_C2S]);
    child_end_rest(&p->child, p->attendant.pid);
    p->restarts_us[p->restarts++ % PROXY_RESTARTS_MAX] = now;
    if (delay > BACKOFF_MAX_US)
        delay = BACKOFF_MAX_US;
    log_warn("the server is started again: server=%s status=%d attempt=%u delay_ms=%lld",
             p->cfg->name, p->exit_status, recent + 1, (long long)(delay / 1000));
    char detail[96];
    snprintf(detail, sizeof detail, "{\"attempt\":%u,\"delay_ms\":%lld}", recent + 1,
             (long long)(delay / 1000));
    recorder_event(p->recorder, "restart", detail);
    p->hung = p->closed_early = false;
    ev_timer_set(&p->start_timer, (double)delay / 1e6, 0.);
    ev_timer_start(p->loop, &p->start_timer);
}

/* ---- what the new one is told ---------------------------------------------------------------- */

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
        q->sent_again = (q->flags & METHOD_LISTENS) != 0;
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
    if (t->handshake.forgot)
        log_warn(
            "the new process is not told all that the client had set, it was too much: server=%s",
            p->cfg->name);
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
        server_end_session(p, "server-failed");
        return;
    }
    server_connect(p, pipes);
    relay_go_ahead(&p->relay[ROW_C2S], &p->greeting);
    greet(p);
}

void restart_own_answer(void *owner, const struct rpc *m)
{
    struct proxy *p = owner;
    struct buf why = {0};
    if (!handshake_is_answer(&p->traffic.handshake, m))
        return;
    if (handshake_same(&p->traffic.handshake, m, &why)) {
        greeted(p);
    } else {
        log_error("the session ends: %s: server=%s", buf_str(&why), p->cfg->name);
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
    log_warn("the new process does not answer initialize: server=%s", p->cfg->name);
    p->hung = true;
    server_leave(p);
    child_kill(&p->child);
}

void restart_open(struct proxy *p)
{
    ev_init(&p->start_timer, on_start_again);
    ev_init(&p->greet_timer, on_greet_deadline);
    p->start_timer.data = p->greet_timer.data = p;
}
