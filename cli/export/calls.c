#include "cli/export/calls.h"

#include "base/grow.h"
#include "base/search.h"
#include "cli/frame/session.h"
#include "vault/otlp/otlp.h"

#include <stdlib.h>

static struct call *find(const struct calls *c, int64_t seq)
{
    size_t at = SEARCH_INT64(c->call, c->n, seq, seq);
    return at < c->n && c->call[at].seq == seq ? &c->call[at] : NULL;
}

const struct call *calls_find(const struct calls *c, int64_t seq)
{
    return find(c, seq);
}

static bool add(struct calls *c, const struct query_message *m)
{
    if (!GROW(c->call, c->n, c->cap))
        return false;
    c->call[c->n++] = (struct call){
        .seq = m->seq,
        .t_us = m->t_us,
        .end_us = -1,
        .status = m->action == ROW_REFUSED ? CALL_REFUSED : CALL_OPEN,
        .from_server = m->direction == ROW_S2C,
        .selected = filter_at(c->filter, c->started_at_us + m->t_us) &&
                    filter_call(c->filter, m->method, m->target),
    };
    return true;
}

static void finish(struct call *call, const struct query_message *m)
{
    bool cancelled = m->kind == KIND_NOTIFICATION;
    if (call->status != CALL_REFUSED)
        call->status = query_status(m);
    call->end_us = m->t_us;
    if (cancelled)
        return;
    call->answer_seq = m->seq;
    call->answer_size = m->size;
    call->has_error_code = m->has_error_code;
    call->error_code = m->error_code;
    if (m->kind == KIND_ERROR)
        call->error_message = otlp_error_message(m->body);
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct calls *c = ctx;
    c->last_t_us = m->t_us;
    if (m->kind == KIND_REQUEST) {
        c->no_memory = m->origin == ROW_PEER && !add(c, m);
        return !c->no_memory;
    }
    if (m->request_seq == 0 || m->action != ROW_FORWARDED)
        return true;
    struct call *call = find(c, m->request_seq);
    if (call == NULL || call->end_us >= 0)
        return true;
    bool from_server = m->direction == ROW_S2C;
    bool answers = session_is_answer(m) && from_server != call->from_server;
    bool cancels = m->kind == KIND_NOTIFICATION && from_server == call->from_server;
    if (answers || cancels)
        finish(call, m);
    return true;
}

/* --failed, when the outcome of each call is known. */
static void select_failed(struct calls *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct call *call = &c->call[i];
        call->selected &= !c->filter->failed || call_status_failed(call->status);
        c->selected_n += call->selected;
    }
}

int calls_read(struct calls *c, struct query *q, const struct query_session *s, int64_t last_seq,
               const struct filter *f)
{
    *c = (struct calls){.filter = f, .started_at_us = s->started_at_us};
    int st = query_timeline(q, s->id, 0, last_seq, on_message, NULL, c);
    select_failed(c);
    c->filter = NULL;
    return st == 0 && c->no_memory ? MI_ENOMEM : st;
}

void calls_close(struct calls *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->call[i].error_message);
    free(c->call);
    *c = (struct calls){0};
}
