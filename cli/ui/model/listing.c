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
    free(l->open.end);
    free(l->closing.end);
    figures_close(&l->figures);
    *l = (struct listing){0};
}

/* ---- open calls, and their ends ---- */

static struct listing_end *find_end(const struct listing_ends *e, int64_t request)
{
    size_t i = SEARCH_INT64(e->end, e->n, request, request);
    return i < e->n && e->end[i].request == request ? &e->end[i] : NULL;
}

static int put_end(struct listing_ends *e, const struct listing_end *x)
{
    size_t i = SEARCH_INT64(e->end, e->n, request, x->request);
    if (i < e->n && e->end[i].request == x->request) {
        e->end[i] = *x;
        return 0;
    }
    if (e->n == LISTING_OPEN_MAX) /* it stays open */
        return 0;
    if (!GROW(e->end, e->n, e->cap))
        return MI_ENOMEM;
    memmove(&e->end[i + 1], &e->end[i], (e->n++ - i) * sizeof e->end[0]);
    e->end[i] = *x;
    return 0;
}

static void remove_end(struct listing_ends *e, struct listing_end *x)
{
    size_t i = (size_t)(x - e->end);
    e->n--;
    memmove(x, x + 1, (e->n - i) * sizeof *x);
}

/* ---- rows ---- */

static bool keeps_rows(const struct listing *l)
{
    return l->mode == LISTING_CALLS || !l->every;
}

static int add_old(struct listing *l, const struct listed *row)
{
    if (l->old_n + l->young_n >= LISTING_MAX)
        return MI_EFULL;
    if (!GROW(l->old, l->old_n, l->old_cap))
        return MI_ENOMEM;
    l->old[l->old_n++] = *row;
    return 0;
}

/* Among those before the first young one. */
static size_t old_place(const struct listing *l, int64_t seq)
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

size_t listing_n(const struct listing *l)
{
    return keeps_rows(l) ? l->old_n + l->young_n : (size_t)l->last;
}

struct listed listing_row(const struct listing *l, size_t at)
{
    if (!keeps_rows(l))
        return (struct listed){(int64_t)at + 1, 0, -1, CALL_UNKNOWN};
    return at < l->old_n ? l->old[l->old_n - 1 - at] : l->young[at - l->old_n];
}

size_t listing_place(const struct listing *l, int64_t seq)
{
    if (!keeps_rows(l))
        return seq < 1 ? 0 : size_min((size_t)seq - 1, (size_t)l->last);
    size_t at = old_place(l, seq);
    return at < l->old_n ? at : l->old_n + SEARCH_INT64(l->young, l->young_n, seq, seq);
}

/* A call that begins to match when it ends belongs before later ones. The oldest row makes room. */
static int add_young(struct listing *l, const struct listed *row)
{
    size_t at = listing_place(l, row->seq), n = l->old_n + l->young_n;
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

static struct listed *find_row(struct listing *l, int64_t seq)
{
    size_t at = listing_place(l, seq);
    if (!keeps_rows(l) || at == listing_n(l) || listing_row(l, at).seq != seq)
        return NULL;
    return at < l->old_n ? &l->old[l->old_n - 1 - at] : &l->young[at - l->old_n];
}

/* ---- messages ---- */

static bool is_call(const struct query_message *m)
{
    return m->kind == KIND_REQUEST && m->origin == ROW_PEER;
}

static bool closes(const struct query_message *m)
{
    if (m->request_seq <= 0 || m->action != ROW_FORWARDED)
        return false;
    return m->kind == KIND_RESULT || m->kind == KIND_ERROR ||
           (m->kind == KIND_NOTIFICATION && m->origin == ROW_PEER && m->method.p != NULL &&
            slice_is(m->method, "notifications/cancelled"));
}

static struct listing_end end_of(const struct query_message *m, bool matches)
{
    return (struct listing_end){
        .request = m->request_seq,
        .seq = m->seq,
        .t_us = m->t_us,
        .status = query_status(m),
        .matches = matches,
    };
}

/* Counts a call of the client: open, or ended. */
static int count(struct listing *l, const struct query_message *m, const struct listed *row,
                 enum figures_order order)
{
    int st = figures_asked(&l->figures, m->method, m->target);
    if (st == 0 && row->status != CALL_OPEN)
        st = figures_ended(&l->figures, m->method, m->target, row->status, row->took_us, order);
    return st;
}

/* The row of a request; *matches: also with the message that closed it. An open one is remembered. */
static int take_call(struct listing *l, const struct query_message *m, enum figures_order order,
                     bool *matches, struct listed *ret)
{
    struct listing_end *e = find_end(&l->closing, m->seq);
    bool counted = m->direction == ROW_C2S;
    bool refused = m->action == ROW_REFUSED;
    int st = 0;
    *ret = (struct listed){m->seq, 0, -1, refused ? CALL_REFUSED : CALL_OPEN};
    if (e != NULL) {
        *ret =
            (struct listed){m->seq, e->seq, e->t_us - m->t_us, refused ? CALL_REFUSED : e->status};
        *matches |= e->matches;
        remove_end(&l->closing, e);
    } else if (!refused) {
        struct listing_end open = {
            .request = m->seq, .t_us = m->t_us, .matches = *matches, .counted = counted};
        st = put_end(&l->open, &open);
    }
    return st == 0 && counted ? count(l, m, ret, order) : st;
}

/* A message that closes a call which was added. */
static int close_call(struct listing *l, struct listing_end *open, const struct query_message *m,
                      bool matches, enum figures_order order)
{
    struct listed row = {open->request, m->seq, m->t_us - open->t_us, query_status(m)};
    bool listed = open->matches, counted = open->counted;
    int st = 0;
    remove_end(&l->open, open);
    if (counted)
        st = figures_ended(&l->figures, m->request_method, m->request_target, row.status,
                           row.took_us, order);
    struct listed *old = l->mode == LISTING_CALLS && listed ? find_row(l, row.seq) : NULL;
    if (old != NULL)
        *old = row;
    else if (st == 0 && l->mode == LISTING_CALLS && matches && !listed)
        st = add_young(l, &row);
    return st;
}

int listing_older(struct listing *l, const struct query_message *m, bool matches)
{
    struct listed row = {m->seq, 0, -1, CALL_UNKNOWN};
    int st = 0;
    l->first = m->seq;
    if (closes(m)) {
        struct listing_end e = end_of(m, matches);
        st = put_end(&l->closing, &e);
    }
    if (st == 0 && l->mode == LISTING_MESSAGES)
        st = matches && keeps_rows(l) ? add_old(l, &row) : 0;
    if (st == 0 && is_call(m)) {
        st = take_call(l, m, FIGURES_OLDER, &matches, &row);
        if (st == 0 && l->mode == LISTING_CALLS && matches)
            st = add_old(l, &row);
    }
    return st;
}

int listing_newer(struct listing *l, const struct query_message *m, bool matches)
{
    struct listed row = {m->seq, 0, -1, CALL_UNKNOWN};
    int st = 0;
    l->last = m->seq;
    if (closes(m)) {
        struct listing_end *open = find_end(&l->open, m->request_seq), e = end_of(m, matches);
        if (open != NULL)
            st = close_call(l, open, m, matches, FIGURES_NEWER);
        else if (m->request_seq < l->first && find_end(&l->closing, m->request_seq) == NULL)
            st = put_end(&l->closing, &e);
    }
    if (st == 0 && l->mode == LISTING_MESSAGES)
        st = matches && keeps_rows(l) ? add_young(l, &row) : 0;
    if (st == 0 && is_call(m)) {
        st = take_call(l, m, FIGURES_NEWER, &matches, &row);
        if (st == 0 && l->mode == LISTING_CALLS && matches)
            st = add_young(l, &row);
    }
    return st;
}

void listing_added(struct listing *l, int64_t first, int64_t last)
{
    l->first = first < l->first ? first : l->first;
    l->last = last > l->last ? last : l->last;
}
