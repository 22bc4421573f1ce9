/* calls.c - the client's requests of a session, from the table `calls` or from its messages. */
#include "vault/query/calls.h"

#include "vault/store/connect.h"

bool query_is_invocation(const struct call *c)
{
    return c->direction == ROW_C2S && c->origin == ROW_PEER;
}

int query_has_calls(struct query *q, int64_t session_id, bool *ret)
{
    int64_t calls = 0;
    *ret = false;
    if (query_is_store(q))
        return 0;
    int status = query_number(q, Q_HAS_CALLS, session_id, &calls);
    if (status == 0)
        *ret = calls == 1;
    return status;
}

struct reading {
    struct call_set calls; /* owned */
    query_call_fn fn;
    void *ctx;
};

static int pass_on(struct reading *r, const struct call *c)
{
    struct query_call call = {
        .request_seq = c->seq,
        .closing_seq = c->closing_seq,
        .method = c->method,
        .target = c->target,
        .status = c->status,
        .t_us = c->t_us,
        .duration_us = c->duration_us,
        .request_size = c->request_size,
        .response_size = c->response_size >= 0 ? c->response_size : 0,
    };
    return !query_is_invocation(c) || r->fn(r->ctx, &call) ? 0 : 1;
}

/* ---- from the table ---- */

static int on_stored(void *ctx, sqlite3_stmt *st)
{
    bool open = sqlite3_column_type(st, 6) == SQLITE_NULL;
    struct call c = {
        .seq = sqlite3_column_int64(st, 0),
        .closing_seq = sqlite3_column_int64(st, 1),
        .direction = ROW_C2S,
        .origin = ROW_PEER,
        .method = connect_column(st, 2),
        .target = connect_column(st, 3),
        .status = value_of(&call_statuses, connect_column(st, 4)),
        .t_us = connect_time(st, 5),
        .duration_us = open ? -1 : connect_time(st, 6),
        .request_size = sqlite3_column_int64(st, 7),
        .response_size = sqlite3_column_int64(st, 8),
    };
    return pass_on(ctx, &c);
}

/* ---- from messages ---- */

static int take_calls(struct reading *r, bool all)
{
    int result = 0;
    const struct call *c;
    while (result == 0 && (c = call_set_take(&r->calls, all)) != NULL)
        result = pass_on(r, c);
    return result;
}

static int on_message(void *ctx, sqlite3_stmt *st)
{
    struct reading *r = ctx;
    struct call *call;
    int64_t seq;
    struct call_message m = call_message_row(st);
    int step = call_set_add(&r->calls, &m, &call, &seq);
    if (step < 0)
        return step;
    return step == CALLS_ENDED ? take_calls(r, false) : 0;
}

int query_calls(struct query *q, int64_t session_id, query_call_fn fn, void *ctx)
{
    struct reading r = {.fn = fn, .ctx = ctx};
    struct query_range in = {session_id, 0, INT64_MAX, false};
    bool stored = false;
    int status = query_has_calls(q, session_id, &stored);
    if (status == 0)
        status = query_scan(q, stored ? Q_CALLS : Q_CALL_MESSAGES, (struct slice){0}, &in,
                            stored ? on_stored : on_message, &r);
    if (status == 0 && !stored)
        status = take_calls(&r, true);
    call_set_close(&r.calls);
    return status < 0 ? status : 0;
}
