/* answer.c - the answers that we give in the server's place. */
#include "proxy/message.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define ID_AT (sizeof "{\"jsonrpc\":\"2.0\",\"id\":" - 1) /* in every text of ours */

/* Sends what stands in t->scratch. Bytes of the answer. Without memory for it the client's stream ends: who waits for
 * it must not wait for ever. */
static size_t send_own(struct traffic *t, struct row *row, const char *what)
{
    struct buf *b = &t->scratch;
    size_t n = b->n;
    buf_addc(b, '\n');
    struct chunk *c = b->failed ? NULL : chunk_new(b->n);
    if (c == NULL) {
        log_error("out of memory for an answer, the connection ends: %s", what);
        outbox_break(&t->out[row->direction]);
        return 0;
    }
    memcpy(c->data, b->p, b->n);
    row->origin = ROW_INTERPOSER;
    row->action = ROW_FORWARDED;
    row->body = (struct slice){c->data, n};
    row->size = n;
    row->hold = c;
    if (row->rpc_id.p !=
        NULL) /* the id lies in somebody's line or entry: take ours, in the chunk */
        row->rpc_id.p = c->data + ID_AT;
    else
        row->rpc_id = slice_of("null");
    recorder_add(t->recorder, row);
    if (outbox_add(&t->out[row->direction], c, c->data, b->n) < 0) {
        log_error("out of memory for an answer, the connection ends: %s", what);
        outbox_break(&t->out[row->direction]);
    }
    if (row->direction == ROW_S2C)
        t->own_bytes += b->n;
    chunk_drop(c);
    return n;
}

static size_t send_reply(struct traffic *t, enum row_direction dir, const struct reply *r,
                         uint64_t request_seq, findings f)
{
    struct row row = {
        .kind = "error",
        .direction = dir,
        .rpc_id = r->id,
        .request_seq = request_seq,
        .has_error_code = true,
        .error_code = r->code,
        .findings = f,
    };
    buf_clear(&t->scratch);
    reply_write(&t->scratch, r);
    return send_own(t, &row, r->cause);
}

static void log_reply(struct traffic *t, struct action *a, int code, const char *why, size_t bytes)
{
    struct buf text = {0};
    buf_int(&text, code);
    size_t digits = text.n;
    text_json(&text, slice_of(why));
    struct slice all = buf_slice(&text);
    a->error_code = (struct slice){all.p, digits};
    a->error_message = (struct slice){all.p + digits, all.n - digits};
    a->response_bytes = bytes;
    a->wall_us = clock_wall_us();
    if (!text.failed)
        actions_add(&t->actions, a);
    buf_close(&text);
}

void message_refuse(struct traffic *t, struct message *x, int code, const char *why,
                    const char *cause)
{
    message_refuse_fault(t, x, code, why, cause, NULL);
}

void message_refuse_fault(struct traffic *t, struct message *x, int code, const char *why,
                          const char *cause, const struct schema_fault *fault)
{
    /* an id without a method is the client's answer to a request of the server: not ours to answer */
    bool request = x->m.is_call && (x->m.id.type == JSON_NUMBER || x->m.id.type == JSON_STRING);
    struct reply r = {
        .code = code, .message = why, .cause = cause, .session = recorder_uid(t->recorder)};
    if (request) {
        r.id = x->m.id.text;
        r.method = x->m.method;
        r.target = rpc_target(&x->m);
    }
    if (fault != NULL) {
        r.pointer = buf_slice(&fault->pointer);
        r.reason = buf_slice(&fault->reason);
    }
    r.seq = message_drop(t, x, request ? "request" : "noise", ROW_REFUSED);
    findings f = x->m.findings & FINDING(FIND_SERVER_GONE);
    size_t bytes = send_reply(t, ROW_S2C, &r, r.seq, f);
    if (!request)
        return;
    struct action a = {
        .seq = r.seq,
        .status = "refused",
        .method = x->m.method,
        .target = r.target,
        .request_bytes = x->size,
    };
    log_reply(t, &a, code, why, bytes);
}

void message_reply(struct traffic *t, enum row_direction to, struct slice id, uint64_t seq,
                   int code, const char *why, const char *cause)
{
    struct reply r = {.id = id,
                      .code = code,
                      .message = why,
                      .cause = cause,
                      .session = recorder_uid(t->recorder),
                      .seq = seq};
    (void)send_reply(t, to, &r, seq, 0);
}

struct action message_action(const struct traffic *t, const struct pending *p)
{
    return (struct action){
        .wall_us = clock_wall_us(),
        .seq = p->request_seq,
        .method = p->method,
        .target = p->target,
        .arguments = p->arguments,
        .arguments_n = p->arguments_n,
        .duration_us = recorder_now_us(t->recorder) - p->t_us,
        .request_bytes = p->size,
    };
}

/* Closes an open request with an error of ours. */
static void answer_open(struct traffic *t, struct pending *p, int code, const char *why,
                        const char *cause, const char *status, findings f)
{
    if (!p->cancelled) { /* nobody waits for the answer of a cancelled one */
        struct reply r = {.id = p->id,
                          .code = code,
                          .message = why,
                          .cause = cause,
                          .method = p->method,
                          .target = p->target,
                          .session = recorder_uid(t->recorder),
                          .seq = p->request_seq};
        size_t bytes = send_reply(t, ROW_S2C, &r, p->request_seq, f);
        struct action a = message_action(t, p);
        a.status = status;
        log_reply(t, &a, code, why, bytes);
    }
    message_close(t, ROW_C2S, p);
}

void message_answer_timeout(struct traffic *t, struct pending *p, int64_t timeout_us,
                            const char *cause, const char *why)
{
    int code = p->modern ? REPLY_TIMEOUT_MODERN : REPLY_TIMEOUT;
    struct reply r = {.id = p->id,
                      .code = code,
                      .message = why,
                      .cause = cause,
                      .method = p->method,
                      .target = p->target,
                      .session = recorder_uid(t->recorder),
                      .seq = p->request_seq,
                      .timeout_us = timeout_us};
    size_t bytes = send_reply(t, ROW_S2C, &r, p->request_seq, FINDING(FIND_TIMEOUT));
    struct action a = message_action(t, p);
    a.status = "timeout";
    log_reply(t, &a, code, why, bytes);
    message_give_up(t, ROW_C2S, p);
    p->timed_out = true;
}

void message_answer_for_server(struct traffic *t, struct pending *p, const char *cause,
                               const char *why)
{
    answer_open(t, p, p->modern ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE, why, cause,
                "server-gone", FINDING(FIND_SERVER_GONE));
}

void message_end_listen(struct traffic *t, struct pending *p)
{
    if (!p->cancelled) {
        struct row row = {
            .kind = "result", .direction = ROW_S2C, .rpc_id = p->id, .request_seq = p->request_seq};
        buf_clear(&t->scratch);
        reply_write_listen_end(&t->scratch, p->id);
        struct action a = message_action(t, p);
        a.status = "ok";
        a.response_bytes = send_own(t, &row, "session-ended");
        actions_add(&t->actions, &a);
    }
    message_close(t, ROW_C2S, p);
}

static const char *malformed_because(const struct message *x)
{
    if (x->m.findings & FINDING(FIND_TOO_LONG))
        return "the server's answer is longer than --max-message";
    if (x->m.findings & FINDING(FIND_DUPLICATE_ENVELOPE_KEY))
        return "the server's answer has an envelope key twice";
    if (x->m.findings & FINDING(FIND_NOT_JSONRPC))
        return "the server's answer is no JSON-RPC 2.0 message";
    if (x->batch_seq != 0)
        return "the server answered in a batch that cannot be passed on";
    return "the server's answer is malformed: it must have a result or an error, not both";
}

bool message_malformed_answer(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p = NULL;
    if (x->m.method.p == NULL)
        p = pending_find(&t->open[ROW_C2S], x->m.id, &type_changed);
    if (p == NULL)
        return false;
    if (x->m.kind == RPC_INVALID && (x->m.findings & FINDING(FIND_TOO_LONG)) == 0)
        x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    struct row row = message_row(x, "noise", ROW_REFUSED);
    row.request_seq = p->request_seq;
    recorder_add(t->recorder, &row);
    /* the finding stands with the line */
    answer_open(t, p, REPLY_INTERNAL_ERROR, malformed_because(x), "malformed-answer", "error", 0);
    return true;
}

void message_refuse_answer(struct traffic *t, struct message *x, struct pending *p, const char *why,
                           const char *cause)
{
    struct row row = message_row(x, rpc_kind_name(x->m.kind), ROW_REFUSED);
    row.request_seq = p->request_seq;
    recorder_add(t->recorder, &row);
    answer_open(t, p, REPLY_INTERNAL_ERROR, why, cause, "error", 0);
}
