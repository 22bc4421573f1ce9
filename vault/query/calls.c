/* calls.c - the client's requests of a session, each with the message that closed it. */
#include "vault/query/status.h"

#include "base/grow.h"
#include "base/intern.h"
#include "base/search.h"
#include "vault/store/connect.h"

#include <stdlib.h>

/* The columns of Q_CALLS after those of query_call_row(). */
enum { T_US = CALL_COLUMNS_N, SIZE, METHOD, TARGET };

/* A request of the client. */
struct pending {
    int64_t seq, t_us, size;
    uint32_t method, target; /* in names */
    bool has_target, refused;
    bool open; /* no message has closed it yet */
};

struct calls {
    struct pending *pending; /* owned; in the order of seq */
    size_t n, cap;
    struct intern names; /* owned */
    query_call_fn fn;
    void *ctx;
    bool ended; /* the callback has ended the reading */
};

static int add_request(struct calls *c, const struct query_message *m, sqlite3_stmt *st)
{
    struct slice method = connect_column(st, METHOD), target = connect_column(st, TARGET);
    struct pending a = {
        .seq = m->seq,
        .t_us = connect_time(st, T_US),
        .size = sqlite3_column_int64(st, SIZE),
        .has_target = target.p != NULL,
        .refused = m->action == ROW_REFUSED,
        .open = true,
    };
    if (intern_add(&c->names, method, &a.method) < 0 ||
        intern_add(&c->names, target, &a.target) < 0)
        return MI_ENOMEM;
    if (!GROW(c->pending, c->n, c->cap))
        return MI_ENOMEM;
    c->pending[c->n++] = a;
    return 0;
}

static struct pending *find_open(struct calls *c, int64_t seq)
{
    size_t at = SEARCH_INT64(c->pending, c->n, seq, seq);
    return at < c->n && c->pending[at].seq == seq && c->pending[at].open ? &c->pending[at] : NULL;
}

/* closing_seq 0: open, or refused. */
static int pass_on(struct calls *c, struct pending *a, enum call_status status, int64_t closing_seq,
                   int64_t end_us, int64_t response_size)
{
    struct query_call call = {
        .request_seq = a->seq,
        .closing_seq = closing_seq,
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
    return c->ended ? 1 : 0;
}

static int on_row(void *ctx, sqlite3_stmt *st)
{
    struct calls *c = ctx;
    struct query_message m = query_call_row(st);
    if (m.kind == KIND_REQUEST)
        return add_request(c, &m, st);
    struct pending *p = m.action == ROW_FORWARDED ? find_open(c, m.request_seq) : NULL;
    if (p == NULL)
        return 0;
    enum call_status status = p->refused ? CALL_REFUSED : query_status(&m);
    return pass_on(c, p, status, m.seq, sqlite3_column_int64(st, T_US),
                   status != CALL_CANCELLED ? sqlite3_column_int64(st, SIZE) : 0);
}

int query_calls(struct query *q, int64_t session_id, query_call_fn fn, void *ctx)
{
    struct calls c = {.fn = fn, .ctx = ctx};
    struct query_range in = {session_id, 0, INT64_MAX, false};
    int status = query_scan(q, Q_CALLS, (struct slice){0}, &in, on_row, &c);
    for (size_t i = 0; status == 0 && !c.ended && i < c.n; i++) {
        struct pending *p = &c.pending[i];
        if (p->open)
            (void)pass_on(&c, p, p->refused ? CALL_REFUSED : CALL_OPEN, 0, p->t_us, 0);
    }
    free(c.pending);
    intern_close(&c.names);
    return status;
}
