#include "vault/query/person.h"

#include "base/grow.h"
#include "base/search.h"
#include "model/asker.h"
#include "vault/query/call_rows.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

struct reading {
    struct person_list *l;
    int64_t *session; /* owned; those whose server asked */
    size_t n, cap;
    struct asker open; /* of the session that is read */
};

static int on_session(void *ctx, sqlite3_stmt *st)
{
    struct reading *r = ctx;
    if (!GROW(r->session, r->n, r->cap))
        return MI_ENOMEM;
    r->session[r->n++] = sqlite3_column_int64(st, 0);
    return 0;
}

/* ---- a session ---- */

#define COLUMNS                                                                                    \
    "c.id, c.closing_seq, c.direction, c.method, c.target, c.t_us, c.duration_us, c.operation_seq"

struct row {
    int64_t id, seq, closing_seq, t_us, end_us; /* end_us: INT64_MAX: it is open */
    struct slice method, target;
};

static int add_call(struct reading *r, const struct row *row)
{
    struct asker_call c = {.seq = row->seq,
                           .closing_seq = row->closing_seq,
                           .end_us = row->end_us,
                           .covered_us = row->t_us};
    if (!asker_counts(row->method))
        return 0;
    int st = intern_add(&r->l->texts, row->method, &c.method);
    if (st == 0)
        st = intern_add(&r->l->texts, row->target, &c.target);
    if (st == 0)
        asker_call(&r->open, &c);
    return st;
}

static int add_asked(struct reading *r, const struct row *row)
{
    bool person;
    if (!link_method_asks(row->method, &person))
        return 0;
    struct asker_call *c = asker_find(&r->open, row->seq);
    if (c == NULL)
        return 0;
    if (!GROW(r->l->share, r->l->n, r->l->cap))
        return MI_ENOMEM;
    bool answered = person && row->end_us != INT64_MAX;
    r->l->share[r->l->n++] = (struct person_share){
        .ask = row->id,
        .call = (row->id & ~SCHEMA_SEQ_MAX) + c->seq,
        .us = answered ? asker_share(c, row->t_us, row->end_us) : 0,
        .method = c->method,
        .target = c->target,
    };
    return 0;
}

static int on_call(void *ctx, sqlite3_stmt *st)
{
    struct reading *r = ctx;
    int64_t id = sqlite3_column_int64(st, 0), lasted_us = connect_time(st, 6);
    struct row row = {
        .id = id,
        .seq = id & SCHEMA_SEQ_MAX,
        .closing_seq = sqlite3_column_int64(st, 1),
        .t_us = connect_time(st, 5),
        .method = connect_column(st, 3),
        .target = connect_column(st, 4),
    };
    bool of_client = slice_is(connect_column(st, 2), "c2s");
    bool of_task = sqlite3_column_type(st, 7) != SQLITE_NULL;
    row.end_us = row.closing_seq != 0 && lasted_us >= 0 ? row.t_us + lasted_us : INT64_MAX;
    if (of_client)
        return add_call(r, &row);
    return of_task ? 0 : add_asked(r, &row);
}

static int read_sessions(struct reading *r, struct query *q)
{
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f, .side = CALLS_OF_PEERS};
    int st = 0;
    f.statuses = ~(1u << CALL_REFUSED) & ((1u << CALL_UNKNOWN) - 1); /* the server has not got it */
    for (size_t i = 0; st == 0 && i < r->n; i++) {
        f.session_id = r->session[i];
        r->open = (struct asker){0};
        st = call_rows(q, &x, COLUMNS, on_call, r);
    }
    return st;
}

/* ---- the list ---- */

static int by_call(const void *a, const void *b)
{
    const struct person_share *x = a, *y = b;
    return (x->call > y->call) - (x->call < y->call);
}

static int by_ask(const void *a, const void *b)
{
    const struct person_share *x = a, *y = b;
    return (x->ask > y->ask) - (x->ask < y->ask);
}

int person_list_read(struct person_list *l, struct query *q, const struct call_question *question,
                     enum person_order order)
{
    struct reading r = {.l = l};
    struct filter f = *question->filter;
    struct call_question x = {.filter = &f,
                              .side = CALLS_OF_PEERS,
                              .recorded = question->recorded,
                              .not_sent = question->not_sent};
    *l = (struct person_list){0};
    if (query_is_store(q))
        return 0;
    /* What the server asked is another method than that of the call, and later. */
    f.tool = f.method = NULL;
    f.failed = false;
    f.statuses = f.kinds = 0;
    f.slow_us = 0;
    f.until_us = INT64_MAX;
    f.also = NULL;
    x.around = "SELECT DISTINCT id >> 36 FROM @calls WHERE direction = 's2c' AND method IN"
               " ('elicitation/create', 'sampling/createMessage', 'roots/list')";
    int st = call_rows(q, &x,
                       "c.id AS id, c.direction AS direction, c.method AS method",
                       on_session, &r);
    if (st == 0)
        st = read_sessions(&r, q);
    free(r.session);
    if (l->n > 1)
        qsort(l->share, l->n, sizeof *l->share, order == PERSON_BY_CALL ? by_call : by_ask);
    return st;
}

void person_list_close(struct person_list *l)
{
    free(l->share);
    intern_close(&l->texts);
    *l = (struct person_list){0};
}

int64_t person_us_of(const struct person_list *l, int64_t call)
{
    int64_t us = 0;
    for (size_t i = SEARCH_INT64(l->share, l->n, call, call); i < l->n && l->share[i].call == call;
         i++)
        us += l->share[i].us;
    return us;
}

const struct person_share *person_asked(const struct person_list *l, int64_t ask)
{
    size_t at = SEARCH_INT64(l->share, l->n, ask, ask);
    return at < l->n && l->share[at].ask == ask ? &l->share[at] : NULL;
}

struct slice person_text(const struct person_list *l, uint32_t text)
{
    return intern_text(&l->texts, text);
}
