#include "cli/export/calls.h"

#include "base/grow.h"
#include "base/search.h"
#include "vault/otlp/otlp.h"

#include <stdlib.h>

const struct exported_call *calls_find_request(const struct exported_calls *c, int64_t seq)
{
    size_t at = SEARCH_INT64(c->call, c->n, seq, seq);
    return at < c->n && c->call[at].seq == seq ? &c->call[at] : NULL;
}

enum call_status calls_get_status(const struct exported_call *c)
{
    return c->operation != NULL ? c->operation->status : c->status;
}

int64_t calls_get_duration_us(const struct exported_call *c)
{
    if (c->operation != NULL)
        return c->operation->duration_us;
    return c->end_us >= 0 ? c->end_us - c->t_us : -1;
}

/* Marks an operation as open if the message that ends the operation comes after last_seq and is not
 * exported. */
static void reopen_operations(struct operation_list *l, int64_t last_seq)
{
    for (size_t i = 0; i < l->n; i++) {
        struct listed_operation *o = &l->operation[i];
        if (o->closing_seq <= last_seq)
            continue;
        o->status = CALL_OPEN;
        o->closing_seq = 0;
        o->duration_us = -1;
        o->has_error_code = false;
    }
}

/* Counts a request. A request that continues an operation is not counted as a call. */
static void count_call(struct exported_calls *c, const struct exported_call *x)
{
    bool failed = call_status_failed(calls_get_status(x));
    c->requests_n += !x->from_server;
    if (x->operation_seq != 0)
        return;
    c->calls_n += !x->from_server;
    c->failed_n += !x->from_server && failed;
    c->server_failed_n += x->from_server && failed;
}

static bool exported_calls_add_call(void *ctx, const struct query_call *x)
{
    struct exported_calls *c = ctx;
    bool ended = x->closing_seq != 0 && x->closing_seq <= c->last_seq;
    enum call_status status = ended || x->status == CALL_REFUSED ? x->status : CALL_OPEN;
    bool answered = ended && status != CALL_CANCELLED;
    bool from_server = x->direction == ROW_S2C, failed = call_status_failed(status);
    if (x->request_seq > c->last_seq)
        return true;
    if (!GROW(c->call, c->n, c->cap)) {
        c->no_memory = true;
        return false;
    }
    c->call[c->n++] = (struct exported_call){
        .seq = x->request_seq,
        .answer_seq = answered ? x->closing_seq : 0,
        .t_us = x->t_us,
        .end_us = ended ? x->t_us + x->duration_us : -1,
        .answer_size = answered ? x->response_size : 0,
        .status = status,
        .from_server = from_server,
        .selected = filter_includes_time(c->filter, x->started_at_us) &&
                    filter_matches_call(c->filter, x->method, x->target) &&
                    (!c->filter->failed || failed) &&
                    (c->filter->slow_us == 0 || (ended && x->duration_us >= c->filter->slow_us)),
        .has_error_code = answered && x->has_error_code,
        .error_code = x->error_code,
        .operation_seq = c->each_request ? 0 : x->operation_seq,
        .operation = operation_list_find(&c->operations, x->request_seq),
    };
    c->selected_n += c->call[c->n - 1].selected;
    count_call(c, &c->call[c->n - 1]);
    return true;
}

static bool on_error_answer(void *ctx, const struct query_message *m)
{
    struct exported_calls *c = ctx;
    if (m->kind == KIND_ERROR)
        c->of->error_message = otlp_copy_error_message(m->body);
    return false;
}

int calls_read(struct exported_calls *c, struct query *q, const struct query_session *s,
               int64_t last_seq, const struct filter *f, bool requests)
{
    struct filter session = FILTER_ANY;
    struct call_question x = {.filter = &session, .side = CALLS_OF_PEERS};
    session.session_id = s->id;
    *c = (struct exported_calls){.filter = f, .last_seq = last_seq, .each_request = requests};
    int st = requests ? 0 : operation_list_read(&c->operations, q, s->id);
    reopen_operations(&c->operations, last_seq);
    if (st == 0)
        st = query_calls_of(q, &x, exported_calls_add_call, c);
    st = st == 0 && c->no_memory ? MI_ENOMEM : st;
    for (size_t i = 0; st == 0 && i < c->n; i++) {
        c->of = &c->call[i];
        if (c->of->has_error_code && c->of->selected)
            st = query_timeline(q, s->id, c->of->answer_seq, c->of->answer_seq, on_error_answer,
                                NULL, c);
    }
    c->filter = NULL;
    return st;
}

void calls_close(struct exported_calls *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->call[i].error_message);
    free(c->call);
    operation_list_close(&c->operations);
    *c = (struct exported_calls){0};
}
