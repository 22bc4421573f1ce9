/* turn.c - a turn of the event loop. At its start: checks for a stall. At its end: publishes the
 * messages that were read, writes them, and sets the deadline timer. */
#include "proxy/live.h"

#include "base/chunk.h"
#include "base/clock.h"
#include "base/log.h"
#include "proxy/session/expire.h"
#include "proxy/session/final_answers.h"

/* While a deadline or a signal to the server is scheduled, the loop turns at least this often. So
 * this process notices that it was paused for longer; only shorter pauses count as time in which
 * the server did not answer. */
#define TICK_US 1000000

/* Time for which memory and wide pipes are kept for the next large line: obtaining them takes a few
 * milliseconds. */
#define LARGE_KEPT_S 0.5

/* Ends the session because recording failed. Answers that are in the journal are delivered; the
 * server gets nothing more. */
static void end_unrecorded_session(struct proxy *p)
{
    const char *why = "the interposer cannot record messages, and --on-record-error is stop";
    bool recorded = recorder_has_stored_all_entries(p->recorder);
    log_error("cannot record messages, ending the session: --on-record-error=stop");
    server_handle_event(p, SERVER_EV_RECORD_FAILED);
    incidents_escalate_record_error(
        &p->incidents, "Messages could not be recorded, and --on-record-error is stop.");
    p->exit_status = PROXY_FAILED;
    outbox_discard_after_error(&p->traffic.out[ROW_C2S]);
    if (!recorded)
        final_answers_drop_unrecorded(&p->traffic, "record-error", why);
    traffic_handle_tools_list_failure(&p->traffic, why);
    final_answers_send_record_errors(&p->traffic, "record-error", why);
    outbox_release_staged_bytes(&p->traffic.out[ROW_S2C]);
    relay_flush(&p->relay[ROW_S2C]);
}

/* The timer never fires after the next deadline. It may fire earlier and is then set again, so most
 * messages need not set it. */
static void set_deadline_timer(struct proxy *p)
{
    ev_timer *w = &p->deadline_timer;
    int64_t next = expire_start_timers_and_get_wait(&p->traffic);
    bool deadline = next >= 0;
    bool server = ev_is_active(&p->child.kill_timer) || ev_is_active(&p->state_timer);
    if (next > TICK_US || (next < 0 && server))
        next = TICK_US;
    if (next < 0 || (ev_is_active(w) && ev_timer_remaining(p->loop, w) <= (double)next / 1e6))
        return;
    ev_timer_stop(p->loop, w);
    ev_timer_set(w, (double)next / 1e6 + (ev_time() - ev_now(p->loop)), 0.);
    ev_timer_start(p->loop, w);
    if (deadline)
        silence_take_process_samples(p);
}

static void on_deadline_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    pipes_read_and_flush(p);
    expire_due_requests(&p->traffic);
    traffic_release_waiting_lines(&p->traffic); /* the timer is set again at the end of the turn */
}

/* ---- the start ------------------------------------------------------------------------------ */

/* Returns the smaller of `us` and the time left of the timer; -1 stands for no timer. */
static int64_t shorten_wait_to_timer(int64_t us, struct ev_loop *loop, ev_timer *w)
{
    if (!ev_is_active(w))
        return us;
    int64_t left = (int64_t)(ev_timer_remaining(loop, w) * 1e6);
    left = left > 0 ? left : 0;
    return us < 0 || left < us ? left : us;
}

/* This callback runs before the callbacks of timers that have expired. */
static void on_turn_start(struct ev_loop *loop, ev_check *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    int64_t us = stall_measure_turn_delay(&p->stall, clock_mono_us());
    if (us == 0)
        return;
    log_info("this process did not run for %.1f s", (double)us / 1e6);
    bool fair = timers_skip_stalled_time(&p->traffic.timers, us, recorder_now_us(p->recorder));
    server_skip_stalled_time(p, us, fair ? TIMERS_FAIR_US : 0);
    child_extend_grace_period(&p->child, us, fair ? TIMERS_FAIR_US : 0);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void on_large_memory_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    chunk_free_spare_memory();
    for (int i = 0; i < 2; i++)
        relay_shrink_pipes(&p->relay[i]);
}

static void start_large_memory_timer(struct proxy *p)
{
    bool kept = chunk_has_spare_chunk() || relay_has_wide_pipe(&p->relay[0]) ||
                relay_has_wide_pipe(&p->relay[1]);
    if (!kept || ev_is_active(&p->large_timer))
        return;
    ev_timer_set(&p->large_timer, LARGE_KEPT_S, 0.);
    ev_timer_start(p->loop, &p->large_timer);
}

/* Asks the recorder to report when the lines that wait for it may be handled. */
static void watch_waiting_lines(struct proxy *p)
{
    for (int i = 0; i < 2; i++) {
        const struct relay *r = &p->relay[i];
        if ((r->stops & (RELAY_WAITS | RELAY_HELD)) == RELAY_WAITS)
            recorder_set_lag_timer(p->recorder, r->waiting_n, relay_get_wait_us(r));
    }
}

/* Closes the server's input when the server has got everything that the client sent. */
static void close_server_input_when_done(struct proxy *p)
{
    struct relay *to_server = &p->relay[ROW_C2S];
    if (relay_has_ended(to_server) && !to_server->muted && to_server->priority == NULL &&
        outbox_count_bytes(&p->traffic.out[ROW_C2S]) == 0 &&
        !tool_ask_has_waiting_lines(&p->traffic))
        relay_close_output(to_server);
}

static void on_turn_end(struct ev_loop *loop, ev_prepare *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    server_check_requests(p);
    restart_resend_next_request(p);
    enum recorder_result published = recorder_publish(p->recorder);
    if (published == RECORDER_FAILED) {
        end_unrecorded_session(p);
        return;
    }
    p->holding = published == RECORDER_HOLD;
    p->pacing = !p->holding && recorder_must_slow_client(p->recorder);
    server_pause_or_resume_reading(p);
    watch_waiting_lines(p);
    if (!p->holding) { /* The output is recorded in the journal, so it may be written. */
        outbox_release_staged_bytes(&p->handshake_box);
        for (int i = 0; i < 2; i++) {
            outbox_release_staged_bytes(&p->traffic.out[i]);
            relay_flush(&p->relay[i]);
        }
    }
    if (pipes_watch_reading(p))
        server_extend_timers(p);
    set_deadline_timer(p);
    if (!p->holding) {
        server_check_pending_answers(p);
        close_server_input_when_done(p);
    }
    server_report_output_flushed(p);
    start_large_memory_timer(p);
    /* The next turn must begin at the latest when one of these timers expires. */
    int64_t us = shorten_wait_to_timer(-1, p->loop, &p->deadline_timer);
    us = shorten_wait_to_timer(us, p->loop, &p->state_timer);
    stall_set_expected_wait(&p->stall, shorten_wait_to_timer(us, p->loop, &p->child.kill_timer));
}

void turn_open_loop_watchers(struct proxy *p)
{
    stall_open(&p->stall, clock_mono_us());
    ev_check_init(&p->turn_start, on_turn_start);
    ev_set_priority(&p->turn_start, EV_MAXPRI);
    p->turn_start.data = p;
    ev_check_start(p->loop, &p->turn_start);
    ev_prepare_init(&p->turn_end, on_turn_end);
    ev_init(&p->deadline_timer, on_deadline_timer);
    ev_init(&p->large_timer, on_large_memory_timer);
    p->turn_end.data = p->deadline_timer.data = p->large_timer.data = p;
    ev_prepare_start(p->loop, &p->turn_end);
}
