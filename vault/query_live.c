/* query_live.c - what a reader that waits for more asks again and again: a few microseconds each. */
#include "vault/query_inner.h"

static int one_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, id);
    int rc = sqlite3_step(st);
    int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    status = query_done(q, st, rc);
    if (status == 0)
        *ret = n;
    return status;
}

int query_version(struct query *q, int64_t *ret)
{
    return one_number(q, Q_VERSION, 0, ret);
}

int query_newest(struct query *q, int64_t *ret_id)
{
    return one_number(q, Q_NEWEST, 0, ret_id);
}

int query_end(struct query *q, int64_t session_id, int64_t *ret_ended_at_us)
{
    return one_number(q, Q_END, session_id, ret_ended_at_us);
}

int query_last(struct query *q, int64_t session_id, int64_t *ret_seq, int64_t *ret_event)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_LAST, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, 0));
    sqlite3_bind_int64(st, 2, schema_message_id(session_id, QUERY_SEQ_MAX));
    int rc = sqlite3_step(st);
    int64_t seq = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    status = query_done(q, st, rc);
    if (status == 0)
        status = one_number(q, Q_LAST_EVENT, session_id, ret_event);
    if (status == 0)
        *ret_seq = seq;
    return status;
}
