#include "vault/remote/pages.h"

#include "base/grow.h"

#include <stdlib.h>

/* ---- pages ---- */

struct filling {
    struct page *page;
    int64_t sizes; /* of the messages */
    const struct remote_ask *ask;
};

/* While the page is being filled, a text's pointer is its place in page->text, plus 1. */
static int add_row(void *ctx, const struct cell *cell)
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
    }
    if (f->ask->table == REMOTE_MESSAGES)
        f->sizes += cell[REMOTE_MESSAGE_SIZE].number;
    p->n++;
    return p->text.failed ? MI_ENOMEM : 0;
}

static void point_texts(struct page *p)
{
    for (size_t i = 0; i < p->n * p->width; i++)
        if (p->cell[i].type == CELL_TEXT)
            p->cell[i].text.p = buf_str(&p->text) + ((uintptr_t)p->cell[i].text.p - 1);
}

static struct page *page_new(enum remote_table table)
{
    struct page *p = calloc(1, sizeof *p);
    if (p != NULL)
        *p = (struct page){.holders = 1, .width = strlen(remote_shape[table].cells)};
    return p;
}

int page_read(struct remote *r, const struct remote_ask *ask, struct page **ret)
{
    struct page *p = page_new(ask->table);
    if (p == NULL)
        return MI_ENOMEM;
    struct filling f = {.page = p, .ask = ask};
    int st = r->store.read(r->store.ctx, ask, add_row, &f);
    if (st < 0) {
        page_drop(p);
        return st;
    }
    point_texts(p);
    p->last = (int64_t)p->n < ask->rows && !(ask->bodies && f.sizes >= REMOTE_BYTES);
    *ret = p;
    return 0;
}

void page_hold(struct page *p)
{
    p->holders++;
}

void page_drop(struct page *p)
{
    if (p == NULL || --p->holders > 0)
        return;
    free(p->cell);
    buf_close(&p->text);
    free(p);
}

/* ---- sessions ---- */

int pages_number(struct remote *r, const struct cell *session, int64_t *ret)
{
    uint32_t place, vault;
    if (intern_add(&r->vaults, session[REMOTE_SESSION_VAULT].text, &vault) < 0 ||
        intern_add(&r->uids, session[REMOTE_SESSION_UID].text, &place) < 0 ||
        !GROW(r->vault, (size_t)place, r->vault_cap))
        return MI_ENOMEM;
    r->vault[place] = vault;
    *ret = (int64_t)place + 1;
    return 0;
}

bool pages_of(const struct remote *r, int64_t number, struct remote_ask *ask)
{
    if (number < 1 || (uint64_t)number > r->uids.n)
        return false;
    uint32_t place = (uint32_t)(number - 1);
    ask->session = intern_text(&r->uids, place);
    ask->vault = intern_text(&r->vaults, r->vault[place]);
    return true;
}

static bool find_uid(const struct page *p, struct slice uid, size_t *ret)
{
    for (size_t i = 0; p != NULL && i < p->n; i++)
        if (slice_eq(page_row(p, i)[REMOTE_SESSION_UID].text, uid)) {
            *ret = i;
            return true;
        }
    return false;
}

int pages_session(struct remote *r, int64_t number, struct page **ret, size_t *ret_row)
{
    struct remote_ask ask = {.table = REMOTE_SESSIONS, .rows = 1};
    if (!pages_of(r, number, &ask))
        return MI_ENOENT;
    ask.first = ask.session;
    struct page *p = find_uid(r->sessions, ask.session, ret_row)  ? r->sessions
                     : find_uid(r->session, ask.session, ret_row) ? r->session
                                                                  : NULL;
    int st = p == NULL ? page_read(r, &ask, &p) : 0;
    if (st < 0)
        return st;
    if (p != r->sessions && p != r->session) {
        page_drop(r->session); /* the next look-ups are for the same session */
        r->session = p;
        if (!find_uid(p, ask.session, ret_row))
            return MI_ENOENT;
    }
    page_hold(p);
    *ret = p;
    return 0;
}

static bool find_neighbour(const struct remote *r, const struct remote_ask *ask, size_t *ret)
{
    bool older = ask->backwards && ask->before.p != NULL && ask->first.p == NULL;
    bool newer = !ask->backwards && ask->before.p == NULL && ask->first.n > 1;
    if (!r->sessions_are_all || ask->name.p != NULL || ask->number != 0)
        return false;
    if (older && find_uid(r->sessions, ask->before, ret))
        return ++*ret < r->sessions->n;
    /* `first` is the uid and one more character: table.c */
    if (newer && find_uid(r->sessions, (struct slice){ask->first.p, ask->first.n - 1}, ret))
        return (*ret)-- > 0;
    return false;
}

int pages_neighbour(struct remote *r, const struct remote_ask *ask, struct page **ret)
{
    size_t i = 0;
    if (!find_neighbour(r, ask, &i))
        return MI_ENOENT;
    struct filling f = {.page = page_new(ask->table), .ask = ask};
    if (f.page == NULL)
        return MI_ENOMEM;
    int st = add_row(&f, page_row(r->sessions, i));
    if (st < 0) {
        page_drop(f.page);
        return st;
    }
    point_texts(f.page);
    *ret = f.page;
    return 0;
}

/* ---- blocks of messages ---- */

static struct block *find_block(struct remote *r, int64_t session, int64_t first)
{
    struct block *oldest = &r->block[0];
    for (size_t i = 0; i < PAGES_BLOCKS; i++) {
        struct block *b = &r->block[i];
        if (b->page != NULL && b->session == session && b->first == first)
            return b;
        if (b->page == NULL || (oldest->page != NULL && b->used < oldest->used))
            oldest = b;
    }
    page_drop(oldest->page);
    *oldest = (struct block){.session = session, .first = first};
    return oldest;
}

static bool find_seq(const struct page *p, int64_t seq, size_t *ret)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (page_row(p, mid)[REMOTE_MESSAGE_SEQ].number < seq)
            low = mid + 1;
        else
            high = mid;
    }
    *ret = low;
    return low < p->n && page_row(p, low)[REMOTE_MESSAGE_SEQ].number == seq;
}

/* Whether all rows are before this seq. */
static bool is_before(const struct page *p, int64_t seq)
{
    return p->n == 0 || page_row(p, p->n - 1)[REMOTE_MESSAGE_SEQ].number < seq;
}

int pages_message(struct remote *r, int64_t session, int64_t seq, struct page **ret,
                  size_t *ret_row)
{
    int64_t first = seq - seq % PAGES_BLOCK;
    struct remote_ask ask = {.table = REMOTE_MESSAGES,
                             .rows = PAGES_BLOCK,
                             .from = first,
                             .to = first + PAGES_BLOCK - 1};
    if (!pages_of(r, session, &ask))
        return MI_ENOENT;
    struct block *b = find_block(r, session, first);
    b->used = ++r->lookups;
    if (b->page != NULL && is_before(b->page, seq)) { /* the session has grown since */
        page_drop(b->page);
        b->page = NULL;
    }
    int st = b->page == NULL ? page_read(r, &ask, &b->page) : 0;
    if (st < 0)
        return st;
    if (!find_seq(b->page, seq, ret_row))
        return MI_ENOENT;
    *ret = b->page;
    page_hold(*ret);
    return 0;
}
