#include "vault/query/count.h"

#include "base/clock.h"
#include "base/text.h"

static const char *const names[COUNT_WAYS] = {
    [COUNT_TOOL] = "tool", [COUNT_SERVER] = "server", [COUNT_CLIENT] = "client",
    [COUNT_DAY] = "day",   [COUNT_METHOD] = "method",
};

const char *count_by_name(enum count_by by)
{
    return names[by];
}

enum count_by count_by_of(const char *name)
{
    int i = 0;
    while (i < COUNT_WAYS && strcmp(names[i], name) != 0)
        i++;
    return (enum count_by)i;
}

#define PART_END '\xFF' /* does not occur in UTF-8 */

static void add_part(struct buf *b, struct slice part)
{
    if (part.p != NULL)
        text_utf8(b, part);
    buf_addc(b, PART_END);
}

struct slice count_part(struct slice *key)
{
    const char *end = memchr(key->p, PART_END & 0xFF, key->n);
    struct slice part = {key->p, (size_t)(end - key->p)};
    key->p = end + 1;
    key->n -= part.n + 1;
    return part;
}

struct counting {
    struct count *c;
    struct query *q;
    const struct query_session *session;
    struct buf key; /* owned; scratch */
    int status;
};

static void make_key(struct counting *x, const struct query_call *call, int64_t at_us)
{
    char text[CLOCK_TEXT_MAX];
    buf_clear(&x->key);
    switch (x->c->by) {
    case COUNT_TOOL:
        add_part(&x->key, x->session->name);
        add_part(&x->key, call->target);
        break;
    case COUNT_SERVER:
        add_part(&x->key, x->session->name);
        break;
    case COUNT_CLIENT:
        add_part(&x->key, x->session->client_name);
        break;
    case COUNT_DAY:
        clock_local_text(at_us, text);
        add_part(&x->key, (struct slice){text, size_min(strlen(text), 10)});
        break;
    default:
        add_part(&x->key, call->method);
    }
}

static bool on_call(void *ctx, const struct query_call *call)
{
    struct counting *x = ctx;
    const struct filter *f = &x->c->filter;
    int64_t at_us = x->session->started_at_us + call->t_us;
    if (!filter_at(f, at_us) || !filter_call(f, call->method, call->target) ||
        (f->failed && !call_status_failed(call->status)) ||
        (x->c->by == COUNT_TOOL && !slice_is(call->method, "tools/call")))
        return true;
    make_key(x, call, at_us);
    x->status =
        x->key.failed ? MI_ENOMEM : tally_add(&x->c->tally, buf_slice(&x->key), call, at_us);
    return x->status == 0;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct counting *x = ctx;
    if (x->c->goes_on != NULL && !x->c->goes_on(x->c->ctx))
        return false;
    if (query_is_imported(s) && !x->c->imported) {
        x->c->left_out = true;
        return true;
    }
    x->session = s;
    int st = query_calls(x->q, s->id, on_call, x);
    if (st < 0)
        x->status = st;
    return x->status == 0;
}

int count_calls(struct count *c, struct query *q)
{
    struct counting x = {.c = c, .q = q};
    c->left_out = false;
    c->tally = (struct tally){0};
    int st = query_sessions_of(q, &c->filter, FILTER_HOLDS, 0, on_session, &x);
    buf_close(&x.key);
    return st < 0 ? st : x.status;
}

void count_close(struct count *c)
{
    tally_close(&c->tally);
}
