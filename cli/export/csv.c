/* csv.c - writes a line for each request of the client, with the columns of the view `invocations`
 * and of operations (docs/vault.md), as in RFC 4180. */
#include "cli/export/formats.h"

#include "base/clock.h"
#include "show/show.h"

static void csv_add_text(struct export *x, struct slice text, bool last)
{
    show_text_as_csv(&x->b, text);
    buf_adds(&x->b, last ? SHOW_CSV_END : ",");
}

static void csv_add_number(struct export *x, bool known, int64_t n, bool last)
{
    if (known)
        buf_int(&x->b, n);
    buf_adds(&x->b, last ? SHOW_CSV_END : ",");
}

static bool csv_on_message(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const struct exported_call *c = export_find_selected_call(x, m);
    if (c == NULL || c->from_server)
        return true;
    char started[CLOCK_TEXT_MAX];
    int64_t at_us = x->s->started_at_us + m->t_us;
    clock_utc_text(at_us, started);
    csv_add_text(x, x->s->uid, false);
    csv_add_text(x, x->s->name, false);
    csv_add_text(x, x->s->client_name, false);
    csv_add_number(x, true, m->seq, false);
    csv_add_number(x, c->answer_seq > 0, c->answer_seq, false);
    csv_add_text(x, m->method, false);
    csv_add_text(x, m->target, false);
    csv_add_text(x, slice_of(call_status_name(c->status)), false);
    csv_add_number(x, c->has_error_code, c->error_code, false);
    csv_add_text(x, slice_of(started), false);
    csv_add_number(x, true, at_us, false);
    csv_add_number(x, c->end_us >= 0, c->end_us - c->t_us, false);
    csv_add_number(x, true, m->size, false);
    csv_add_number(x, c->answer_seq > 0, c->answer_size, false);
    const struct listed_operation *o = c->operation;
    csv_add_number(x, c->operation_seq != 0, c->operation_seq, false);
    csv_add_number(x, o != NULL, o != NULL ? o->requests : 0, false);
    csv_add_number(x, o != NULL, o != NULL ? o->asked : 0, false);
    csv_add_number(x, o != NULL && o->duration_us >= 0, o != NULL ? o->duration_us : 0, false);
    csv_add_number(x, o != NULL, o != NULL ? o->server_us : 0, false);
    csv_add_number(x, o != NULL, o != NULL ? o->person_us : 0, true);
    return export_flush(x);
}

int export_csv(struct export *x)
{
    buf_adds(&x->b,
             "session,server,client,request_seq,response_seq,method,target,status,error_code,"
             "started_at,started_at_us,duration_us,request_size,response_size,operation_seq,"
             "requests,asked,"
             "operation_us,server_us,person_us" SHOW_CSV_END);
    int st = export_read_rows(x, csv_on_message, NULL, x);
    return st == 0 ? export_finish_writing(x) : st;
}
