/* otlp.c - a span for each request, as OTLP/JSON: a line is one request to a collector. */
#include "cli/export/formats.h"

#include "vault/otlp/otlp.h"

#define SPANS_A_LINE 1000 /* a collector limits the size of a request */

struct spans {
    struct export *x;
    struct otlp_session session;
    struct otlp_request r;
    size_t n; /* in this line */
};

static void begin_line(struct spans *p)
{
    otlp_begin(&p->r, OTLP_SPANS, &p->x->b, &p->x->text);
    otlp_resource(&p->r, &p->session);
    p->n = 0;
}

static void end_line(struct spans *p)
{
    otlp_end(&p->r);
    json_out_line(&p->r.j);
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const struct exported_call *c = export_call(p->x, m);
    const char *error;
    if (c == NULL ||
        m->method.p == NULL) /* a span must have a method; a rejected line may have none */
        return true;
    struct otlp_call call = {.request = m,
                             .body = export_body(p->x, m, SIZE_MAX, &error),
                             .status = c->status,
                             .end_us = c->end_us >= 0 ? c->end_us : p->x->view.summary.last_t_us,
                             .has_error_code = c->has_error_code,
                             .error_code = c->error_code,
                             .error_message = c->error_message};
    if (p->n == SPANS_A_LINE) {
        end_line(p);
        begin_line(p);
    }
    p->n++;
    otlp_span(&p->r, &p->session, &call);
    return export_flush(p->x);
}

int export_otlp(struct export *x)
{
    struct spans p = {.x = x, .session = otlp_session_of(x->s)};
    begin_line(&p);
    int st = export_each(x, on_message, NULL, &p);
    end_line(&p);
    st = st == 0 ? export_end(x) : st;
    return st;
}
