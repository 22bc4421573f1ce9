/* logs.c - adds findings and events to the batch, as log records. */
#include "ship/otlp/reading.h"

#include "model/values.h"
#include "ship/otlp/lookup.h"

/* ---- findings ---- */

struct found {
    struct reading *r;
    const struct query_message *m; /* the message that has the findings */
    struct slice names;
    struct otlp_origin origin;
};

static void otlp_logs_add_findings(const struct found *f)
{
    struct slice rest = f->names;
    while (rest.n > 0) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct slice name = {rest.p, comma != NULL ? (size_t)(comma - rest.p) : rest.n};
        size_t skip = comma != NULL ? name.n + 1 : name.n;
        rest = (struct slice){rest.p + skip, rest.n - skip};
        if (name.n > 0)
            otlp_add_finding(batch_get_request(f->r->x, OTLP_LOGS, f->r->s, 1), f->r->s, name, f->m,
                             &f->origin);
    }
}

static bool otlp_logs_on_request(void *ctx, const struct query_message *m)
{
    struct found *f = ctx;
    if (m->kind == KIND_REQUEST)
        f->origin =
            (struct otlp_origin){m->seq, lookup_read_body(f->r->x, f->r->s->s, m, &f->r->x->body)};
    otlp_logs_add_findings(f);
    f->names.n = 0;
    return true;
}

static bool otlp_logs_on_finding_added(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    if (slice_is(e->kind, EVENT_FINDING_ADDED) &&
        findings_add_from_event_detail(&r->x->added, 0, e->detail) == MI_ENOMEM)
        r->status = MI_ENOMEM;
    return r->status == 0;
}

/* Reads the findings that were added to the session's messages. The newest finding comes first,
 * because added findings are removed in this order. */
static int read_added_findings(struct reading *r)
{
    if (r->has_added)
        return 0;
    findings_close(&r->x->added);
    int st =
        query_events_newest_first(r->x->q, r->s->s->id, INT64_MAX, otlp_logs_on_finding_added, r);
    for (size_t i = 0; i < r->x->added.n; i++)
        r->x->added.list[i].order = r->x->added.n - i;
    findings_sort(&r->x->added);
    r->has_added = st == 0;
    return st == 0 ? r->status : lookup_set_error_if_failed(r->x, st);
}

int logs_add_message(struct reading *r, const struct query_message *m)
{
    struct found f = {.r = r, .m = m, .names = m->finding};
    int64_t call = m->kind == KIND_REQUEST ? m->seq : m->request_seq;
    int st = read_added_findings(r);
    if (st != 0)
        return st;
    if (!findings_remove_added_names(&r->x->added, m->seq, &f.names))
        /* the row's findings do not end with the added ones: the record was changed, as `audit
         * verify` reports */
        f.names = m->finding;
    if (f.names.n > 0 && call != 0) /* the log records belong to the trace of the request */
        st = lookup_find_request(r->x, r->s->s, call, otlp_logs_on_request, &f);
    if (st == 0)
        otlp_logs_add_findings(&f); /* the message has no request */
    return st;
}

/* A message to which a finding was added. If the message has a request, f.m is `copy`, which has
 * the number, time, direction and request_seq of the message, and the method and target of the
 * request. Otherwise f.m is the message's row. */
struct named {
    struct found f;
    struct query_message copy;
};

static bool otlp_logs_on_found_request(void *ctx, const struct query_message *m)
{
    struct named *n = ctx;
    n->copy = (struct query_message){
        .seq = m->seq, .t_us = m->t_us, .direction = m->direction, .request_seq = m->request_seq};
    n->f.m = m->request_seq != 0 ? &n->copy : m;
    return m->request_seq != 0 || otlp_logs_on_request(&n->f, m);
}

static bool otlp_logs_on_named_request(void *ctx, const struct query_message *m)
{
    struct named *n = ctx;
    n->copy.method = m->method;
    n->copy.target = m->target;
    return otlp_logs_on_request(&n->f, m);
}

static int otlp_logs_add_event_findings(struct reading *r, const struct query_event *e)
{
    struct findings_added one = {0};
    struct named n = {.f = {.r = r}};
    int st = findings_add_from_event_detail(&one, 0, e->detail);
    if (st == 0) {
        n.f.names = buf_slice(&one.names);
        st = lookup_find_request(r->x, r->s->s, one.list[0].seq, otlp_logs_on_found_request, &n);
    }
    if (st == 0 && n.copy.request_seq != 0)
        st = lookup_find_request(r->x, r->s->s, n.copy.request_seq, otlp_logs_on_named_request, &n);
    findings_close(&one);
    return st == MI_EINVAL ? 0 : st; /* MI_EINVAL: the event does not name the added finding */
}

/* ---- events ---- */

struct happened {
    struct reading *r;
    const struct query_event *e;
    struct otlp_origin origin;
};

static bool otlp_logs_on_call(void *ctx, const struct query_message *m)
{
    struct happened *h = ctx;
    struct reading *r = h->r;
    if (m->kind == KIND_REQUEST)
        h->origin = (struct otlp_origin){m->seq, lookup_read_body(r->x, r->s->s, m, &r->x->body)};
    otlp_add_event(batch_get_request(r->x, OTLP_LOGS, r->s, 1), r->s, h->e, &h->origin);
    h->e = NULL;
    return true;
}

int otlp_logs_add_event(struct reading *r, const struct query_event *e)
{
    if (slice_is(e->kind, EVENT_FINDING_ADDED))
        return otlp_logs_add_event_findings(r, e);
    struct happened h = {.r = r, .e = e};
    int64_t seq = otlp_read_seq_of_event(e);
    int st = seq > 0 ? lookup_find_request(r->x, r->s->s, seq, otlp_logs_on_call, &h) : 0;
    if (st == 0 && h.e != NULL)
        otlp_add_event(batch_get_request(r->x, OTLP_LOGS, r->s, 1), r->s, e, &h.origin);
    return st;
}
