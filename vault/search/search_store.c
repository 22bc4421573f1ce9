/* search_store.c - searches a store, which has its own index. Sessions are searched in groups. */
#include "vault/search/kind.h"

#include "vault/query/store.h"

/* The first groups of sessions end before these ids. These groups are small, so that the newest
 * messages with a frequent word are found soon. */
static const int64_t first_groups[] = {64, 1024};
#define GROUP 4096 /* number of sessions in each group that follows the groups of first_groups */

static int64_t search_compute_group_of_session(int64_t session_id)
{
    int64_t i = 0;
    while (i < (int64_t)MI_COUNT(first_groups) && session_id >= first_groups[i])
        i++;
    return i + session_id / GROUP;
}

static int search_store_update(struct search *s, const struct search_session *session, size_t n,
                               void (*on_read)(void *ctx), void *ctx)
{
    (void)s, (void)session, (void)n, (void)on_read, (void)ctx;
    /* nothing to do: the machines that send messages to a store send the words for its index too */
    return 0;
}

/* Data of the callback search_store_on_found(). The callback passes on a message that was found if
 * the message's session is in the array `session`. The search finds messages in the order of this
 * array. */
struct passing {
    const struct search_session *session;
    /* `n`: length of the array `session`; `at`: number of sessions in it that precede the session
     * of the message that was found last */
    size_t n, at;
    search_fn fn;
    void *ctx;
};

static bool search_store_on_found(void *ctx, struct slice uid, int64_t seq)
{
    struct passing *p = ctx;
    while (p->at < p->n && !slice_is(uid, p->session[p->at].uid)) {
        size_t n = strlen(p->session[p->at].uid);
        int order = memcmp(p->session[p->at].uid, uid.p, size_min(n, uid.n));
        if (order < 0)
            /* the session of this message is not in the group */
            return true;
        p->at++;
    }
    return p->at < p->n && p->fn(p->ctx, p->session[p->at].id, seq);
}

static int search_store_run_query(struct search *s, const struct search_session *session, size_t n,
                                  const char *query, search_fn fn, void *ctx)
{
    struct passing p = {.session = session, .n = n, .fn = fn, .ctx = ctx};
    return query_search_in_store(s->q, slice_of(session[n - 1].uid), slice_of(session[0].uid),
                                 query, search_store_on_found, &p);
}

const struct search_kind search_store = {search_compute_group_of_session,
                                         search_terms_write_tsquery, search_store_update,
                                         search_store_run_query};
