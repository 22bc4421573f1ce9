#include "proxy/session/answer.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/session/invocation.h"
#include "proxy/session/request.h"
#include "proxy/session/uncertain_calls.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/rpc_out.h"

#define SPARE_SIZE ((size_t)16 << 10)

static void close_connection(struct traffic *t, enum row_direction dir, const char *cause)
{
    log_error("out of memory for an answer, closing the connection: server=%s cause=%s", t->server,
              cause);
    outbox_discard_after_error(&t->out[dir]);
}

void answer_reserve_error_memory(struct traffic *t)
{
    if (t->spare == NULL)
        t->spare = chunk_new(SPARE_SIZE);
    /* If outbox_reserve() fails, memory is allocated later, when an answer is staged. */
    (void)outbox_reserve(&t->out[ROW_S2C]);
}

/* Records and stages an answer: the n bytes at p in the chunk c. The last byte is a newline. */
static void record_and_stage_answer(struct traffic *t, struct row *row, struct chunk *c,
                                    const char *p, size_t n)
{
    row->origin = ROW_INTERPOSER;
    row->action = ROW_FORWARDED;
    row->body = (struct slice){p, n - 1};
    row->size = n - 1;
    if (row->rpc_id.p == NULL)
        row->rpc_id = slice_of("null");
    journal_append(t->journal, row);
    if (outbox_add(&t->out[row->direction], c, p, n) < 0)
        close_connection(t, row->direction, "out-of-memory");
    if (row->direction == ROW_S2C)
        t->own_bytes += n;
}

/* Records and stages the answer in t->scratch. Returns the length of the answer; 0: out of
 * memory. */
static size_t stage_answer_from_buffer(struct traffic *t, struct row *row)
{
    struct buf *b = &t->scratch;
    buf_addc(b, '\n');
    struct chunk *c = b->failed ? NULL : chunk_new(b->n);
    if (c == NULL)
        return 0;
    memcpy(c->data, b->p, b->n);
    record_and_stage_answer(t, row, c, c->data, b->n);
    chunk_release(c);
    return b->n - 1;
}

/* Sends the reply from memory that was set aside, so that a message that cannot be handled is at
 * least refused. Returns the length of the reply, or 0 if this memory is full as well. */
static size_t send_reply_from_reserved_memory(struct traffic *t, struct row *row,
                                              const struct reply *r)
{
    struct chunk *c = t->spare;
    if (c != NULL && c->refs == 1)
        t->spare_n = 0; /* all bytes in `spare` have been written */
    if (c == NULL || c->cap - t->spare_n < 2)
        return 0;
    char *start = c->data + t->spare_n;
    size_t room = c->cap - t->spare_n;
    /* The buffer is a part of `spare`, so it must not grow: `max` prevents this. */
    struct buf b = {.p = start, .cap = room, .max = room - 1};
    reply_write(&b, r);
    buf_addc(&b, '\n');
    if (b.failed)
        return 0;
    t->spare_n += b.n;
    record_and_stage_answer(t, row, c, start, b.n);
    return b.n - 1;
}

static size_t send_error(struct traffic *t, enum row_direction dir, const struct reply *r,
                         findings f)
{
    struct row row = {
        .kind = KIND_ERROR,
        .direction = dir,
        .rpc_id = r->id,
        .request_seq = r->seq,
        .has_error_code = true,
        .error_code = r->code,
        .findings = f,
    };
    answer_reserve_error_memory(t);
    buf_clear(&t->scratch);
    reply_write(&t->scratch, r);
    size_t n = stage_answer_from_buffer(t, &row);
    if (n == 0)
        n = send_reply_from_reserved_memory(t, &row, r);
    if (n == 0)
        close_connection(t, dir, r->cause);
    return n;
}

/* ---- answers that cannot be forwarded ------------------------------------------------------ */

const char *answer_explain_non_message(findings f)
{
    if (f & FINDING(FIND_DUPLICATE_ENVELOPE_KEY))
        return "the member jsonrpc, id, method, params, result or error occurs twice";
    if (f & FINDING(FIND_CALL_AND_ANSWER))
        return "the message has a method and also a result or an error";
    return "not a JSON-RPC 2.0 message";
}

static bool member_is_present(struct json_value v)
{
    return v.type != JSON_NONE && v.type != JSON_NULL;
}

static const char *find_fault_of_members(const struct rpc *m)
{
    if (member_is_present(m->result) && member_is_present(m->error))
        return "the answer has both a result and an error";
    if (!member_is_present(m->error))
        return "the answer has neither a result nor an error";
    if (m->error.type != JSON_OBJECT)
        return "the answer's error is not an object";
    if (!json_is_integer(m->error_code))
        return "the answer's error has no integer `code`";
    return "the answer's error has no string `message`";
}

static const char *find_answer_fault(const struct message *x)
{
    if (x->m.findings & FINDING(FIND_TOO_LONG))
        return "the answer is longer than --max-message";
    if (x->m.findings & (RPC_AMBIGUOUS | FINDING(FIND_NOT_JSONRPC)))
        return answer_explain_non_message(x->m.findings);
    if (x->batch_seq != 0 && x->m.kind != RPC_INVALID)
        return "the answer is in a batch that cannot be forwarded";
    return find_fault_of_members(&x->m);
}

/* Returns the pending request that x answers. Returns NULL if no request has its id, or if x is not
 * an answer. */
static struct pending *find_answered_request(struct traffic *t, const struct message *x)
{
    bool type_changed;
    if (x->m.is_call && !x->m.is_answer)
        return NULL;
    return pending_find(&t->open[x->dir == ROW_C2S ? ROW_S2C : ROW_C2S], x->m.id, &type_changed);
}

bool answer_is_malformed(struct traffic *t, const struct message *x)
{
    return x->m.kind == RPC_INVALID &&
           (x->m.findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) != 0 &&
           find_answered_request(t, x) != NULL;
}

void answer_server_with_error(struct traffic *t, const struct message *x)
{
    struct pending *p = find_answered_request(t, x);
    struct buf why = {0};
    if (p == NULL)
        return;
    buf_printf(&why, "the client's answer is invalid: %s", find_answer_fault(x));
    if (!p->cancelled)
        answer_send_error(t, ROW_C2S, p->id, p->request_seq, RPC_INTERNAL_ERROR, buf_str(&why),
                          "malformed-answer");
    request_close(t, ROW_S2C, p);
    buf_close(&why);
}

/* ---- answers to lines of the client --------------------------------------------------------- */

/* fault: the invalid argument, or NULL. repeats: the earlier call that this call equals, or
 * NULL. */
static uint64_t reject_message(struct traffic *t, struct message *x, int code, const char *why,
                               const char *cause, const struct schema_fault *fault,
                               const struct repeat *repeats)
{
    /* An answer must not be answered. A line is an answer if it has a result or an error, even
     * null, or the id of a pending request. */
    bool request =
        (x->m.id.type == JSON_NUMBER || x->m.id.type == JSON_STRING) &&
        (x->m.is_call || (x->m.result.type == JSON_NONE && x->m.error.type == JSON_NONE &&
                          find_answered_request(t, x) == NULL));
    struct reply r = {.code = code,
                      .message = why,
                      .cause = cause,
                      .session = t->journal->uid,
                      .repeats = repeats};
    if (request) {
        r.id = x->m.id.text;
        r.method = x->m.method;
        r.target = rpc_target(&x->m);
    }
    if (fault != NULL) {
        r.pointer = buf_slice(&fault->pointer);
        r.reason = buf_slice(&fault->reason);
    }
    r.seq = message_record(t, x, request ? KIND_REQUEST : KIND_NOISE, ROW_REFUSED);
    size_t bytes = send_error(t, ROW_S2C, &r, x->m.findings & FINDING(FIND_SERVER_GONE));
    answer_server_with_error(t, x);
    if (!request)
        return r.seq;
    request_remember_refused_id(t, x->m.id, r.seq);
    struct invocation v = {
        .seq = r.seq,
        .status = CALL_REFUSED,
        .method = x->m.method,
        .target = r.target,
        .request_bytes = x->size,
    };
    invocation_log_error(t, &v, code, why, bytes);
    return r.seq;
}

uint64_t answer_reject_message(struct traffic *t, struct message *x, int code, const char *why,
                               const char *cause)
{
    return reject_message(t, x, code, why, cause, NULL, NULL);
}

uint64_t answer_reject_arguments(struct traffic *t, struct message *x, int code, const char *why,
                                 const char *cause, const struct schema_fault *fault)
{
    return reject_message(t, x, code, why, cause, fault, NULL);
}

uint64_t answer_reject_repeat(struct traffic *t, struct message *x, const char *why,
                              const struct repeat *r)
{
    return reject_message(t, x, RPC_INVALID_REQUEST, why, finding_name(FIND_REPEAT_OF_UNCERTAIN),
                          NULL, r);
}

uint64_t answer_repeat_with_late_result(struct traffic *t, struct message *x, struct slice text,
                                        const struct repeat *r)
{
    static const enum call_status statuses[] = {
        [LATE_RESULT] = CALL_OK, [LATE_TOOL_ERROR] = CALL_TOOL_ERROR, [LATE_ERROR] = CALL_ERROR};
    struct json_value error = {JSON_OBJECT, text};
    struct row row = {
        .kind = r->late == LATE_ERROR ? KIND_ERROR : KIND_RESULT,
        .direction = ROW_S2C,
        .rpc_id = x->m.id.text,
        .findings = r->late == LATE_TOOL_ERROR ? FINDING(FIND_TOOL_ERROR) : 0,
    };
    struct invocation v = {
        .wall_us = clock_wall_us(),
        .status = statuses[r->late],
        .method = x->m.method,
        .target = rpc_target(&x->m),
        .request_bytes = x->size,
    };
    if (r->late == LATE_ERROR) {
        row.has_error_code = json_int(json_get(error, "code"), &row.error_code);
        v.error_code = json_get(error, "code").text;
        v.error_message = json_get(error, "message").text;
    }
    buf_clear(&t->scratch);
    reply_write_late_answer(&t->scratch, x->m.id.text, text, t->journal->uid, r);
    row.request_seq = v.seq = message_record(t, x, KIND_REQUEST, ROW_SWALLOWED);
    request_remember_refused_id(t, x->m.id, v.seq);
    v.response_bytes = stage_answer_from_buffer(t, &row);
    if (v.response_bytes == 0)
        close_connection(t, ROW_S2C, finding_name(FIND_REPEAT_OF_UNCERTAIN));
    journal_append_invocation(t->journal, &v);
    return v.seq;
}

void answer_send_error(struct traffic *t, enum row_direction to, struct slice id, uint64_t seq,
                       int code, const char *why, const char *cause)
{
    struct reply r = {.id = id,
                      .code = code,
                      .message = why,
                      .cause = cause,
                      .session = t->journal->uid,
                      .seq = seq};
    (void)send_error(t, to, &r, 0);
}

/* ---- answers to pending requests of the client ---------------------------------------------- */

static struct reply make_reply_to_request(const struct traffic *t, const struct pending *p,
                                          int code, const char *why, const char *cause)
{
    return (struct reply){
        .id = p->id,
        .code = code,
        .message = why,
        .cause = cause,
        .method = p->method,
        .target = p->target,
        .session = t->journal->uid,
        .seq = p->request_seq,
    };
}

static void send_error_and_log(struct traffic *t, const struct pending *p, const struct reply *r,
                               enum call_status status, findings f)
{
    size_t bytes = send_error(t, ROW_S2C, r, f);
    struct invocation v = invocation_make_for_request(t, p);
    v.status = status;
    invocation_log_error(t, &v, r->code, r->message, bytes);
}

static void send_error_and_close(struct traffic *t, struct pending *p, const struct reply *r,
                                 enum call_status status, findings f)
{
    if (!p->cancelled) /* the client awaits no answer to a cancelled request */
        send_error_and_log(t, p, r, status, f);
    request_close(t, ROW_C2S, p);
}

static void answer_pending_and_close(struct traffic *t, struct pending *p, int code,
                                     const char *why, const char *cause, enum call_status status,
                                     findings f)
{
    struct reply r = make_reply_to_request(t, p, code, why, cause);
    send_error_and_close(t, p, &r, status, f);
}

static int error_code_for_ended_server(const struct pending *p)
{
    return p->modern ? REPLY_SERVER_GONE_MODERN : RPC_SERVER_GONE;
}

static findings get_finding_of_ended_server(enum call_status status)
{
    return FINDING(status == CALL_INTERRUPTED ? FIND_INTERRUPTED : FIND_SERVER_GONE);
}

void answer_for_missing_server(struct traffic *t, struct pending *p, enum call_status status,
                               const char *cause, const char *why)
{
    answer_pending_and_close(t, p, error_code_for_ended_server(p), why, cause, status,
                             get_finding_of_ended_server(status));
}

static void send_error_of_ended_server(struct traffic *t, struct pending *p,
                                       enum call_status status, const char *cause, const char *why)
{
    bool effects = !handshake_request_is_repeatable(&t->handshake, p);
    struct buf text = {0};
    buf_adds(&text, why);
    buf_adds(&text, !p->was_read ? "; this request was not read"
                    : effects    ? "; this call may have run"
                                 : "");
    struct reply r = make_reply_to_request(t, p, error_code_for_ended_server(p),
                                           text.failed ? why : buf_str(&text), cause);
    if (effects)
        r.ran = p->was_read ? REPLY_RAN_MAYBE : REPLY_RAN_NO;
    if (effects && p->was_read && !p->cancelled)
        uncertain_calls_add_call(t, p, cause);
    if (!p->cancelled) /* the client awaits no answer to a cancelled request */
        send_error_and_log(t, p, &r, status, get_finding_of_ended_server(status));
    buf_close(&text);
}

void answer_request_of_ended_server(struct traffic *t, struct pending *p, enum call_status status,
                                    const char *cause, const char *why)
{
    send_error_of_ended_server(t, p, status, cause, why);
    request_close(t, ROW_C2S, p);
}

/* The request is kept, because the server may still send an answer or report progress. */
static void abandon_answered_request(struct traffic *t, struct pending *p)
{
    request_abandon(t, ROW_C2S, p);
    p->answered_by_proxy = true;
}

void answer_request_of_hung_server(struct traffic *t, struct pending *p, const char *why)
{
    /* until the process has exited, it may still read the request */
    p->was_read = true;
    send_error_of_ended_server(t, p, CALL_SERVER_GONE, "server-killed", why);
    abandon_answered_request(t, p);
}

void answer_timed_out_request(struct traffic *t, struct pending *p, int64_t timeout_us,
                              const char *cause, const char *why)
{
    struct reply r =
        make_reply_to_request(t, p, p->modern ? REPLY_TIMEOUT_MODERN : REPLY_TIMEOUT, why, cause);
    r.timeout_us = timeout_us;
    send_error_and_log(t, p, &r, CALL_TIMEOUT, FINDING(FIND_TIMEOUT));
    uncertain_calls_add_call(t, p, cause);
    abandon_answered_request(t, p);
}

void answer_subscription_with_end(struct traffic *t, struct pending *p)
{
    if (!p->cancelled) {
        struct row row = {.kind = KIND_RESULT,
                          .direction = ROW_S2C,
                          .rpc_id = p->id,
                          .request_seq = p->request_seq};
        buf_clear(&t->scratch);
        reply_write_subscription_end(&t->scratch, p->id);
        struct invocation v = invocation_make_for_request(t, p);
        v.status = CALL_OK;
        v.response_bytes = stage_answer_from_buffer(t, &row);
        if (v.response_bytes == 0)
            close_connection(t, ROW_S2C, "session-ended");
        journal_append_invocation(t->journal, &v);
    }
    request_close(t, ROW_C2S, p);
}

/* ---- errors that replace the server's answers ----------------------------------------------- */

static void record_rejected_answer(struct traffic *t, const struct message *x,
                                   const struct pending *p, enum row_kind kind)
{
    struct row row = make_message_row(t, x, kind, ROW_REFUSED);
    row.request_seq = p->request_seq;
    message_append_to_journal(t, &row);
}

bool answer_malformed_line(struct traffic *t, struct message *x)
{
    struct pending *p = find_answered_request(t, x);
    struct buf why = {0};
    if (p == NULL)
        return false;
    if (x->m.kind == RPC_INVALID && (x->m.findings & FINDING(FIND_TOO_LONG)) == 0)
        x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    record_rejected_answer(t, x, p, KIND_NOISE);
    buf_printf(&why, "the server's answer is invalid: %s", find_answer_fault(x));
    /* The finding is recorded with the server's line, not with the error that the client gets. */
    answer_client_of_refused_request(t, p, buf_str(&why), "malformed-answer");
    buf_close(&why);
    return true;
}

void answer_client_of_refused_request(struct traffic *t, struct pending *p, const char *why,
                                      const char *cause)
{
    if (!p->cancelled)
        uncertain_calls_add_call(t, p, "rejected-answer");
    answer_pending_and_close(t, p, RPC_INTERNAL_ERROR, why, cause, CALL_ERROR, 0);
}

void answer_replace_rejected_answer(struct traffic *t, struct message *x, struct pending *p,
                                    const char *why, const char *cause)
{
    record_rejected_answer(t, x, p, row_kind_of_rpc(x->m.kind));
    answer_client_of_refused_request(t, p, why, cause);
}
