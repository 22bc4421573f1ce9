/* exporter.c - a round: reads what is new, and makes batches of it. */
#include "ship/otlp/exporter.h"

#include "ship/otlp/url.h"
#include "vault/unsent/cursors.h"

#include <stdlib.h>

#define BODY_KEPT ((size_t)1 << 20) /* memory of a large body that is kept for the next one */

/* ---- opening ---- */

int exporter_open(struct exporter **ret, const struct target *t, struct buf *error)
{
    struct exporter *x = calloc(1, sizeof *x);
    if (x == NULL)
        return MI_ENOMEM;
    x->t = *t;
    int st = url_base(t->url, &x->base, error);
    if (st == 0)
        st = query_open(&x->q, unsent_vault(t->from), error);
    if (st == 0)
        st = post_new(&x->to, buf_str(&x->base), &x->t, error);
    if (st < 0)
        exporter_close(x);
    else
        *ret = x;
    return st;
}

void exporter_close(struct exporter *x)
{
    if (x == NULL)
        return;
    post_free(x->to);
    query_close(x->q);
    walks_drop(&x->walks, true);
    batch_close(x);
    buf_close(&x->base);
    buf_close(&x->body);
    buf_close(&x->text);
    buf_close(&x->error);
    free(x);
}

const char *exporter_error(struct exporter *x, int status)
{
    if (status == LINK_STOPPED)
        return "not everything was sent before the end";
    return x->error.n > 0 && !x->error.failed && status != MI_ENOMEM ? buf_str(&x->error)
                                                                     : "out of memory";
}

/* Keeps the sentence of a reader. */
static int failed_to_read(struct exporter *x, int st)
{
    if (st == 0 || st == MI_ENOMEM)
        return st;
    buf_clear(&x->error);
    buf_adds(&x->error, query_error(x->q));
    return MI_ESTORE;
}

/* ---- a call ---- */

struct closing {
    struct exporter *x;
    const struct otlp_session *s;
    const struct query_message *m; /* that closes it; NULL: the end of the session */
    int64_t end_us;
};

static struct slice body_of(struct exporter *x, const struct query_session *s,
                            const struct query_message *m)
{
    if (!m->is_large)
        return m->body;
    if (x->body.cap > BODY_KEPT)
        buf_close(&x->body);
    buf_clear(&x->body);
    return query_body(x->q, s->uid, m, SIZE_MAX, &x->body) == 0 ? buf_slice(&x->body)
                                                                : (struct slice){0};
}

static bool on_request(void *ctx, const struct query_message *m)
{
    struct closing *c = ctx;
    struct exporter *x = c->x;
    if (m->method.p == NULL) /* a span must have a method; a rejected line may have none */
        return true;
    bool answered = c->m != NULL && c->m->kind != KIND_NOTIFICATION;
    bool has_text = answered && c->m->kind == KIND_ERROR && !x->t.minimal;
    char *message = has_text ? otlp_error_message(c->m->body) : NULL;
    struct otlp_call call = {.request = m,
                             .body = body_of(x, c->s->s, m),
                             .status = c->m != NULL               ? query_status(c->m)
                                       : m->action == ROW_REFUSED ? CALL_REFUSED
                                                                  : CALL_OPEN,
                             .end_us = c->end_us,
                             .has_error_code = answered && c->m->has_error_code,
                             .error_code = answered ? c->m->error_code : 0,
                             .error_message = message};
    otlp_span(batch_part(x, OTLP_SPANS, c->s), c->s, &call);
    free(message);
    return true;
}

static int add_call(struct closing *c, int64_t seq)
{
    struct exporter *x = c->x;
    return failed_to_read(
        x, query_rows(x->q, c->s->s->id, seq, seq, QUERY_FORWARD, true, on_request, c));
}

/* ---- a session ---- */

struct reading {
    struct exporter *x;
    struct walk *w;
    const struct otlp_session *s;
    int status;
};

/* false: the round ends. The position is advanced first: what is in the batch is not read again. */
static bool added(struct reading *r)
{
    r->w->saved = false;
    if (r->status == 0 && batch_is_full(r->x)) {
        r->status = batch_send(r->x);
        r->w = walks_find(&r->x->walks, r->s->s->id); /* others were dropped */
    }
    return r->status == 0;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    int64_t call;
    r->status = walk_message(r->w, m, &call);
    struct closing c = {r->x, r->s, m, m->t_us};
    if (r->status == 0 && call != 0)
        r->status = add_call(&c, call);
    return added(r);
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    r->w->event = e->id;
    return added(r);
}

static bool on_old(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    int64_t call;
    r->status = walk_message(r->w, m, &call);
    return r->status == 0;
}

/* Which calls are open at the cursor. */
static int find_open(struct reading *r, int64_t seq)
{
    int st = query_rows(r->x->q, r->w->id, 1, seq, QUERY_FORWARD, false, on_old, r);
    r->w->seq = seq;
    return st == 0 ? r->status : failed_to_read(r->x, st);
}

static int read_rows(struct reading *r)
{
    int64_t seq, event;
    int st = 0;
    do {
        int64_t at = seq = r->w->seq, on = event = r->w->event;
        st = failed_to_read(r->x, query_more(r->x->q, r->w->id, &at, &on, on_message, on_event, r));
        st = st == 0 ? r->status : st;
    } while (st == 0 && (seq != r->w->seq || event != r->w->event));
    return st;
}

/* Calls that were never closed. */
static int end_session(struct reading *r)
{
    struct closing c = {r->x, r->s, NULL, r->w->t_us};
    int64_t seq;
    while (r->status == 0 && (seq = walk_take_open(r->w)) != 0) {
        r->status = add_call(&c, seq);
        (void)added(r);
    }
    r->w->complete = r->status == 0;
    r->w->saved &= !r->w->complete;
    return r->status;
}

static int read_session(struct exporter *x, const struct cursor *at)
{
    struct query_session row;
    int st = query_session_by_id(x->q, at->session_id, &row);
    if (st == MI_ENOENT) /* it was just removed */
        return 0;
    if (st < 0)
        return failed_to_read(x, st);
    struct otlp_session s = otlp_session_of(&row);
    struct reading r = {.x = x, .w = walks_find(&x->walks, at->session_id), .s = &s};
    if (r.w == NULL) {
        r.w = walks_add(&x->walks, at->session_id);
        if (r.w == NULL)
            return MI_ENOMEM;
        r.w->event = at->event;
        st = at->seq > 0 ? find_open(&r, at->seq) : 0;
        if (st < 0)
            walks_remove(&x->walks, at->session_id);
    }
    if (st == 0 && !r.w->complete)
        st = read_rows(&r);
    if (st == 0 && !r.w->complete && row.ended_at_us != 0)
        st = end_session(&r);
    return st;
}

/* ---- a round ---- */

static int read_all(struct exporter *x)
{
    struct cursor at = {0};
    int st = 0, n = 0;
    while (st == 0) {
        st = cursors_next(x->t.from, slice_of(x->t.url), at.session_id, &at);
        if (st == MI_ENOENT)
            return 0;
        if (st < 0) {
            buf_clear(&x->error);
            buf_adds(&x->error, unsent_error(x->t.from));
            return st;
        }
        st = read_session(x, &at);
        if (st == 0 && ++n % EXPORTER_WALKS == 0)
            st = batch_send(x);
    }
    return st;
}

int exporter_round(struct exporter *x, int64_t *ret_sent)
{
    x->sent = 0;
    buf_clear(&x->error);
    int st = batch_send(x); /* what is left of the last round */
    if (st == 0)
        st = read_all(x);
    if (st == 0)
        st = batch_send(x);
    *ret_sent = x->sent;
    return st;
}
