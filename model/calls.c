#include "model/calls.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/search.h"

#include <stdlib.h>

/* ---- one call ------------------------------------------------------------------------------- */

/* Limits the time of a message, so that sums of times do not overflow. A damaged recording may
 * contain any times. */
static int64_t clamp_call_message_time(const struct call_message *m)
{
    return m->t_us > CLOCK_MAX_US    ? CLOCK_MAX_US
           : m->t_us < -CLOCK_MAX_US ? -CLOCK_MAX_US
                                     : m->t_us;
}

static bool message_is_answer(const struct call_message *m)
{
    return m->kind == KIND_RESULT || m->kind == KIND_ERROR;
}

bool call_answer_ends_request(enum row_kind kind, enum row_action action)
{
    return (kind == KIND_RESULT || kind == KIND_ERROR) && action == ROW_FORWARDED;
}

bool message_ends_call(const struct call *c, const struct call_message *m)
{
    bool own = c->origin == ROW_INTERPOSER;
    if (c->closing_seq != 0 || m->seq <= c->seq || m->direction == ROW_DIRECTION_UNKNOWN)
        return false;
    if (message_is_answer(m))
        return m->direction != c->direction &&
               (own || call_answer_ends_request(m->kind, m->action));
    return m->kind == KIND_NOTIFICATION && m->direction == c->direction && !own &&
           m->origin == ROW_PEER && m->action == ROW_FORWARDED;
}

struct context_result call_message_measure_result(const struct call_message *m)
{
    struct rpc body;
    if (m->body.p != NULL && m->read != NULL)
        return context_result(m->read);
    if (m->body.p == NULL || rpc_read(m->body, &body) < 0)
        return m->result;
    return context_result(&body);
}

void call_end_by_message(struct call *c, const struct call_message *m)
{
    enum row_action action = c->status == CALL_REFUSED ? ROW_REFUSED : ROW_FORWARDED;
    c->status = call_status_after_message(action, m->kind, m->origin, m->finding);
    c->closing_seq = m->seq;
    c->duration_us =
        clamp_call_message_time(m) > c->t_us ? clamp_call_message_time(m) - c->t_us : 0;
    if (message_is_answer(m)) {
        /* Results are counted only for some methods. Bodies of other answers are not read, because
         * most of these bodies are long lists. */
        bool counts_result = c->direction == ROW_C2S && c->origin == ROW_PEER &&
                             call_answer_ends_request(m->kind, m->action) &&
                             context_counts_method_results(c->method);
        c->response_size = m->size;
        c->result = counts_result ? call_message_measure_result(m) : CONTEXT_NO_RESULT;
        c->has_error_code = m->has_error_code;
        c->error_code = m->has_error_code ? m->error_code : 0;
    }
}

/* ---- requests of the proxy ------------------------------------------------------------------ */

void call_set_add_proxy_request(struct call_set *c, int64_t seq, enum row_direction direction,
                                struct slice rpc_id, int64_t closing_seq)
{
    struct own_request *o = &c->own[c->own_n++ % CALLS_OWN];
    *o = (struct own_request){.seq = seq, .direction = direction, .answered = closing_seq != 0};
    if (closing_seq > c->own_last)
        c->own_last = closing_seq;
    /* the ids that the proxy gives to its own requests are never this long */
    if (rpc_id.n > sizeof o->id)
        rpc_id.n = 0;
    if (rpc_id.n > 0)
        memcpy(o->id, rpc_id.p, rpc_id.n);
    o->id_n = (uint8_t)rpc_id.n;
}

/* Returns the seq of the request that an answer without request_seq belongs to; 0: none. */
static int64_t call_set_find_answered_request(struct call_set *c, const struct call_message *m)
{
    if (!message_is_answer(m) || m->seq <= c->own_last || m->action != ROW_SWALLOWED ||
        m->rpc_id.n == 0 || !finding_is_listed(m->finding, "own-request"))
        return 0;
    for (size_t i = c->own_n > CALLS_OWN ? c->own_n - CALLS_OWN : 0; i < c->own_n; i++) {
        struct own_request *o = &c->own[i % CALLS_OWN];
        if (o->answered || o->direction == m->direction ||
            !slice_eq((struct slice){o->id, o->id_n}, m->rpc_id))
            continue;
        o->answered = true;
        c->own_last = m->seq;
        return o->seq;
    }
    return 0;
}

/* ---- the calls of a session ----------------------------------------------------------------- */

static void call_set_free_texts(struct call_set *c)
{
    for (size_t i = 0; i < c->name_n; i++)
        free(c->name[i]);
    c->name_n = 0;
    intern_close(&c->names);
}

void call_set_clear(struct call_set *c)
{
    c->first = c->n = 0;
    if (c->name_n > 0)
        call_set_free_texts(c);
}

void call_set_close(struct call_set *c)
{
    call_set_free_texts(c);
    free(c->call);
    free(c->name);
    *c = (struct call_set){0};
}

int call_set_intern_text(struct call_set *c, struct slice *text)
{
    uint32_t i;
    if (text->p == NULL || c->borrows)
        return 0;
    if (intern_add(&c->names, *text, &i) < 0 || i > c->name_n ||
        !GROW(c->name, c->name_n, c->name_cap))
        return MI_ENOMEM;
    if (i == c->name_n) {
        char *copy = malloc(text->n + 1);
        if (copy == NULL)
            return MI_ENOMEM;
        memcpy(copy, text->p, text->n);
        c->name[c->name_n++] = copy;
    }
    text->p = c->name[i];
    return 0;
}

static int call_set_begin_call(struct call_set *c, const struct call_message *m, struct call **ret)
{
    if (c->n == c->cap && c->first > c->n / 2) {
        memmove(c->call, c->call + c->first, (c->n - c->first) * sizeof *c->call);
        c->n -= c->first;
        c->first = 0;
    }
    if (!GROW(c->call, c->n, c->cap))
        return MI_ENOMEM;
    struct call *call = &c->call[c->n];
    enum call_status status = call_status_before_answer(m->action);
    *call = (struct call){
        .seq = m->seq,
        .t_us = clamp_call_message_time(m),
        .duration_us = status == CALL_OPEN ? -1 : 0,
        .request_size = m->size,
        .response_size = -1,
        .result = CONTEXT_NO_RESULT,
        .direction = m->direction,
        .origin = m->origin,
        .status = status,
        .method = m->method,
        .target = m->target,
    };
    if (call_set_intern_text(c, &call->method) < 0 || call_set_intern_text(c, &call->target) < 0)
        return MI_ENOMEM;
    if (m->origin == ROW_INTERPOSER)
        call_set_add_proxy_request(c, m->seq, m->direction, m->rpc_id, 0);
    c->n++;
    *ret = call;
    return CALLS_BEGAN;
}

static struct call *call_set_find_by_seq(const struct call_set *c, int64_t seq)
{
    size_t n = c->n - c->first;
    if (n == 0)
        return NULL;
    struct call *calls = c->call + c->first;
    size_t at = SEARCH_INT64(calls, n, seq, seq);
    return at < n && calls[at].seq == seq ? &calls[at] : NULL;
}

int call_set_add_message(struct call_set *c, const struct call_message *m, struct call **ret,
                         int64_t *ret_seq)
{
    *ret = NULL;
    *ret_seq = m->seq;
    if (m->kind == KIND_REQUEST)
        return m->direction != ROW_DIRECTION_UNKNOWN && m->origin != ROW_ORIGIN_UNKNOWN
                   ? call_set_begin_call(c, m, ret)
                   : CALLS_NOTHING;
    if (!message_is_answer(m) && m->kind != KIND_NOTIFICATION)
        return CALLS_NOTHING;
    /* In an imported recording, answers to requests of the proxy may have a request_seq. */
    if (m->request_seq != 0)
        for (size_t i = 0; i < c->own_n && i < CALLS_OWN; i++)
            c->own[i].answered |= c->own[i].seq == m->request_seq &&
                                  c->own[i].direction != m->direction && message_is_answer(m);
    int64_t seq = m->request_seq != 0 ? m->request_seq : call_set_find_answered_request(c, m);
    if (seq == 0)
        return CALLS_NOTHING;
    *ret_seq = seq;
    struct call *call = call_set_find_by_seq(c, seq);
    if (call == NULL)
        return CALLS_ELSEWHERE;
    if (!message_ends_call(call, m))
        return CALLS_NOTHING;
    call_end_by_message(call, m);
    *ret = call;
    return CALLS_ENDED;
}

const struct call *call_set_take_next_ended_call(struct call_set *c, bool all)
{
    if (c->first == c->n || (!all && c->call[c->first].closing_seq == 0))
        return NULL;
    return &c->call[c->first++];
}
