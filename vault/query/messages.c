/* messages.c - reads the messages and events of a session, page by page. */
#include "vault/query/page.h"
#include "vault/query/statements.h"

#include "vault/store/schema.h"

/* Reads the events of a session that were not passed to the callback yet. */
struct event_reader {
    struct where where;    /* owned */
    struct page_row *page; /* owned */
    /* the next event, borrowed from `page`; NULL: the next page must be read */
    struct page_row *next;
    int64_t session_id, after; /* `after`: id of the last row that was read */
    query_event_fn fn;         /* callback for events; set to NULL after the last event */
};

#define LISTS                                                                                      \
    "('tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'initialize',"   \
    " 'server/discover')"

/* Passes the events up to the time t_us to the callback. *ret_more: false if the callback has
 * stopped the reading. */
static int deliver_events_until_time(struct query *q, struct event_reader *w, int64_t t_us,
                                     void *ctx, bool *ret_more)
{
    *ret_more = true;
    while (w->fn != NULL && *ret_more) {
        if (w->next == NULL) {
            page_free(w->page);
            w->page = NULL;
            int st = page_read_events(q, &w->where, w->session_id, w->after, &w->page);
            if (st < 0)
                return st;
            w->next = w->page;
            if (w->page == NULL) {
                w->fn = NULL;
                break;
            }
        }
        if (w->next->event.t_us > t_us)
            break;
        *ret_more = w->fn(ctx, &w->next->event);
        w->after = w->next->event.id;
        w->next = w->next->next;
    }
    return 0;
}

int query_messages_and_events(struct query *q, const struct message_question *x,
                              query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct where w = {.n = 0};
    struct event_reader events = {.session_id = x->session_id, .after = INT64_MIN, .fn = on_event};
    int64_t from = x->from < 0 ? 0 : x->from;
    int64_t to = x->to > SCHEMA_SEQ_MAX ? SCHEMA_SEQ_MAX : x->to;
    bool more = true;
    if (x->filter != NULL) {
        where_add_message_conditions(&w, x->filter, x->started_at_us);
        where_add_event_conditions(&events.where, x->filter, x->started_at_us);
        events.fn = filter_has_call_conditions(x->filter) ? NULL : on_event;
    }
    buf_adds(&w.sql, x->lists ? " AND (m.method IN " LISTS " OR r.method IN " LISTS ")" : "");
    int st = w.sql.failed || events.where.sql.failed ? MI_ENOMEM : 0;
    while (st == 0 && more && from <= to) {
        struct page_row *page = NULL;
        st = page_read_messages(q, &w, x->session_id, from, to, &page);
        if (st < 0 || page == NULL)
            break;
        for (struct page_row *h = page; st == 0 && more && h != NULL; h = h->next) {
            st = deliver_events_until_time(q, &events, h->message.t_us, ctx, &more);
            if (st == 0 && more)
                more = on_message(ctx, &h->message);
            from = h->message.seq + 1;
        }
        page_free(page);
    }
    if (st == 0 && more)
        st = deliver_events_until_time(q, &events, INT64_MAX, ctx, &more);
    page_free(events.page);
    where_clause_close(&events.where);
    where_clause_close(&w);
    return st;
}

int query_timeline(struct query *q, int64_t session_id, int64_t from, int64_t to,
                   query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct message_question x = {.session_id = session_id, .from = from, .to = to};
    return query_messages_and_events(q, &x, on_message, on_event, ctx);
}

int query_events_newest_first(struct query *q, int64_t session_id, int64_t to, query_event_fn fn,
                              void *ctx)
{
    bool more = true;
    int st = 0;
    while (st == 0 && more) {
        struct page_row *page = NULL;
        st = page_read_events_backward(q, session_id, to, &page);
        more = st == 0 && page != NULL;
        for (struct page_row *e = page; more && e != NULL; e = e->next) {
            more = fn(ctx, &e->event) && e->event.id > INT64_MIN;
            to = more ? e->event.id - 1 : to;
        }
        page_free(page);
    }
    return st;
}

int query_session_is_made_by_send(struct query *q, int64_t session_id, bool *ret)
{
    int64_t n = 0;
    int st = query_read_number(q, Q_SENT, session_id, &n);
    *ret = n != 0;
    return st;
}

int query_messages_have_revisions(struct query *q, int64_t session_id, bool *ret)
{
    int64_t n = 0;
    int st = query_read_number(q, Q_REVISIONS, session_id, &n);
    *ret = n != 0;
    return st;
}

int query_read_newer_rows(struct query *q, int64_t session_id, int64_t *seq, int64_t *event,
                          query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct page_row *messages = NULL, *events = NULL;
    int st = page_read_messages(q, NULL, session_id, *seq + 1, SCHEMA_SEQ_MAX, &messages);
    if (st == 0)
        st = page_read_events(q, NULL, session_id, *event, &events);
    const struct page_row *m = messages, *e = events;
    bool more = st == 0;
    while (more && (m != NULL || e != NULL)) {
        if (m == NULL || (e != NULL && e->event.t_us <= m->message.t_us)) {
            *event = e->event.id;
            more = on_event(ctx, &e->event);
            e = e->next;
        } else {
            *seq = m->message.seq;
            more = on_message(ctx, &m->message);
            m = m->next;
        }
    }
    page_free(messages);
    page_free(events);
    return st;
}
