#include "cli/send/sent_sessions.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/session.h"
#include "vault/upkeep/prune/remove.h"

#include <time.h>

/* number of newest sessions among which the session of this proxy is searched for */
#define NEWEST 50

struct search {
    struct query *q;
    int64_t found; /* id of the session that was found; 0: none */
    int status;
    pid_t pid;
    int64_t began_us;
};

static bool pick_session_not_made_by_send(void *ctx, const struct query_session *s)
{
    struct search *f = ctx;
    int64_t seq = 0, event = 0;
    bool made = false;
    f->status = query_read_last_seq_and_event(f->q, s->id, &seq, &event);
    if (f->status == 0)
        f->status = query_session_is_made_by_send(f->q, s->id, &made);
    if (f->status == 0 && seq > 0 && !made)
        f->found = s->id;
    return f->status == 0 && f->found == 0;
}

int sent_sessions_find_not_by_send(struct query *q, int64_t *ret_id)
{
    struct search f = {.q = q};
    int st = query_sessions(q, 0, pick_session_not_made_by_send, &f);
    if (st == 0)
        st = f.status;
    if (st == 0)
        *ret_id = f.found;
    return st;
}

static bool pick_session_of_this_proxy(void *ctx, const struct query_session *s)
{
    struct search *f = ctx;
    if (s->pid == f->pid && s->started_at_us >= f->began_us)
        f->found = s->id;
    return f->found == 0;
}

/* Opens the vault and finds the session that this proxy recorded. f->found is 0 if there is
 * none. */
static void find_session_of_this_proxy(struct search *f, const struct settings *s)
{
    if (session_vault_open(s, &f->q) != EXIT_FINE)
        f->q = NULL;
    else if (query_sessions(f->q, NEWEST, pick_session_of_this_proxy, f) < 0)
        f->found = 0;
}

void sent_sessions_report_number(const struct settings *s, pid_t proxy, int64_t began_wall_us)
{
    struct search f = {.pid = proxy, .began_us = began_wall_us};
    find_session_of_this_proxy(&f, s);
    if (f.found != 0)
        log_note("recorded as session %lld", (long long)f.found);
    query_close(f.q);
}

/* Removes the session. Returns MI_EBUSY if its recorder has not ended it yet. */
static int remove_session(const char *vault, int64_t id)
{
    struct retention rule = {.session = id};
    struct prune *p = NULL;
    struct buf error = {0};
    bool done = false;
    int st = prune_open(&p, vault, &rule, clock_wall_us(), &error);
    while (st == 0 && !done)
        st = prune_run_step(p, &done, &error);
    prune_close(p);
    buf_close(&error);
    return st;
}

void sent_session_remove(const struct settings *s, pid_t proxy, int64_t began_wall_us)
{
    struct search f = {.pid = proxy, .began_us = began_wall_us};
    int64_t until_us = clock_mono_us() + SENT_WAIT_US;
    int st = MI_EBUSY;
    find_session_of_this_proxy(&f, s);
    while (f.found != 0 && (st == MI_EBUSY || st == MI_EFULL) && clock_mono_us() < until_us) {
        st = remove_session(query_vault(f.q), f.found);
        if (st < 0)
            nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    query_close(f.q);
}
