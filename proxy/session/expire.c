#include "proxy/session/expire.h"

#include "base/log.h"
#include "base/text.h"
#include "proxy/session/answer.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/tool_ask.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/mcp/own.h"
#include "wire/rpc_out.h"

/* Returns the smaller time; a negative time stands for never. */
static int64_t get_earlier_time_or_never(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

int64_t expire_start_timers_and_get_wait(struct traffic *t)
{
    bool none = t->timers.unwritten == NULL && t->timers.n == 0;
    int64_t list_us = tool_ask_deadline_us(t);
    if (none && !t->invalid_lines.lines.waits && t->invalid_lines.postponed.n == 0 &&
        list_us == INT64_MAX)
        return -1;
    int64_t now = journal_now_us(t->journal);
    int64_t us = invalid_line_next_timeout_us(t, now);
    if (list_us != INT64_MAX)
        us = get_earlier_time_or_never(us, list_us > now ? list_us - now : 0);
    if (none)
        return us;
    timers_start_for_read_requests(&t->timers, outbox_count_accepted_bytes(&t->out[ROW_C2S]), now);
    return get_earlier_time_or_never(timers_get_us_until_deadline(&t->timers, now), us);
}

/* Cancels the request at the server. The task that a tasks/result waits for is cancelled by another
 * method, tasks/cancel (mcp-wire.md 5.2). */
static void cancel_request_at_server(struct traffic *t, const struct pending *p)
{
    struct buf b = {0};
    if (json_key_is(p->method, "tasks/result")) {
        struct json_out j = json_out_to(&b);
        handshake_begin_request(&t->handshake, &j, "tasks/cancel");
        json_out_object(&j, "params");
        json_out_quoted(&j, "taskId", p->target);
        rpc_out_end(&j);
    } else {
        own_write_cancelled_message(&b, p->id, "the deadline passed");
    }
    if (b.failed || message_record_and_stage(t, ROW_C2S, &t->out[ROW_C2S], buf_slice(&b)) == 0)
        log_warn("out of memory, cannot send a cancellation to the server: server=%s", t->server);
    buf_close(&b);
}

uint64_t expire_send_liveness_request(struct traffic *t, bool modern)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    handshake_begin_request(&t->handshake, &j, modern ? "server/discover" : "ping");
    if (modern) {
        json_out_object(&j, "params");
        json_out_object(&j, "_meta");
        json_out_str(&j, "io.modelcontextprotocol/protocolVersion", "2026-07-28");
        json_out_object(&j, "io.modelcontextprotocol/clientCapabilities");
    }
    rpc_out_end(&j);
    uint64_t seq =
        b.failed ? 0 : message_record_and_stage(t, ROW_C2S, &t->out[ROW_C2S], buf_slice(&b));
    if (seq == 0)
        log_warn("out of memory, cannot ask the server whether it is alive: server=%s", t->server);
    buf_close(&b);
    return seq;
}

static void record_timeout(struct traffic *t, const struct pending *p, int64_t waited_us,
                           bool silent)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_uint(&j, "seq", p->request_seq);
    json_out_quoted(&j, "method", p->method);
    if (p->target.p != NULL)
        json_out_quoted(&j, "target", p->target);
    json_out_int(&j, "waited_ms", waited_us / 1000);
    json_out_bool(&j, "silent", silent);
    json_out_end(&j);
    journal_append_event(t->journal, "timeout", b.failed ? NULL : buf_str(&b));
    buf_close(&b);
}

void expire_requests_of_hung_server(struct traffic *t, const char *name)
{
    struct buf why = {0};
    buf_printf(&why, "the server %s was killed because it hung on %s", t->server, name);
    for (struct pending *p = t->open[ROW_C2S].open.oldest, *next; p != NULL; p = next) {
        next = p->next;
        if ((p->flags & METHOD_LISTENS) || p->resend == RESEND_WAITS)
            continue; /* the process has not received this request */
        answer_request_of_hung_server(t, p, why.failed ? "the server hung" : buf_str(&why));
    }
    buf_close(&why);
}

static void explain_timeout(const struct traffic *t, const struct pending *p, const char *name,
                            int64_t waited_us, struct buf *why)
{
    buf_printf(why, "the server %s ", t->server);
    if (t->url != NULL)
        buf_printf(why, "(%s) ", t->url);
    buf_printf(why, "%s %s within %.1f s",
               p->written_us != 0      ? "did not answer"
               : t->timers.server_away ? "had exited, and no new process was ready to read"
                                       : "did not read",
               name, (double)waited_us / 1e6);
    if (t->url != NULL && json_key_is(p->method, "initialize"))
        buf_adds(why, " (the server may wait for a login in the browser)");
    /* before notifications/initialized, a strict server does not answer (mcp-wire.md 7.4) */
    if (t->protocol.uninitialized)
        buf_adds(why, " (the client has not sent notifications/initialized)");
    if (t->unfinished[ROW_S2C] > 0)
        buf_printf(why, " (%zu bytes of a line without a newline were received)",
                   t->unfinished[ROW_S2C]);
    invalid_line_append_explanation(t, p, why);
}

/* Appends a text that names the deadline and says how to raise it: the tool may only be slow. */
static void append_advice_on_deadline(const struct traffic *t, const struct pending *p,
                                      struct buf *why)
{
    struct buf rule = {0};
    bool by_max = timers_max_timeout_applies(&t->timers, p);
    int64_t us = by_max ? t->timers.max_us : p->timeout_us;
    int minutes = (int)deadline_suggest_minutes(us);
    deadline_suggest_rule(&rule, p->method, p->target);
    buf_printf(why, "; this deadline of %g s is mcp-interposer's, not the server's: raise it with ",
               (double)us / 1e6);
    if (by_max)
        buf_printf(why,
                   "--max-timeout %dm, or max-timeout = %dm in section [proxy] of mcp-interposer's "
                   "configuration",
                   minutes, minutes);
    else
        buf_printf(
            why,
            "--timeout %s=%dm, or %s = %dm in section [timeout] of mcp-interposer's configuration",
            buf_str(&rule), minutes, buf_str(&rule), minutes);
    why->failed |= rule.failed;
    buf_close(&rule);
}

static void expire_request(struct traffic *t, struct pending *p, int64_t now_us)
{
    struct buf why = {0}, name = {0};
    int64_t waited_us = now_us - (p->written_us != 0 ? p->written_us : p->t_us);
    bool silent = !t->timers.server_away && p->server_messages == t->timers.server_messages;
    message_append_name(&name, p->method, p->target);
    explain_timeout(t, p, buf_str(&name), waited_us, &why);
    record_timeout(t, p, waited_us, silent);
    log_warn("a request timed out: server=%s request=\"%s\" waited_s=%.1f silent=%s", t->server,
             buf_str(&name), (double)waited_us / 1e6, silent ? "yes" : "no");
    bool hung = silent && !p->lsp_cancelled && p->written_at != PENDING_NOT_STAGED &&
                t->on_silent != NULL && t->on_silent(t->owner, p, waited_us, &why) == LIVENESS_HUNG;
    if (!hung && !(p->flags & METHOD_UNCANCELLED) && p->written_at != PENDING_NOT_STAGED)
        cancel_request_at_server(t, p);
    append_advice_on_deadline(t, p, &why);
    answer_timed_out_request(t, p, p->timeout_us, hung ? "hang" : "timeout",
                             why.failed ? "timed out" : buf_str(&why));
    if (hung)
        expire_requests_of_hung_server(t, buf_str(&name));
    buf_close(&why);
    buf_close(&name);
}

void expire_due_requests(struct traffic *t)
{
    int64_t now = journal_now_us(t->journal);
    invalid_line_handle_timeouts(t, now);
    tool_ask_fail_if_timed_out(t, now);
    timers_start_for_read_requests(&t->timers, outbox_count_accepted_bytes(&t->out[ROW_C2S]), now);
    for (struct pending *p; (p = timers_find_expired_request(&t->timers, now)) != NULL;)
        expire_request(t, p, now);
}

bool expire_set_server_not_reading(struct traffic *t, bool not_reading)
{
    if (not_reading == ((t->timers.paused & TIMERS_SERVER_NOT_READ) != 0))
        return false;
    timers_pause(&t->timers, TIMERS_SERVER_NOT_READ, not_reading, journal_now_us(t->journal));
    return true;
}
