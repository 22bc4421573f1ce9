#include "vault/upkeep/prune/plan.h"

#include "base/grow.h"
#include "base/search.h"
#include "vault/upkeep/prune/database.h"
#include "vault/upkeep/prune/files.h"
#include "vault/upkeep/prune/size.h"

#include <stdlib.h>

#define DAY_US ((int64_t)86400 * 1000000)

/* A session of the vault, and whether it may be removed. */
struct candidate {
    int64_t id, started_us, ended_us;
    int64_t since_us; /* earliest start time among this session and all newer sessions */
    bool running, removable, planned;
};

struct candidates {
    struct candidate *c; /* owned; all sessions, oldest first */
    size_t n, cap;
};

/* ---- sessions ---- */

static int read_candidate_sessions(struct prune *p, struct candidates *l)
{
    sqlite3_stmt *q;
    /* true: each id is greater than the previous id. A damaged file may return a row again and
     * again. */
    bool grows = true;
    int st = db_begin_query(&p->d, P_SESSIONS, &q,
                            DB_WITH(db_int(p->rule.keep_last > 0 ? p->rule.keep_last : 1)));
    if (st < 0)
        return st;
    int rc = SQLITE_DONE;
    while (grows && (rc = sqlite3_step(q)) == SQLITE_ROW && GROW(l->c, l->n, l->cap)) {
        struct candidate *c = &l->c[l->n++];
        *c = (struct candidate){.id = sqlite3_column_int64(q, 0),
                                .started_us = sqlite3_column_int64(q, 1),
                                .ended_us = sqlite3_column_int64(q, 2)};
        /* a session without a recorded end is kept for a day, because it may still be running */
        bool recent = sqlite3_column_int(q, 3) != 0 && c->ended_us > p->now_us - DAY_US;
        c->running = sqlite3_column_int(q, 5) != 0;
        c->removable = sqlite3_column_int(q, 4) != 0 && !recent && !c->running;
        grows = l->n == 1 || c->id > c[-1].id;
    }
    st = db_finish_statement(&p->d, q, rc);
    if (!grows)
        return db_fail_damaged(&p->d);
    int64_t since_us = INT64_MAX;
    for (size_t i = l->n; i-- > 0;) {
        if (l->c[i].started_us < since_us)
            since_us = l->c[i].started_us;
        l->c[i].since_us = since_us;
    }
    return st == 0 && rc == SQLITE_ROW ? MI_ENOMEM : st;
}

/* Plans the removal of a session with its large bodies, unless the session must be sent first. Adds
 * the bytes that the removal frees to *bytes. */
static int plan_removal_of_session(struct prune *p, struct candidate *c, int64_t *bytes)
{
    bool sent;
    int64_t rows = 0;
    int st = prune_session_was_sent(p, c->id, &sent);
    if (st < 0)
        return st;
    c->removable = false; /* do not plan this session a second time */
    p->plan.unsent += !sent;
    if (!sent)
        return 0;
    if (!GROW(p->session, p->n, p->cap))
        return MI_ENOMEM;
    p->session[p->n++] = c->id;
    c->planned = true;
    st = prune_files_plan_bodies(p, c->id, bytes);
    if (st == 0 && p->rule.max_bytes > 0)
        st = prune_add_session_size(p, c->id, &rows);
    *bytes += rows;
    return st;
}

/* Plans the removal of the session that the rule names, if the session exists. */
static int plan_removal_of_named_session(struct prune *p, struct candidates *l, int64_t *bytes)
{
    size_t i = SEARCH_INT64(l->c, l->n, id, p->rule.session);
    if (i == l->n || l->c[i].id != p->rule.session)
        return 0;
    if (!l->c[i].running)
        return plan_removal_of_session(p, &l->c[i], bytes);
    buf_printf(p->d.error,
               "session %lld or processes of its server are still running; end them first, or see: "
               "mcp-interposer reap",
               (long long)p->rule.session);
    return MI_EBUSY;
}

/* ---- files and size ---- */

/* Returns the time before which log files and escalations are removed. It is the earlier of two
 * times: the time that the maximum age in the rules gives, and kept_us, the start of the oldest
 * session that is not removed. */
static int64_t compute_files_cutoff_us(const struct prune *p, int64_t kept_us)
{
    int64_t aged_us = p->now_us - p->rule.older_us;
    return kept_us < aged_us ? kept_us : aged_us;
}

/* Plans the removal of the log files and escalations that are old enough. Returns their size. */
static int64_t plan_remove_old_files(struct prune *p, const struct candidates *l)
{
    int64_t kept_us = INT64_MAX;
    for (size_t i = 0; i < l->n; i++)
        if (!l->c[i].planned && l->c[i].started_us < kept_us)
            kept_us = l->c[i].started_us;
    return prune_files_plan_until_time(&p->logs, compute_files_cutoff_us(p, kept_us)) +
           prune_files_plan_until_time(&p->escalations, compute_files_cutoff_us(p, kept_us));
}

/* Plans removals until the vault is small enough. As long as log files take more than all other
 * data, plans the removal of the oldest log file. Otherwise plans the removal of the oldest
 * session, and of the log files that are then older than all sessions. Today's log file is kept,
 * because it is still written to. It is not counted, because otherwise sessions would be removed in
 * its place. *bytes: size of the vault after the plan. */
static int plan_prune_by_size(struct prune *p, struct candidates *l, int64_t *bytes)
{
    /* `logs`: bytes of the log files of past days that the plan keeps so far; `today`: bytes of all
     * other log files */
    int64_t logs = 0, today = 0;
    int64_t kept_us = INT64_MAX; /* start of the oldest session that the plan keeps so far */
    size_t past = p->logs.planned, i = 0;
    int st = 0;
    for (; past < p->logs.n && p->logs.file[past].until_us <= p->now_us; past++)
        logs += p->logs.file[past].bytes;
    for (size_t k = past; k < p->logs.n; k++)
        today += p->logs.file[k].bytes;
    while (st == 0 && *bytes - today > p->rule.max_bytes) {
        for (; i < l->n && !l->c[i].removable; i++)
            if (!l->c[i].planned && l->c[i].started_us < kept_us)
                kept_us = l->c[i].started_us;
        int64_t freed = 0, file = 0;
        if (p->logs.planned < past && (i == l->n || logs > *bytes - today - logs)) {
            file = prune_files_plan_next_file(&p->logs);
        } else if (i < l->n) {
            int64_t newer_us = i + 1 < l->n ? l->c[i + 1].since_us : INT64_MAX;
            st = plan_removal_of_session(p, &l->c[i], &freed);
            if (l->c[i].planned && newer_us > kept_us)
                newer_us = kept_us;
            if (l->c[i].planned)
                file = prune_files_plan_until_time(&p->logs, compute_files_cutoff_us(p, newer_us));
        } else {
            break;
        }
        logs -= file;
        *bytes -= freed + file;
    }
    return st;
}

/* ---- all ---- */

/* Plans removals by age, then by the size of the vault. Adds the bytes that the plan frees to
 * *freed. */
static int plan_prune_by_rules(struct prune *p, struct candidates *l, int64_t *freed)
{
    bool all = p->rule.older_us == 0 && p->rule.max_bytes == 0;
    int st = 0;
    for (size_t i = 0; st == 0 && i < l->n; i++)
        if (l->c[i].removable &&
            (all || (p->rule.older_us > 0 && l->c[i].ended_us < p->now_us - p->rule.older_us)))
            st = plan_removal_of_session(p, &l->c[i], freed);
    if (st < 0)
        return st;
    *freed += plan_remove_old_files(p, l);
    if (p->rule.max_bytes > 0) {
        int64_t left = p->plan.bytes_before - *freed;
        st = plan_prune_by_size(p, l, &left);
        *freed = p->plan.bytes_before - left + plan_remove_old_files(p, l);
    }
    return st;
}

static int64_t sum_planned_bytes(const struct prune_files *f, int64_t *ret_n)
{
    int64_t sum = 0;
    *ret_n = (int64_t)f->planned;
    for (size_t i = 0; i < f->planned; i++)
        sum += f->file[i].bytes;
    return sum;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int prune_make_plan(struct prune *p)
{
    struct candidates l = {.c = NULL};
    int64_t freed = 0;
    int st = read_candidate_sessions(p, &l);
    if (st == 0)
        st = prune_compute_vault_size(p, &p->plan.bytes_before);
    if (st == 0)
        st = prune_files_find(p, &freed);
    if (st == 0)
        st = p->rule.session != 0 ? plan_removal_of_named_session(p, &l, &freed)
                                  : plan_prune_by_rules(p, &l, &freed);
    p->plan.bytes_after = p->plan.bytes_before - freed;
    free(l.c);
    /* sort again, because sessions that are removed for their age may be newer than sessions that
     * are removed for the size of the vault */
    if (p->n > 1)
        qsort(p->session, p->n, sizeof *p->session, compare_numbers);
    p->plan.sessions = (int64_t)p->n;
    p->plan.file_bytes = sum_planned_bytes(&p->bodies, &p->plan.bodies) +
                         sum_planned_bytes(&p->logs, &p->plan.logs) +
                         sum_planned_bytes(&p->escalations, &p->plan.escalations);
    return st;
}
