/* turn.c - the end of a loop turn: commit what it has read, let it go on, and what comes after. */
#include "proxy/proxy_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/arguments.h"

#define IDLE_S 0.5                 /* without a commit for so long, the pipes are idle */
#define CHECKPOINT_IDLE_PAGES 1000 /* a write-ahead log worth a checkpoint when they are: 4 MiB */
#define CHECKPOINT_PAGES 16384     /* one that waits for no idle moment: 64 MiB */
#define CHECKPOINT_OWN_PAGES 65536 /* one that we checkpoint ourselves, if there is no attendant */
/* The largest block that is kept for the next large message, and for how long. */
#define KEEP_MAX ((size_t)32 << 20)
#define KEEP_S 2.

static void finish_when_written(struct proxy *p)
{
    if (p->finishing && !p->holding &&
        (outbox_bytes(&p->traffic.out[ROW_S2C]) == 0 || p->relay[ROW_S2C].out.fd < 0))
        proxy_finish(p);
}

static void on_linger(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    if (outbox_bytes(&p->traffic.out[ROW_S2C]) > 0)
        log_warn("the client did not read its last answers: bytes=%zu",
                 outbox_bytes(&p->traffic.out[ROW_S2C]));
    proxy_finish(p);
}

static void hold(struct proxy *p, bool on)
{
    p->holding = on;
    relay_hold(&p->relay[ROW_C2S],
               on || traffic_must_wait(&p->traffic) || ev_is_active(&p->broken_timer));
    relay_hold(&p->relay[ROW_S2C], on);
    relay_hold(&p->err, on);
}

static void give_up_recording(struct proxy *p)
{
    log_error("cannot record, ending the session: --on-record-error=stop");
    p->end_reason = "record-error";
    trouble_record_error(&p->trouble,
                         "Messages could not be recorded, and --on-record-error is stop.");
    p->exit_status = PROXY_FAILED;
    /* Nothing of what is staged was recorded, so nothing of it goes on; the client is told why. */
    outbox_break(&p->traffic.out[ROW_C2S]);
    traffic_drop_unrecorded(&p->traffic, "record-error",
                            "the interposer cannot record and was told to stop serving then");
    relay_flush(&p->relay[ROW_S2C]);
    proxy_finish(p);
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

/* A large message leaves two things behind: its body, which the disk may have, and the memory that it was read
 * into, which the next one wants, if there is one soon. */
static void tidy_up_large(struct proxy *p)
{
    int64_t from, to;
    if (recorder_new_bodies(p->recorder, &from, &to))
        attendant_write_out(&p->attendant, recorder_uid(p->recorder), from, to);
    if (chunk_kept() && !ev_is_active(&p->keep_timer)) {
        ev_timer_set(&p->keep_timer, KEEP_S, 0.);
        ev_timer_start(p->loop, &p->keep_timer);
    }
}

static void on_kept(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w, (void)revents;
    chunk_trim();
}

/* From the first commit that kept the lock, whether more follow or not: other processes' checkpoints get their
 * turn in a long burst as well. */
static void rest_when_due(struct proxy *p)
{
    if (!recorder_keeps_lock(p->recorder) || ev_is_active(&p->rest_timer))
        return;
    ev_timer_set(&p->rest_timer, RECORDER_REST_US / 1e6, 0.);
    ev_timer_start(p->loop, &p->rest_timer);
}

static void on_rest(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    recorder_rest(p->recorder);
}

/* The processor time until a deadline counts since its request was written, or nearly: of the base that there is and
 * one of now the nearer counts. Taken when the timer is set, never on the way of most requests. */
static void take_base(struct proxy *p)
{
    const struct timers *t = &p->traffic.timers;
    struct postmortem_base *base = &p->trouble.base;
    const struct pending *first = t->n > 0 ? t->heap[0] : NULL;
    if (first != NULL && first->written_us != 0 && base->at_us != 0) {
        int64_t request_us = recorder_now_us(p->recorder) - first->written_us;
        int64_t base_us = clock_mono_us() - base->at_us;
        if (base_us < 2 * request_us)
            return;
    }
    postmortem_base_take(base, p->child.pid, p->child.group);
}

/* The timer is never set later than the next deadline; when it comes too early it is set again. So a message
 * costs no timer as long as deadlines move on. */
static void watch_deadlines(struct proxy *p)
{
    ev_timer *w = &p->deadline_timer;
    int64_t next = traffic_clocks(&p->traffic);
    if (next < 0 || (ev_is_active(w) && ev_timer_remaining(p->loop, w) <= (double)next / 1e6))
        return;
    ev_timer_stop(p->loop, w);
    ev_timer_set(w, (double)next / 1e6 + (ev_time() - ev_now(p->loop)), 0.);
    ev_timer_start(p->loop, w);
    take_base(p);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    traffic_expire(&p->traffic); /* the end of the turn sets the timer again */
}

/* Commit what the turn has read; then, and only then, let it go on. */
static void on_turn_end(struct ev_loop *loop, ev_prepare *w, int revents)
{
    (void)revents;
    struct proxy *p = w->data;
    server_never_was(p);
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
        outbox_release(&p->greeting);
        for (int i = 0; i < 2; i++) {
            outbox_release(&p->traffic.out[i]);
            relay_flush(&p->relay[i]);
        }
        arguments_turn(&p->traffic);
        write_log_when_due(p);
        checkpoint_when_due(p);
        tidy_up_large(p);
        watch_deadlines(p);
        server_drain(p);
        if (p->relay[ROW_C2S].ended && p->relay[ROW_C2S].ahead == NULL &&
            outbox_bytes(&p->traffic.out[ROW_C2S]) == 0)
            relay_close_out(&p->relay[ROW_C2S]);
    }
    rest_when_due(p);
    finish_when_written(p);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w, (void)revents; /* the end of this turn tries again */
}

void turn_linger(struct proxy *p)
{
    p->finishing = true; /* the end of this turn commits, releases and writes */
    ev_timer_stop(p->loop, &p->linger_timer);
    ev_timer_set(&p->linger_timer, (double)p->cfg->grace_us / 2e6, 0.);
    ev_timer_start(p->loop, &p->linger_timer);
}

void turn_open(struct proxy *p)
{
    ev_prepare_init(&p->turn_end, on_turn_end);
    ev_init(&p->retry_timer, on_retry);
    ev_timer_init(&p->idle_timer, on_idle, 0., IDLE_S);
    ev_init(&p->log_timer, on_log_timer);
    ev_init(&p->rest_timer, on_rest);
    ev_init(&p->keep_timer, on_kept);
    ev_init(&p->linger_timer, on_linger);
    ev_init(&p->deadline_timer, on_deadline);
    p->idle_timer.data = p->log_timer.data = p->turn_end.data = p->retry_timer.data =
        p->linger_timer.data = p->deadline_timer.data = p->rest_timer.data = p;
    ev_prepare_start(p->loop, &p->turn_end);
    chunk_keep(KEEP_MAX);
}
