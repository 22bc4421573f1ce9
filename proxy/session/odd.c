#include "proxy/session/odd.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/excerpt.h"
#include "proxy/session/invocation.h"
#include "proxy/session/request.h"
#include "proxy/session/stray.h"
#include "wire/lenient.h"

/* ---- quotes --------------------------------------------------------------------------------- */

void odd_quote(struct traffic *t, struct slice text)
{
    buf_clear(&t->odd.quote);
    excerpt_add_start(&t->odd.quote, text);
    t->odd.quoted_at = ++t->timers.server_messages;
}

void odd_explain(const struct traffic *t, const struct pending *p, struct buf *why)
{
    const struct buf *quote = &t->odd.quote;
    if (quote->n > 0 && !quote->failed && t->odd.quoted_at > p->server_messages)
        buf_printf(why, " (it sent a line that answers no request: %.*s)", (int)quote->n, quote->p);
}

/* ---- answers that nobody can read ----------------------------------------------------------- */

/* The pending request with this id; NULL: none, or the line is a request or notification. */
static struct pending *request_of(struct traffic *t, const struct lenient *l)
{
    bool type_changed;
    if (!lenient_answers(l))
        return NULL;
    return pending_find(&t->open[ROW_C2S], l->id, &type_changed);
}

static void refuse(struct traffic *t, struct message *x, struct pending *p, const char *why)
{
    x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    x->m.id = (struct json_value){JSON_STRING, p->id};
    answer_reject_answer(t, x, p, why, "malformed-answer");
}

/* A valid answer may have closed the request. */
static void refuse_held(struct traffic *t)
{
    struct pending *p = t->open[ROW_C2S].open.oldest;
    while (p != NULL && p->request_seq != t->odd.refused_seq)
        p = p->next;
    if (p != NULL && t->odd.refused_seq != 0)
        answer_refuse(t, p, buf_str(&t->odd.refuse_why), "malformed-answer");
    t->odd.refused_seq = 0;
}

/* Servers print an answer for people, and then send it. */
static void refuse_later(struct traffic *t, struct message *x, struct pending *p, const char *why)
{
    if (t->odd.refused_seq == p->request_seq)
        t->odd.refused_seq = 0; /* the newer reason counts */
    refuse_held(t);
    x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    x->m.id = (struct json_value){JSON_STRING, p->id};
    struct row row = message_row(x, KIND_NOISE, ROW_REFUSED);
    row.request_seq = p->request_seq;
    message_append(t, &row);
    t->odd.refused_seq = p->request_seq;
    t->odd.refuse_us = journal_now_us(t->journal) + ODD_WAIT_US;
    buf_clear(&t->odd.refuse_why);
    buf_adds(&t->odd.refuse_why, why);
}

/* x is not JSON, and nothing repairs it. at: the flaw. */
static enum odd_result answer_unreadable(struct traffic *t, struct message *x, size_t at)
{
    struct lenient l;
    struct buf why = {0};
    enum json_fault_kind kind = x->m.fault.kind == JSON_DEEP ? JSON_DEEP
                                : at >= x->text.n            ? JSON_CUT
                                                             : JSON_SYNTAX;
    lenient_read(x->text, &l);
    struct pending *p = request_of(t, &l);
    if (p == NULL) {
        if (l.id.type != JSON_NONE || l.is_answer || l.is_call)
            odd_quote(t, x->text);
        return ODD_NOT_ONE;
    }
    buf_printf(&why, "the server's answer is not valid JSON: %s, at byte %zu of the line",
               json_fault_text(kind), at);
    excerpt_add(&why, x->text, at);
    refuse_later(t, x, p, buf_str(&why));
    buf_close(&why);
    return ODD_DONE;
}

/* Several values on one line: two parsers would read two things. Each request that one of them answers gets an
 * error. */
static enum odd_result answer_several(struct traffic *t, struct message *x)
{
    static const char why[] = "the server's answer is invalid: several JSON values on one line";
    struct slice rest = x->text;
    struct lenient l;
    bool recorded = false;
    x->m.findings |= FINDING(FIND_SEVERAL_VALUES);
    while (lenient_next(&rest, &l)) {
        struct pending *p = request_of(t, &l);
        if (p != NULL && !recorded)
            refuse(t, x, p, why);
        else if (p != NULL)
            answer_refuse(t, p, why, "malformed-answer");
        recorded |= p != NULL;
    }
    return recorded ? ODD_DONE : ODD_NOT_ONE;
}

/* ---- repairs -------------------------------------------------------------------------------- */

/* With --validate protocol what would be repaired is refused. x->m is the message as it would be. */
static enum odd_result refuse_repair(struct traffic *t, struct message *x, const struct repairs *r)
{
    bool type_changed;
    struct pending *p = NULL;
    struct buf why = {0};
    if (x->m.kind == RPC_RESULT || x->m.kind == RPC_ERROR)
        p = pending_find(&t->open[ROW_C2S], x->m.id, &type_changed);
    buf_printf(&why, "%s, at byte %zu of the line: %s", finding_name(r->list[0].finding),
               r->list[0].at, finding_meaning(r->list[0].finding));
    enum rpc_kind kind = x->m.kind;
    x->m.kind = RPC_INVALID;
    if (p != NULL) {
        refuse(t, x, p, buf_str(&why));
    } else {
        uint64_t seq = message_record(t, x, KIND_NOISE, ROW_REFUSED);
        if (kind == RPC_REQUEST)
            answer_error(t, ROW_C2S, x->m.id.text, seq, RPC_INVALID_REQUEST, buf_str(&why),
                         finding_name(r->list[0].finding));
    }
    buf_close(&why);
    return ODD_DONE;
}

/* The repaired text is valid JSON. */
static enum odd_result use_repaired(struct traffic *t, struct message *x, struct mend *m,
                                    struct rpc *rpc)
{
    struct json_fault fault = x->m.fault;
    struct open_requests open = stray_open_requests(t);
    bool log_text = m->trailing.n > 0 && glued_is_echo(&open, rpc);
    if (rpc->kind == RPC_INVALID || log_text || t->validate == VALIDATE_PROTOCOL) {
        /* it is not forwarded: the record has the line as it was received */
        findings of_line = x->m.findings, repairs = x->repairs;
        rpc->fault = fault;
        rpc->findings |= of_line;
        x->m = *rpc;
        x->repairs |= repairs_set(&m->repairs);
        bool meant = (rpc->findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) != 0;
        if (rpc->kind == RPC_INVALID && meant && answer_malformed(t, x))
            return ODD_DONE;
        if (rpc->kind != RPC_INVALID && !log_text)
            return refuse_repair(t, x, &m->repairs);
        if (rpc->is_answer || (rpc->is_call && !log_text))
            odd_quote(t, x->text);
        x->m = (struct rpc){.kind = RPC_INVALID, .findings = of_line, .fault = fault};
        x->repairs = repairs;
        return ODD_NOT_ONE;
    }
    struct chunk *copy = chunk_new(m->text.n + 1);
    if (copy == NULL)
        return answer_unreadable(t, x, fault.at);
    memcpy(copy->data, m->text.p, m->text.n);
    if (m->trailing.n > 0)
        stray_noise(t, m->trailing, FINDING(FIND_NOT_JSON));
    x->m.findings = 0;
    x->repairs |= repairs_set(&m->repairs);
    t->odd.repairs = m->repairs;
    return message_replace(x, copy, m->text.n) == 0 ? ODD_MESSAGE : ODD_NOT_ONE;
}

/* What mend made of the line, or of several lines. */
static enum odd_result use_mended(struct traffic *t, struct message *x, struct mend *m,
                                  enum mend_result result)
{
    struct rpc rpc;
    bool whole = result == MEND_WHOLE;
    if (whole && glued_begins_value(m->trailing))
        return answer_several(t, x);
    if (whole && rpc_read(buf_slice(&m->text), &rpc) == 0)
        return use_repaired(t, x, m, &rpc);
    return answer_unreadable(t, x, result == MEND_FLAWED ? m->flaw_at : x->m.fault.at);
}

/* ---- several lines -------------------------------------------------------------------------- */

static void keep_line(struct traffic *t, const struct message *x)
{
    buf_slice_add(&t->odd.lines, x->text);
    buf_addc(&t->odd.lines, '\n');
    t->odd.found |= x->repairs;
    t->odd.until_us = journal_now_us(t->journal) + ODD_WAIT_US;
    if (t->odd.until_us > t->odd.since_us + ODD_WAIT_MAX_US)
        t->odd.until_us = t->odd.since_us + ODD_WAIT_MAX_US;
}

/* Takes over m. */
static void begin_wait(struct traffic *t, const struct message *x, const struct mend *m)
{
    t->odd.waits = true;
    t->odd.mend = *m;
    t->odd.found = 0;
    t->odd.since_us = journal_now_us(t->journal);
    buf_clear(&t->odd.lines);
    keep_line(t, x);
}

/* The lines that have waited, as one. */
static struct message waiting_lines(const struct traffic *t)
{
    struct message x = {.dir = ROW_S2C, .repairs = t->odd.found};
    x.text = buf_slice(&t->odd.lines);
    x.text.n -= x.text.n > 0; /* the last newline */
    x.size = x.text.n;
    (void)!rpc_read(x.text, &x.m); /* for the fault and the findings */
    return x;
}

static void close_wait(struct traffic *t)
{
    t->odd.waits = false;
    mend_close(&t->odd.mend);
    buf_close(&t->odd.lines);
}

static void drop_lines(struct traffic *t, struct slice lines)
{
    while (lines.n > 0) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        size_t n = nl != NULL ? (size_t)(nl - lines.p) : lines.n;
        struct message x = {.dir = ROW_S2C, .text = {lines.p, n}, .size = n};
        x.repairs = t->odd.found;
        (void)!rpc_read(x.text, &x.m); /* for the findings */
        stray_drop(t, &x);
        lines.p += n + (nl != NULL);
        lines.n -= n + (nl != NULL);
    }
}

/* They are not a message. cut: by the end of the output. */
static void end_wait(struct traffic *t, bool cut)
{
    if (!t->odd.waits)
        return;
    struct message x = waiting_lines(t);
    if (cut || answer_unreadable(t, &x, x.text.n) == ODD_NOT_ONE)
        drop_lines(t, x.text);
    close_wait(t);
}

enum odd_result odd_next_line(struct traffic *t, struct message *x)
{
    struct rpc alone;
    struct mend *m = &t->odd.mend;
    bool message = rpc_read(x->text, &alone) == 0 && alone.kind != RPC_INVALID &&
                   alone.kind != RPC_BATCH; /* an array may be part of the message */
    if (message || t->odd.lines.n + x->text.n > t->max_message) {
        end_wait(t, false);
        return ODD_NOT_ONE;
    }
    enum mend_result result = mend_add(m, x->text);
    if (result == MEND_FLAWED) {
        end_wait(t, false);
        return ODD_NOT_ONE;
    }
    keep_line(t, x);
    if (result == MEND_MORE)
        return ODD_DONE;
    struct message whole = waiting_lines(t);
    enum odd_result r = use_mended(t, &whole, m, result);
    if (r == ODD_NOT_ONE)
        drop_lines(t, whole.text);
    close_wait(t);
    *x = whole;
    if (x->copy.chunk != NULL)
        x->line = &x->copy;
    return r == ODD_NOT_ONE ? ODD_DONE : r;
}

int64_t odd_next_us(const struct traffic *t, int64_t now_us)
{
    int64_t due_us = t->odd.waits ? t->odd.until_us : INT64_MAX;
    if (t->odd.refused_seq != 0 && t->odd.refuse_us < due_us)
        due_us = t->odd.refuse_us;
    if (due_us == INT64_MAX)
        return -1;
    return due_us > now_us ? due_us - now_us : 0;
}

void odd_due(struct traffic *t, int64_t now_us)
{
    bool line = t->odd.waits && now_us >= t->odd.until_us;
    bool error = t->odd.refused_seq != 0 && now_us >= t->odd.refuse_us;
    if (t->timers.paused & TIMERS_SERVER_NOT_READ) { /* the next line may have come */
        if (line)
            t->odd.until_us = now_us + ODD_WAIT_US;
        if (error)
            t->odd.refuse_us = now_us + ODD_WAIT_US;
        return;
    }
    if (line)
        end_wait(t, false);
    if (line || error)
        refuse_held(t);
}

void odd_output_ended(struct traffic *t)
{
    refuse_held(t);
    end_wait(t, true);
    t->odd.own_pending = 0;
    t->odd.notified_seq = 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Log text in front of a message that has a flaw. */
static enum odd_result read_glued(struct traffic *t, struct message *x)
{
    struct glued g;
    struct open_requests open = stray_open_requests(t);
    enum glued_result found = glued_read(x->text, t->max_message, &open, &g);
    if (found == GLUED_NONE)
        return ODD_NOT_ONE;
    stray_noise(t, g.before, FINDING(FIND_NOT_JSON));
    x->text = g.rest;
    x->repairs |= FINDING(FIND_GLUED_TEXT);
    enum odd_result r = found == GLUED_MESSAGE ? use_repaired(t, x, &g.mend, &g.rpc)
                                               : answer_unreadable(t, x, g.flaw_at);
    mend_close(&g.mend);
    if (x->copy.chunk != NULL)
        x->line = &x->copy;
    return r;
}

enum odd_result odd_line(struct traffic *t, struct message *x)
{
    if (x->m.fault.kind == JSON_OK) {
        struct lenient l;
        if ((x->m.findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) == 0)
            return ODD_NOT_ONE; /* JSON of a log */
        if (answer_malformed(t, x))
            return ODD_DONE;
        lenient_read(x->text, &l); /* of two ids, the last was tried: now the first */
        struct json_value last = x->m.id;
        x->m.id = l.id;
        if (answer_malformed(t, x))
            return ODD_DONE;
        x->m.id = last;
        if (x->m.is_answer || x->m.is_call)
            odd_quote(t, x->text);
        return ODD_NOT_ONE;
    }
    if (!glued_begins_value(x->text))
        return read_glued(t, x);
    struct mend m;
    bool last = (x->repairs & FINDING(FIND_NO_NEWLINE)) != 0;
    mend_open(&m, t->max_message);
    enum mend_result result = mend_add(&m, x->text);
    if (result == MEND_MORE && !last && x->text.p[0] == '{') {
        begin_wait(t, x, &m);
        return ODD_DONE;
    }
    /* a line that was being written when the output ended: the reason of the end answers its request */
    bool cut = last && (result == MEND_MORE || (result == MEND_FLAWED && m.flaw_at >= x->text.n));
    enum odd_result r = cut ? ODD_NOT_ONE : use_mended(t, x, &m, result);
    mend_close(&m);
    return r;
}

void odd_forward(struct traffic *t, struct message *x)
{
    struct pending *p = NULL;
    struct lenient l;
    lenient_read(x->text, &l);
    if (x->m.fault.kind == JSON_OK)
        l.id = x->m.id;
    if (x->dir == ROW_S2C)
        p = request_of(t, &l);
    struct row row = message_row(x, KIND_NOISE, ROW_FORWARDED);
    row.request_seq = p != NULL ? p->request_seq : 0;
    journal_append(t->journal, &row);
    message_stage(t, x);
    if (p == NULL)
        return;
    if (!p->cancelled) {
        struct invocation v = invocation_of(t, p);
        v.status = CALL_ERROR;
        invocation_log_error(t, &v, RPC_INTERNAL_ERROR, "the server's answer is invalid", x->size);
    }
    t->timers.server_messages++;
    request_close(t, ROW_C2S, p);
}

void odd_find_id(struct message *x, struct lenient *place, struct slice *ret_rest)
{
    *ret_rest = x->text;
    do {
        if (!lenient_next(ret_rest, place))
            return;
    } while (place->id.type == JSON_NONE);
    x->m.id = place->id;
    x->m.is_answer = place->is_answer && !place->is_call;
    x->m.is_call = !x->m.is_answer; /* the method may be behind the flaw */
}

void odd_reject_others(struct traffic *t, const struct message *x, struct slice rest,
                       const struct odd_rejection *r)
{
    struct lenient l;
    for (int i = 0; i < ODD_OTHERS_MAX && lenient_next(&rest, &l); i++) {
        if (l.id.type == JSON_NONE)
            continue;
        struct message other = {.dir = ROW_C2S, .text = x->text};
        other.m = (struct rpc){.id = l.id, .is_answer = l.is_answer, .is_call = l.is_call};
        if (l.is_call)
            answer_error(t, ROW_S2C, l.id.text, r->seq, r->code, r->why, r->cause);
        else if (l.is_answer)
            answer_malformed_to_server(t, &other);
    }
}

void odd_close(struct traffic *t)
{
    close_wait(t);
    buf_close(&t->odd.refuse_why);
    buf_close(&t->odd.quote);
}
