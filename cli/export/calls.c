#include "cli/export/calls.h"

#include "base/grow.h"
#include "base/search.h"
#include "vault/otlp/otlp.h"

#include <stdlib.h>

const struct exported_call *calls_find(const struct exported_calls *c, int64_t seq)
{
    size_t at = SEARCH_INT64(c->call, c->n, seq, seq);
    return at < c->n && c->call[at].seq == seq ? &c->call[at] : NULL;
}

static bool on_call(void *ctx, const struct query_call *x)
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
        .selected = filter_at(c->filter, x->started_at_us) &&
                    filter_call(c->filter, x->method, x->target) && (!c->filter->failed || failed) &&
                    (c->filter->slow_us == 0 || (ended && x->duration_us >= c->filter->slow_us)),
        .has_error_code = answered && x->has_error_code,
        .error_code = x->error_code,
    };
    c->selected_n += c->call[c->n - 1].selected;
    c->of_client_n += !from_server;
    c->failed_n += !from_server && failed;
    c->server_failed_n += from_server && failed;
    return true;
}

static bool on_error(void *ctx, const struct query_message *m)
{
    struct exported_calls *c = ctx;
    if (m->kind == KIND_ERROR)
        c->of->error_message = otlp_error_message(m->body);
    return false;
}

int calls_read(struct exported_calls *c, struct query *q, const struct query_session *s,
               int64_t last_seq, const struct filter *f)
{
    struct filter session = FILTER_ANY;
    struct call_question x = {.filter = &session, .side = CALLS_OF_PEERS};
    session.session_id = s->id;
    *c = (struct exported_calls){.filter = f, .last_seq = last_seq};
    int st = query_calls_of(q, &x, on_call, c);
    st = st == 0 && c->no_memory ? MI_ENOMEM : st;
    for (size_t i = 0; st == 0 && i < c->n; i++) {
        c->of = &c->call[i];
        if (c->of->has_error_code && c->of->selected)
            st = query_timeline(q, s->id, c->of->answer_seq, c->of->answer_seq, on_error, NULL, c);
    }
    c->filter = NULL;
    return st;
}

void calls_close(struct exported_calls *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->call[i].error_message);
    free(c->call);
    *c = (struct exported_calls){0};
}
