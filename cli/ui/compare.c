/* compare.c - shows the chosen session beside another recording, call by call. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/diff/result.h"
#include "cli/frame/recording.h"
#include "cli/settings/config.h"

#include <stdio.h>
#include <stdlib.h>

struct compare {
    /* owned; vault of the other recording; NULL if the other recording is in u->q or is a file */
    struct query *vault;
    /* owned; the two recordings that are compared: source[DIFF_A] is the other recording,
     * source[DIFF_B] is the chosen session */
    struct source *source[DIFF_SIDES];
    struct buf title[DIFF_SIDES]; /* owned */
    struct diff *diff;            /* owned */
    struct result result;         /* owned */
    struct result_counts counts;
    uint32_t *row;   /* owned; indexes of the rows that differ */
    size_t n, rows;  /* n: number of indexes in `row`; rows: number of all rows */
    uint32_t looked; /* number of rows that were compared */
    /* aligned: the calls of both recordings are aligned, so all rows are known; whole: all rows
     * were compared */
    bool aligned, whole;
    bool every; /* true: shows all rows; false: only rows that differ */
    struct cursor cursor;
    size_t at; /* index of the selected row, among the shown rows */
    /* ids of the two sessions in the vault u->q; 0: the session is in another vault or a file */
    int64_t session[DIFF_SIDES];
};

static void compare_close(struct ui *u)
{
    struct compare *c = u->compare;
    if (c == NULL)
        return;
    diff_close(c->diff);
    result_close(&c->result);
    for (int i = 0; i < DIFF_SIDES; i++) {
        source_close(c->source[i]);
        buf_close(&c->title[i]);
    }
    query_close(c->vault);
    free(c->row);
    free(c);
    u->compare = NULL;
}

static const struct view_ops compare_view;

/* ---- opening ---- */

static int compare_open_session(struct ui *u, struct query *q, const struct query_session *s,
                                enum diff_side side, struct buf *error)
{
    struct buf *title = &u->compare->title[side];
    /* the start time comes first, because the end of the title may be cut off */
    char started[CLOCK_TEXT_MAX];
    clock_write_local_time(s->started_at_us, started);
    buf_printf(title, "%lld  %s  ", (long long)s->number, started);
    buf_slice_add(title, s->name);
    u->compare->session[side] = q == u->q ? s->id : 0;
    return source_open_session(&u->compare->source[side], q, s, error);
}

/* Opens the other recording. If ref is "", opens the previous session of the same server. */
static int compare_open_other_recording(struct ui *u, const char *ref, struct buf *error)
{
    struct query_session s;
    struct query *q = u->q;
    struct buf name = {0};
    int st = 0;
    if (recording_is_file(ref)) {
        buf_adds(&u->compare->title[DIFF_A], ref);
        return source_open_cassette(&u->compare->source[DIFF_A], ref, error);
    }
    /* `ui` shows a recording file, which has only one session, so the other session is in the vault
     * of the settings */
    if (u->file != NULL) {
        char *path = settings_get_vault_path(u->settings);
        st = path != NULL ? query_open(&u->compare->vault, path, error) : MI_ENOMEM;
        free(path);
        if (st < 0)
            return st;
        q = u->compare->vault;
    }
    if (ref[0] != '\0') {
        st = query_session(q, ref, &s);
        if (st < 0)
            buf_adds(error, query_error(q));
    } else {
        buf_slice_add(&name, ui_get_chosen_session(u)->name);
        st = source_pick_session(
            q, buf_str(&name), u->file == NULL ? ui_get_chosen_session(u)->id : 0, NULL, &s, error);
        buf_close(&name);
    }
    return st == 0 ? compare_open_session(u, q, &s, DIFF_A, error) : st;
}

int compare_open_view(struct ui *u, const char *ref)
{
    static const struct diff_rules rules = {.canon = {.across = true}};
    struct buf error = {0};
    stack_close_view_and_above(u, &compare_view);
    u->compare = calloc(1, sizeof *u->compare);
    if (u->compare == NULL)
        return MI_ENOMEM;
    struct compare *c = u->compare;
    int st = compare_open_other_recording(u, ref, &error);
    if (st == 0)
        st = compare_open_session(u, u->q, ui_get_chosen_session(u), DIFF_B, &error);
    if (st == 0)
        st = diff_create(&c->diff, c->source[DIFF_A], c->source[DIFF_B], &rules);
    if (st < 0) {
        ui_say_error(u, "cannot compare: %s", error.n > 0 ? buf_str(&error) : "out of memory");
        compare_close(u);
    } else {
        stack_open(u, &compare_view);
    }
    buf_close(&error);
    return 0;
}

/* ---- reading ---- */

bool compare_is_incomplete(const struct ui *u)
{
    return u->compare != NULL && !u->compare->whole;
}

/* Compares the two calls of the next row that has not been compared yet. */
static int compare_calls_of_next_row(struct compare *c)
{
    c->whole = c->looked == c->rows;
    c->every = c->whole && c->n == 0;
    if (c->whole)
        return 0;
    int st = result_compare_row(&c->result, c->diff, c->looked);
    result_add_to_counts(&c->counts, &c->result);
    if (st == 0 && c->result.change != RESULT_SAME)
        c->row[c->n++] = c->looked;
    c->looked++;
    return st;
}

int compare_read_next_rows(struct ui *u)
{
    struct compare *c = u->compare;
    int64_t until_us = clock_mono_us() + STEP_US;
    int st = 0;
    while (st == 0 && !c->whole && clock_mono_us() < until_us) {
        if (c->aligned) {
            st = compare_calls_of_next_row(c);
            continue;
        }
        st = diff_load_or_align_calls(c->diff, &c->aligned);
        if (st == 0 && c->aligned) {
            c->rows = diff_count_rows(c->diff);
            c->row = calloc(c->rows + 1, sizeof *c->row);
            st = c->row != NULL ? 0 : MI_ENOMEM;
        }
    }
    u->stale = true;
    u->dirty |= c->whole;
    if (st < 0) {
        ui_say_error(u, "cannot compare: %s", diff_error(c->diff));
        stack_close_view_and_above(u, &compare_view);
    }
    return 0;
}

/* ---- keys ---- */

static size_t count_shown_rows(const struct compare *c)
{
    return !c->whole ? 0 : c->every ? c->rows : c->n;
}

static uint32_t compare_get_row_at(const struct compare *c, size_t at)
{
    return c->every ? (uint32_t)at : c->row[at];
}

/* Shows the call of the selected row. If only the other recording has the call, shows it in that
 * recording. */
static int compare_open_call(struct ui *u)
{
    struct compare *c = u->compare;
    struct align_row row = diff_get_row(c->diff, compare_get_row_at(c, c->at));
    enum diff_side side = row.b != ALIGN_NONE ? DIFF_B : DIFF_A;
    if (c->session[side] == 0) {
        ui_say(u, "only the other recording has this call");
        return 0;
    }
    return feed_open_call(
        u, c->session[side],
        (int64_t)diff_get_call(c->diff, side, side == DIFF_B ? row.b : row.a).seq);
}

static int compare_move_cursor(struct ui *u, enum motion m, int by)
{
    struct compare *c = u->compare;
    c->at = move_cursor(&c->cursor, count_shown_rows(c), c->at, m, by);
    return 0;
}

/* Searches the methods, tools and targets of the rows. */
static void compare_search_rows(struct ui *u, bool forward)
{
    struct compare *c = u->compare;
    struct line_seek s = {.forward = forward, .from = c->at};
    for (size_t i = 0; i < count_shown_rows(c); i++) {
        struct align_row row = diff_get_row(c->diff, compare_get_row_at(c, i));
        const uint32_t index[DIFF_SIDES] = {row.a, row.b};
        cells_begin_line(&u->cells, 0, LINE_SEEK_COLUMNS, u->ascii);
        for (enum diff_side side = 0; side < DIFF_SIDES; side++)
            if (index[side] != ALIGN_NONE) {
                struct diff_call call = diff_get_call(c->diff, side, index[side]);
                cells_add_text(&u->cells, CELLS_PLAIN, call.method);
                cells_add_blanks(&u->cells, 1);
                cells_add_text(&u->cells, CELLS_PLAIN, call.target);
                cells_add_blanks(&u->cells, 1);
            }
        line_search_test_line(u, &s, i);
    }
    size_t found = line_search_end(u, &s);
    c->at = found > 0 ? found - 1 : c->at;
}

static int compare_handle_action(struct ui *u, enum action x)
{
    struct compare *c = u->compare;
    if (x == ACTION_MODE && c->whole) {
        c->every = !c->every;
        c->at = 0;
    } else if (x == ACTION_OPEN && count_shown_rows(c) > 0) {
        return compare_open_call(u);
    } else if (x == ACTION_DIFF) {
        stack_close(u);
    } else {
        return VIEW_UNKNOWN;
    }
    return 0;
}

/* ---- drawing ---- */

static void draw_call_of_recording(struct ui *u, const struct result *r, enum diff_side side,
                                   size_t width)
{
    struct buf text = {0};
    const struct diff_call *call = &r->call[side];
    if (!r->has[side]) {
        cells_add_blanks(&u->cells, width);
        return;
    }
    bool tool = slice_is(call->method, "tools/call") && call->target.n > 0;
    buf_printf(&text, "%5llu ", (unsigned long long)call->seq);
    buf_slice_add(&text, tool ? call->target : call->method);
    if (!tool && call->target.n > 0) {
        buf_addc(&text, ' ');
        buf_slice_add(&text, call->target);
    }
    bool failed = call_status_failed(call->status);
    draw_field(u, failed ? CELLS_BAD : CELLS_PLAIN, buf_slice(&text), width > 21 ? width - 21 : 0,
               DRAW_LEFT);
    draw_field(u, failed ? CELLS_BAD : CELLS_DIM, slice_of(call_status_name(call->status)),
               width > 21 ? 12 : 0, DRAW_RIGHT);
    buf_clear(&text);
    if (call->took_us >= 0)
        units_show_duration(&text, call->took_us);
    draw_field(u, CELLS_PLAIN, buf_slice(&text), width > 21 ? 9 : width, DRAW_RIGHT);
    buf_close(&text);
}

static void draw_compare_row(struct ui *u, const struct result *r, size_t width)
{
    static const struct {
        const char *utf8, *ascii;
        enum cells_style style;
    } signs[RESULT_CHANGES] = {
        [RESULT_SAME] = {" ", " ", CELLS_DIM},
        [RESULT_CHANGED] = {"\xE2\x89\xA0", "!", CELLS_CHANGED},
        [RESULT_MOVED] = {"\xE2\x86\x95", "~", CELLS_WAIT},
        [RESULT_MISSING] = {"\xE2\x88\x92", "-", CELLS_REMOVED},
        [RESULT_ADDED] = {"+", "+", CELLS_ADDED},
    };
    size_t half = (width - 3) / 2;
    cells_begin_line(&u->cells, 0, width, u->ascii);
    draw_call_of_recording(u, r, DIFF_A, half);
    cells_add_blanks(&u->cells, 1);
    cells_add_str(&u->cells, signs[r->change].style,
                  u->ascii ? signs[r->change].ascii : signs[r->change].utf8);
    cells_add_blanks(&u->cells, 1);
    draw_call_of_recording(u, r, DIFF_B, half);
}

static void draw_value_line(struct ui *u, const struct area *a, size_t line, const struct result *r,
                            const struct result_difference *d, enum diff_side side)
{
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    cells_add_str(&u->cells, side == DIFF_A ? CELLS_REMOVED : CELLS_ADDED,
                  side == DIFF_A ? "   - " : "   + ");
    if (!d->value[side].exists) {
        cells_add_str(&u->cells, CELLS_DIM, "missing");
    } else {
        if (d->at > 0)
            cells_add_str(&u->cells, CELLS_DIM, "... ");
        cells_add_text(&u->cells, side == DIFF_A ? CELLS_REMOVED : CELLS_ADDED,
                       result_get_stored_text(r, d->value[side]));
        if (d->cut[side])
            cells_add_str(&u->cells, CELLS_DIM, " ...");
    }
    draw_line(u, a, line, SCREEN_NORMAL);
}

/* Draws the differences of the selected row: three lines for each difference. */
static void draw_differences(struct ui *u, const struct area *a, const struct result *r)
{
    size_t line = 1;
    if (!r->has[DIFF_A] || !r->has[DIFF_B]) {
        draw_caption(u, a, PANES, "%s: only the recording on the %s has this call",
                     result_name_of_change(r->change), r->has[DIFF_A] ? "left" : "right");
        return;
    }
    draw_caption(u, a, PANES, "%s, %llu difference%s", result_name_of_change(r->change),
                 (unsigned long long)r->look.differences, r->look.differences == 1 ? "" : "s");
    if (r->look.unread && line < a->height) {
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        cells_add_str(&u->cells, CELLS_WAIT,
                      " an answer was not recorded, so the answers were not compared");
        draw_line(u, a, line++, SCREEN_NORMAL);
    }
    for (size_t i = 0; i < r->listed && line + 2 < a->height; i++) {
        const struct result_difference *d = &r->difference[i];
        struct slice pointer = result_get_stored_text(r, d->pointer);
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        cells_add_format(&u->cells, CELLS_LABEL, " %s ", result_name_of_diff_part(d->part));
        cells_add_text(&u->cells, CELLS_KEY, pointer);
        draw_line(u, a, line++, SCREEN_NORMAL);
        draw_value_line(u, a, line++, r, d, DIFF_A);
        draw_value_line(u, a, line++, r, d, DIFF_B);
    }
}

static int draw_compare_rows(struct ui *u, const struct area *a)
{
    struct compare *c = u->compare;
    size_t n = count_shown_rows(c), top = cursor_compute_top_row(&c->cursor, n, c->at, a->height);
    for (size_t i = 0; i < a->height && top + i < n; i++) {
        int st = result_compare_row(&c->result, c->diff, compare_get_row_at(c, top + i));
        if (st < 0)
            return st;
        draw_compare_row(u, &c->result, a->width);
        draw_line_with_matches(u, a, i, top + i == c->at ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    return 0;
}

static int compare_draw_view(struct ui *u, const struct area *a)
{
    struct compare *c = u->compare;
    const uint64_t *n = c->counts.rows;
    size_t half = (a->width - 3) / 2, below = a->height / 3;
    struct area title = {a->x, a->y + 1, a->width, 1};
    struct area list = {a->x, a->y + 2, a->width, a->height - below - 2};
    struct area rest = {a->x, list.y + list.height, a->width, below};
    if (!c->whole) {
        draw_caption(u, a, u->focus, "compare: reading...");
        return 0;
    }
    draw_caption(u, a, u->focus,
                 "compare: %llu changed, %llu moved, %llu missing, %llu added, %llu the same%s",
                 (unsigned long long)n[RESULT_CHANGED], (unsigned long long)n[RESULT_MOVED],
                 (unsigned long long)n[RESULT_MISSING], (unsigned long long)n[RESULT_ADDED],
                 (unsigned long long)n[RESULT_SAME], c->every ? "" : " (m: all)");
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    draw_field(u, CELLS_LABEL, buf_slice(&c->title[DIFF_A]), half, DRAW_LEFT);
    cells_add_blanks(&u->cells, 3);
    draw_field(u, CELLS_LABEL, buf_slice(&c->title[DIFF_B]), half, DRAW_LEFT);
    draw_line(u, &title, 0, SCREEN_NORMAL);
    int st = draw_compare_rows(u, &list);
    if (st < 0 || count_shown_rows(c) == 0)
        return st;
    st = result_compare_row(&c->result, c->diff, compare_get_row_at(c, c->at));
    if (st == 0)
        draw_differences(u, &rest, &c->result);
    return st;
}

static const struct hint hints[] = {
    {ACTION_OPEN, "open the call"},
    {ACTION_MODE, "show only differences, or all"},
    {ACTION_NONE, NULL},
};

static const struct view_ops compare_view = {
    .draw = compare_draw_view,
    .move = compare_move_cursor,
    .key = compare_handle_action,
    .search = compare_search_rows,
    .close = compare_close,
    .hints = {hints},
};
