/* draw_lists.c - draws two panes: the sessions, and the calls or messages of one session. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/event_words.h"
#include "cli/look/timeline/message_notes.h"
#include "cli/ui/gauge/gauge.h"

#include <stdio.h>

static const char *choose_utf8_or_ascii(const struct ui *u, const char *utf8, const char *ascii)
{
    return u->ascii ? ascii : utf8;
}

static enum screen_line choose_list_row_highlight(const struct ui *u, enum pane pane, bool selected)
{
    return !selected ? SCREEN_NORMAL : u->focus == pane ? SCREEN_CHOSEN : SCREEN_MARKED;
}

static void draw_empty_line(struct ui *u, const struct area *a, size_t line, const char *text)
{
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    cells_add_str(&u->cells, CELLS_DIM, text);
    draw_line(u, a, line, SCREEN_NORMAL);
}

/* ---- sessions ---- */

struct pane_line {
    struct slice server, client, host;
    int64_t began_at_us, lasted_us, failed, messages;
};

/* Appends the time at which a session began: "17:59" for today, "11-22" for this year, otherwise
 * the whole date. */
static void append_session_begin(struct buf *b, const void *row, struct cell v)
{
    struct clock_text now = clock_format_local_time(clock_wall_us()),
                      at = clock_format_local_time(v.number);
    (void)row;
    if (strncmp(now.s, at.s, 10) == 0)
        buf_add(b, at.s + 11, 5);
    else if (strncmp(now.s, at.s, 4) == 0)
        buf_add(b, at.s + 5, 5);
    else
        buf_add(b, at.s, 10);
}

/* clang-format off */
#define OF_STORE 1u
#define OF_VAULT 2u
#define RECORD struct pane_line
static const struct show_column session_columns[] = {
    {SHOW(server, TEXT, NOT_NULL), .ui = {"server", 1, 0}},
    {SHOW(client, TEXT, NO_TEXT), .when = OF_VAULT, .ui = {"client", 18, 72}, .style = OUT_DIM},
    {SHOW(host, TEXT, NO_TEXT), .when = OF_STORE, .ui = {"host", 16, 50}, .style = OUT_DIM},
    {SHOW(began_at_us, TIME, NOT_NULL), .ui = {"began", 8, 0}, .text = append_session_begin, .style = OUT_DIM},
    {SHOW(lasted_us, TOOK, MINUS_ONE), .ui = {"lasted", 8, 44}, .style = OUT_DIM},
    {SHOW(failed, NUMBER, MINUS_ONE), .ui = {"failed", 7, 36}, .style = OUT_RED},
    {SHOW(messages, NUMBER, NOT_NULL), .ui = {"msgs", 7, 0}},
};
/* clang-format on */
static const struct show_list session_list = {SHOW_LIST(NULL, session_columns)};

void draw_session(struct ui *u, size_t width, const struct session_row *r)
{
    struct pane_line line;
    struct slice id = slice_of("id");
    /* a store has sessions of several hosts, so the column HOST replaces CLIENT */
    struct show_list list = session_list;
    list.when = u->sessions.store != NULL ? OF_STORE : OF_VAULT;
    cells_begin_line(&u->cells, 0, width, u->ascii);
    if (r != NULL) {
        const struct query_session *s = &r->page->session;
        bool live = r->state == SESSION_LIVE, died = r->state == SESSION_DIED;
        cells_add_str(&u->cells,
                      live   ? CELLS_GOOD
                      : died ? CELLS_BAD
                             : CELLS_DIM,
                      live                           ? choose_utf8_or_ascii(u, "\xE2\x97\x8F", "*")
                      : died                         ? choose_utf8_or_ascii(u, "\xE2\x9C\x97", "x")
                      : query_session_is_imported(s) ? choose_utf8_or_ascii(u, "\xE2\x86\xA7", "i")
                                                     : " ");
        buf_clear(&u->scratch);
        buf_int(&u->scratch, s->number);
        id = draw_get_scratch_text(u);
        line = (struct pane_line){.server = s->name,
                                  .client = s->client_name,
                                  .host = s->host,
                                  .began_at_us = s->started_at_us,
                                  .lasted_us = sessions_duration_us(r, clock_wall_us()),
                                  .failed = r->failed,
                                  .messages = r->messages};
    }
    cells_add_blanks(&u->cells, r != NULL ? 1 : 2);
    if (width >= 56) {
        draw_field(u, r != NULL ? CELLS_DIM : CELLS_LABEL, id, 5, DRAW_RIGHT);
        cells_add_blanks(&u->cells, 1);
    }
    draw_row_cells(u, &list, r != NULL ? &line : NULL);
}

int draw_sessions(struct ui *u, const struct area *a)
{
    size_t n = u->sessions.n, height = a->height - LIST_HEAD;
    size_t at = sessions_find_row_of_id(&u->sessions, u->session_cursor.key);
    at = at < n ? at : 0;
    size_t top = cursor_compute_top_row(&u->session_cursor, n, at, height);
    draw_caption(u, a, PANE_SESSIONS, n > 0 ? "sessions %zu/%zu%s" : "sessions", n > 0 ? at + 1 : 0,
                 n, feed_has_all_sessions(u) ? "" : "+");
    draw_session(u, a->width, NULL);
    draw_line(u, a, 1, SCREEN_NORMAL);
    if (n == 0)
        draw_empty_line(u, a, LIST_HEAD,
                        !feed_has_all_sessions(u) ? " reading..."
                        : u->filtered             ? " none matches"
                                                  : " nothing is recorded yet");
    for (size_t i = 0; i < height && top + i < n; i++) {
        const struct session_row *r;
        int st = sessions_get_row(&u->sessions, u->q, u->sessions.id[top + i], &r);
        if (st < 0 && st != MI_ENOENT)
            return st;
        u->uncounted |= st == 0 && r->counted < r->messages;
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        if (st == 0)
            draw_session(u, a->width, r);
        else
            cells_add_str(&u->cells, CELLS_DIM, "  (removed)");
        draw_line_with_matches(u, a, LIST_HEAD + i,
                               choose_list_row_highlight(u, PANE_SESSIONS, top + i == at));
    }
    return 0;
}

/* ---- calls and messages ---- */

/* Draws the time since the start of the session ("1:02.345") or the time of day
 * ("17:59:03.345"). */
static void draw_time_field(struct ui *u, int64_t t_us, size_t width)
{
    char text[40];
    int64_t wall_us = ui_get_chosen_session(u)->started_at_us + t_us;
    long long s = t_us / 1000000, ms = (u->clock ? wall_us : t_us) / 1000 % 1000;
    if (u->clock)
        snprintf(text, sizeof text, "%.8s.%03lld", clock_format_local_time(wall_us).s + 11, ms);
    else if (s >= 3600)
        snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, sizeof text, "%lld:%02lld.%03lld", s / 60, s % 60, ms);
    draw_field(u, CELLS_DIM, slice_of(text), width, DRAW_RIGHT);
}

static const char *choose_status_symbol(const struct ui *u, enum call_status status,
                                        enum cells_style *ret_style)
{
    *ret_style = cells_convert_out_style(session_status_style(status));
    if (status == CALL_OPEN)
        return u->state == SESSION_LIVE ? choose_utf8_or_ascii(u, "\xE2\x80\xA6", "~")
                                        : choose_utf8_or_ascii(u, "\xE2\x88\x85", "-");
    if (status == CALL_OK)
        return choose_utf8_or_ascii(u, "\xE2\x9C\x93", ".");
    return call_status_failed(status) ? choose_utf8_or_ascii(u, "\xE2\x9C\x97", "x")
                                      : choose_utf8_or_ascii(u, "\xE2\x8A\x98", "-");
}

/* Draws a bar for a duration. The longest duration of the session has the longest bar. */
static void draw_duration_bar(struct ui *u, int64_t us, enum cells_style style, size_t columns)
{
    buf_clear(&u->scratch);
    gauge_append_bar(&u->scratch, us, u->listing.figures.all.latency.most_us, columns, u->ascii);
    cells_add_text(&u->cells, style, draw_get_scratch_text(u));
}

/* Widths of the columns of the pane; 0: the column is not shown. The name takes the remaining
 * width. */
struct columns {
    size_t seq, time, status, took, bar;
};

static struct columns choose_list_columns(const struct ui *u, const struct area *a)
{
    struct columns c = {.took = 8, .bar = a->width / 10};
    size_t digits = 1;
    for (int64_t n = u->listing.last; n >= 10; n /= 10)
        digits++;
    c.bar = c.bar < 4 ? 4 : c.bar > 16 ? 16 : c.bar;
    if (a->width >= 44)
        c.seq = digits + 1;
    if (a->width >= 56)
        c.time = u->clock ? 13 : 10;
    if (a->width >= 100)
        c.status = 12;
    return c;
}

static void draw_name_cells(struct ui *u, const struct query_message *m, enum cells_style style)
{
    struct slice method = session_method_of_message(m), target = session_target_of_message(m);
    bool tool = method.p != NULL && slice_is(method, "tools/call") && target.p != NULL;
    if (tool) {
        cells_add_text(&u->cells, style, target);
        return;
    }
    if (method.p != NULL)
        cells_add_text(&u->cells, style == CELLS_PLAIN ? CELLS_LABEL : style, method);
    if (target.p != NULL) {
        cells_add_blanks(&u->cells, 1);
        cells_add_text(&u->cells, style, target);
    }
}

/* Adds blanks up to this column to the text written so far. If the text did not fit into the width
 * of u->cells, ends it with an ellipsis. */
static void fill_or_cut_line_at_column(struct ui *u, size_t column)
{
    cells_cut_with_ellipsis(&u->cells);
    if (u->cells.column < column)
        cells_add_blanks(&u->cells, column - u->cells.column);
}

static void draw_direction_arrow(struct ui *u, const struct query_message *m)
{
    bool out = m->direction == ROW_C2S;
    cells_add_str(&u->cells, CELLS_DIM,
                  out ? choose_utf8_or_ascii(u, "\xE2\x86\x92", ">")
                      : choose_utf8_or_ascii(u, "\xE2\x86\x90", "<"));
    cells_add_blanks(&u->cells, 1);
}

static void draw_seq_and_time_cells(struct ui *u, const struct columns *c,
                                    const struct query_message *m)
{
    char seq[24];
    snprintf(seq, sizeof seq, "%lld", (long long)m->seq);
    if (c->seq > 0)
        draw_field(u, CELLS_DIM, slice_of(seq), c->seq, DRAW_RIGHT);
    if (c->time > 0)
        draw_time_field(u, m->t_us, c->time);
    const struct pair_view_call *kept = &u->pair_view.call[0];
    if (m->seq == kept->seq && ui_get_chosen_session(u)->id == kept->session)
        cells_add_str(&u->cells, CELLS_FOLD, choose_utf8_or_ascii(u, "\xE2\x97\x86", "*"));
    else
        cells_add_blanks(&u->cells, 1);
}

/* Writes the cells of a call. If the line is too long, only its left part is cut: u->cells is as
 * wide as the left part until that part is written, then as wide as the line. A failed call shows
 * its error instead of its arguments. */
static int draw_call_cells(struct ui *u, const struct area *a, const struct columns *c,
                           const struct listed *row)
{
    enum cells_style style;
    const struct row_copy *copy;
    buf_clear(&u->scratch);
    if (call_status_failed(row->status) && row->answer > 0) {
        int st = row_cache_get_row(&u->rows, u->q, row->answer, &copy);
        if (st < 0 && st != MI_ENOENT)
            return st;
        /* The preview of this row is copied, because reading the request's row may replace this row
         * in the cache. */
        if (st == 0)
            buf_slice_add(&u->scratch, copy->preview);
    }
    int st = row_cache_get_row(&u->rows, u->q, row->seq, &copy);
    if (st < 0)
        return st;
    const struct query_message *m = &copy->m;
    const char *sign = choose_status_symbol(u, row->status, &style);
    size_t right = c->status + c->took + 1 + c->bar;
    size_t width = a->width > right ? a->width - right : 0;
    cells_begin_line(&u->cells, 0, width, u->ascii);
    cells_add_str(&u->cells, style, sign);
    draw_seq_and_time_cells(u, c, m);
    if (m->direction == ROW_S2C)
        draw_direction_arrow(u, m);
    draw_name_cells(u, m, call_status_failed(row->status) ? CELLS_BAD : CELLS_PLAIN);
    if (c->status == 0 && row->status != CALL_OK && row->status != CALL_OPEN)
        cells_add_format(&u->cells, style, " %s", call_status_name(row->status));
    if (m->finding.n > 0)
        cells_add_str(&u->cells, CELLS_NOTE, " !");
    cells_add_blanks(&u->cells, 1);
    cells_add_text(&u->cells, CELLS_DIM,
                   u->scratch.n > 0 ? draw_get_scratch_text(u) : copy->preview);
    fill_or_cut_line_at_column(u, width);
    u->cells.width = a->width;
    if (c->status > 0)
        draw_field(u, style,
                   slice_of(row->status == CALL_OPEN && u->state != SESSION_LIVE
                                ? "no answer"
                                : call_status_name(row->status)),
                   c->status, DRAW_RIGHT);
    int64_t took_us = row->took_us;
    if (took_us < 0 && row->status == CALL_OPEN && u->state == SESSION_LIVE)
        took_us = clock_wall_us() - ui_get_chosen_session(u)->started_at_us - m->t_us;
    u->ticks |= row->took_us < 0 && took_us >= 0;
    if (took_us >= 0)
        draw_duration(u, style == CELLS_GOOD ? CELLS_PLAIN : style, took_us, c->took);
    else
        cells_add_blanks(&u->cells, c->took);
    cells_add_blanks(&u->cells, 1);
    draw_duration_bar(u, row->took_us, style, c->bar);
    return 0;
}

static int draw_message_cells(struct ui *u, const struct area *a, const struct columns *c,
                              int64_t seq)
{
    const struct row_copy *copy;
    enum out_style out;
    int st = row_cache_get_row(&u->rows, u->q, seq, &copy);
    if (st < 0)
        return st;
    const struct query_message *m = &copy->m;
    const char *word = message_outcome_word(m, &out);
    size_t width = a->width > c->took ? a->width - c->took : 0;
    cells_begin_line(&u->cells, 0, width, u->ascii);
    draw_seq_and_time_cells(u, c, m);
    draw_direction_arrow(u, m);
    draw_field(u, cells_convert_out_style(out), slice_of(word), a->width >= 56 ? 12 : 8, DRAW_LEFT);
    draw_name_cells(u, m, CELLS_PLAIN);
    buf_clear(&u->scratch);
    message_notes_append(&u->scratch, m, false);
    if (u->scratch.n > 0) {
        cells_add_str(&u->cells, CELLS_NOTE, " [");
        cells_add_text(&u->cells, CELLS_NOTE, draw_get_scratch_text(u));
        cells_add_str(&u->cells, CELLS_NOTE, "]");
    }
    cells_add_blanks(&u->cells, 1);
    cells_add_text(&u->cells, CELLS_DIM, copy->preview);
    fill_or_cut_line_at_column(u, width);
    u->cells.width = a->width;
    if (query_message_ended_call(m))
        draw_duration(u, CELLS_PLAIN, m->t_us - m->request_t_us, c->took);
    return 0;
}

static void draw_event_cells(struct ui *u, const struct columns *c, const struct query_event *e)
{
    cells_add_str(&u->cells, CELLS_WAIT, choose_utf8_or_ascii(u, "\xE2\x80\xA2", "*"));
    cells_add_blanks(&u->cells, c->seq);
    if (c->time > 0)
        draw_time_field(u, e->t_us, c->time);
    cells_add_blanks(&u->cells, 1);
    cells_add_text(&u->cells, CELLS_WAIT, e->kind);
    cells_add_blanks(&u->cells, 1);
    buf_clear(&u->scratch);
    event_words_append_event(&u->scratch, e->kind, e->detail);
    cells_add_text(&u->cells, CELLS_DIM, draw_get_scratch_text(u));
}

static void draw_list_titles(struct ui *u, const struct area *a, const struct columns *c)
{
    bool calls = u->mode == LISTING_CALLS;
    size_t right = c->took + (calls ? c->status + 1 + c->bar : 0);
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    draw_field(u, CELLS_LABEL, slice_of("seq"), c->seq + calls, DRAW_RIGHT);
    draw_field(u, CELLS_LABEL, slice_of("time"), c->time, DRAW_RIGHT);
    cells_add_str(&u->cells, CELLS_LABEL, calls ? " call" : "   message");
    fill_or_cut_line_at_column(u, a->width > right ? a->width - right : 0);
    if (calls)
        draw_field(u, CELLS_LABEL, slice_of("status"), c->status, DRAW_RIGHT);
    draw_field(u, CELLS_LABEL, slice_of("took"), c->took, DRAW_RIGHT);
    draw_line(u, a, 1, SCREEN_NORMAL);
}

int draw_list(struct ui *u, const struct area *a)
{
    size_t n = list_count_rows(u), at = list_find_selected_row(u), height = a->height - LIST_HEAD;
    size_t top = cursor_compute_top_row(&u->list_cursor, n, at, height);
    struct columns c = choose_list_columns(u, a);
    size_t count = listing_count_rows(&u->listing);
    draw_caption(u, a, PANE_LIST, count > 0 ? "%s %zu/%zu%s%s%s" : "%s",
                 u->mode == LISTING_CALLS ? "calls" : "messages", list_count_calls_above(u, at + 1),
                 count, u->narrowed ? " that match" : "",
                 u->listing.first > 1 && (u->narrowed || u->mode == LISTING_CALLS) ? "+" : "",
                 u->list_cursor.follows && u->state == SESSION_LIVE ? ", following" : "");
    draw_list_titles(u, a, &c);
    if (n == 0)
        draw_empty_line(u, a, LIST_HEAD,
                        ui_get_chosen_session(u) == NULL ? ""
                        : u->listing.first > 1           ? " reading..."
                        : !u->narrowed                   ? " none yet"
                        : u->sessions.n > 0 && u->mode == LISTING_CALLS
                            ? " no call matches; m: messages"
                        : u->sessions.n > 0 || feed_has_all_sessions(u) ? " nothing matches"
                                                                        : " none here; reading...");
    for (size_t i = 0; i < height && top + i < n; i++) {
        struct list_row row = list_get_row_at(u, top + i);
        int st = 0;
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        if (row.event != NULL)
            draw_event_cells(u, &c, row.event);
        else if (u->mode == LISTING_CALLS)
            st = draw_call_cells(u, a, &c, &row.listed);
        else
            st = draw_message_cells(u, a, &c, row.listed.seq);
        if (st == MI_ENOENT)
            cells_add_str(&u->cells, CELLS_DIM, "  (not in the vault)");
        else if (st < 0)
            return st;
        draw_line_with_matches(u, a, LIST_HEAD + i,
                               choose_list_row_highlight(u, PANE_LIST, top + i == at));
    }
    return 0;
}
