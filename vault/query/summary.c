/* summary.c - how many calls a session has, and how they ended. */
#include "vault/query/connection.h"
#include "vault/query/statements.h"

#include "vault/store/call_batch.h"
#include "vault/store/connect.h"

#include <stdlib.h>

/* Requests with a higher number count as open: a forged file may have one message with the highest number that there is. */
#define WAITING_MAX (INT64_C(1) << 30)

/* Whether the call is a row of the view `invocations`. */
static bool is_invocation(const struct call *c)
{
    return c->direction == ROW_C2S && c->origin == ROW_PEER;
}

/* Whether the table `calls` has those of the session. */
static int has_calls(struct query *q, int64_t session_id, bool *ret)
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

struct counting {
    struct query_summary s;
    struct call_set calls; /* owned */
};

static void set_waiting(struct query_summary *s, int64_t seq, bool waits)
{
    if (seq < 0 || (size_t)seq / 64 >= s->waiting_n)
        return;
    uint64_t bit = (uint64_t)1 << seq % 64;
    s->waiting[seq / 64] = waits ? s->waiting[seq / 64] | bit : s->waiting[seq / 64] & ~bit;
}

/* ---- from the table ---- */

static int on_call(void *ctx, sqlite3_stmt *st)
{
    struct query_summary *s = &((struct counting *)ctx)->s;
    enum call_status status = value_of(&call_statuses, connect_column(st, 1));
    s->calls++;
    if (status < CALL_UNKNOWN)
        s->by_status[status]++;
    if (status == CALL_OPEN)
        set_waiting(s, sqlite3_column_int64(st, 0), true);
    return 0;
}

static int read_signs(struct query *q, int64_t session_id, struct query_summary *s)
{
    int64_t changed = 0, unfinished = 0;
    int status = query_number(q, Q_TOOLS_CHANGED, session_id, &changed);
    if (status == 0)
        status = query_number(q, Q_UNFINISHED, session_id, &unfinished);
    s->tools_changed = changed != 0;
    s->unfinished = unfinished != 0;
    return status;
}

/* ---- from messages ---- */

static void count_call(struct query_summary *s, const struct call *c, bool began)
{
    bool refused = c->status == CALL_REFUSED; /* at once, whatever comes later */
    s->calls += began;
    if (began)
        s->by_status[c->status]++;
    else if (!refused) {
        s->by_status[CALL_OPEN]--;
        s->by_status[c->status]++;
    }
    if (!refused)
        set_waiting(s, c->seq, began);
}

static int on_message(void *ctx, sqlite3_stmt *st)
{
    struct counting *c = ctx;
    struct query_summary *s = &c->s;
    struct call *call;
    int64_t seq;
    struct call_message m = call_message_row(st);
    bool from_server = m.direction == ROW_S2C;
    s->tools_changed |= from_server && finding_is_listed(m.finding, "tool-changed");
    s->unfinished |= from_server && finding_is_listed(m.finding, "unfinished-line");
    int step = call_set_add(&c->calls, &m, &call, &seq);
    if (step < 0)
        return step;
    if (call != NULL && is_invocation(call))
        count_call(s, call, step == CALLS_BEGAN);
    while (step == CALLS_ENDED && call_set_take(&c->calls, false) != NULL)
        continue; /* it needs no memory any more */
    return 0;
}

/* ---- of a store ---- */

/* The columns from the fifth on are in the order of enum call_status. */
static const char summaries[] =
    "SELECT last_seq, last_t_us, tools_changed, unfinished, ok, tool_error, error, refused, "
    "cancelled,"
    " server_gone, interrupted, timeout, open FROM summaries WHERE id = ?1";
_Static_assert(CALL_OK == 0 && CALL_TOOL_ERROR == 1 && CALL_ERROR == 2 && CALL_REFUSED == 3 &&
                   CALL_CANCELLED == 4 && CALL_SERVER_GONE == 5 && CALL_INTERRUPTED == 6 &&
                   CALL_TIMEOUT == 7 && CALL_OPEN == 8 && CALL_UNKNOWN == 9,
               "the statement has each status");

static int read_summary(struct query *q, int64_t session_id, struct query_summary *ret)
{
    struct query_summary s = {0};
    sqlite3_stmt *st;
    int status = query_refresh(q), rc = SQLITE_DONE;
    if (status == 0)
        status = db_ask_text(&q->d, summaries, &st, DB_WITH(db_int(session_id)));
    if (status < 0)
        return status;
    if ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        s.last_seq = sqlite3_column_int64(st, 0);
        s.last_t_us = connect_time(st, 1);
        s.tools_changed = sqlite3_column_int(st, 2) != 0;
        s.unfinished = sqlite3_column_int(st, 3) != 0;
        for (int i = 0; i < CALL_UNKNOWN; i++) {
            s.by_status[i] = sqlite3_column_int64(st, 4 + i);
            s.calls += s.by_status[i];
        }
    }
    status = db_done(&q->d, st, rc);
    if (status == 0)
        *ret = s;
    return status;
}

int query_summary(struct query *q, int64_t session_id, bool waiting, struct query_summary *ret)
{
    if (query_is_store(q) && !waiting)
        return read_summary(q, session_id, ret);
    struct counting c = {0};
    bool stored = false;
    int64_t pid = 0;
    int status = query_last_message(q, session_id, &c.s.last_seq, &c.s.last_t_us);
    if (status == 0)
        status = has_calls(q, session_id, &stored);
    if (status == 0 && stored)
        status = query_number(q, Q_PID, session_id, &pid);
    if (status < 0)
        return status;
    stored = stored && pid != 0; /* an imported session has no events of the recorded one */
    c.s.waiting_n = (size_t)(c.s.last_seq < WAITING_MAX ? c.s.last_seq : WAITING_MAX) / 64 + 1;
    c.s.waiting = calloc(c.s.waiting_n, sizeof *c.s.waiting);
    if (c.s.waiting == NULL)
        return MI_ENOMEM;
    struct query_range in = {session_id, 0, c.s.last_seq, false};
    status = query_scan(q, stored ? Q_CALL_STATUSES : Q_CALL_MESSAGES, (struct slice){0}, &in,
                        stored ? on_call : on_message, &c);
    if (status == 0 && stored)
        status = read_signs(q, session_id, &c.s);
    call_set_close(&c.calls);
    if (!waiting || status < 0)
        query_summary_close(&c.s);
    if (status == 0)
        *ret = c.s;
    return status;
}

void query_summary_close(struct query_summary *s)
{
    free(s->waiting);
    s->waiting = NULL;
}

bool query_summary_waits(const struct query_summary *s, int64_t seq)
{
    return s->waiting != NULL && seq > 0 && (size_t)seq / 64 < s->waiting_n &&
           (s->waiting[seq / 64] >> seq % 64 & 1) != 0;
}
