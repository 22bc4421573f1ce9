#include "vault/remote/remote.h"

#include "vault/remote/table.h"

#include <stdlib.h>

int remote_open(struct remote **ret, sqlite3 *db, const struct remote_store *store)
{
    struct remote *r = calloc(1, sizeof *r);
    *ret = NULL;
    if (r == NULL) {
        store->close(store->ctx);
        return SQLITE_NOMEM;
    }
    r->store = *store;
    int rc = table_register(db, r);
    if (rc == SQLITE_OK)
        *ret = r;
    else
        remote_free(r);
    return rc;
}

void remote_free(struct remote *r)
{
    if (r == NULL)
        return;
    page_drop(r->sessions);
    page_drop(r->session);
    for (size_t i = 0; i < PAGES_BLOCKS; i++)
        page_drop(r->block[i].page);
    r->store.close(r->store.ctx);
    intern_close(&r->uids);
    intern_close(&r->vaults);
    free(r->vault);
    free(r);
}

/* 0: it was not read. */
static int64_t number_of(const struct remote *r, struct slice uid)
{
    uint32_t place;
    return intern_find(&r->uids, uid, &place) ? (int64_t)place + 1 : 0;
}

int remote_by_number(struct remote *r, int64_t number, int64_t *ret_id, int *ret_n)
{
    struct remote_ask ask = {
        .table = REMOTE_SESSIONS, .backwards = true, .rows = 2, .number = number};
    struct page *p;
    int st = page_read(r, &ask, &p);
    if (st < 0)
        return st;
    *ret_n = (int)p->n;
    if (p->n > 0)
        st = pages_number(r, page_row(p, 0), ret_id);
    page_drop(p);
    return st;
}

int remote_body(struct remote *r, struct slice uid, int64_t seq, size_t max, struct buf *ret)
{
    struct remote_ask of = {0};
    if (!pages_of(r, number_of(r, uid), &of))
        return MI_ENOENT;
    return r->store.body(r->store.ctx, of.vault, of.session, seq, max, ret);
}

const char *remote_error(const struct remote *r)
{
    return r->store.error(r->store.ctx);
}
