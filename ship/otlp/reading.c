#include "ship/otlp/reading.h"

#include "ship/otlp/lookup.h"

#include <stdlib.h>

/* ---- a call ---- */

struct closing {
    struct exporter *x;
    const struct otlp_session *s;
    const struct query_message *m; /* that closes it; NULL: the end of the session */
    int64_t end_us;
};

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
                             .body = lookup_body(x, c->s->s, m),
                             .status = c->m != NULL               ? query_status(c->m)
                                       : m->action == ROW_REFUSED ? CALL_REFUSED
                                                                  : CALL_OPEN,
                             .end_us = c->end_us,
                             .has_error_code = answered && c->m->has_error_code,
                             .error_code = answered ? c->m->error_code : 0,
                             .error_message = message};
    otlp_span(batch_part(x, OTLP_SPANS, c->s, 1), c->s, &call);
    if (c->m != NULL)
        otlp_duration(&x->durations, c->s, &call, &x->text);
    free(message);
    return true;
}

static int add_call(struct closing *c, int64_t seq)
{
    return lookup_request(c->x, c->s->s, seq, on_request, c);
}

/* ---- a session ---- */

/* Durations are written once for a session in each batch. */
static void add_durations(struct reading *r)
{
    struct exporter *x = r->x;
    if (x->durations.failed)
        r->status = r->status == 0 ? MI_ENOMEM : r->status;
    if (x->durations.n > 0)
        otlp_durations_add(batch_part(x, OTLP_METRICS, r->s, x->durations.n), r->s, &x->durations,
                           r->since_us, r->w->t_us);
    r->since_us = r->w->t_us;
}

/* false: the round ends. The position is advanced first: what is in the batch is not read again. */
static bool added(struct reading *r)
{
    r->missed |= r->status < 0;
    r->w->saved = false;
    if (r->status == 0 && batch_is_full(r->x)) {
        add_durations(r);
        if (r->status == 0)
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
    if (r->status == 0 && m->finding.n > 0)
        r->status = logs_message(r, m);
    return added(r);
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    r->status = logs_event(r, e);
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
    return st == 0 ? r->status : lookup_failed(r->x, st);
}

static int read_rows(struct reading *r)
{
    int64_t seq, event;
    int st = 0;
    do {
        int64_t at = seq = r->w->seq, on = event = r->w->event;
        r->has_added = false; /* findings may have been added */
        st = lookup_failed(r->x, query_more(r->x->q, r->w->id, &at, &on, on_message, on_event, r));
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

int reading_session(struct exporter *x, const struct cursor *at)
{
    struct query_session row;
    int st = query_session_by_id(x->q, at->session_id, &row);
    if (st == MI_ENOENT) /* it was just removed */
        return 0;
    if (st < 0)
        return lookup_failed(x, st);
    struct otlp_session s = otlp_session_of(&row);
    struct reading r = {.x = x, .w = walks_find(&x->walks, at->session_id), .s = &s};
    if (r.w == NULL) {
        r.w = walks_add(&x->walks, at->session_id);
        if (r.w == NULL)
            return MI_ENOMEM;
        r.w->event = at->event;
        st = at->seq > 0 ? find_open(&r, at->seq) : 0;
        if (st < 0) {
            walks_remove(&x->walks, at->session_id);
            return st;
        }
    }
    r.since_us = r.w->t_us;
    if (!r.w->complete)
        st = read_rows(&r);
    if (st == 0 && !r.w->complete && row.ended_at_us != 0)
        st = end_session(&r);
    add_durations(&r);
    if (r.missed)
        walks_remove(&x->walks, at->session_id);
    return st == 0 ? r.status : st;
}
