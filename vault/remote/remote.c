#include "vault/remote/remote.h"

#include "journal/uid.h"
#include "vault/remote/table.h"

#include <assert.h>
#include <stdlib.h>

#define SEARCH_ROWS 1000 /* maximum number of messages that one request to the store finds */

int remote_open(struct remote **ret, sqlite3 *db, const struct remote_store *store)
{
    struct remote *r = calloc(1, sizeof *r);
    *ret = NULL;
    if (r == NULL) {
        store->close(store->ctx);
        return SQLITE_NOMEM;
    }
    r->store = *store;
    int rc = remote_register_tables(db, r);
    if (rc == SQLITE_OK)
        *ret = r;
    else
        remote_free(r);
    return rc;
}

static void release_page(struct page **p)
{
    page_release(*p);
    *p = NULL;
}

void remote_forget_pages(struct remote *r)
{
    release_page(&r->sessions[0]);
    release_page(&r->sessions[1]);
    release_page(&r->session);
    release_page(&r->summaries);
    for (size_t i = 0; i < MI_COUNT(r->listed); i++)
        release_page(&r->listed[i]);
    for (size_t i = 0; i < MI_COUNT(r->kept); i++)
        release_page(&r->kept[i].page);
    for (size_t i = 0; i < MI_COUNT(r->calls); i++)
        release_page(&r->calls[i].page);
    for (size_t i = 0; i < PAGES_BLOCKS; i++)
        release_page(&r->block[i].page);
}

void remote_free(struct remote *r)
{
    if (r == NULL)
        return;
    remote_forget_pages(r);
    r->store.close(r->store.ctx);
    intern_close(&r->uids);
    intern_close(&r->vaults);
    free(r->vault);
    free(r);
}

int remote_find_session_by_number(struct remote *r, int64_t number, int64_t *ret_id, int *ret_n)
{
    struct remote_ask ask = {
        .table = REMOTE_SESSIONS, .backwards = true, .rows = 2, .number = number};
    struct page *p;
    int st = page_read_from_store(r, &ask, &p);
    if (st < 0)
        return st;
    *ret_n = (int)p->n;
    if (p->n > 0)
        st = store_pages_get_or_add_session_id(r, page_row(p, 0), ret_id);
    page_release(p);
    return st;
}

bool remote_session_is_newer(const struct remote *r, int64_t a, int64_t b)
{
    struct remote_ask x = {0}, y = {0};
    return store_pages_set_session(r, a, &x) && store_pages_set_session(r, b, &y) &&
           slice_cmp(x.session, y.session) > 0;
}

int remote_has_several_vaults(struct remote *r, bool *ret)
{
    return r->store.several(r->store.ctx, ret);
}

int remote_read_body(struct remote *r, struct slice uid, int64_t seq, size_t max, struct buf *ret)
{
    struct remote_ask ask = {0};
    uint32_t index; /* index of the uid in r->uids; the id of the session is this index + 1 */
    if (!intern_find(&r->uids, uid, &index) ||
        !store_pages_set_session(r, (int64_t)index + 1, &ask))
        return MI_ENOENT;
    return r->store.body(r->store.ctx, ask.vault, ask.session, seq, max, ret);
}

struct found {
    char uid[UID_LEN + 1];
    int64_t seq;
};

struct page_found {
    struct found row[SEARCH_ROWS];
    size_t n;
};

static int add_found_message(void *ctx, const struct cell *cell)
{
    struct page_found *p = ctx;
    struct slice uid = cell[0].text;
    /* every store returns at most remote_words.rows messages, and only valid uids */
    assert(p->n < SEARCH_ROWS && uid.n == UID_LEN);
    struct found *f = &p->row[p->n++];
    *f = (struct found){.seq = cell[1].number};
    memcpy(f->uid, uid.p, uid.n);
    return 0;
}

int remote_search_messages(struct remote *r, struct slice first, struct slice last,
                           const char *match, remote_found_fn fn, void *ctx)
{
    struct remote_words ask = {first, last, INT64_MAX, match, SEARCH_ROWS};
    struct page_found *p = calloc(1, sizeof *p);
    struct found end;
    int st = p != NULL ? 0 : MI_ENOMEM;
    bool more = true;
    while (st == 0 && more) {
        p->n = 0;
        st = r->store.search(r->store.ctx, &ask, add_found_message, p);
        more = p->n == SEARCH_ROWS;
        for (size_t i = 0; st == 0 && i < p->n; i++)
            if (!fn(ctx, slice_of(p->row[i].uid), p->row[i].seq)) {
                more = false;
                break;
            }
        end = p->row[p->n > 0 ? p->n - 1 : 0];
        ask.last = slice_of(end.uid);
        ask.before = end.seq;
    }
    free(p);
    return st;
}

const char *remote_error(const struct remote *r)
{
    return r->store.error(r->store.ctx);
}
