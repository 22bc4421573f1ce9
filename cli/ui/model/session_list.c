#include "cli/ui/model/session_list.h"

#include "base/clock.h"
#include "base/grow.h"

#include <stdlib.h>

void sessions_open(struct sessions *l, const struct query *q, sessions_takes_fn takes, void *ctx)
{
    *l = (struct sessions){
        .store = query_is_store(q) ? q : NULL, .oldest = INT64_MAX, .takes = takes, .ctx = ctx};
}

void sessions_close(struct sessions *l)
{
    for (size_t i = 0; i < SESSIONS_KEPT; i++)
        page_free(l->row[i].page);
    free(l->id);
    *l = (struct sessions){0};
}

static bool ui_sessions_accepts_session(const struct sessions *l, const struct query_session *s)
{
    return l->takes == NULL || l->takes(l->ctx, s);
}

static bool session_is_newer(const struct sessions *l, int64_t a, int64_t b)
{
    return l->store != NULL ? query_session_is_newer(l->store, a, b) : a > b;
}

bool sessions_list_reaches_id(const struct sessions *l, int64_t id)
{
    return l->oldest != INT64_MAX && !session_is_newer(l, l->oldest, id);
}

/* Returns the row of a session, if the row was read. */
static struct session_row *get_row_of_session(struct sessions *l, int64_t id)
{
    return &l->row[(uint64_t)id % SESSIONS_KEPT];
}

/* Returns the index of a session or, if the session is not in the list, the index at which it would
 * be inserted. */
static size_t ui_sessions_find_index(const struct sessions *l, int64_t id)
{
    size_t from = 0, to = l->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (session_is_newer(l, l->id[middle], id))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static int sessions_add_id(struct sessions *l, int64_t id)
{
    size_t at = ui_sessions_find_index(l, id);
    if (at < l->n && l->id[at] == id)
        return 0;
    if (!GROW(l->id, l->n, l->cap))
        return MI_ENOMEM;
    memmove(&l->id[at + 1], &l->id[at], (l->n++ - at) * sizeof l->id[0]);
    l->id[at] = id;
    return 0;
}

/* Reads the rows of sessions without an end immediately, because such sessions may be live, and the
 * header counts live sessions. Does nothing in a store, which does not know whether sessions are
 * live. */
static int sessions_read_unended_rows(struct sessions *l, struct query *q,
                                      const struct page_row *page)
{
    const struct session_row *row;
    int st = 0;
    for (; st == 0 && l->store == NULL && page != NULL; page = page->next)
        if (page->session.ended_at_us == 0 && sessions_find_row_of_id(l, page->session.id) < l->n)
            st = sessions_get_row(l, q, page->session.id, &row);
    return st == MI_ENOENT ? 0 : st;
}

int sessions_read_older_rows(struct sessions *l, struct query *q)
{
    struct page_row *page = NULL;
    int64_t to = l->oldest == INT64_MAX ? INT64_MAX : l->oldest - 1;
    int st = page_read_sessions(q, NULL, INT64_MIN, to, SESSIONS_PAGE, &page);
    size_t n = 0;
    for (const struct page_row *p = page; st == 0 && p != NULL; p = p->next, n++) {
        l->oldest = p->session.id;
        l->newest = p->session.id > l->newest ? p->session.id : l->newest;
        if (ui_sessions_accepts_session(l, &p->session))
            st = sessions_add_id(l, p->session.id);
    }
    l->complete = st == 0 && n < SESSIONS_PAGE;
    if (st == 0)
        st = sessions_read_unended_rows(l, q, page);
    page_free(page);
    return st;
}

int sessions_add_and_read_row(struct sessions *l, struct query *q, int64_t id)
{
    /* Reads the row of the session at once, because the row tells whether the session is live. */
    const struct session_row *row;
    int st = sessions_add_id(l, id);
    st = st == 0 ? sessions_get_row(l, q, id, &row) : st;
    return st == MI_ENOENT ? 0 : st;
}

/* Reads again the rows of sessions that had not ended at the last read. In a store, rows are read
 * only when they are shown. */
static int sessions_refresh_rows(struct sessions *l, struct query *q)
{
    int st = 0;
    if (l->store != NULL)
        return 0;
    for (size_t i = 0; i < SESSIONS_KEPT && st == 0; i++) {
        const struct session_row *r = &l->row[i];
        if (r->page == NULL || r->state == SESSION_ENDED)
            continue;
        l->row[i].stale = true;
        st = sessions_get_row(l, q, r->page->session.id, &r);
        st = st == MI_ENOENT ? 0 : st;
    }
    return st;
}

/* Reads sessions recorded since the last call. In a store, reads the newest SESSIONS_PAGE sessions,
 * so that the caller also knows which of them may have ended. */
static int sessions_read_newest_rows(struct sessions *l, struct query *q, struct page_row **ret)
{
    int64_t newest = 0;
    if (l->store != NULL)
        return page_read_sessions(q, NULL, INT64_MIN, INT64_MAX, SESSIONS_PAGE, ret);
    int st = query_newest_session(q, &newest);
    return st < 0 || newest <= l->newest
               ? st
               : page_read_sessions(q, NULL, l->newest + 1, INT64_MAX, INT64_MAX, ret);
}

/* New sessions have higher ids than all sessions that were read before, also in a store. */
int sessions_read_changes(struct sessions *l, struct query *q)
{
    struct page_row *page = NULL;
    int st = sessions_refresh_rows(l, q);
    if (st == 0)
        st = sessions_read_newest_rows(l, q, &page);
    bool first = l->oldest == INT64_MAX;
    int64_t newest = l->newest;
    for (const struct page_row *p = page; st == 0 && p != NULL; p = p->next) {
        int64_t id = p->session.id;
        struct session_row *r = get_row_of_session(l, id);
        r->stale |= r->page != NULL && r->page->session.id == id && r->state != SESSION_ENDED;
        if (id <= newest)
            continue;
        l->newest = id > l->newest ? id : l->newest;
        l->oldest = first ? id : l->oldest;
        if (ui_sessions_accepts_session(l, &p->session))
            st = sessions_add_id(l, id);
    }
    if (st == 0)
        st = sessions_read_unended_rows(l, q, page);
    page_free(page);
    return st;
}

static bool sessions_on_failed_call(void *ctx, const struct query_call *c)
{
    struct session_row *r = ctx;
    (void)c;
    r->counting++;
    return true;
}

/* Counts the failed calls among the next SESSIONS_COUNTED messages of a session. */
static int sessions_count_next_failed_calls(const struct sessions *l, struct session_row *r,
                                            struct query *q)
{
    struct filter f = FILTER_ANY;
    int64_t id = r->page->session.id, to = r->counted + SESSIONS_COUNTED;
    struct call_question x = {.filter = &f,
                              .side = CALLS_OF_CLIENT,
                              .operations = !l->requests,
                              .from = query_call_id(id, r->counted + 1),
                              .up_to = query_call_id(id, to)};
    f.session_id = id;
    f.failed = true;
    int st = query_calls_of(q, &x, sessions_on_failed_call, r);
    r->counted = to;
    if (to >= r->messages) {
        r->failed = r->counting;
        r->counted_us = clock_mono_us();
    }
    return st;
}

int sessions_run_failure_count_step(struct sessions *l, struct query *q, bool *ret_more)
{
    int64_t now_us = clock_mono_us();
    *ret_more = false;
    for (size_t i = 0; i < SESSIONS_KEPT; i++) {
        struct session_row *r = &l->row[i];
        if (r->page == NULL || r->counted >= r->messages ||
            (r->state == SESSION_LIVE && r->counted_us != 0 &&
             now_us - r->counted_us < SESSIONS_RECOUNT_US))
            continue;
        *ret_more = true;
        return sessions_count_next_failed_calls(l, r, q);
    }
    return 0;
}

size_t sessions_find_row_of_id(const struct sessions *l, int64_t id)
{
    size_t at = ui_sessions_find_index(l, id);
    return at < l->n && l->id[at] == id ? at : l->n;
}

/* Fills in the number of messages, the time of the last message and, in a store, the number of
 * failed calls. A store's summaries are read for several sessions at once. */
static int session_row_fill_counts(struct sessions *l, struct query *q, int64_t id,
                                   struct session_row *r)
{
    struct query_summary s;
    if (l->store == NULL)
        return query_last_message(q, id, &r->messages, &r->last_t_us);
    int st = query_summary(q, id, false, &s);
    if (st < 0)
        return st;
    r->messages = r->counted = s.last_seq;
    r->last_t_us = s.last_t_us;
    r->failed = session_count_errors(s.ended_as);
    query_summary_close(&s);
    return 0;
}

int sessions_get_row(struct sessions *l, struct query *q, int64_t id,
                     const struct session_row **ret)
{
    struct session_row *r = get_row_of_session(l, id);
    struct page_row *page = NULL;
    if (r->page != NULL && r->page->session.id == id && !r->stale) {
        *ret = r;
        return 0;
    }
    int st = page_read_sessions(q, NULL, id, id, 1, &page);
    if (st < 0 || page == NULL)
        return st < 0 ? st : MI_ENOENT;
    struct session_row now = {
        .page = page, .state = session_determine_state(q, &page->session), .failed = -1};
    /* the counts of the old row are shown until the calls are counted again */
    if (r->page != NULL && r->page->session.id == id) {
        now.failed = r->failed;
        now.counted_us = r->counted_us;
    }
    st = session_row_fill_counts(l, q, id, &now);
    if (st < 0) {
        page_free(page);
        return st;
    }
    page_free(r->page);
    *r = now;
    *ret = r;
    return 0;
}

int64_t sessions_duration_us(const struct session_row *r, int64_t now_us)
{
    const struct query_session *s = &r->page->session;
    int64_t us = r->state == SESSION_ENDED  ? s->ended_at_us - s->started_at_us
                 : r->state == SESSION_LIVE ? now_us - s->started_at_us
                                            : r->last_t_us;
    return us > 0 ? us : 0;
}

size_t sessions_count_live(const struct sessions *l)
{
    size_t n = 0;
    for (size_t i = 0; i < SESSIONS_KEPT; i++)
        n += l->row[i].page != NULL && l->row[i].state == SESSION_LIVE;
    return n;
}
