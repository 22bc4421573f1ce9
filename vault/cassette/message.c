#include "vault/cassette/message.h"

#include "base/clock.h"
#include "vault/cassette/derived.h"
#include "vault/cassette/message_line.h"

static int check_message(struct cassette_reader *r, const struct query_message *m)
{
    if (m->body.p == NULL && m->kind == KIND_UNKNOWN)
        buf_adds(&r->why, "`msg` is missing");
    else if (m->t_us < r->last_t_us)
        buf_adds(&r->why, "`t` is less than in the line before");
    else if (m->request_seq > r->seq)
        buf_adds(&r->why, "`re` must be the number of an earlier message");
    else if (m->batch_seq != 0 && r->last_batch == 0)
        buf_adds(&r->why, "`member` requires a batch in an earlier line");
    return r->why.n > 0 || r->why.failed ? MI_EPROTO : 0;
}

int cassette_read_message(struct cassette_reader *r, struct slice line)
{
    struct query_message m;
    buf_clear(&r->texts);
    if (!buf_reserve(&r->texts, line.n + 1))
        return cassette_set_no_memory_error(r);
    int st = message_line_read(line, r->version, &r->texts, &m, &r->why);
    if (st == 0)
        st = check_message(r, &m);
    if (st < 0)
        return cassette_reject(r, buf_str(&r->why), NULL);
    if (m.batch_seq != 0)
        m.batch_seq = r->last_batch;
    return cassette_deliver_message(r, &m, m.request_seq);
}

/* Sets the fields that the line omits. */
static void fill_omitted_message_fields(struct query_message *m, const struct cassette_derived *d)
{
    if (m->kind == KIND_UNKNOWN)
        m->kind = d->kind;
    if (m->rpc_id.p == NULL)
        m->rpc_id = d->rpc_id;
    if (m->method.p == NULL)
        m->method = d->method;
    if (m->target.p == NULL)
        m->target = d->target;
    if (!m->has_error_code && d->has_error_code) {
        m->has_error_code = true;
        m->error_code = d->error_code;
    }
    if (m->size < 0)
        m->size = d->size;
}

int cassette_deliver_message(struct cassette_reader *r, struct query_message *m, int64_t re)
{
    struct cassette_derived d;
    bool from_client = m->direction == ROW_C2S;
    enum pairing_rule rule = r->foreign ? PAIRING_OLDEST : PAIRING_NEWEST;
    bool is_text = m->kind == KIND_STDERR || (m->kind == KIND_NOISE && r->foreign);
    if (m->t_us > CLOCK_MAX_US - r->started_us)
        return cassette_reject(r, "the message's time is after the year 9999", NULL);
    if (cassette_derive_message_values(m->body, is_text, &r->scratch, &d) < 0)
        return cassette_set_no_memory_error(r);
    fill_omitted_message_fields(m, &d);
    cassette_derive_from_row(m, &d);
    m->seq = ++r->seq;
    r->last_t_us = m->t_us;
    if (re < 0 && pairing_find_request(&r->pairing, rule, from_client, &d.rpc, &re) < 0)
        return cassette_set_no_memory_error(r);
    m->request_seq = re;
    if (m->kind == KIND_BATCH)
        r->last_batch = m->seq;
    const struct pairing_request *q = pairing_find(&r->pairing, m->request_seq);
    m->has_request = m->request_seq > 0 && q != NULL;
    if (m->has_request) {
        m->request_t_us = q->t_us;
        m->request_method = pairing_get_text(&r->pairing, q->method_at, q->method_n);
        m->request_target = pairing_get_text(&r->pairing, q->target_at, q->target_n);
        m->request_action = q->action;
    }
    if (r->on_message != NULL)
        r->stopped = !r->on_message(r->ctx, m);
    if (pairing_add_message(&r->pairing, from_client, &d.rpc, m->seq, m->t_us, m->method, m->target,
                            m->action, re) < 0)
        return cassette_set_no_memory_error(r);
    return 0;
}
