/* store.c - queries that are possible only in a store of many vaults, and the errors of the
 * store. */
#include "vault/query/store.h"

#include "vault/query/connection.h"

/* Sets query_error() from the error of a store. Returns the status that belongs to the error. */
static int set_store_error(struct query *q, int st)
{
    if (st >= 0 || st == MI_ENOMEM)
        return st;
    return db_set_error(&q->d, st == MI_ENOENT ? "no such session" : remote_error(q->remote));
}

bool query_is_store(const struct query *q)
{
    return q->remote != NULL;
}

int query_has_several_vaults(struct query *q, bool *ret)
{
    *ret = false;
    return q->remote != NULL ? set_store_error(q, remote_has_several_vaults(q->remote, ret)) : 0;
}

int query_find_session_by_number(struct query *q, int64_t number, int64_t *ret)
{
    int n = 0;
    *ret = 0;
    int st = set_store_error(q, remote_find_session_by_number(q->remote, number, ret, &n));
    if (st < 0 || n <= 1)
        return st;
    buf_printf(&q->error,
               "several vaults have a session %lld; give the beginning of its UID, which "
               "`mcp-interposer sessions` prints, or --host",
               (long long)number);
    return MI_EINVAL;
}

void query_forget_store_pages(struct query *q)
{
    if (q->remote != NULL)
        remote_forget_pages(q->remote);
}

int query_read_body_from_store(struct query *q, struct slice uid, int64_t seq, size_t max,
                               struct buf *b)
{
    return set_store_error(q, remote_read_body(q->remote, uid, seq, max, b));
}

int query_search_in_store(struct query *q, struct slice first, struct slice last, const char *match,
                          remote_found_fn fn, void *ctx)
{
    return set_store_error(q, remote_search_messages(q->remote, first, last, match, fn, ctx));
}
