/* expire.c - requests whose time is over (mcp-wire.md 6.1): an error for the client, word to the server, and
 * what still comes for them is kept back. */
#include "proxy/message.h"

#include "base/log.h"
#include "base/text.h"
#include "vault/keep.h"
#include "vault/redact.h"
#include "wire/json_text.h"
#include "wire/method.h"

void traffic_deadlines(struct traffic *t, const struct deadlines *rules, int64_t max_us)
{
    timers_open(&t->timers, rules, max_us);
}

int64_t traffic_clocks(struct traffic *t)
{
    if (t->timers.unwritten == NULL && t->timers.n == 0)
        return -1;
    int64_t now = recorder_now_us(t->recorder);
    timers_written(&t->timers, outbox_taken(&t->out[ROW_C2S]), now);
    return timers_next(&t->timers, now);
}

/* The task that a tasks/result waits for is cancelled by its own method (mcp-wire.md 5.2). */
static void tell_server(struct traffic *t, const struct pending *p)
{
    struct buf b = {0};
    if (json_key_is(p->method, "tasks/result")) {
        buf_printf(&b,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
                   "%llu\",\"method\":\"tasks/cancel\","
                   "\"params\":{\"taskId\":\"",
                   (unsigned long long)handshake_own_id(&t->handshake));
        buf_slice_add(&b, p->target);
        buf_adds(&b, "\"}}");
    } else {
        buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                     "cancelled\",\"params\":{\"requestId\":");
        buf_slice_add(&b, p->id);
        buf_adds(&b, ",\"reason\":\"the deadline passed\"}}");
    }
    if (b.failed || message_own(t, ROW_C2S, &t->out[ROW_C2S], buf_slice(&b)) == 0)
        log_warn("out of memory: the server is not told of a cancelled request");
    buf_close(&b);
}

/* A name is cut when it is clean: a secret that was cut in two would be known no more. */
static void add_name(struct buf *b, struct slice name)
{
    struct buf clean = {0};
    if (keep_text(name, &clean) < 0)
        b->failed = true;
    text_visible(b, (struct slice){clean.p, redact_head(buf_slice(&clean), 80)});
    buf_close(&clean);
}

void message_name(struct buf *b, struct slice method, struct slice target)
{
    add_name(b, method);
    if (target.p != NULL) {
        buf_addc(b, ' ');
        add_name(b, target);
    }
}

static void note_timeout(struct traffic *t, const struct pending *p, int64_t waited_us, bool silent)
{
    struct buf b = {0};
    buf_printf(&b, "{\"seq\":%llu,\"method\":\"", (unsigned long long)p->request_seq);
    buf_slice_add(&b, p->method);
    if (p->target.p != NULL) {
        buf_adds(&b, "\",\"target\":\"");
        buf_slice_add(&b, p->target);
    }
    buf_printf(&b, "\",\"waited_ms\":%lld,\"silent\":%s}", (long long)(waited_us / 1000),
               silent ? "true" : "false");
    recorder_event(t->recorder, "timeout", b.failed ? NULL : buf_str(&b));
    buf_close(&b);
}

/* A hung server is ended: so are all that wait for it, but listens, which the next one gets as well. */
static void answer_others(struct traffic *t, const char *why)
{
    for (struct pending *p = t->open[ROW_C2S].open.oldest, *next; p != NULL; p = next) {
        next = p->next;
        if (!(p->flags & METHOD_LISTENS))
            message_answer_for_server(t, p, "server-killed", why);
    }
}

static void expire(struct traffic *t, struct pending *p, int64_t now_us)
{
    struct buf why = {0}, name = {0};
    int64_t waited_us = now_us - (p->written_us != 0 ? p->written_us : p->t_us);
    bool silent = !t->timers.away && p->heard_at == t->timers.heard;
    message_name(&name, p->method, p->target);
    buf_printf(&why, "the server %s %s %s within %.1f s", t->server,
               p->written_us != 0 ? "did not answer"
               : t->timers.away   ? "had ended, and no other was there to read"
                                  : "did not read",
               buf_str(&name), (double)waited_us / 1e6);
    if (t->protocol.uninitialized) /* a strict server then never answers (mcp-wire.md 7.4) */
        buf_adds(&why, " (the client has not said notifications/initialized)");
    if (t->unfinished[ROW_S2C] > 0)
        buf_printf(&why, " (%zu bytes of a line have come, and no newline)",
                   t->unfinished[ROW_S2C]);
    note_timeout(t, p, waited_us, silent);
    log_warn("a deadline passed: server=%s request=\"%s\" waited_s=%.1f silent=%s", t->server,
             buf_str(&name), (double)waited_us / 1e6, silent ? "yes" : "no");
    bool hung =
        silent && !p->called_off && t->on_hung != NULL && t->on_hung(t->owner, p, waited_us, &why);
    if (!hung && !(p->flags & METHOD_UNCANCELLED) && p->written_at != PENDING_NOWHERE)
        tell_server(t, p);
    message_answer_timeout(t, p, p->allowed_us, hung ? "hang" : "timeout",
                           why.failed ? "timed out" : buf_str(&why));
    if (hung) {
        buf_clear(&why);
        buf_printf(&why, "the server %s was ended because it hung on %s; this call may have run",
                   t->server, buf_str(&name));
        answer_others(t, why.failed ? "the server hung" : buf_str(&why));
    }
    buf_close(&why);
    buf_close(&name);
}

void traffic_expire(struct traffic *t)
{
    int64_t now = recorder_now_us(t->recorder);
    for (struct pending *p; (p = timers_due(&t->timers, now)) != NULL;)
        expire(t, p, now);
}
