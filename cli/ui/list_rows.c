/* list_rows.c - the rows of the list: calls or messages and, among calls, the events of the
 * session. */
#include "cli/ui/ui.h"

/* maximum number of pages of events that one call of events_read_new_rows() reads; further pages
 * are read when the vault has changed */
#define EVENTS_PAGES 16

/* ---- events ---- */

static bool event_is_shown(struct slice kind)
{
    static const char *const kinds[] = {"restart",      "restart-changed", "hang", "kill",
                                        "tool-changed", "unrecordable",    "gap"};
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (slice_is(kind, kinds[i]))
            return true;
    return false;
}

void events_close(struct ui *u)
{
    for (size_t i = 0; i < u->events.n; i++)
        page_free(u->events.row[i]);
    u->events = (struct events){.last = INT64_MIN};
}

/* Adds those events of a page to `e` that are shown in the list, and frees the other events of the
 * page. Returns how many events the page had. */
static size_t events_add_from_page(struct events *e, struct page_row *page)
{
    size_t n = 0;
    for (struct page_row *next; page != NULL; page = next, n++) {
        next = page->next;
        page->next = NULL;
        e->last = page->event.id;
        if (e->n < EVENTS_MAX && event_is_shown(page->event.kind)) {
            e->before[e->n] = INT64_MAX;
            e->row[e->n++] = page;
        } else {
            page_free(page);
        }
    }
    return n;
}

int events_read_new_rows(struct ui *u)
{
    struct page_row *page = NULL;
    int st = 0;
    size_t n = QUERY_PAGE_ROWS;
    for (int i = 0; i < EVENTS_PAGES && st == 0 && n == QUERY_PAGE_ROWS; i++, page = NULL) {
        st = page_read_events(u->q, NULL, ui_get_chosen_session(u)->id, u->events.last, &page);
        n = events_add_from_page(&u->events, page);
    }
    return st;
}

void events_move_before_call(struct ui *u, const struct query_call *c)
{
    struct events *e = &u->events;
    for (size_t i = 0; i < e->n; i++)
        if (e->row[i]->event.t_us <= c->t_us && c->request_seq < e->before[i])
            e->before[i] = c->request_seq;
}

void events_forget_positions(struct ui *u)
{
    for (size_t i = 0; i < u->events.n; i++)
        u->events.before[i] = INT64_MAX;
}

/* Returns the number of events in the list: 0 if the list shows messages, or if the filter is about
 * messages. */
static size_t events_count_shown_rows(const struct ui *u)
{
    return u->mode == LISTING_CALLS && !u->narrowed ? u->events.n : 0;
}

static size_t get_list_row_of_event(const struct ui *u, size_t i)
{
    return listing_find_row_of_seq(&u->listing, u->events.before[i]) + i;
}

/* Returns how many events are above this row of the list. */
static size_t events_count_above_row(const struct ui *u, size_t place)
{
    size_t i = 0;
    while (i < events_count_shown_rows(u) && get_list_row_of_event(u, i) < place)
        i++;
    return i;
}

/* ---- rows ---- */

size_t list_count_rows(const struct ui *u)
{
    return listing_count_rows(&u->listing) + events_count_shown_rows(u);
}

size_t list_count_calls_above(const struct ui *u, size_t place)
{
    return place - events_count_above_row(u, place);
}

size_t list_find_seq(const struct ui *u, int64_t seq)
{
    size_t at = listing_find_row_of_seq(&u->listing, seq), i = 0;
    while (i < events_count_shown_rows(u) && u->events.before[i] <= seq)
        i++;
    return at + i;
}

struct list_row list_get_row_at(const struct ui *u, size_t place)
{
    size_t i = events_count_above_row(u, place);
    if (i < events_count_shown_rows(u) && get_list_row_of_event(u, i) == place)
        return (struct list_row){{-1 - (int64_t)i, 0, -1, CALL_UNKNOWN}, &u->events.row[i]->event};
    return (struct list_row){listing_get_row_at(&u->listing, place - i), NULL};
}

size_t list_find_selected_row(const struct ui *u)
{
    size_t n = list_count_rows(u);
    int64_t key = u->list_cursor.key;
    if (n == 0)
        return 0;
    if (u->list_cursor.follows)
        return n - 1;
    if (key < 0 && (size_t)(-1 - key) < events_count_shown_rows(u))
        return get_list_row_of_event(u, (size_t)(-1 - key));
    return size_min(list_find_seq(u, key), n - 1);
}

bool list_get_selected_row(const struct ui *u, struct list_row *ret)
{
    if (list_count_rows(u) == 0)
        return false;
    *ret = list_get_row_at(u, list_find_selected_row(u));
    return true;
}

bool list_get_selected_call(const struct ui *u, struct listed *ret)
{
    struct list_row row;
    if (!list_get_selected_row(u, &row) || row.event != NULL)
        return false;
    *ret = row.listed;
    return true;
}

void list_select_row_at(struct ui *u, size_t place)
{
    size_t n = list_count_rows(u);
    if (n == 0)
        return;
    place = size_min(place, n - 1);
    u->list_cursor.key = list_get_row_at(u, place).listed.seq;
    u->list_cursor.follows = place == n - 1;
    u->dirty = true;
}

void list_stop_following(struct ui *u)
{
    struct list_row row;
    if (!u->list_cursor.follows || !list_get_selected_row(u, &row))
        return;
    u->list_cursor.key = row.listed.seq;
    u->list_cursor.follows = false;
}
