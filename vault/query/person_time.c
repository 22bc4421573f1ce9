#include "vault/query/person_time.h"

#include "base/grow.h"
#include "base/search.h"
#include "model/asker.h"
#include "vault/query/call_rows.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdio.h>
#include <stdlib.h>

/* A request about a task belongs to the operation of the task. */
#define ASKS(methods) "direction = 's2c' AND operation_seq IS NULL AND method " methods

/* A session in which the server asked: ids of the first and the last request that
 * person_time_reading.asks selects. */
struct asking_session {
    int64_t first, last;
};

struct person_time_reading {
    struct person_time_list *l;
    enum person_time_order order;
    const char *asks;               /* SQL condition that selects the requests that ask */
    struct asking_session *session; /* owned */
    size_t n, cap;
    const struct asking_session *now; /* session whose calls are being read */
    struct asker open; /* calls of the session `now` that have started and not ended */
};

static int person_time_add_session(void *ctx, sqlite3_stmt *st)
{
    struct person_time_reading *r = ctx;
    if (!GROW(r->session, r->n, r->cap))
        return MI_ENOMEM;
    r->session[r->n++] =
        (struct asking_session){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)};
    return 0;
}

/* ---- a session ---- */

#define COLUMNS                                                                                    \
    "c.id AS id, c.closing_seq AS closing_seq, c.direction AS direction, c.method AS method,"      \
    " c.target, c.t_us, c.duration_us, c.operation_seq AS operation_seq, c.origin, c.status"

static int person_time_add_open_call(struct person_time_reading *r, struct asker_call *c,
                                     sqlite3_stmt *st)
{
    int status = 0;
    if (!asker_method_counts_as_call(connect_column(st, 3)))
        return 0;
    if (r->order == PERSON_TIME_BY_ASK) { /* with PERSON_TIME_BY_CALL, the texts are not needed */
        status = intern_add(&r->l->texts, connect_column(st, 3), &c->method);
        if (status == 0)
            status = intern_add(&r->l->texts, connect_column(st, 4), &c->target);
    }
    if (status == 0)
        asker_add_call(&r->open, c);
    return status;
}

static int person_time_add_server_request(struct person_time_reading *r, int64_t id,
                                          const struct asker_call *ask, bool of_person)
{
    struct asker_call *c = asker_find_call_of_request(&r->open, ask->seq);
    if (c == NULL)
        return 0;
    if (!GROW(r->l->times, r->l->n, r->l->cap))
        return MI_ENOMEM;
    r->l->times[r->l->n++] = (struct person_time){
        .ask = id,
        .call = (id & ~SCHEMA_SEQ_MAX) + c->operation_seq,
        .us = of_person ? asker_take_uncounted_time(c, ask->covered_us, ask->end_us) : 0,
        .method = c->method,
        .target = c->target,
    };
    return 0;
}

static int person_time_on_call(void *ctx, sqlite3_stmt *st)
{
    struct person_time_reading *r = ctx;
    int64_t id = sqlite3_column_int64(st, 0), t_us = connect_time(st, 5),
            lasted_us = connect_time(st, 6), first = sqlite3_column_int64(st, 7);
    struct asker_call c = {
        .seq = id & SCHEMA_SEQ_MAX, .closing_seq = sqlite3_column_int64(st, 1), .covered_us = t_us};
    c.operation_seq = first != 0 ? first : c.seq;
    c.end_us = c.closing_seq != 0 && lasted_us >= 0 ? t_us + lasted_us : INT64_MAX;
    if (!slice_is(connect_column(st, 8), "peer") || slice_is(connect_column(st, 9), "refused"))
        return 0; /* ignore a request that was not sent by a peer, or was not delivered */
    if (slice_is(connect_column(st, 2), "c2s"))
        return person_time_add_open_call(r, &c, st);
    enum asks what = asker_classify_request(connect_column(st, 3));
    bool wanted = r->order == PERSON_TIME_BY_CALL ? what == ASKS_PERSON : what != ASKS_NOTHING;
    return wanted && id >= r->now->first && first == 0
               ? person_time_add_server_request(r, id, &c, what == ASKS_PERSON)
               : 0;
}

/* Reads the calls of a session that may be open between the session's first and last question.
 * Skips calls that ended before the first question, and calls whose answer directly follows their
 * request. */
static int person_time_read_session(struct person_time_reading *r, struct query *q,
                                    const struct call_question *question,
                                    const struct asking_session *a)
{
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f,
                              /* select the requests of client, server and interposer, because
                               * person_time_on_call() tells them apart */
                              .side = CALLS_OF_ALL,
                              .from = a->first & ~SCHEMA_SEQ_MAX,
                              .up_to = a->last,
                              .goes_on = question->goes_on,
                              .ctx = question->ctx};
    char around[512];
    snprintf(
        around, sizeof around,
        "SELECT * FROM @calls WHERE closing_seq > %lld AND closing_seq > (id & 68719476735) + 1"
        " OR closing_seq IS NULL OR id >= %lld AND %s",
        (long long)(a->first & SCHEMA_SEQ_MAX), (long long)a->first, r->asks);
    x.around = around;
    f.session_id = a->first >> SCHEMA_SEQ_BITS;
    r->now = a;
    r->open = (struct asker){0};
    return call_rows_read(q, &x, COLUMNS, person_time_on_call, r);
}

/* ---- the list ---- */

static int compare_by_call_id(const void *a, const void *b)
{
    const struct person_time *x = a, *y = b;
    return (x->call > y->call) - (x->call < y->call);
}

static int compare_by_server_request_id(const void *a, const void *b)
{
    const struct person_time *x = a, *y = b;
    return (x->ask > y->ask) - (x->ask < y->ask);
}

int person_time_list_read(struct person_time_list *l, struct query *q,
                          const struct call_question *question, enum person_time_order order)
{
    struct person_time_reading r = {.l = l, .order = order};
    struct filter f = *question->filter;
    char around[512];
    struct call_question x = {.filter = &f,
                              .side = CALLS_OF_PEERS,
                              .recorded = question->recorded,
                              .not_sent = question->not_sent,
                              .goes_on = question->goes_on,
                              .ctx = question->ctx};
    *l = (struct person_time_list){0};
    if (query_is_store(q))
        return 0;
    /* Remove the filter's conditions on the call, because the server's requests have other methods
     * and later times than the call. */
    f.tool = f.method = NULL;
    f.failed = false;
    f.statuses = f.kinds = 0;
    f.slow_us = 0;
    f.until_us = INT64_MAX;
    f.also = NULL;
    r.asks =
        order == PERSON_TIME_BY_CALL ? ASKS("= 'elicitation/create'") : ASKS("IN " ASKER_METHODS);
    snprintf(around, sizeof around,
             "SELECT min(id), max(id) FROM @calls WHERE %s GROUP BY id >> 36", r.asks);
    x.around = around;
    int st = call_rows_read(q, &x,
                            "c.id AS id, c.direction AS direction, c.method AS method,"
                            " c.operation_seq AS operation_seq",
                            person_time_add_session, &r);
    for (size_t i = 0; st == 0 && i < r.n; i++)
        st = person_time_read_session(&r, q, question, &r.session[i]);
    free(r.session);
    if (l->n > 1)
        qsort(l->times, l->n, sizeof *l->times,
              order == PERSON_TIME_BY_CALL ? compare_by_call_id : compare_by_server_request_id);
    return st;
}

void person_time_list_close(struct person_time_list *l)
{
    free(l->times);
    intern_close(&l->texts);
    *l = (struct person_time_list){0};
}

int64_t person_time_sum_us_of_call(const struct person_time_list *l, int64_t call)
{
    int64_t us = 0;
    for (size_t i = SEARCH_INT64(l->times, l->n, call, call); i < l->n && l->times[i].call == call;
         i++)
        us += l->times[i].us;
    return us;
}

const struct person_time *person_time_find_call_of_request(const struct person_time_list *l,
                                                           int64_t ask)
{
    size_t at = SEARCH_INT64(l->times, l->n, ask, ask);
    return at < l->n && l->times[at].ask == ask ? &l->times[at] : NULL;
}

struct slice person_time_get_text(const struct person_time_list *l, uint32_t text)
{
    return intern_get_text(&l->texts, text);
}
