#include "vault/remote/store_pages.h"

#include "base/grow.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- pages ---- */

/* A page that is being filled with rows. */
struct filling {
    struct page *page;
    int64_t bytes; /* bytes of the bodies in the page */
    int64_t texts; /* bytes of the texts in the page that are not bodies */
    const struct remote_ask *ask;
};

/* Adds a row. Until the page is complete, the pointer of a text is not an address: its value is the
 * offset of the text in page->text, plus 1. */
static int page_append_row(void *ctx, const struct cell *cell)
{
    struct filling *f = ctx;
    struct page *p = f->page;
    if (p->n == p->cap) {
        size_t cap = p->cap == 0 ? 64 : 2 * p->cap;
        struct cell *larger = realloc(p->cell, cap * p->width * sizeof *larger);
        if (larger == NULL)
            return MI_ENOMEM;
        p->cell = larger;
        p->cap = cap;
    }
    struct cell *to = &p->cell[p->n * p->width];
    for (size_t i = 0; i < p->width; i++) {
        to[i] = cell[i];
        if (cell[i].type != CELL_TEXT)
            continue;
        to[i].text.p = (const char *)(uintptr_t)(p->text.n + 1);
        buf_slice_add(&p->text, cell[i].text);
        bool body = f->ask->table == REMOTE_MESSAGES && i == REMOTE_MESSAGE_BODY;
        *(body ? &f->bytes : &f->texts) += (int64_t)cell[i].text.n;
    }
    p->n++;
    return p->text.failed ? MI_ENOMEM : 0;
}

/* Replaces the offsets of texts by pointers. Call it after the last row was added. */
static int page_resolve_text_offsets(struct page *p)
{
    const char *text = buf_str(&p->text);
    if (p->text.failed)
        return MI_ENOMEM;
    for (size_t i = 0; i < p->n * p->width; i++)
        if (p->cell[i].type == CELL_TEXT)
            p->cell[i].text.p = text + ((uintptr_t)p->cell[i].text.p - 1);
    return 0;
}

static struct page *make_page(enum remote_table table)
{
    struct page *p = calloc(1, sizeof *p);
    if (p != NULL)
        *p = (struct page){.holders = 1, .width = strlen(remote_shape[table].cells)};
    return p;
}

int page_read_from_store(struct remote *r, const struct remote_ask *ask, struct page **ret)
{
    struct page *p = make_page(ask->table);
    if (p == NULL)
        return MI_ENOMEM;
    struct filling f = {.page = p, .ask = ask};
    int st = r->store.read(r->store.ctx, ask, page_append_row, &f);
    if (st == 0)
        st = page_resolve_text_offsets(p);
    if (st < 0) {
        page_release(p);
        return st;
    }
    bool full = (ask->bodies && f.bytes >= REMOTE_BYTES) ||
                (ask->table != REMOTE_SESSIONS && f.texts >= REMOTE_TEXTS);
    p->last = (int64_t)p->n < ask->rows && !full;
    *ret = p;
    return 0;
}

/* Makes a page from n rows of the page `p`, beginning with row `first`. If a row of `p` begins with
 * additional cells that are not part of the table, they are omitted. reversed: true: the rows are
 * in reverse order. */
static int page_copy_rows(const struct page *p, const struct remote_ask *ask, size_t first,
                          size_t n, bool reversed, struct page **ret)
{
    struct filling f = {.page = make_page(ask->table), .ask = ask};
    int st = f.page != NULL ? 0 : MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < n; i++)
        st = page_append_row(&f, page_row(p, reversed ? first + n - 1 - i : first + i) + p->width -
                                     f.page->width);
    if (st == 0)
        st = page_resolve_text_offsets(f.page);
    if (st == 0)
        *ret = f.page;
    else
        page_release(f.page);
    return st;
}

void page_add_reference(struct page *p)
{
    p->holders++;
}

void page_release(struct page *p)
{
    if (p == NULL || --p->holders > 0)
        return;
    free(p->cell);
    buf_close(&p->text);
    free(p);
}

/* ---- sessions ---- */

int store_pages_get_or_add_session_id(struct remote *r, const struct cell *session, int64_t *ret)
{
    uint32_t index, vault;
    if (intern_add(&r->vaults, session[REMOTE_SESSION_VAULT].text, &vault) < 0 ||
        !GROW(r->vault, r->uids.n, r->vault_cap) ||
        intern_add(&r->uids, session[REMOTE_SESSION_UID].text, &index) < 0)
        return MI_ENOMEM;
    r->vault[index] = vault;
    *ret = (int64_t)index + 1;
    return 0;
}

bool store_pages_set_session(const struct remote *r, int64_t id, struct remote_ask *ask)
{
    if (id < 1 || (uint64_t)id > r->uids.n)
        return false;
    uint32_t index = (uint32_t)(id - 1);
    ask->session = intern_get_text(&r->uids, index);
    ask->vault = intern_get_text(&r->vaults, r->vault[index]);
    return true;
}

static bool page_find_uid(const struct page *p, struct slice uid, size_t *ret)
{
    for (size_t i = 0; p != NULL && i < p->n; i++)
        if (slice_eq(page_row(p, i)[REMOTE_SESSION_UID].text, uid)) {
            *ret = i;
            return true;
        }
    return false;
}

int store_pages_find_session(struct remote *r, int64_t id, struct page **ret, size_t *ret_row)
{
    struct remote_ask ask = {.table = REMOTE_SESSIONS, .rows = 1};
    if (!store_pages_set_session(r, id, &ask))
        return MI_ENOENT;
    ask.first = ask.session;
    struct page *const pages[] = {r->sessions[0], r->sessions[1], r->session};
    struct page *p = NULL;
    for (size_t i = 0; i < MI_COUNT(pages) && p == NULL; i++)
        p = page_find_uid(pages[i], ask.session, ret_row) ? pages[i] : NULL;
    if (p == NULL) {
        int st = page_read_from_store(r, &ask, &p);
        if (st < 0)
            return st;
        page_release(r->session);
        r->session = p; /* store the page, because the next look-ups are for the same session */
        if (!page_find_uid(p, ask.session, ret_row))
            return MI_ENOENT;
    }
    page_add_reference(p);
    *ret = p;
    return 0;
}

void store_pages_add_sessions_to_cache(struct remote *r, const struct remote_ask *ask,
                                       struct page *p)
{
    if (ask->rows == 1)
        return;
    page_release(r->listed[MI_COUNT(r->listed) - 1]);
    memmove(r->listed + 1, r->listed, sizeof r->listed - sizeof r->listed[0]);
    r->listed[0] = p;
    page_add_reference(p);
    if (!ask->backwards)
        return;
    p->first = ask->before.p == NULL;
    p->gapless = ask->name.p == NULL && ask->number == 0;
    p->bounded = ask->first.p != NULL;
    page_release(r->sessions[0]);
    r->sessions[0] = r->sessions[1];
    r->sessions[1] = p;
    page_add_reference(p);
}

/* Whether the page shows the next older (or next newer) session after the session `uid`. *ret: the
 * row of that next session; p->n if no such session exists. */
static bool page_find_adjacent_session(const struct page *p, struct slice uid, bool older,
                                       size_t *ret)
{
    size_t i;
    if (p == NULL || !p->gapless || !page_find_uid(p, uid, &i))
        return false;
    bool at_end = older ? i + 1 == p->n : i == 0;
    *ret = at_end ? p->n : older ? i + 1 : i - 1;
    return !at_end || (older ? p->last && !p->bounded : p->first);
}

int store_pages_find_adjacent_session(struct remote *r, const struct remote_ask *ask,
                                      struct page **ret)
{
    bool older = ask->backwards && ask->before.p != NULL && ask->first.p == NULL;
    bool newer = !ask->backwards && ask->before.p == NULL && ask->first.n > 1;
    /* if `newer`, ask->first is the uid of the session and one character that table.c has
     * appended */
    struct slice uid = older ? ask->before : (struct slice){ask->first.p, ask->first.n - 1};
    const struct page *p = r->sessions[1];
    size_t i;
    if (ask->rows != 1 || !(older || newer) || ask->name.p != NULL || ask->number != 0)
        return MI_ENOENT;
    if (!page_find_adjacent_session(p, uid, older, &i)) {
        p = r->sessions[0];
        if (!page_find_adjacent_session(p, uid, older, &i))
            return MI_ENOENT;
    }
    return page_copy_rows(p, ask, i, i < p->n ? 1 : 0, false, ret);
}

/* ---- pages of messages and calls ---- */

/* Finds the rows with seq >= from. They start at index *ret; if `backwards`, they end before index
 * *ret instead. */
static void page_find_rows_from_seq(const struct page *p, int64_t from, bool backwards, size_t *ret)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        bool before = page_row(p, mid)[REMOTE_MESSAGE_SEQ].number < from;
        if (before != backwards)
            low = mid + 1;
        else
            high = mid;
    }
    *ret = low;
}

/* Makes a page with copies of the requested rows, from a cached page. */
static int copy_rows_of_cached_page(const struct kept *k, const struct remote_ask *ask,
                                    struct page **ret)
{
    const struct page *p = k->page;
    size_t first, end;
    page_find_rows_from_seq(p, k->backwards ? ask->to + 1 : ask->from, k->backwards, &first);
    page_find_rows_from_seq(p, k->backwards ? ask->from : ask->to + 1, k->backwards, &end);
    size_t n = size_min(end - first, (size_t)ask->rows);
    bool reversed = k->backwards != ask->backwards;
    int st = page_copy_rows(p, ask, reversed ? end - n : first, n, reversed, ret);
    if (st == 0)
        (*ret)->last =
            n == end - first && (ask->backwards ? ask->from >= k->from : ask->to <= k->to);
    return st;
}

static const struct kept *get_cached_pages_of_table(const struct remote *r, enum remote_table table,
                                                    size_t *ret_n)
{
    *ret_n = table == REMOTE_CALLS ? MI_COUNT(r->calls) : MI_COUNT(r->kept);
    return table == REMOTE_CALLS ? r->calls : r->kept;
}

int store_pages_make_page_from_cache(struct remote *r, int64_t session,
                                     const struct remote_ask *ask, struct page **ret)
{
    size_t n;
    const struct kept *kept = get_cached_pages_of_table(r, ask->table, &n);
    int64_t begin = ask->backwards ? ask->to : ask->from;
    for (const struct kept *k = kept; k < kept + n; k++) {
        if (k->page == NULL || k->session != session || (ask->bodies && !k->bodies) ||
            begin < k->from || begin > k->to)
            continue;
        int st = copy_rows_of_cached_page(k, ask, ret);
        if (st < 0 || (*ret)->n > 0 || (*ret)->last)
            return st;
        page_release(*ret);
    }
    return MI_ENOENT;
}

static void set_cached_page(struct kept *k, int64_t session, const struct remote_ask *ask,
                            struct page *p)
{
    page_release(k->page);
    *k = (struct kept){.session = session,
                       .from = ask->from,
                       .to = ask->to,
                       .backwards = ask->backwards,
                       .bodies = ask->bodies,
                       .page = p};
    page_add_reference(p);
    if (p->last || p->n == 0)
        return;
    int64_t seq = page_row(p, p->n - 1)[REMOTE_MESSAGE_SEQ].number;
    if (ask->backwards)
        k->from = seq;
    else
        k->to = seq;
}

void store_pages_cache_page(struct remote *r, int64_t session, const struct remote_ask *ask,
                            struct page *p)
{
    set_cached_page(&r->kept[r->kept_next++ % MI_COUNT(r->kept)], session, ask, p);
}

/* Sessions whose calls or summaries are read together. */
struct group {
    size_t n;
    int64_t id[1 + REMOTE_SESSIONS_MORE];
    /* uids, borrowed from a page of sessions; uid[0] is not used */
    struct slice uid[1 + REMOTE_SESSIONS_MORE];
};

/* Adds the sessions that a statement will probably ask for next to the group `g`. A statement reads
 * sessions in the order of a page. So if the session that was requested last (`last_id`) precedes
 * the first session of the group in a page, the sessions that follow this first session in the page
 * are added. *ask becomes a request for all sessions of the group. */
static int group_prefetch_next_sessions(struct remote *r, int64_t last_id, struct group *g,
                                        struct remote_ask *ask)
{
    struct remote_ask here, last;
    const struct page *p = NULL;
    size_t row = 0, before;
    if (!store_pages_set_session(r, g->id[0], &here) || !store_pages_set_session(r, last_id, &last))
        return 0;
    for (size_t i = 0; i < MI_COUNT(r->listed) && p == NULL; i++)
        if (page_find_uid(r->listed[i], here.session, &row) &&
            page_find_uid(r->listed[i], last.session, &before) && before < row)
            p = r->listed[i];
    for (; p != NULL && g->n <= REMOTE_SESSIONS_MORE && row + g->n < p->n; g->n++) {
        const struct cell *session = page_row(p, row + g->n);
        g->uid[g->n] = session[REMOTE_SESSION_UID].text;
        if (store_pages_get_or_add_session_id(r, session, &g->id[g->n]) < 0)
            return MI_ENOMEM;
    }
    /* set the uid and the vault again, because store_pages_get_or_add_session_id() may have moved
     * them in memory */
    if (store_pages_set_session(r, g->id[0], ask)) {
        ask->more = &g->uid[1];
        ask->more_n = g->n - 1;
    }
    return 0;
}

/* Splits a page with calls of several sessions into one page for each session, and caches these
 * pages. full: the page may lack the last calls of its last session. *ret: the page of the first
 * session. */
static int split_calls_by_session(struct remote *r, const struct page *all, bool full,
                                  const struct remote_ask *ask, const int64_t *session,
                                  struct page **ret)
{
    size_t at = 0, n;
    int st = 0;
    for (size_t i = 0; st == 0 && i <= ask->more_n && (i == 0 || !full || at < all->n);
         i++, at += n) {
        struct page *p;
        n = 0;
        while (at + n < all->n && page_row(all, at + n)[0].number == (int64_t)i)
            n++;
        st = page_copy_rows(all, ask, at, n, false, &p);
        if (st < 0)
            break;
        p->last = !full || at + n < all->n;
        struct remote_ask asked = *ask;
        asked.from = i == 0 ? ask->from : 0;
        asked.to = i == 0 ? ask->to : INT64_MAX;
        set_cached_page(&r->calls[i], session[i], &asked, p);
        if (i == 0)
            *ret = p;
        else
            page_release(p);
    }
    return st;
}

int store_pages_read_calls(struct remote *r, const struct remote_ask *ask, const int64_t *session,
                           struct page **ret)
{
    struct page *all = make_page(REMOTE_CALLS);
    if (all == NULL)
        return MI_ENOMEM;
    all->width++;
    struct filling f = {.page = all, .ask = ask};
    *ret = NULL;
    int st = r->store.read(r->store.ctx, ask, page_append_row, &f);
    if (st == 0)
        st = page_resolve_text_offsets(all);
    if (st == 0)
        st = split_calls_by_session(r, all, (int64_t)all->n >= ask->rows, ask, session, ret);
    page_release(all);
    if (st < 0) {
        page_release(*ret);
        *ret = NULL;
    }
    return st;
}

int store_pages_get_calls(struct remote *r, int64_t session, const struct remote_ask *ask,
                          struct page **ret)
{
    struct group g = {.n = 1, .id = {session}};
    struct remote_ask wide = *ask;
    if (ask->from <= 1 && ask->to == SCHEMA_SEQ_MAX &&
        group_prefetch_next_sessions(r, r->calls_session, &g, &wide) < 0)
        return MI_ENOMEM;
    if (g.n > 1)
        wide.rows = REMOTE_ROWS;
    r->calls_session = session;
    return store_pages_read_calls(r, &wide, g.id, ret);
}

/* ---- summaries ---- */

static bool find_cached_summary(const struct remote *r, int64_t id, size_t *ret)
{
    for (size_t i = 0; r->summaries != NULL && i < r->summaries->n; i++)
        if (r->summary_of[i] == id) {
            *ret = i;
            return true;
        }
    return false;
}

/* Reads the summary of a session, and the summaries that will probably be requested next. */
static int store_pages_read_summaries(struct remote *r, int64_t id)
{
    struct group g = {.n = 1, .id = {id}};
    struct remote_ask ask = {.table = REMOTE_SUMMARIES};
    struct page *all = make_page(REMOTE_SUMMARIES);
    struct filling f = {.page = all, .ask = &ask};
    int st = all != NULL ? 0 : MI_ENOMEM;
    if (!store_pages_set_session(r, id, &ask))
        st = st < 0 ? st : MI_ENOENT;
    if (st == 0)
        st = group_prefetch_next_sessions(r, r->summary_of[0], &g, &ask);
    ask.rows = (int64_t)g.n;
    if (st == 0) {
        all->width++;
        st = r->store.read(r->store.ctx, &ask, page_append_row, &f);
    }
    page_release(r->summaries);
    r->summaries = NULL;
    r->summary_of[0] = id; /* store the id of this session even if the session has no row */
    if (st == 0)
        st = page_copy_rows(all, &ask, 0, all->n, false, &r->summaries);
    for (size_t i = 0; st == 0 && i < all->n; i++)
        r->summary_of[i] = g.id[page_row(all, i)[0].number];
    page_release(all);
    return st;
}

int store_pages_find_summary(struct remote *r, int64_t id, struct page **ret, size_t *ret_row)
{
    if (!find_cached_summary(r, id, ret_row)) {
        int st = store_pages_read_summaries(r, id);
        if (st < 0)
            return st;
        if (!find_cached_summary(r, id, ret_row))
            return MI_ENOENT;
    }
    *ret = r->summaries;
    page_add_reference(*ret);
    return 0;
}

/* ---- one message or call ---- */

bool page_find_seq(const struct page *p, int64_t seq, bool backwards, size_t *ret)
{
    size_t i;
    page_find_rows_from_seq(p, backwards ? seq + 1 : seq, backwards, &i);
    *ret = i;
    return i < p->n && page_row(p, i)[REMOTE_MESSAGE_SEQ].number == seq;
}

struct page *store_pages_find_cached_by_seq(struct remote *r, enum remote_table table,
                                            int64_t session, int64_t seq, size_t *ret)
{
    size_t n;
    for (const struct kept *k = get_cached_pages_of_table(r, table, &n), *end = k + n; k < end;
         k++) {
        if (k->page != NULL && k->session == session &&
            page_find_seq(k->page, seq, k->backwards, ret))
            return k->page;
    }
    return NULL;
}
