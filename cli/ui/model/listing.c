#include "cli/ui/model/listing.h"

#include "base/grow.h"
#include "base/search.h"

#include <stdlib.h>

void listing_open(struct listing *l, enum listing_mode mode, bool every, int64_t last)
{
    *l = (struct listing){.mode = mode, .every = every, .first = last + 1, .last = last};
}

void listing_close(struct listing *l)
{
    free(l->old);
    free(l->young);
    free(l->open.request);
    free(l->matched.request);
    figures_close(&l->figures);
    *l = (struct listing){0};
}

/* ---- requests ---- */

static int listing_add_or_update_request(struct listing_requests *r,
                                         const struct listing_request *x)
{
    size_t i = SEARCH_INT64(r->request, r->n, seq, x->seq);
    if (i < r->n && r->request[i].seq == x->seq) {
        r->request[i] = *x;
        return 0;
    }
    /* If the table is full, the request is not added. If it is the table of open calls, the figures
     * go on counting the call as open. If it is the table of matches, the call counts as not
     * matching the filter. */
    if (r->n == LISTING_OPEN_MAX)
        return 0;
    if (!GROW(r->request, r->n, r->cap))
        return MI_ENOMEM;
    memmove(&r->request[i + 1], &r->request[i], (r->n++ - i) * sizeof r->request[0]);
    r->request[i] = *x;
    return 0;
}

/* Removes a request. Returns false if the table does not have it. */
static bool listing_remove_request(struct listing_requests *r, int64_t seq,
                                   struct listing_request *ret)
{
    size_t i = SEARCH_INT64(r->request, r->n, seq, seq);
    if (i == r->n || r->request[i].seq != seq)
        return false;
    *ret = r->request[i];
    r->n--;
    memmove(&r->request[i], &r->request[i + 1], (r->n - i) * sizeof r->request[0]);
    return true;
}

/* ---- rows ---- */

static bool listing_stores_rows(const struct listing *l)
{
    return l->mode == LISTING_CALLS || !l->every;
}

/* Adds a row that is older than all rows of the list. */
static int listing_prepend_row(struct listing *l, const struct listed *row)
{
    if (l->old_n + l->young_n >= LISTING_MAX)
        return MI_EFULL;
    if (!GROW(l->old, l->old_n, l->old_cap))
        return MI_ENOMEM;
    l->old[l->old_n++] = *row;
    return 0;
}

/* Returns the index of the first row in l->old with this seq or a higher one; old_n if there is
 * none. */
static size_t listing_find_old_row(const struct listing *l, int64_t seq)
{
    size_t from = 0, to = l->old_n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (l->old[l->old_n - 1 - middle].seq < seq)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

size_t listing_count_rows(const struct listing *l)
{
    return listing_stores_rows(l) ? l->old_n + l->young_n : (size_t)l->last;
}

struct listed listing_get_row_at(const struct listing *l, size_t at)
{
    if (!listing_stores_rows(l))
        return (struct listed){(int64_t)at + 1, 0, -1, CALL_UNKNOWN};
    return at < l->old_n ? l->old[l->old_n - 1 - at] : l->young[at - l->old_n];
}

size_t listing_find_row_of_seq(const struct listing *l, int64_t seq)
{
    if (!listing_stores_rows(l))
        return seq < 1 ? 0 : size_min((size_t)seq - 1, (size_t)l->last);
    size_t at = listing_find_old_row(l, seq);
    return at < l->old_n ? at : l->old_n + SEARCH_INT64(l->young, l->young_n, seq, seq);
}

/* Inserts a row at its place in the order of seq, because a call may begin to match only when it
 * ends, after later calls were added. If the list is full, drops the oldest row. */
static int listing_insert_row(struct listing *l, const struct listed *row)
{
    size_t at = listing_find_row_of_seq(l, row->seq), n = l->old_n + l->young_n;
    if (n >= LISTING_MAX && l->old_n > 0)
        l->old_n--;
    else if (n >= LISTING_MAX)
        return MI_EFULL;
    if (at < l->old_n) {
        if (!GROW(l->old, l->old_n, l->old_cap))
            return MI_ENOMEM;
        size_t i = l->old_n - at;
        memmove(&l->old[i + 1], &l->old[i], (l->old_n++ - i) * sizeof *row);
        l->old[i] = *row;
        return 0;
    }
    if (!GROW(l->young, l->young_n, l->young_cap))
        return MI_ENOMEM;
    size_t i = SEARCH_INT64(l->young, l->young_n, seq, row->seq);
    memmove(&l->young[i + 1], &l->young[i], (l->young_n++ - i) * sizeof *row);
    l->young[i] = *row;
    return 0;
}

static struct listed *listing_find_row(struct listing *l, int64_t seq)
{
    size_t at = listing_find_row_of_seq(l, seq);
    if (!listing_stores_rows(l) || at == listing_count_rows(l) ||
        listing_get_row_at(l, at).seq != seq)
        return NULL;
    return at < l->old_n ? &l->old[l->old_n - 1 - at] : &l->young[at - l->old_n];
}

/* ---- messages and calls ---- */

int listing_add_message(struct listing *l, const struct query_message *m, bool matches,
                        enum listing_end end)
{
    struct listed row = {m->seq, 0, -1, CALL_UNKNOWN};
    bool ends_task = listing_may_end_task(m);
    struct listing_request request = {.seq = m->kind == KIND_REQUEST || ends_task ? m->seq
                                                                                  : m->request_seq};
    if (end == LISTING_OLDER)
        l->first = m->seq;
    else
        l->last = m->seq;
    if (!matches || l->every)
        return 0;
    if (l->mode == LISTING_CALLS)
        return request.seq > 0 ? listing_add_or_update_request(&l->matched, &request) : 0;
    return end == LISTING_OLDER ? listing_prepend_row(l, &row) : listing_insert_row(l, &row);
}

static struct listed make_listed_row(const struct query_call *c)
{
    return (struct listed){c->request_seq, c->closing_seq, c->duration_us, c->status};
}

static int listing_count_ended_call(struct listing *l, const struct query_call *c,
                                    enum listing_end end)
{
    return figures_count_answer(&l->figures, c->method, c->target, c->status, c->duration_us,
                                end == LISTING_OLDER ? FIGURES_OLDER : FIGURES_NEWER);
}

/* Returns whether one of the call's requests, or the notification that ended its task, matches the
 * filter. Removes the requests and the notification that match from the table of matches. */
static bool listing_take_matches_of_call(struct listing *l, const struct query_call *c)
{
    struct listing_request match;
    bool by_request = listing_remove_request(&l->matched, c->request_seq, &match);
    return listing_remove_request(&l->matched, c->closing_seq, &match) || by_request;
}

int listing_add_call(struct listing *l, const struct query_call *c, enum listing_end end)
{
    struct listing_request open = {.seq = c->request_seq, .counted = c->direction == ROW_C2S};
    struct listed row = make_listed_row(c);
    int st = open.counted ? figures_count_request(&l->figures, c->method, c->target) : 0;
    l->figures.others += !open.counted;
    l->figures.others_failed += !open.counted && call_status_failed(c->status);
    bool matches = listing_take_matches_of_call(l, c) || l->every;
    if (st == 0 && c->status == CALL_OPEN)
        st = listing_add_or_update_request(&l->open, &open);
    else if (st == 0 && open.counted)
        st = listing_count_ended_call(l, c, end);
    if (st < 0 || !matches || l->mode == LISTING_MESSAGES)
        return st;
    return end == LISTING_OLDER ? listing_prepend_row(l, &row) : listing_insert_row(l, &row);
}

int listing_link_request_to_call(struct listing *l, int64_t seq, int64_t first)
{
    struct listing_request match;
    if (!listing_remove_request(&l->matched, seq, &match) || listing_find_row(l, first) != NULL)
        return 0;
    return listing_add_or_update_request(&l->matched, &(struct listing_request){.seq = first});
}

int listing_update_call(struct listing *l, const struct query_call *c)
{
    struct listing_request open;
    struct listed row = make_listed_row(c);
    int st = 0;
    /* the call is older than the messages that were added, and will be read later */
    if (c->request_seq < l->first)
        return 0;
    bool matches = listing_take_matches_of_call(l, c);
    if (c->status == CALL_OPEN)
        return matches && l->mode == LISTING_CALLS && listing_find_row(l, row.seq) == NULL
                   ? listing_insert_row(l, &row)
                   : 0;
    matches |= l->every;
    if (listing_remove_request(&l->open, c->request_seq, &open)) {
        l->figures.others_failed += !open.counted && call_status_failed(c->status);
        st = open.counted ? listing_count_ended_call(l, c, LISTING_NEWER) : 0;
    }
    if (st < 0 || l->mode == LISTING_MESSAGES)
        return st;
    struct listed *old = listing_find_row(l, row.seq);
    if (old == NULL)
        return matches ? listing_insert_row(l, &row) : 0;
    *old = row;
    return 0;
}

void listing_extend_message_range(struct listing *l, int64_t first, int64_t last)
{
    l->first = first < l->first ? first : l->first;
    l->last = last > l->last ? last : l->last;
}
