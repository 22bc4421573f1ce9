/* cassette_message.c - a line of a cassette that is a message: its members, and what they leave out. */
#include "vault/cassette_inner.h"

#include "wire/json_text.h"

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
    M_MSG,
    M_TEXT,
    M_COUNT
};

static const struct cassette_member message_members[M_COUNT] = {
    [M_T] = {"t", JSON_NUMBER, true},
    [M_DIR] = {"dir", JSON_STRING, true},
    [M_KIND] = {"kind", JSON_STRING, false},
    [M_ORIGIN] = {"origin", JSON_STRING, false},
    [M_ACTION] = {"action", JSON_STRING, false},
    [M_SIZE] = {"size", JSON_NUMBER, false},
    [M_REDACTIONS] = {"redactions", JSON_NUMBER, false},
    [M_RE] = {"re", JSON_NUMBER, false},
    [M_MEMBER] = {"member", JSON_TRUE, false},
    [M_FINDING] = {"finding", JSON_STRING, false},
    [M_ID] = {"id", JSON_NONE, false},
    [M_METHOD] = {"method", JSON_STRING, false},
    [M_TARGET] = {"target", JSON_STRING, false},
    [M_CODE] = {"code", JSON_NUMBER, false},
    [M_MSG] = {"msg", JSON_NONE, false},
    [M_TEXT] = {"text", JSON_STRING, false},
};

/* The value must be one of these words; {NULL, 0} stays what it is. */
static int one_word(struct slice s, const char *name, const char *const *words, struct buf *why)
{
    if (s.p == NULL)
        return 0;
    for (size_t i = 0; words[i] != NULL; i++)
        if (slice_is(s, words[i]))
            return 0;
    buf_printf(why, "`%s` must be one of: ", name);
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(why, "%s%s", i > 0 ? ", " : "", words[i]);
    return MI_EPROTO;
}

static int check_words(const struct query_message *m, struct buf *why)
{
    static const char *const directions[] = {"c2s", "s2c", NULL};
    static const char *const kinds[] = {"request", "notification", "result", "error",
                                        "batch",   "noise",        "stderr", NULL};
    static const char *const origins[] = {"peer", "interposer", NULL};
    static const char *const actions[] = {"forwarded", "refused", "swallowed", NULL};
    int st = one_word(m->direction, "dir", directions, why);
    if (st == 0)
        st = one_word(m->kind, "kind", kinds, why);
    if (st == 0)
        st = one_word(m->origin, "origin", origins, why);
    if (st == 0)
        st = one_word(m->action, "action", actions, why);
    return st;
}

/* The members that are texts. `room` has room for all of them. */
static int message_texts(const struct json_value *v, struct query_message *m, struct buf *room,
                         struct buf *why)
{
    struct slice *const texts[M_COUNT] = {
        [M_DIR] = &m->direction, [M_KIND] = &m->kind,       [M_ORIGIN] = &m->origin,
        [M_ACTION] = &m->action, [M_FINDING] = &m->finding, [M_METHOD] = &m->method,
        [M_TARGET] = &m->target, [M_TEXT] = &m->body,
    };
    int st = 0;
    for (size_t i = 0; st == 0 && i < M_COUNT; i++)
        if (texts[i] != NULL)
            st = cassette_string(v[i], message_members[i].name, room, texts[i], why);
    if (v[M_MSG].type != JSON_NONE)
        m->body = v[M_MSG].text;
    if (v[M_ID].type != JSON_NONE)
        m->rpc_id = v[M_ID].text;
    return st == 0 ? check_words(m, why) : st;
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
        buf_adds(&r->why, "`msg` and `text` stand both; a line has one of them");
    else if (m->body.p == NULL && m->kind.p == NULL)
        buf_adds(&r->why, "`msg` is missing");
    else if (m->t_us < r->last_t_us)
        buf_adds(&r->why, "`t` is before that of the line above");
    else if (re > r->seq)
        buf_adds(&r->why, "`re` must name a message before this one");
    else if (v[M_MEMBER].type != JSON_NONE && r->last_batch == 0)
        buf_adds(&r->why, "`member` stands here, and no batch before it");
    return r->why.n > 0 || r->why.failed ? MI_EPROTO : 0;
}

int cassette_message(struct cassette_reader *r, struct slice line)
{
    struct query_message m = {0};
    struct json_value v[M_COUNT];
    int64_t re = 0;
    buf_clear(&r->room);
    if (!buf_room(&r->room, line.n + 1))
        return cassette_no_memory(r);
    int st = cassette_members(line, message_members, M_COUNT, true, v, &r->why);
    if (st == 0)
        st = message_texts(v, &m, &r->room, &r->why);
    if (st == 0)
        st = message_numbers(v, &m, &re, &r->why);
    if (st == 0)
        st = check_message(r, v, &m, re);
    if (st < 0)
        return cassette_refuse(r, buf_str(&r->why), NULL);
    if (v[M_MEMBER].type != JSON_NONE)
        m.batch_seq = r->last_batch;
    return cassette_give(r, &m, re);
}

/* What the line did not say is what its message says. */
static void complete(struct query_message *m, const struct cassette_derived *d)
{
    static const struct slice peer = {"peer", 4}, forwarded = {"forwarded", 9};
    if (m->kind.p == NULL)
        m->kind = d->kind;
    if (m->origin.p == NULL)
        m->origin = peer;
    if (m->action.p == NULL)
        m->action = forwarded;
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
    m->request_action = pairing_text(p, q->action_at, q->action_n);
}

int cassette_give(struct cassette_reader *r, struct query_message *m, int64_t re)
{
    struct cassette_derived d;
    bool from_client = slice_is(m->direction, "c2s");
    bool is_stderr = m->kind.p != NULL && slice_is(m->kind, "stderr");
    if (cassette_derive(m->body, is_stderr, &r->scratch, &d) < 0)
        return cassette_no_memory(r);
    complete(m, &d);
    cassette_stand_in(m, &d);
    m->seq = ++r->seq;
    r->last_t_us = m->t_us;
    if (re < 0 && pairing_look(&r->pairing, from_client, &d.rpc, &re) < 0)
        return cassette_no_memory(r);
    m->request_seq = re;
    if (slice_is(m->kind, "batch"))
        r->last_batch = m->seq;
    fill_request(&r->pairing, m);
    if (r->on_message != NULL)
        r->stopped = !r->on_message(r->ctx, m);
    if (pairing_note(&r->pairing, from_client, &d.rpc, m->seq, m->t_us, m->method, m->target,
                     m->action, re) < 0)
        return cassette_no_memory(r);
    return 0;
}
