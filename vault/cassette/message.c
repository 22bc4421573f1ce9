#include "vault/cassette/message.h"

#include "base/clock.h"
#include "vault/cassette/derived.h"
#include "vault/cassette/members.h"
#include "wire/json/text.h"

enum {
    M_T,
    M_DIR,
    M_KIND,
    M_ORIGIN,
    M_ACTION,
    M_SIZE,
    M_REDACTIONS,
    M_RE,
    M_MEMBER,
    M_FINDING,
    M_ID,
    M_METHOD,
    M_TARGET,
    M_CODE,
    M_REVISION,
    M_MSG,
    M_TEXT,
    M_COUNT
};

static const struct cassette_member message_members[M_COUNT] = {
    [M_T] = {"t", JSON_NUMBER, true, 0},
    [M_DIR] = {"dir", JSON_STRING, true, 0},
    [M_KIND] = {"kind", JSON_STRING, false, 0},
    [M_ORIGIN] = {"origin", JSON_STRING, false, 0},
    [M_ACTION] = {"action", JSON_STRING, false, 0},
    [M_SIZE] = {"size", JSON_NUMBER, false, 0},
    [M_REDACTIONS] = {"redactions", JSON_NUMBER, false, 0},
    [M_RE] = {"re", JSON_NUMBER, false, 0},
    [M_MEMBER] = {"member", JSON_TRUE, false, 0},
    [M_FINDING] = {"finding", JSON_STRING, false, 0},
    [M_ID] = {"id", JSON_NONE, false, 0},
    [M_METHOD] = {"method", JSON_STRING, false, 0},
    [M_TARGET] = {"target", JSON_STRING, false, 0},
    [M_CODE] = {"code", JSON_NUMBER, false, 0},
    [M_REVISION] = {"revision", JSON_STRING, false, CASSETTE_REVISIONS},
    [M_MSG] = {"msg", JSON_NONE, false, 0},
    [M_TEXT] = {"text", JSON_STRING, false, 0},
};

/* Reads a member whose value is a word of a table. *ret is unchanged if the member is missing. */
static int message_word(struct json_value v, const char *name, const struct value_words *words,
                        struct buf *texts, unsigned *ret, struct buf *why)
{
    struct slice text = {0};
    int st = cassette_string(v, name, texts, &text, why);
    if (st < 0 || text.p == NULL)
        return st;
    unsigned value = value_of(words, text);
    if (value < words->n) {
        *ret = value;
        return 0;
    }
    buf_printf(why, "`%s` must be one of: ", name);
    for (unsigned i = 0; i < words->n; i++)
        buf_printf(why, "%s%s", i > 0 ? ", " : "", value_word(words, i));
    return MI_EPROTO;
}

/* Defaults: the message is from a peer and was forwarded, and its body determines its kind. */
static int message_words(const struct json_value *v, struct query_message *m, struct buf *texts,
                         struct buf *why)
{
    unsigned direction = ROW_DIRECTION_UNKNOWN, kind = KIND_UNKNOWN;
    unsigned origin = ROW_PEER, action = ROW_FORWARDED;
    int st = message_word(v[M_DIR], "dir", &row_directions, texts, &direction, why);
    if (st == 0)
        st = message_word(v[M_KIND], "kind", &row_kinds, texts, &kind, why);
    if (st == 0)
        st = message_word(v[M_ORIGIN], "origin", &row_origins, texts, &origin, why);
    if (st == 0)
        st = message_word(v[M_ACTION], "action", &row_actions, texts, &action, why);
    m->direction = direction;
    m->kind = kind;
    m->origin = origin;
    m->action = action;
    return st;
}

/* The text members. `texts` has space for all of them. */
static int message_texts(const struct json_value *v, struct query_message *m, struct buf *texts,
                         struct buf *why)
{
    struct slice *const to[M_COUNT] = {
        [M_FINDING] = &m->finding,   [M_METHOD] = &m->method, [M_TARGET] = &m->target,
        [M_REVISION] = &m->revision, [M_TEXT] = &m->body,
    };
    int st = 0;
    for (size_t i = 0; st == 0 && i < M_COUNT; i++)
        if (to[i] != NULL)
            st = cassette_string(v[i], message_members[i].name, texts, to[i], why);
    if (v[M_MSG].type != JSON_NONE)
        m->body = v[M_MSG].text;
    if (v[M_ID].type != JSON_NONE)
        m->rpc_id = v[M_ID].text;
    return st;
}

static int message_numbers(const struct json_value *v, struct query_message *m, int64_t *re,
                           struct buf *why)
{
    m->size = -1;
    *re = -1;
    int st = cassette_count(v[M_T], "t", &m->t_us, why);
    if (st == 0)
        st = cassette_count(v[M_SIZE], "size", &m->size, why);
    if (st == 0)
        st = cassette_count(v[M_REDACTIONS], "redactions", &m->redactions, why);
    if (st == 0)
        st = cassette_count(v[M_RE], "re", re, why);
    if (st < 0 || v[M_CODE].type == JSON_NONE)
        return st;
    m->has_error_code = json_int(v[M_CODE], &m->error_code);
    if (m->has_error_code)
        return 0;
    buf_adds(why, "`code` must be a whole number");
    return MI_EPROTO;
}

static int check_message(struct cassette_reader *r, const struct json_value *v,
                         const struct query_message *m, int64_t re)
{
    if (v[M_MSG].type != JSON_NONE && v[M_TEXT].type != JSON_NONE)
        buf_adds(&r->why, "a line has either `msg` or `text`, not both");
    else if (m->body.p == NULL && m->kind == KIND_UNKNOWN)
        buf_adds(&r->why, "`msg` is missing");
    else if (m->t_us < r->last_t_us)
        buf_adds(&r->why, "`t` is less than in the line before");
    else if (re > r->seq)
        buf_adds(&r->why, "`re` must be the number of an earlier message");
    else if (v[M_MEMBER].type != JSON_NONE && r->last_batch == 0)
        buf_adds(&r->why, "`member` requires a batch in an earlier line");
    return r->why.n > 0 || r->why.failed ? MI_EPROTO : 0;
}

int cassette_message(struct cassette_reader *r, struct slice line)
{
    struct query_message m = {0};
    struct json_value v[M_COUNT];
    int64_t re = 0;
    buf_clear(&r->texts);
    if (!buf_reserve(&r->texts, line.n + 1))
        return cassette_no_memory(r);
    int st = cassette_members(line, message_members, M_COUNT, r->version, v, &r->why);
    if (st == 0)
        st = message_words(v, &m, &r->texts, &r->why);
    if (st == 0)
        st = message_texts(v, &m, &r->texts, &r->why);
    if (st == 0)
        st = message_numbers(v, &m, &re, &r->why);
    if (st == 0)
        st = check_message(r, v, &m, re);
    if (st < 0)
        return cassette_reject(r, buf_str(&r->why), NULL);
    if (v[M_MEMBER].type != JSON_NONE)
        m.batch_seq = r->last_batch;
    return cassette_pass_message(r, &m, re);
}

/* Fills in the fields that the line omits. */
static void complete(struct query_message *m, const struct cassette_derived *d)
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
        m->size = (int64_t)m->body.n;
}

static void fill_request(const struct pairing *p, struct query_message *m)
{
    const struct pairing_request *q = pairing_find(p, m->request_seq);
    m->has_request = m->request_seq > 0 && q != NULL;
    if (!m->has_request)
        return;
    m->request_t_us = q->t_us;
    m->request_method = pairing_text(p, q->method_at, q->method_n);
    m->request_target = pairing_text(p, q->target_at, q->target_n);
    m->request_action = q->action;
}

int cassette_pass_message(struct cassette_reader *r, struct query_message *m, int64_t re)
{
    struct cassette_derived d;
    bool from_client = m->direction == ROW_C2S;
    enum pairing_rule rule = r->foreign ? PAIRING_OLDEST : PAIRING_NEWEST;
    bool is_text = m->kind == KIND_STDERR || (m->kind == KIND_NOISE && r->foreign);
    if (m->t_us > CLOCK_MAX_US - r->started_us)
        return cassette_reject(r, "its time is after the year 9999", NULL);
    if (cassette_derive(m->body, is_text, &r->scratch, &d) < 0)
        return cassette_no_memory(r);
    complete(m, &d);
    cassette_derive_from_row(m, &d);
    m->seq = ++r->seq;
    r->last_t_us = m->t_us;
    if (re < 0 && pairing_look(&r->pairing, rule, from_client, &d.rpc, &re) < 0)
        return cassette_no_memory(r);
    m->request_seq = re;
    if (m->kind == KIND_BATCH)
        r->last_batch = m->seq;
    fill_request(&r->pairing, m);
    if (r->on_message != NULL)
        r->stopped = !r->on_message(r->ctx, m);
    if (pairing_note(&r->pairing, from_client, &d.rpc, m->seq, m->t_us, m->method, m->target,
                     m->action, re) < 0)
        return cassette_no_memory(r);
    return 0;
}
