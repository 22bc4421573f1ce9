/* live.c - queries that a reader repeats while it waits for new rows. Each takes a few
 * microseconds. */
#include "vault/query/connection.h"

#include "vault/store/running.h"

int query_read_change_counter(struct query *q, int64_t *ret)
{
    int status = query_read_number(q, Q_VERSION, 0, ret);
    if (status == 0)
        *ret += q->d.connections << 32; /* a new connection must change the number as well */
    return status;
}

int query_newest_session(struct query *q, int64_t *ret_id)
{
    return query_read_number(q, Q_NEWEST, 0, ret_id);
}

int query_read_session_end_time(struct query *q, int64_t session_id, int64_t *ret_ended_at_us)
{
    return query_read_number(q, Q_END, session_id, ret_ended_at_us);
}

bool query_has_running_session(struct query *q)
{
    return q->remote == NULL && query_reopen_if_outdated(q) == 0 && running_list_has_rows(q->d.db);
}

int query_read_running_processes(struct query *q, int64_t session_id, struct running *ret)
{
    int status = query_reopen_if_outdated(q);
    if (status == 0)
        status = running_list_read_row(q->d.db, session_id, ret);
    return status == MI_ESTORE ? db_fail(&q->d) : status;
}

int query_read_last_seq_and_event(struct query *q, int64_t session_id, int64_t *ret_seq,
                                  int64_t *ret_event)
{
    int64_t seq, t_us;
    int status = query_last_message(q, session_id, &seq, &t_us);
    if (status == 0)
        status = query_read_number(q, Q_LAST_EVENT, session_id, ret_event);
    if (status == 0)
        *ret_seq = seq;
    return status;
}
