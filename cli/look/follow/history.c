#include "cli/look/follow/history.h"

#include "base/grow.h"

#include <stdlib.h>

/* ---- the newest rows of several sessions ---- */

void newest_open(struct newest *l, size_t max)
{
    *l = (struct newest){.max = max};
}

void newest_close(struct newest *l)
{
    free(l->row);
    *l = (struct newest){0};
}

/* Orders by time. An event comes before a message of the same time, as in `show`. */
static int newest_compare(const void *a, const void *b)
{
    const struct newest_row *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->session_id != y->session_id)
        return x->session_id < y->session_id ? -1 : 1;
    if (x->is_event != y->is_event)
        return x->is_event ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

bool newest_would_keep(const struct newest *l, int64_t at_us)
{
    return l->n < l->max || (l->max > 0 && at_us >= l->row[0].at_us);
}

static void swap_newest_rows(struct newest_row *a, struct newest_row *b)
{
    struct newest_row t = *a;
    *a = *b;
    *b = t;
}

/* Moves the first row down to its place in the heap. */
static void newest_heap_down(struct newest *l)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < l->n; i = child) {
        if (child + 1 < l->n && newest_compare(&l->row[child + 1], &l->row[child]) < 0)
            child++;
        if (newest_compare(&l->row[i], &l->row[child]) <= 0)
            return;
        swap_newest_rows(&l->row[i], &l->row[child]);
    }
}

/* Moves the last row up to its place in the heap. */
static void newest_heap_up(struct newest *l)
{
    for (size_t i = l->n - 1; i > 0 && newest_compare(&l->row[i], &l->row[(i - 1) / 2]) < 0;
         i = (i - 1) / 2)
        swap_newest_rows(&l->row[i], &l->row[(i - 1) / 2]);
}

int newest_add(struct newest *l, const struct newest_row *row)
{
    if (l->n < l->max) {
        if (!GROW(l->row, l->n, l->cap))
            return MI_ENOMEM;
        l->row[l->n++] = *row;
        newest_heap_up(l);
    } else if (l->max > 0 && newest_compare(row, &l->row[0]) > 0) {
        l->row[0] = *row;
        newest_heap_down(l);
    }
    return 0;
}

void newest_sort(struct newest *l)
{
    if (l->n > 1)
        qsort(l->row, l->n, sizeof *l->row, newest_compare);
}

/* ---- the history ---- */

/* The rows of one session that are gathered. */
struct gathering {
    struct newest *to;
    const struct filter *filter;
    const struct query_session *session;
    int status;
};

/* Whether a row of this time would be kept. If not, all older rows are too old as well. */
static bool history_would_keep(const struct gathering *g, int64_t at_us)
{
    return at_us >= g->filter->since_us && newest_would_keep(g->to, at_us);
}

static bool history_add_row(struct gathering *g, int64_t at_us, int64_t number, bool is_event)
{
    struct newest_row row = {at_us, g->session->id, number, is_event};
    g->status = newest_add(g->to, &row);
    return g->status == 0;
}

static bool history_on_message(void *ctx, const struct query_message *m)
{
    struct gathering *g = ctx;
    int64_t started_us = g->session->started_at_us;
    if (!history_would_keep(g, started_us + m->t_us))
        return false;
    return history_add_row(g, started_us + m->t_us, m->seq, false);
}

static bool history_on_event(void *ctx, const struct query_event *e)
{
    struct gathering *g = ctx;
    int64_t at_us = g->session->started_at_us + e->t_us;
    if (!history_would_keep(g, at_us))
        return false;
    return !filter_includes_time(g->filter, at_us) || history_add_row(g, at_us, e->id, true);
}

int history_add(struct newest *to, struct query *q, const struct filter *f,
                const struct query_session *s, int64_t seq, int64_t event)
{
    struct gathering g = {.to = to, .filter = f, .session = s};
    if (to->max == 0 || (s->ended_at_us != 0 && !newest_would_keep(to, s->ended_at_us)))
        return 0;
    /* The filter has no start time: history_on_message() stops at the first message that is too
     * old. */
    struct filter any_age = *f;
    struct message_question x = {&any_age, s->id, s->started_at_us, 1, seq};
    any_age.since_us = INT64_MIN;
    int st = query_message_facts(q, &x, QUERY_BACKWARD, history_on_message, &g);
    if (st == 0 && g.status == 0 && !filter_has_call(f))
        st = query_events_back(q, s->id, event, history_on_event, &g);
    return st < 0 ? st : g.status;
}

size_t history_run_end(const struct newest *l, size_t i, size_t max)
{
    size_t end = i + 1;
    while (!l->row[i].is_event && end < l->n && end - i < max && !l->row[end].is_event &&
           l->row[end].session_id == l->row[i].session_id &&
           l->row[end].number == l->row[end - 1].number + 1)
        end++;
    return end;
}
