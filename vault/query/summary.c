/* summary.c - counts the calls of a session, and how they ended. */
#include "model/asker.h"
#include "vault/query/call_rows.h"
#include "vault/query/connection.h"
#include "vault/query/person_time.h"

#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* Highest seq for which the summary records whether the request is open. The summary has one bit
 * for each seq up to the last. Without a limit, these bits could exhaust the memory: a forged file
 * may have a single message with the highest possible seq. */
#define WAITING_MAX (INT64_C(1) << 30)

static int summary_mark_open_call(void *ctx, sqlite3_stmt *st)
{
    struct query_summary *s = ctx;
    size_t seq = (size_t)(sqlite3_column_int64(st, 0) & SCHEMA_SEQ_MAX);
    if (seq / 64 < s->waiting_n)
        s->waiting[seq / 64] |= (uint64_t)1 << seq % 64;
    return 0;
}

struct summing {
    struct query_summary *s;
    bool asks; /* true: the server has sent a request that asks a person */
};

static int summary_on_call(void *ctx, sqlite3_stmt *st)
{
    struct summing *x = ctx;
    struct query_summary *s = x->s;
    if (!slice_is(connect_column(st, 2), "c2s")) {
        x->asks |= asker_classify_request(connect_column(st, 3)) == ASKS_PERSON;
        return 0;
    }
    enum call_status status = value_find_by_word(&call_statuses, connect_column(st, 1));
    s->calls++;
    if (status < CALL_UNKNOWN)
        s->by_status[status]++;
    return status == CALL_OPEN ? summary_mark_open_call(s, st) : 0;
}

static int summary_on_operation(void *ctx, sqlite3_stmt *st)
{
    struct query_summary *s = ctx;
    enum call_status status = value_find_by_word(&call_statuses, connect_column(st, 0));
    s->operations++;
    s->person_us += connect_time(st, 1);
    if (status < CALL_UNKNOWN)
        s->ended_as[status]++;
    return 0;
}

static int summary_count_operations(struct query *q, const struct call_question *x,
                                    struct query_summary *s)
{
    bool has = false;
    struct call_question all = *x;
    all.operations = true;
    int st = query_is_store(q) ? 0 : call_rows_check_operations(q, &has);
    if (st == 0 && has)
        return call_rows_read(q, &all, "c.status, c.person_us", summary_on_operation, s);
    s->operations = s->calls;
    memcpy(s->ended_as, s->by_status, sizeof s->ended_as);
    return st;
}

static int summary_read_flags(struct query *q, int64_t session_id, struct query_summary *s)
{
    sqlite3_stmt *st;
    int status = query_last_message(q, session_id, &s->last_seq, &s->last_t_us), rc;
    if (status == 0)
        status = db_begin_query(&q->d, Q_SIGNS, &st, DB_WITH(db_int(session_id)));
    if (status < 0)
        return status;
    if ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        s->tools_changed = sqlite3_column_int(st, 0) != 0;
        s->unfinished = sqlite3_column_int(st, 1) != 0;
    }
    return db_finish_statement(&q->d, st, rc);
}

/* ---- summaries of a store ---- */

/* The columns from the fifth on are in the order of enum call_status. */
static const char summaries[] =
    "SELECT last_seq, last_t_us, tools_changed, unfinished, ok, tool_error, error, refused, "
    "cancelled,"
    " server_gone, interrupted, timeout, open FROM summaries WHERE id = ?1";
_Static_assert(CALL_OK == 0 && CALL_TOOL_ERROR == 1 && CALL_ERROR == 2 && CALL_REFUSED == 3 &&
                   CALL_CANCELLED == 4 && CALL_SERVER_GONE == 5 && CALL_INTERRUPTED == 6 &&
                   CALL_TIMEOUT == 7 && CALL_OPEN == 8 && CALL_UNKNOWN == 9,
               "the statement has each status");

static int summary_read_from_store(struct query *q, int64_t session_id, struct query_summary *s)
{
    sqlite3_stmt *st;
    int status = db_begin_query_text(&q->d, summaries, &st, DB_WITH(db_int(session_id))), rc;
    if (status < 0)
        return status;
    if ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        s->last_seq = sqlite3_column_int64(st, 0);
        s->last_t_us = connect_time(st, 1);
        s->tools_changed = sqlite3_column_int(st, 2) != 0;
        s->unfinished = sqlite3_column_int(st, 3) != 0;
        for (int i = 0; i < CALL_UNKNOWN; i++) {
            s->by_status[i] = sqlite3_column_int64(st, 4 + i);
            s->calls += s->by_status[i];
        }
    }
    return db_finish_statement(&q->d, st, rc);
}

int query_summary(struct query *q, int64_t session_id, bool waiting, struct query_summary *ret)
{
    struct query_summary s = {0};
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f}, both = {.filter = &f, .side = CALLS_OF_PEERS};
    struct summing sum = {.s = &s};
    bool counted = query_is_store(q);
    int status = counted ? summary_read_from_store(q, session_id, &s)
                         : summary_read_flags(q, session_id, &s);
    if (status == 0 && waiting) {
        s.waiting_n = (size_t)(s.last_seq < WAITING_MAX ? s.last_seq : WAITING_MAX) / 64 + 1;
        s.waiting = calloc(s.waiting_n, sizeof *s.waiting);
        status = s.waiting != NULL ? 0 : MI_ENOMEM;
    }
    f.session_id = session_id;
    f.statuses = counted ? 1u << CALL_OPEN : 0;
    if (status == 0 && !counted)
        status = call_rows_read(q, &both, "c.id, c.status, c.direction, c.method", summary_on_call,
                                &sum);
    else if (status == 0 && waiting && s.by_status[CALL_OPEN] > 0)
        status = call_rows_read(q, &x, "c.id, c.status", summary_mark_open_call, &s);
    if (status == 0)
        status = summary_count_operations(q, &x, &s);
    if (status == 0 && sum.asks) {
        struct person_time_list l;
        status = person_time_list_read(&l, q, &x, PERSON_TIME_BY_CALL);
        for (size_t i = 0; status == 0 && i < l.n; i++)
            s.person_us += l.times[i].us;
        person_time_list_close(&l);
    }
    if (status == 0)
        *ret = s;
    else
        query_summary_close(&s);
    return status;
}

void query_summary_close(struct query_summary *s)
{
    free(s->waiting);
    s->waiting = NULL;
}

bool query_summary_request_is_open(const struct query_summary *s, int64_t seq)
{
    return s->waiting != NULL && seq > 0 && (size_t)seq / 64 < s->waiting_n &&
           (s->waiting[seq / 64] >> seq % 64 & 1) != 0;
}
