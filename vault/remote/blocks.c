/* blocks.c - finds single messages and calls, in cached blocks of rows. */
#include "vault/remote/store_pages.h"

/* Finds the block that begins with seq `first`. If there is none, empties the block that was used
 * longest ago. */
static struct block *find_or_reuse_cache_block(struct remote *r, enum remote_table table,
                                               int64_t session, int64_t first)
{
    struct block *oldest = &r->block[0];
    for (size_t i = 0; i < PAGES_BLOCKS; i++) {
        struct block *b = &r->block[i];
        if (b->page != NULL && b->table == table && b->session == session && b->first == first)
            return b;
        if (b->page == NULL || (oldest->page != NULL && b->used < oldest->used))
            oldest = b;
    }
    page_release(oldest->page);
    *oldest = (struct block){.table = table, .session = session, .first = first};
    return oldest;
}

int store_pages_find_row_of_seq(struct remote *r, enum remote_table table, int64_t session,
                                int64_t seq, struct page **ret, size_t *ret_row)
{
    int64_t first = seq - seq % PAGES_BLOCK;
    struct remote_ask ask = {
        .table = table, .rows = PAGES_BLOCK, .from = first, .to = first + PAGES_BLOCK - 1};
    if (!store_pages_set_session(r, session, &ask))
        return MI_ENOENT;
    *ret = store_pages_find_cached_by_seq(r, table, session, seq, ret_row);
    if (*ret != NULL) {
        page_add_reference(*ret);
        return 0;
    }
    struct block *b = find_or_reuse_cache_block(r, table, session, first);
    b->used = ++r->lookups;
    /* if the page ends before this seq, read the page again, because the session may have grown
     * since the page was read */
    if (b->page != NULL &&
        (b->page->n == 0 || page_row(b->page, b->page->n - 1)[REMOTE_MESSAGE_SEQ].number < seq)) {
        page_release(b->page);
        b->page = NULL;
    }
    int st = 0;
    if (b->page == NULL)
        st = table == REMOTE_CALLS ? store_pages_read_calls(r, &ask, &session, &b->page)
                                   : page_read_from_store(r, &ask, &b->page);
    if (st < 0)
        return st;
    if (!page_find_seq(b->page, seq, false, ret_row))
        return MI_ENOENT;
    *ret = b->page;
    page_add_reference(*ret);
    return 0;
}
