/* query_calls.c - the client's requests of a session, each with what closed it, in one pass. */
#include "vault/query_inner.h"

#include "base/intern.h"
#include "base/room.h"

#include <stdlib.h>

/* A request that nothing has closed yet. */
struct asked {
    int64_t seq, t_us, size;
    uint32_t method, target; /* in names */
    bool has_target, refused, open;
};

/* Requests stand in the order of seq, and are found by bisection. */
struct calls {
    struct asked *asked; /* owned */
    size_t n, cap;
    struct intern names; /* owned */
    query_call_fn fn;
    void *ctx;
    bool ended; /* the reader has had enough */
};

const char *query_status_name(enum query_status status)
{
    static const char *const names[CALL_STATUSES] = {
        [CALL_OK] = "ok",
        [CALL_TOOL_ERROR] = "tool-error",
        [CALL_ERROR] = "error",
        [CALL_REFUSED] = "refused",
        [CALL_CANCELLED] = "cancelled",
        [CALL_SERVER_GONE] = "server-gone",
        [CALL_TIMEOUT] = "timeout",
        [CALL_OPEN] = "open",
    };
    return names[status];
}

static int keep(struct calls *c, sqlite3_stmt *st)
{
    struct slice method = query_column(st, 8), target = query_column(st, 9);
    struct asked a = {
        .seq = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 5),
        .size = sqlite3_column_int64(st, 6),
        .has_target = target.p != NULL,
        .refused = query_column_is(st, 2, "refused"),
        .open = true,
    };
    if (intern_add(&c->names, method, &a.method) < 0 ||
        intern_add(&c->names, target, &a.target) < 0)
        return MI_ENOMEM;
    if (!ROOM(c->asked, c->n, c->cap))
        return MI_ENOMEM;
    c->asked[c->n++] = a;
    return 0;
}

static struct asked *find(struct calls *c, int64_t seq)
{
    size_t from = 0, to = c->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (c->asked[middle].seq < seq)
            from = middle + 1;
        else
            to = middle;
    }
    return from < c->n && c->asked[from].seq == seq && c->asked[from].open ? &c->asked[from] : NULL;
}

static void hand_out(struct calls *c, struct asked *a, enum query_status status, int64_t end_us,
                     int64_t response_size)
{
    struct query_call call = {
        .request_seq = a->seq,
        .method = intern_text(&c->names, a->method),
        .target = a->has_target ? intern_text(&c->names, a->target) : (struct slice){0},
        .status = status,
        .t_us = a->t_us,
        .duration_us = status != CALL_OPEN ? end_us - a->t_us : -1,
        .request_size = a->size,
        .response_size = response_size,
    };
    a->open = false;
    c->ended = !c->fn(c->ctx, &call);
}

/* As the view `invocations` has it. */
static enum query_status status_of(sqlite3_stmt *st)
{
    bool ours = query_column_is(st, 7, "interposer");
    if (query_column_is(st, 1, "notification"))
        return CALL_CANCELLED;
    if (ours && query_column_has(st, 4, "server-gone"))
        return CALL_SERVER_GONE;
    if (ours && query_column_has(st, 4, "timeout"))
        return CALL_TIMEOUT;
    if (query_column_is(st, 1, "error"))
        return CALL_ERROR;
    return query_column_has(st, 4, "tool-error") ? CALL_TOOL_ERROR : CALL_OK;
}

static int take_row(struct calls *c, sqlite3_stmt *st)
{
    if (query_column_is(st, 1, "request"))
        return keep(c, st);
    struct asked *a =
        query_column_is(st, 2, "forwarded") ? find(c, sqlite3_column_int64(st, 3)) : NULL;
    if (a != NULL) {
        enum query_status status = a->refused ? CALL_REFUSED : status_of(st);
        hand_out(c, a, status, sqlite3_column_int64(st, 5),
                 status != CALL_CANCELLED ? sqlite3_column_int64(st, 6) : 0);
    }
    return 0;
}

static int read_part(struct query *q, struct calls *c, int64_t from, int64_t to)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_CALLS, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    int rc = SQLITE_DONE;
    while (status == 0 && !c->ended && (rc = sqlite3_step(st)) == SQLITE_ROW)
        status = take_row(c, st);
    int ended = query_done(q, st, rc);
    return status == 0 ? ended : status;
}

int query_calls(struct query *q, int64_t session_id, query_call_fn fn, void *ctx)
{
    struct calls c = {.fn = fn, .ctx = ctx};
    int64_t last = 0, event;
    int status = query_last(q, session_id, &last, &event);
    for (int64_t seq = 0; status == 0 && !c.ended && seq <= last; seq += QUERY_PART) {
        int64_t to = seq + QUERY_PART - 1;
        status = read_part(q, &c, schema_message_id(session_id, (uint64_t)seq),
                           schema_message_id(session_id, (uint64_t)(to < last ? to : last)));
    }
    for (size_t i = 0; status == 0 && !c.ended && i < c.n; i++)
        if (c.asked[i].open)
            hand_out(&c, &c.asked[i], c.asked[i].refused ? CALL_REFUSED : CALL_OPEN,
                     c.asked[i].t_us, 0);
    free(c.asked);
    intern_close(&c.names);
    return status;
}
