#include "cli/look/follow/history.h"

/* State of gathering the rows of one session. */
struct gathering {
    struct newest *to;
    const struct filter *filter;
    const struct query_session *session;
    int status;
};

/* Returns false if a row of this time is too old to be added; then older rows need not be read. */
static bool history_would_keep_row(const struct gathering *g, int64_t at_us)
{
    return at_us >= g->filter->since_us && newest_rows_would_keep_row(g->to, at_us);
}

static bool history_add_row(struct gathering *g, int64_t at_us, int64_t number, bool is_event)
{
    struct newest_row row = {at_us, g->session->id, number, is_event};
    g->status = newest_rows_add(g->to, &row);
    return g->status == 0;
}

static bool history_on_message(void *ctx, const struct query_message *m)
{
    struct gathering *g = ctx;
    int64_t started_us = g->session->started_at_us;
    if (!history_would_keep_row(g, started_us + m->t_us))
        return false;
    return history_add_row(g, started_us + m->t_us, m->seq, false);
}

static bool history_on_event(void *ctx, const struct query_event *e)
{
    struct gathering *g = ctx;
    int64_t at_us = g->session->started_at_us + e->t_us;
    if (!history_would_keep_row(g, at_us))
        return false;
    return !filter_includes_time(g->filter, at_us) || history_add_row(g, at_us, e->id, true);
}

int history_add_session(struct newest *to, struct query *q, const struct filter *f,
                        const struct query_session *s, int64_t seq, int64_t event)
{
    struct gathering g = {.to = to, .filter = f, .session = s};
    if (to->max == 0 || (s->ended_at_us != 0 && !newest_rows_would_keep_row(to, s->ended_at_us)))
        return 0;
    /* The filter has no start time: history_on_message() stops at the first message that is too
     * old. */
    struct filter any_age = *f;
    struct message_question x = {&any_age, s->id, s->started_at_us, 1, seq};
    any_age.since_us = INT64_MIN;
    int st = query_messages_without_bodies(q, &x, QUERY_BACKWARD, history_on_message, &g);
    if (st == 0 && g.status == 0 && !filter_has_call_conditions(f))
        st = query_events_newest_first(q, s->id, event, history_on_event, &g);
    return st < 0 ? st : g.status;
}

size_t history_find_end_of_sequence(const struct newest *l, size_t i, size_t max)
{
    size_t end = i + 1;
    while (!l->row[i].is_event && end < l->n && end - i < max && !l->row[end].is_event &&
           l->row[end].session_id == l->row[i].session_id &&
           l->row[end].number == l->row[end - 1].number + 1)
        end++;
    return end;
}
