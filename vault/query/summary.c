/* summary.c - how many calls a session has, and how they ended. */
#include "vault/query/status.h"

#include <stdlib.h>

/* Requests with a higher number count as open: a forged file may have one message with the highest number that there is. */
#define WAITING_MAX (INT64_C(1) << 30)

static bool clear_waiting(struct query_summary *s, int64_t seq)
{
    if (!query_summary_waits(s, seq))
        return false;
    s->waiting[seq / 64] &= ~((uint64_t)1 << seq % 64);
    return true;
}

/* Rows come in the order of seq. The first message that closes a request decides its status; later ones, and those for
 * an unknown request, do not count. */
static int add_row(void *ctx, sqlite3_stmt *st)
{
    struct query_summary *s = ctx;
    struct query_message m = query_call_row(st);
    if (m.kind == KIND_REQUEST) {
        bool refused = m.action == ROW_REFUSED;
        s->calls++;
        s->by_status[refused ? CALL_REFUSED : CALL_OPEN]++;
        if (!refused && m.seq >= 0 && (size_t)m.seq / 64 < s->waiting_n)
            s->waiting[m.seq / 64] |= (uint64_t)1 << m.seq % 64;
        return 0;
    }
    s->tools_changed = s->tools_changed || query_has_finding(&m, "tool-changed");
    s->unfinished = s->unfinished || query_has_finding(&m, "unfinished-line");
    if (m.action == ROW_FORWARDED && clear_waiting(s, m.request_seq)) {
        s->by_status[CALL_OPEN]--;
        s->by_status[query_status(&m)]++;
    }
    return 0;
}

int query_summary(struct query *q, int64_t session_id, bool waiting, struct query_summary *ret)
{
    struct query_summary s = {0};
    int status = query_last_message(q, session_id, &s.last_seq, &s.last_t_us);
    if (status < 0)
        return status;
    s.waiting_n = (size_t)(s.last_seq < WAITING_MAX ? s.last_seq : WAITING_MAX) / 64 + 1;
    s.waiting = calloc(s.waiting_n, sizeof *s.waiting);
    if (s.waiting == NULL)
        return MI_ENOMEM;
    struct query_range in = {session_id, 0, s.last_seq, false};
    status = query_scan(q, Q_SUMMARY, (struct slice){0}, &in, add_row, &s);
    if (!waiting || status < 0)
        query_summary_close(&s);
    if (status == 0)
        *ret = s;
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
