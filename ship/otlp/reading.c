#include "ship/otlp/reading.h"

#include "ship/otlp/lookup.h"

#include <stdlib.h>

/* ---- a call ---- */

struct closing {
    struct exporter *x;
    const struct otlp_session *s;
    /* the message that closes the call; NULL: the end of the session closes the call */
    const struct query_message *m;
    int64_t end_us;
    struct otlp_operation operation; /* the operation that the call belongs to */
};

static bool otlp_reading_on_request(void *ctx, const struct query_message *m)
{
    struct closing *c = ctx;
    struct exporter *x = c->x;
    if (m->method.p == NULL) /* a span must have a method, but a rejected line may lack it */
        return true;
    bool answered = c->m != NULL && c->m->kind != KIND_NOTIFICATION;
    bool has_text = answered && c->m->kind == KIND_ERROR && !x->t.minimal;
    bool with_answer = answered && x->t.content && c->m->size <= OTLP_ANSWER_MAX;
    char *message = has_text ? otlp_copy_error_message(c->m->body) : NULL;
    struct otlp_call call = {.request = m,
                             .body = lookup_read_body(x, c->s->s, m, &x->body),
                             .answer = with_answer ? lookup_read_body(x, c->s->s, c->m, &x->answer)
                                                   : (struct slice){0},
                             .status = c->m != NULL               ? query_get_call_status(c->m)
                                       : m->action == ROW_REFUSED ? CALL_REFUSED
                                                                  : CALL_OPEN,
                             .end_us = c->end_us,
                             .has_error_code = answered && c->m->has_error_code,
                             .error_code = answered ? c->m->error_code : 0,
                             .error_message = message,
                             .operation = c->operation};
    otlp_add_span(batch_get_request(x, OTLP_SPANS, c->s, 1), c->s, &call);
    if (c->m != NULL)
        otlp_add_call_duration(&x->durations[OTLP_OPERATION], c->s, &call, &x->text);
    free(message);
    return true;
}

static bool otlp_reading_on_first_message(void *ctx, const struct query_message *m)
{
    struct closing *c = ctx;
    c->operation =
        otlp_describe_operation(c->s, m->seq, lookup_read_body(c->x, c->s->s, m, &c->x->body));
    return false;
}

/* ---- calls that were several requests ---- */

/* Reads the operations again if the message is newer than the operations that were read. */
static int reading_update_operations(struct reading *r, int64_t seq)
{
    if (seq <= r->operations.last_seq)
        return 0;
    return lookup_set_error_if_failed(r->x,
                                      operation_list_read(&r->operations, r->x->q, r->s->s->id));
}

static int otlp_reading_add_call(struct reading *r, struct closing *c, int64_t seq)
{
    int64_t first = operation_list_find_continued_seq(&r->operations, seq);
    int st = 0;
    if (first == 0 && operation_list_find(&r->operations, seq) != NULL)
        first = seq;
    if (first != 0)
        st = lookup_find_request(c->x, c->s->s, first, otlp_reading_on_first_message, c);
    return st == 0 ? lookup_find_request(c->x, c->s->s, seq, otlp_reading_on_request, c) : st;
}

struct ending {
    struct reading *r;
    const struct listed_operation *o;
};

static bool otlp_reading_on_operation(void *ctx, const struct query_message *m)
{
    struct ending *e = ctx;
    struct reading *r = e->r;
    if (m->method.p != NULL)
        otlp_add_operation_span(batch_get_request(r->x, OTLP_SPANS, r->s, 1), r->s, e->o, m,
                                lookup_read_body(r->x, r->s->s, m, &r->x->body), r->w->t_us);
    return false;
}

static int otlp_reading_add_operation(struct reading *r, const struct listed_operation *o)
{
    struct ending e = {r, o};
    return o != NULL ? lookup_find_request(r->x, r->s->s, o->seq, otlp_reading_on_operation, &e)
                     : 0;
}

/* ---- a session ---- */

/* Returns how long a session lasted. The times of start and end are of the wall clock, which may
 * have been set back, so the duration is at least the time of the last message. */
static int64_t session_duration_us(const struct reading *r)
{
    int64_t us = r->s->s->ended_at_us - r->s->s->started_at_us;
    return us > r->w->t_us ? us : r->w->t_us;
}

/* Adds the durations of the session to the batch. */
static void reading_add_durations(struct reading *r)
{
    struct exporter *x = r->x;
    for (struct otlp_durations *d = x->durations; d < x->durations + MI_COUNT(x->durations); d++) {
        bool session = d->metric == OTLP_SESSION;
        if (d->failed)
            r->status = r->status == 0 ? MI_ENOMEM : r->status;
        if (d->n > 0)
            otlp_durations_add(batch_get_request(x, OTLP_METRICS, r->s, d->n), r->s, d,
                               session ? 0 : r->since_us,
                               session ? session_duration_us(r) : r->w->t_us);
    }
    r->since_us = r->w->t_us;
}

/* Sends the batch if it is full. The caller must first advance the session's position (r->w), so
 * that rows in the batch are not read again. Returns false if the round must end. */
static bool reading_send_batch_if_full(struct reading *r)
{
    r->missed |= r->status < 0;
    r->w->saved = false;
    if (r->status == 0 && batch_is_full(r->x)) {
        reading_add_durations(r);
        if (r->status == 0)
            r->status = batch_send(r->x);
        /* Sending has removed other sessions from the list, so this session may have moved in
         * memory. */
        r->w = session_walks_find(&r->x->walks, r->s->s->id);
    }
    return r->status == 0;
}

static bool otlp_reading_on_message(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    int64_t call;
    r->status = walk_update_open_calls(r->w, m, &call);
    struct closing c = {.x = r->x, .s = r->s, .m = m, .end_us = m->t_us};
    if (r->status == 0)
        r->status = reading_update_operations(r, m->seq);
    if (r->status == 0 && call != 0)
        r->status = otlp_reading_add_call(r, &c, call);
    if (r->status == 0)
        r->status =
            otlp_reading_add_operation(r, operation_list_find_by_end_seq(&r->operations, m->seq));
    if (r->status == 0 && r->x->t.notifications && otlp_notification_has_span(m)) {
        struct otlp_call notification = {.request = m,
                                         .body = lookup_read_body(r->x, r->s->s, m, &r->x->body),
                                         .status = CALL_OK,
                                         .end_us = m->t_us};
        otlp_add_span(batch_get_request(r->x, OTLP_SPANS, r->s, 1), r->s, &notification);
    }
    if (r->status == 0 && m->finding.n > 0)
        r->status = logs_add_message(r, m);
    return reading_send_batch_if_full(r);
}

static bool otlp_reading_on_event(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    r->status = otlp_logs_add_event(r, e);
    r->w->event = e->id;
    return reading_send_batch_if_full(r);
}

static bool otlp_reading_on_old_message(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    int64_t call;
    r->status = walk_update_open_calls(r->w, m, &call);
    return r->status == 0;
}

/* Reads the messages up to `seq`, the position of the cursor, to find the calls that are open
 * there. */
static int reading_find_open_calls(struct reading *r, int64_t seq)
{
    int st = query_message_rows(r->x->q, r->w->id, 1, seq, QUERY_FORWARD, false,
                                otlp_reading_on_old_message, r);
    r->w->seq = seq;
    return st == 0 ? r->status : lookup_set_error_if_failed(r->x, st);
}

static int read_new_rows_of_session(struct reading *r)
{
    int64_t seq, event;
    int st = 0;
    do {
        int64_t at = seq = r->w->seq, on = event = r->w->event;
        r->has_added = false; /* read the added findings again, because there may be new findings */
        st = lookup_set_error_if_failed(r->x, query_read_newer_rows(r->x->q, r->w->id, &at, &on,
                                                                    otlp_reading_on_message,
                                                                    otlp_reading_on_event, r));
        st = st == 0 ? r->status : st;
    } while (st == 0 && (seq != r->w->seq || event != r->w->event));
    return st;
}

/* Adds items for the calls and operations that no message has closed. */
static int reading_end_session(struct reading *r)
{
    int64_t seq;
    r->status = reading_update_operations(r, r->w->seq);
    while (r->status == 0 && (seq = walk_remove_first_open_call(r->w)) != 0) {
        struct closing c = {.x = r->x, .s = r->s, .end_us = r->w->t_us};
        r->status = otlp_reading_add_call(r, &c, seq);
        (void)reading_send_batch_if_full(r);
    }
    for (size_t i = 0; r->status == 0 && i < r->operations.n; i++) {
        if (r->operations.operation[i].closing_seq != 0)
            continue;
        r->status = otlp_reading_add_operation(r, &r->operations.operation[i]);
        (void)reading_send_batch_if_full(r);
    }
    if (r->status == 0)
        otlp_add_session_duration(&r->x->durations[OTLP_SESSION], r->s, session_duration_us(r));
    r->w->complete = r->status == 0;
    r->w->saved &= !r->w->complete;
    return r->status;
}

int reading_read_session(struct exporter *x, const struct cursor *at)
{
    struct query_session row;
    int st = query_session_by_id(x->q, at->session_id, &row);
    if (st == MI_ENOENT) /* the session was just removed */
        return 0;
    if (st < 0)
        return lookup_set_error_if_failed(x, st);
    struct otlp_session s = otlp_describe_session(&row);
    struct reading r = {.x = x, .w = session_walks_find(&x->walks, at->session_id), .s = &s};
    if (r.w == NULL) {
        r.w = session_walks_add(&x->walks, at->session_id);
        if (r.w == NULL)
            return MI_ENOMEM;
        r.w->event = at->event;
        st = at->seq > 0 ? reading_find_open_calls(&r, at->seq) : 0;
        if (st < 0) {
            session_walks_remove(&x->walks, at->session_id);
            return st;
        }
    }
    r.since_us = r.w->t_us;
    if (!r.w->complete)
        st = read_new_rows_of_session(&r);
    if (st == 0 && !r.w->complete && row.ended_at_us != 0)
        st = reading_end_session(&r);
    reading_add_durations(&r);
    operation_list_close(&r.operations);
    if (r.missed)
        session_walks_remove(&x->walks, at->session_id);
    return st == 0 ? r.status : st;
}
