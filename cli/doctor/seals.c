/* seals.c - checks of `doctor`: sessions that are not sealed and not running (docs/evidence.md).
 *
 * The end of a session seals it, even if the proxy was killed and another process recorded the end.
 * Three kinds of sessions stay unsealed: a session of another machine or of a container, which
 * cannot be examined from here; a session whose proxy was killed before its process was recorded,
 * and whose journal is gone; and a session that has an end but no seal, which means that the vault
 * was changed. For killed proxies of this machine, see the check of the proxies.
 *
 * Blocks    on the vault. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "cli/frame/session.h"
#include "vault/store/running.h"

/* days without a message after which a session of another machine is reported */
#define SEALS_IDLE_DAYS 1
#define IDLE_US (SEALS_IDLE_DAYS * INT64_C(86400) * 1000000)

struct unsealed {
    struct query *q;
    struct running_list running;
    int64_t now_us;
    int64_t covered;                /* number of sessions with evidence, sealed or not */
    int64_t ended, lost, elsewhere; /* numbers of sessions that are not sealed, by reason */
};

static bool seals_count_unsealed_session(void *ctx, const struct query_session *s)
{
    struct unsealed *x = ctx;
    x->covered += s->evidence != EVIDENCE_NONE;
    if (s->evidence != EVIDENCE_OPEN)
        return true;
    const struct running_row *row = NULL;
    for (size_t i = 0; i < x->running.n && row == NULL; i++)
        if (x->running.row[i].session_id == s->id)
            row = &x->running.row[i];
    int64_t last_at_us = row != NULL ? row->last_at_us : s->started_at_us;
    enum session_state state =
        row != NULL ? running_row_get_state(&x->running, row) : session_determine_state(x->q, s);
    if (s->ended_at_us != 0)
        x->ended++;
    else if (state == SESSION_ELSEWHERE)
        x->elsewhere += last_at_us < x->now_us - IDLE_US;
    else
        x->lost += row == NULL && state == SESSION_DIED;
    return true;
}

static void report_unsealed_sessions(struct doctor *d, int64_t n, const char *what,
                                     const char *remedy)
{
    if (n > 0)
        doctor_report_fault(d, "seals", remedy, "%lld session%s not sealed: %s", (long long)n,
                            n == 1 ? " is" : "s are", what);
}

static void seals_report_all(struct doctor *d, const struct unsealed *x)
{
    report_unsealed_sessions(
        d, x->elsewhere,
        "the proxy ran on another machine or in a container, and has recorded no "
        "message for more than a day",
        "run mcp-interposer reap on that machine or in that container; if that machine or "
        "container is gone, the session stays unsealed, and audit verify reports it as incomplete");
    report_unsealed_sessions(
        d, x->lost,
        "the proxy was killed before its process id was recorded, and its journal is gone",
        "nothing can be done; the session's records can still be verified, and audit "
        "verify reports the session as incomplete");
    report_unsealed_sessions(d, x->ended, "the session has ended, but its seal is missing",
                             "run mcp-interposer audit verify to see what was changed");
    if (x->elsewhere + x->lost + x->ended == 0 && x->covered > 0)
        doctor_report_passed(d, "seals", "all sessions that ended are sealed");
}

void doctor_check_seals(struct doctor *d)
{
    struct unsealed x = {.now_us = clock_wall_us()};
    struct buf error = {0};
    int st = running_list_open(&x.running, d->vault, &error);
    if (st == 0)
        st = query_open(&x.q, d->vault, &error);
    if (st == 0)
        st = query_sessions(x.q, 0, seals_count_unsealed_session, &x);
    /* An error is not reported here, because the check of the database reports it. */
    if (st == 0)
        seals_report_all(d, &x);
    query_close(x.q);
    running_list_close(&x.running);
    buf_close(&error);
}
