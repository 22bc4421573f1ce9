/* otlp.c - writes a span for each request as OTLP/JSON. Each line is one request to a collector. */
#include "cli/export/formats.h"

#include "vault/otlp/otlp.h"

#define SPANS_A_LINE 1000 /* maximum spans in a line: collectors limit the size of a request */

struct spans {
    struct export *x;
    struct otlp_session session;
    struct otlp_request r;
    struct buf answer;               /* owned; the answer of the call, for --content */
    struct otlp_operation operation; /* the operation to which the call belongs */
    size_t n;                        /* the number of spans in this line */
};

static void begin_otlp_line(struct spans *p)
{
    otlp_begin_request(&p->r, OTLP_SPANS, &p->x->b, &p->x->text);
    p->r.content = p->x->content;
    otlp_begin_resource(&p->r, &p->session);
    p->n = 0;
}

static void end_otlp_line(struct spans *p)
{
    otlp_end_request(&p->r);
    json_out_line(&p->r.j);
}

static bool otlp_on_answer(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const char *error;
    buf_clear(&p->answer);
    if (m->size <= OTLP_ANSWER_MAX)
        buf_slice_add(&p->answer, export_read_body(p->x, m, SIZE_MAX, &error));
    return false;
}

/* Returns the request (a line for a collector) that gets the next span. Begins a new line if the
 * current line is full. */
static struct otlp_request *get_request_for_next_span(struct spans *p)
{
    if (p->n == SPANS_A_LINE) {
        end_otlp_line(p);
        begin_otlp_line(p);
    }
    p->n++;
    return &p->r;
}

/* Sets p->operation from the first message of the operation. */
static bool otlp_on_first_message(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const char *error;
    p->operation =
        otlp_describe_operation(&p->session, m->seq, export_read_body(p->x, m, SIZE_MAX, &error));
    return false;
}

/* Sets p->operation to the operation of a request. Sets p->operation.seq to 0 if the request
 * belongs to no operation, or if the first call of the operation is not exported. */
static void set_span_operation(struct spans *p, const struct exported_call *c)
{
    int64_t seq = c->operation != NULL ? c->seq : c->operation_seq;
    const struct exported_call *first = calls_find_request(&p->x->calls, seq);
    if (first == NULL || !first->selected || first->operation == NULL)
        p->operation.seq = 0;
    else if (p->operation.seq != seq && p->x->status == 0)
        p->x->status =
            query_timeline(p->x->q, p->x->s->id, seq, seq, otlp_on_first_message, NULL, p);
}

static void otlp_add_call(struct spans *p, const struct query_message *m,
                          const struct exported_call *c)
{
    const char *error;
    buf_clear(&p->answer);
    if (p->x->content && c->answer_seq != 0) {
        int st = query_timeline(p->x->q, p->x->s->id, c->answer_seq, c->answer_seq, otlp_on_answer,
                                NULL, p);
        st = st == 0 && p->answer.failed ? MI_ENOMEM : st;
        p->x->status = p->x->status == 0 ? st : p->x->status;
    }
    set_span_operation(p, c);
    struct otlp_call call = {.request = m,
                             .body = export_read_body(p->x, m, SIZE_MAX, &error),
                             .answer = buf_slice(&p->answer),
                             .status = c->status,
                             .end_us = c->end_us >= 0 ? c->end_us : p->x->view.summary.last_t_us,
                             .has_error_code = c->has_error_code,
                             .error_code = c->error_code,
                             .error_message = c->error_message,
                             .operation = p->operation};
    otlp_add_span(get_request_for_next_span(p), &p->session, &call);
    if (c->operation != NULL)
        otlp_add_operation_span(get_request_for_next_span(p), &p->session, c->operation, m,
                                call.body, p->x->view.summary.last_t_us);
}

static bool otlp_on_message(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const struct exported_call *c = export_find_selected_call(p->x, m);
    const char *error;
    if (p->x->notifications && otlp_notification_has_span(m) && export_selects_message(p->x, m)) {
        struct otlp_call call = {.request = m,
                                 .body = export_read_body(p->x, m, SIZE_MAX, &error),
                                 .status = CALL_OK,
                                 .end_us = m->t_us};
        otlp_add_span(get_request_for_next_span(p), &p->session, &call);
    } else if (c != NULL && m->method.p != NULL) { /* a rejected line may have no method */
        otlp_add_call(p, m, c);
    }
    return export_flush(p->x);
}

int export_otlp(struct export *x)
{
    struct spans p = {.x = x, .session = otlp_describe_session(x->s)};
    begin_otlp_line(&p);
    int st = export_read_rows(x, otlp_on_message, NULL, &p);
    end_otlp_line(&p);
    buf_close(&p.answer);
    return st == 0 ? export_finish_writing(x) : st;
}
