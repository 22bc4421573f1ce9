#include "cli/send/made.h"

#include "base/log.h"
#include "cli/frame/session.h"

#define NEWEST 50 /* sessions among which that of our proxy is looked for */

struct search {
    struct query *q;
    int64_t found; /* session id; 0: none yet */
    int status;
    pid_t pid;
    int64_t began_us;
};

static bool on_session(void *ctx, const struct query_session *s)
{
    struct search *f = ctx;
    int64_t seq = 0, event = 0;
    bool made = false;
    f->status = query_last(f->q, s->id, &seq, &event);
    if (f->status == 0)
        f->status = query_has_event(f->q, s->id, "sent", &made);
    if (f->status == 0 && seq > 0 && !made)
        f->found = s->id;
    return f->status == 0 && f->found == 0;
}

int made_skip(struct query *q, int64_t *ret_id)
{
    struct search f = {.q = q};
    int st = query_sessions(q, 0, on_session, &f);
    if (st == 0)
        st = f.status;
    if (st == 0)
        *ret_id = f.found;
    return st;
}

static bool on_ours(void *ctx, const struct query_session *s)
{
    struct search *f = ctx;
    if (s->pid == f->pid && s->started_at_us >= f->began_us)
        f->found = s->id;
    return f->found == 0;
}

void made_note(const struct settings *s, pid_t proxy, int64_t began_wall_us)
{
    struct search f = {.pid = proxy, .began_us = began_wall_us};
    if (session_vault_open(s, &f.q) != EXIT_FINE)
        return;
    if (query_sessions(f.q, NEWEST, on_ours, &f) == 0 && f.found != 0)
        log_note("recorded as session %lld", (long long)f.found);
    query_close(f.q);
}
