/* server.c - reports the events of the server and its client to server_state.c, and carries out its
 * actions. server_process.c handles the process itself, restart.c the restart. */
#include "proxy/live.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/expire.h"
#include "proxy/session/final_answers.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/request.h"
#include "proxy/session/resend.h"
#include "wire/mcp/method.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

/* Number of reads of the server's stderr after its exit: enough for a full pipe and the end of
 * file. */
#define LAST_READS 4
_Static_assert(PROXY_RESTARTS_MAX <= SERVER_RESTARTS_MAX, "all allowed restarts can be counted");

/* ---- actions -------------------------------------------------------------------------------- */

static void disconnect_server_input(struct proxy *p)
{
    if (p->child.reaped)
        relay_close_output(&p->relay[ROW_C2S]);
    else
        relay_stop_writing(&p->relay[ROW_C2S]); /* the server is being killed */
    if (server_state_may_restart(&p->machine, clock_mono_us()))
        /* from here on the outbox accepts messages for the next process */
        outbox_reset(&p->traffic.out[ROW_C2S]);
    timers_set_server_absent(&p->traffic.timers, true, recorder_now_us(p->recorder));
}

static void reject_requests(struct proxy *p)
{
    for (struct pending *q; (q = p->traffic.open[ROW_C2S].open.oldest) != NULL;) {
        answer_for_missing_server(&p->traffic, q, CALL_SERVER_GONE,
                                  server_cause_name(p->machine.cause), buf_str(&p->start_error));
        p->start_error.n = p->start_error_short;
    }
    if (p->machine.state == SERVER_FLUSHING)
        relay_stop_reading(&p->relay[ROW_C2S]);
}

/* Called if the server has closed its stdin but still runs: sends an error for each request that
 * the server has not read. */
static void reject_unread_requests(struct proxy *p)
{
    uint64_t read = server_process_count_read_bytes(p);
    struct buf why = {0};
    buf_printf(&why, "the server %s closed its stdin before it answered", p->cfg->name);
    for (struct pending *q = p->traffic.open[ROW_C2S].open.oldest, *next; q != NULL; q = next) {
        next = q->next;
        if (!request_was_read_by_server(q, read) || q->written_at > read)
            answer_request_of_ended_server(&p->traffic, q, CALL_SERVER_GONE,
                                           server_cause_name(SERVER_CAUSE_CLOSED), buf_str(&why));
    }
    buf_close(&why);
}

/* Called if the server should be restarted but is not, because the limit is reached or the client's
 * initialize cannot be repeated. Appends the reason to `why`. */
static void give_up_restart(struct proxy *p, struct buf *why)
{
    struct pending *q = p->traffic.open[ROW_C2S].open.oldest;
    unsigned n = server_state_count_recent_restarts(&p->machine, clock_mono_us());
    if (p->machine.handshake_lost) {
        log_error(
            "cannot restart the server: the client's initialize request was too large to keep: "
            "server=%s",
            p->cfg->name);
        return;
    }
    if (p->machine.max_restarts == 0 || p->machine.cannot_start)
        return;
    if (n > 0)
        buf_printf(why,
                   "; it was restarted %u time%s within the last minute, so it is not "
                   "restarted again",
                   n, n == 1 ? "" : "s");
    incidents_escalate_crash_loop(
        &p->incidents, buf_str(why),
        q != NULL && request_was_read_by_server(q, server_process_count_read_bytes(p)) ? q : NULL);
}

static void end_session(struct proxy *p, bool gives_up)
{
    struct buf why = {0};
    bool unasked = server_state_was_ended_by_server(&p->machine);
    uint64_t read = server_process_count_read_bytes(p);
    server_process_append_end_cause(p, &why);
    if (gives_up)
        give_up_restart(p, &why);
    /* Read the requests that the client has already sent, so that they are answered as well. */
    relay_read_available_bytes(&p->relay[ROW_C2S]);
    traffic_handle_tools_list_failure(&p->traffic,
                                      why.failed ? "the session ended" : buf_str(&why));
    size_t pending = p->traffic.open[ROW_C2S].open.count;
    if (unasked && (p->exit_status != 0 || pending > 0))
        log_warn("the server exited: server=%s status=%d pending_requests=%zu", p->cfg->name,
                 p->exit_status, pending);
    outbox_discard_after_error(&p->traffic.out[ROW_C2S]);
    if (!unasked)
        final_answers_end_subscriptions(&p->traffic);
    bool interrupted =
        p->machine.cause == SERVER_CAUSE_STOPPED || p->machine.cause == SERVER_CAUSE_NO_MEMORY;
    final_answers_send_errors(&p->traffic, interrupted ? CALL_INTERRUPTED : CALL_SERVER_GONE,
                              server_cause_name(p->machine.cause),
                              why.failed ? "the session ended" : buf_str(&why), read);
    buf_close(&why);
    relay_stop_reading(&p->relay[ROW_C2S]);
    relay_stop_reading(&p->relay[ROW_S2C]);
}

static void carry_out_state_actions(struct proxy *p, unsigned todo)
{
    if (todo & SERVER_DO_ASK)
        silence_ask_if_server_is_alive(p);
    if (todo & SERVER_DO_REPORT_HANG)
        silence_report_hang(p);
    if (todo & SERVER_DO_STOP_CLIENT) {
        relay_stop_reading(&p->relay[ROW_C2S]);
        /* If bytes wait to be written, the server's stdin is closed at the end of the turn that
         * writes the last byte. */
        if (outbox_count_bytes(&p->traffic.out[ROW_C2S]) == 0)
            relay_close_output(&p->relay[ROW_C2S]);
    }
    if (todo & SERVER_DO_DISCONNECT)
        disconnect_server_input(p);
    if (todo & SERVER_DO_STOP)
        child_stop(&p->child);
    if (todo & SERVER_DO_KILL)
        child_kill(&p->child);
    if (todo & SERVER_DO_RESUME) {
        restart_send_pending_requests(p);
        /* The event may have been reported earlier, in a state that ignores it. */
        if (p->relay[ROW_C2S].out.fd < 0)
            server_handle_event(p, SERVER_EV_INPUT_CLOSED);
    }
    if (todo & SERVER_DO_PREPARE_RESTART)
        restart_answer_or_keep_requests(p);
    if (todo & SERVER_DO_START)
        server_handle_event(p, restart_start_next_process(p));
    if (todo & SERVER_DO_REJECT)
        reject_requests(p);
    if (todo & SERVER_DO_REJECT_UNREAD)
        reject_unread_requests(p);
    if (todo & SERVER_DO_END_SESSION)
        end_session(p, (todo & SERVER_DO_GIVE_UP) != 0);
    if (todo & SERVER_DO_FINISH)
        ev_break(p->loop, EVBREAK_ALL);
}

/* ---- events --------------------------------------------------------------------------------- */

void server_pause_or_resume_reading(struct proxy *p)
{
    relay_pause(&p->relay[ROW_C2S], RELAY_HELD,
                p->holding || traffic_must_not_read_client(&p->traffic) ||
                    server_state_pauses_client(&p->machine));
    relay_pause(&p->relay[ROW_C2S], RELAY_PACED, p->pacing);
    relay_pause(&p->relay[ROW_S2C], RELAY_HELD, p->holding);
    relay_pause(&p->server_stderr, RELAY_HELD, p->holding);
}

static void start_state_timer(struct proxy *p, int64_t us, int64_t now_us)
{
    ev_timer_stop(p->loop, &p->state_timer);
    p->state_timer.repeat = (double)us / 1e6;
    p->state_timer_due_us = now_us + us;
    if (us > 0)
        ev_timer_again(p->loop, &p->state_timer);
}

static void set_state_timer(struct proxy *p, int64_t now_us)
{
    start_state_timer(p, server_state_timeout_us(&p->machine, now_us), now_us);
}

void server_extend_timers(struct proxy *p)
{
    int64_t now_us = clock_mono_us();
    server_state_extend_deadline(&p->machine, now_us);
    set_state_timer(p, now_us);
}

void server_skip_stalled_time(struct proxy *p, int64_t us, int64_t least_us)
{
    int64_t now_us = clock_mono_us();
    server_state_skip_stalled_time(&p->machine, us, least_us, now_us);
    int64_t all_us = server_state_timeout_us(&p->machine, now_us);
    int64_t left_us = p->state_timer_due_us - now_us + us;
    left_us = left_us > least_us ? left_us : least_us;
    if (!server_state_has_time_limit(&p->machine) && left_us < all_us)
        all_us = left_us > 0 ? left_us : 1;
    start_state_timer(p, all_us, now_us);
}

/* Passes the event to the state machine. Returns the actions to carry out, as bits. */
MI_MUST static unsigned apply_event_to_state(struct proxy *p, enum server_event e)
{
    int64_t now_us = clock_mono_us();
    enum server_state before = p->machine.state;
    p->machine.handshake_lost = p->traffic.handshake.initialize_lost;
    p->machine.tried =
        p->resends && resend_has_pending_read_request(&p->traffic.open[ROW_C2S].open,
                                                      server_process_count_read_bytes(p));
    unsigned todo = server_state_apply_event(&p->machine, e, now_us);
    /* The event SHUTDOWN may have been reported in a state that ignores it, so it is reported again
     * in each new state. */
    if (p->traffic.client_said_shutdown && p->machine.state != before)
        todo |= server_state_apply_event(&p->machine, SERVER_EV_SHUTDOWN, now_us);
    if (p->machine.state != before) {
        server_pause_or_resume_reading(p);
        set_state_timer(p, now_us);
    }
    return todo;
}

void server_handle_event(struct proxy *p, enum server_event e)
{
    carry_out_state_actions(p, apply_event_to_state(p, e));
}

void server_handle_received_line(struct proxy *p)
{
    bool asked = p->machine.state == SERVER_ASKED;
    if (!silence_was_ended_by_message(p))
        return;
    server_handle_event(p, SERVER_EV_HEARD);
    if (asked)
        silence_report_server_message(p);
}

/* Called when the time limit of a state in which the server is in doubt has passed. */
static void handle_timeout_of_doubted_server(struct proxy *p)
{
    server_handle_received_line(p); /* handle the line that session/invalid_line.h holds back */
    if (!server_state_missed_deadline(&p->machine))
        return;
    enum liveness l = silence_judge_probed_server(p);
    if (l == LIVENESS_SILENT) {
        server_extend_timers(p);
    } else if (l == LIVENESS_AT_WORK) {
        server_handle_event(p, SERVER_EV_AT_WORK);
        silence_report_working_server(p);
    } else {
        server_handle_event(p, SERVER_EV_TIMEOUT);
        if (!server_state_missed_deadline(&p->machine))
            expire_requests_of_hung_server(&p->traffic, buf_str(&p->silence.name));
    }
}

static void on_state_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    enum server_state before = p->machine.state;
    pipes_read_and_flush(p);
    if (p->machine.state != before)
        return; /* the server's output has changed the state, and the new state has set its timer */
    if (relay_is_paused(&p->relay[ROW_S2C]))
        server_state_extend_deadline(&p->machine, clock_mono_us());
    if (server_state_missed_deadline(&p->machine)) {
        handle_timeout_of_doubted_server(p);
        if (p->machine.state == before)
            set_state_timer(p, clock_mono_us());
        return;
    }
    size_t unread = outbox_count_bytes(&p->traffic.out[ROW_S2C]);
    unsigned todo = apply_event_to_state(p, SERVER_EV_TIMEOUT);
    if (p->machine.state == before)
        set_state_timer(p, clock_mono_us());
    if (todo & SERVER_DO_KILL)
        log_warn("%s: server=%s",
                 p->machine.cause == SERVER_CAUSE_CLOSED
                     ? "the server closed its stdout"
                     : "the restarted server does not answer initialize",
                 p->cfg->name);
    if ((todo & SERVER_DO_FINISH) && unread > 0)
        log_warn("the client did not read the last answers: bytes=%zu", unread);
    carry_out_state_actions(p, todo);
}

/* Returns true if a client that has closed its output still awaits answers, as in `echo REQUEST |
 * mcp-interposer …`. A client does not await answers after `shutdown`, to cancelled requests,
 * or to methods that may stay without an answer. */
static bool client_awaits_answers(const struct proxy *p)
{
    struct pollfd client = {.fd = p->relay[ROW_S2C].out.fd, .events = 0};
    if (p->traffic.client_said_shutdown || client.fd < 0 ||
        poll(&client, 1, 0) != 0) /* POLLERR or POLLHUP: nobody reads */
        return false;
    if (tool_ask_has_waiting_lines(&p->traffic))
        return true;
    for (const struct pending *q = p->traffic.open[ROW_C2S].open.oldest; q != NULL; q = q->next)
        if (!(q->flags & METHOD_PATIENT) && !q->lsp_cancelled)
            return true;
    return false;
}

void server_on_client_closed(struct proxy *p)
{
    traffic_on_client_closed(&p->traffic);
    server_handle_event(p, client_awaits_answers(p) ? SERVER_EV_CLIENT_WAITS
                                                    : SERVER_EV_CLIENT_CLOSED);
}

void server_check_requests(struct proxy *p)
{
    bool any = p->traffic.open[ROW_C2S].open.count > 0 || tool_ask_has_waiting_lines(&p->traffic);
    if (server_state_reports_requests(&p->machine) && any)
        server_handle_event(p, SERVER_EV_REQUEST);
}

void server_check_pending_answers(struct proxy *p)
{
    if (server_state_is_draining(&p->machine) && !client_awaits_answers(p))
        server_handle_event(p, SERVER_EV_ANSWERED);
}

void server_report_output_flushed(struct proxy *p)
{
    if (p->machine.state == SERVER_FLUSHING && !p->holding &&
        (outbox_count_bytes(&p->traffic.out[ROW_S2C]) == 0 || p->relay[ROW_S2C].out.fd < 0))
        server_handle_event(p, SERVER_EV_FLUSHED);
}

enum liveness server_handle_silence_timeout(void *owner, const struct pending *q, int64_t waited_us,
                                            struct buf *why)
{
    struct proxy *p = owner;
    enum server_state before = p->machine.state;
    enum server_event e;
    if (!silence_handle_timeout(p, q, waited_us, why, &e))
        return LIVENESS_SLOW;
    server_handle_event(p, e);
    return silence_explain_timeout(p, before, why);
}

void server_handle_answer_to_proxy(void *owner, const struct rpc *m)
{
    struct proxy *p = owner;
    struct handshake *h = &p->traffic.handshake;
    struct buf why = {0};
    if (!handshake_is_initialize_answer(h, m))
        return;
    bool same = handshake_is_compatible(h, m, &why);
    h->initialize_id = 0;
    unsigned todo =
        apply_event_to_state(p, same ? SERVER_EV_INITIALIZED : SERVER_EV_INITIALIZE_CHANGED);
    if (todo != 0 && !same) {
        log_error("ending the session: %s: server=%s", buf_str(&why), p->cfg->name);
        journal_append_event(p->journal, "restart-changed", NULL);
        p->exit_status = PROXY_FAILED;
    }
    carry_out_state_actions(p, todo);
    buf_close(&why);
}

void server_on_output_closed(struct proxy *p)
{
    invalid_line_on_output_ended(&p->traffic);
    server_handle_event(p, SERVER_EV_OUTPUT_CLOSED);
    child_set_output_ended(&p->child);
}

static void on_server_exit(struct child *c)
{
    struct proxy *p = c->data;
    char detail[64];
    int status = child_exit_status(c);
    if (status >= 128)
        snprintf(detail, sizeof detail, "{\"signal\":%d}", status - 128);
    else
        snprintf(detail, sizeof detail, "{\"status\":%d}", status);
    journal_append_event(p->journal, "exit", detail);
    if (p->machine.cause != SERVER_CAUSE_CHANGED && p->machine.cause != SERVER_CAUSE_NO_MEMORY)
        p->exit_status = p->machine.cause == SERVER_CAUSE_HUNG ? PROXY_HUNG : status;
    bool launcher = status == 0 && !c->output_ended;
    server_handle_event(p, launcher ? SERVER_EV_LAUNCHER_EXITED : SERVER_EV_EXITED);
    if (server_state_is_final(&p->machine, clock_mono_us()))
        outbox_discard_after_error(&p->traffic.out[ROW_C2S]);
}

static void on_server_signalled(struct child *c, int sig)
{
    struct proxy *p = c->data;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"signal\":%d}", sig);
    journal_append_event(p->journal, "kill", detail);
    log_warn("sent signal %d to the server: server=%s", sig, p->cfg->name);
}

/* Reads the last output of a process that is gone. While the session goes on, the last messages of
 * the process wait until the client reads. If another process holds the pipe open, an incomplete
 * line is ended here: it must not become the start of the next process's first line. */
static bool on_server_last_output(struct child *c)
{
    struct proxy *p = c->data;
    pipes_read_and_flush(p);
    if (relay_is_paused(&p->relay[ROW_S2C]))
        return p->machine.state != SERVER_EXITED && p->machine.state != SERVER_KILLED;
    relay_handle_end_of_input(&p->relay[ROW_S2C]);
    return true;
}

static void on_server_finished(struct child *c)
{
    struct proxy *p = c->data;
    for (int i = 0; i < LAST_READS && !relay_has_ended(&p->server_stderr); i++)
        relay_read_available_bytes(&p->server_stderr); /* stderr often says why the server ended */
    p->machine.cannot_start = child_exit_status(c) != 0 && p->traffic.server_answers == 0 &&
                              incidents_reason_will_recur(&p->incidents);
    /* The child that exited earlier may have been only a launcher. Now no process has the output
     * open, so the server has exited as well. */
    server_handle_event(p, SERVER_EV_EXITED);
    server_handle_event(p, p->traffic.open[ROW_C2S].open.count > 0 ? SERVER_EV_FINISHED
                           : child_exit_status(c) != 0             ? SERVER_EV_FINISHED_IDLE
                                                                   : SERVER_EV_FINISHED_CLEAN);
}

void server_open(struct proxy *p, const sigset_t *mask)
{
    child_open(&p->child, p->loop, p->cfg->grace_us, mask);
    p->child.data = p;
    p->child.before_exec = server_process_announce_itself;
    p->child.on_exit = on_server_exit;
    p->child.on_kill = on_server_signalled;
    p->child.on_last_output = on_server_last_output;
    p->child.on_finished = on_server_finished;
    server_state_open(&p->machine, p->cfg->restarts, p->cfg->grace_us,
                      deadline_of_repeated_initialize(p->cfg->deadlines));
    ev_init(&p->state_timer, on_state_timer);
    p->state_timer.data = p;
}
