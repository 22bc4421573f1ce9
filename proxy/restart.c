/* restart.c - the next process of a server that crashed or was killed: repeats the handshake, and
 * sends requests again (mcp-wire.md 6.3). */
#include "proxy/live.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/request.h"
#include "proxy/session/resend.h"
#include "wire/json/text.h"
#include "wire/mcp/own.h"
#include "wire/rpc_out.h"

#include <stdio.h>

/* ---- requests of the old process ------------------------------------------------------------ */

/* Answers a request with an error, because two processes have ended while the request was pending.
 * Writes an escalation. */
static void reject_crashing_request(struct proxy *p, struct pending *q, const char *why)
{
    struct buf text = {0}, name = {0};
    buf_printf(&text,
               "%s; this request was sent to two processes, and both ended: it is not sent again",
               why);
    message_append_name(&name, q->method, q->target);
    const char *happened = text.failed ? why : buf_str(&text);
    log_error(
        "two server processes ended while they handled the same request: server=%s request=\"%s\"",
        p->cfg->name, buf_str(&name));
    incidents_escalate_crash(&p->incidents, happened, q);
    answer_request_of_ended_server(&p->traffic, q, CALL_SERVER_GONE,
                                   server_cause_name(p->machine.cause), happened);
    buf_close(&text);
    buf_close(&name);
}

/* Answers the requests that the new process must not get, and marks the others to be sent again. */
static void answer_or_mark_pending_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf why = {0};
    uint64_t read = server_process_count_read_bytes(p);
    bool cancelled = resend_reset_cancelled_requests(&t->open[ROW_C2S].cancelled, read);
    enum resend_end end = p->machine.cause == SERVER_CAUSE_HUNG ? RESEND_END_HUNG
                          : cancelled                           ? RESEND_END_CANCELLED
                                                                : RESEND_END_UNKNOWN;
    server_process_append_end_cause(p, &why);
    for (struct pending *q = t->open[ROW_C2S].open.oldest, *next; q != NULL; q = next) {
        next = q->next;
        const char *text = why.failed ? "the server exited" : buf_str(&why);
        enum resend_result result =
            resend_decide_for_request(q, read, end, handshake_may_resend_request(&t->handshake, q));
        if (result == RESEND_AGAIN) {
            /* the request is in no outbox until it is sent again */
            q->written_at = PENDING_NOT_STAGED;
            p->resends |= q->resend == RESEND_WAITS;
        } else if (result == RESEND_ENDED_TWO) {
            reject_crashing_request(p, q, text);
        } else {
            answer_request_of_ended_server(t, q, CALL_SERVER_GONE,
                                           server_cause_name(p->machine.cause), text);
        }
    }
    buf_close(&why);
}

/* Cancels the requests that the old process sent: no process would read the client's answers. */
static void cancel_server_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf b = {0};
    for (struct pending *q = t->open[ROW_S2C].open.oldest, *next; q != NULL; q = next) {
        next = q->next;
        buf_clear(&b);
        own_write_cancelled_message(&b, q->id, "the server was restarted");
        q->process_gone = true;
        if (!b.failed)
            (void)message_record_and_stage(t, ROW_S2C, &t->out[ROW_S2C], buf_slice(&b));
        request_abandon(t, ROW_S2C, q);
    }
    buf_close(&b);
}

void restart_answer_or_keep_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    answer_or_mark_pending_requests(p);
    repeats_handle_process_end(&t->repeats, server_process_count_read_bytes(p));
    cancel_server_requests(p);
    /* The bytes in the outbox are for the old process, and are dropped. Requests that are sent
     * again are taken from the table of pending requests. */
    outbox_close(&t->out[ROW_C2S]);
    outbox_open(&t->out[ROW_C2S]);
    outbox_close(&p->handshake_box);
    outbox_open(&p->handshake_box);
    tool_ask_list_tools_again(t);
    tools_forget_all(&t->tools); /* the new process may have other tools */
    timers_begin_new_process(&t->timers, t->open[ROW_C2S].open.oldest,
                             recorder_now_us(p->recorder));
    relay_stop_reading(&p->relay[ROW_S2C]);
    relay_handle_end_of_input(&p->server_stderr);
    relay_close_output(&p->relay[ROW_C2S]);
    child_kill_leftovers(&p->child, recorder_pid(p->recorder));
    unsigned attempt = server_state_count_recent_restarts(&p->machine, clock_mono_us());
    long long delay_ms = (long long)(p->machine.backoff_us / 1000);
    log_warn("restarting the server: server=%s status=%d attempt=%u delay_ms=%lld", p->cfg->name,
             p->exit_status, attempt, delay_ms);
    char detail[96];
    snprintf(detail, sizeof detail, "{\"attempt\":%u,\"delay_ms\":%lld}", attempt, delay_ms);
    journal_append_event(p->journal, "restart", detail);
}

/* ---- the new process ------------------------------------------------------------------------ */

static bool request_should_be_sent_now(const struct pending *q, const struct pending *next)
{
    return q->written_at == PENDING_NOT_STAGED && resend_should_send_now(q, next);
}

static int resend_request(struct proxy *p, struct pending *q, struct outbox *box)
{
    struct buf b = {0};
    buf_slice_add(&b, q->text);
    buf_addc(&b, '\n');
    /* The position is computed before staging: if the process has ended, the outbox drops the
     * request, and the position would be wrong afterwards. */
    uint64_t written_at = box->staged + b.n;
    int st = b.failed ? MI_ENOMEM : outbox_add_copy(box, buf_slice(&b));
    buf_close(&b);
    if (st < 0)
        return st;
    q->written_at = written_at;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"seq\":%llu}", (unsigned long long)q->request_seq);
    journal_append_event(p->journal, "resent", detail);
    q->resent = q->acknowledged;
    if (q->resend == RESEND_WAITS)
        q->resend = RESEND_TRIED;
    return 0;
}

static void resend_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    const struct pending *next = resend_find_next(&t->open[ROW_C2S].open);
    /* Number of bytes that the new process gets before the outbox is written. */
    uint64_t before = p->handshake_box.staged;
    for (const struct pending *q = t->open[ROW_C2S].open.oldest; q != NULL; q = q->next)
        before += request_should_be_sent_now(q, next) ? q->text.n + 1 : 0;
    outbox_add_bytes_of_other_queue(&t->out[ROW_C2S], before);
    repeats_shift_written_offsets(&t->repeats, before);
    for (struct pending *q = t->open[ROW_C2S].open.oldest; q != NULL; q = q->next) {
        if (q->written_at != PENDING_NOT_STAGED) {
            /* the request is in the outbox, which is written after `before` bytes */
            q->written_at += before;
        } else if (request_should_be_sent_now(q, next) &&
                   resend_request(p, q, &p->handshake_box) < 0) {
            outbox_discard_after_error(&p->handshake_box);
            break;
        }
    }
    timers_handle_restaged_request(&t->timers, t->open[ROW_C2S].open.oldest);
}

void restart_resend_next_request(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct pending *next = p->resends ? resend_find_next(&t->open[ROW_C2S].open) : NULL;
    if (next == NULL || !server_state_accepts_requests(&p->machine))
        return;
    if (resend_request(p, next, &t->out[ROW_C2S]) < 0)
        /* discarding the outbox ends the process, and pending requests get errors */
        outbox_discard_after_error(&t->out[ROW_C2S]);
    timers_handle_restaged_request(&t->timers, t->open[ROW_C2S].open.oldest);
}

void restart_send_pending_requests(struct proxy *p)
{
    struct traffic *t = &p->traffic;
    struct buf b = {0};
    if (t->handshake.initialize.n > 0) {
        for (size_t at = 0; buf_clear(&b), handshake_write_next_message(&t->handshake, &at, &b);)
            (void)message_record_and_stage(t, ROW_C2S, &p->handshake_box, buf_slice(&b));
        for (size_t at = 0;
             buf_clear(&b), handshake_write_list_changed_notice(&t->handshake, &at, &b);)
            (void)message_record_and_stage(t, ROW_S2C, &t->out[ROW_S2C], buf_slice(&b));
    }
    if (t->handshake.incomplete)
        log_warn(
            "some settings of the client were too large to keep; the restarted server lacks them: "
            "server=%s",
            p->cfg->name);
    resend_requests(p);
    buf_close(&b);
    relay_mark_priority_complete(&p->relay[ROW_C2S]);
    timers_set_server_absent(&t->timers, false, recorder_now_us(p->recorder));
}

enum server_event restart_start_next_process(struct proxy *p)
{
    struct process_pipes pipes;
    struct buf b = {0};
    enum server_event e = SERVER_EV_STARTED;
    if (server_process_start(p, &pipes) < 0)
        return SERVER_EV_START_FAILED;
    server_process_connect(p, pipes);
    relay_set_priority_outbox(&p->relay[ROW_C2S], &p->handshake_box);
    if (handshake_write_initialize_request(&p->traffic.handshake, &b)) {
        bool sent =
            message_record_and_stage(&p->traffic, ROW_C2S, &p->handshake_box, buf_slice(&b)) != 0;
        e = sent ? SERVER_EV_INITIALIZE_SENT : SERVER_EV_START_FAILED;
        if (!sent) { /* without initialize the new process would wait, and appear hung */
            buf_clear(&p->start_error);
            buf_adds(&p->start_error,
                     "out of memory: initialize was not sent to the new process of the server");
            p->start_error_short = p->start_error.n;
            p->exit_status = PROXY_FAILED;
        }
    }
    buf_close(&b);
    return e;
}
