/* draw.c - the picture: header, panes, footer. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/ui/gauge/gauge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- header ---- */

static void add_time(struct ui *u, const char *name, int64_t us)
{
    if (us < 0)
        return;
    buf_clear(&u->scratch);
    units_show_duration(&u->scratch, us);
    if (u->cells.column + strlen(name) + u->scratch.n + 3 > u->width) /* no half a number */
        return;
    cells_addf(&u->cells, CELLS_DIM, "  %s ", name);
    cells_adds(&u->cells, CELLS_PLAIN, buf_str(&u->scratch));
}

static void add_state(struct ui *u)
{
    const struct query_session *s = ui_session(u);
    bool live = u->state == SESSION_LIVE;
    buf_clear(&u->scratch);
    session_end_text(&u->scratch, s, u->state);
    cells_adds(&u->cells, CELLS_PLAIN, "  ");
    if (query_is_imported(s))
        cells_adds(&u->cells, CELLS_DIM, "imported");
    else
        cells_add(&u->cells,
                  live                       ? CELLS_GOOD
                  : u->state == SESSION_DIED ? CELLS_BAD
                                             : CELLS_DIM,
                  buf_slice(&u->scratch));
}

/* The chosen session: its state, its calls and how long they took. */
static void session_line(struct ui *u)
{
    const struct query_session *s = ui_session(u);
    const struct tool_figures *f = &u->listing.figures.all;
    cells_begin(&u->cells, 0, u->width, u->ascii);
    if (s == NULL) {
        cells_adds(&u->cells, CELLS_DIM, " no session");
        return;
    }
    cells_adds(&u->cells, CELLS_PLAIN, " ");
    cells_add(&u->cells, CELLS_TITLE, s->name);
    add_state(u);
    cells_addf(&u->cells, CELLS_PLAIN, "  %lld", (long long)f->calls);
    cells_adds(&u->cells, CELLS_DIM, f->calls == 1 ? " call" : " calls");
    if (f->failed > 0)
        cells_addf(&u->cells, CELLS_BAD, "  %lld failed", (long long)f->failed);
    if (f->open > 0)
        cells_addf(&u->cells, CELLS_WAIT, "  %lld %s", (long long)f->open,
                   u->state == SESSION_LIVE ? "open" : "unanswered");
    add_time(u, "p50", latency_percentile(&f->latency, 50));
    add_time(u, "p95", latency_percentile(&f->latency, 95));
    add_time(u, "p99", latency_percentile(&f->latency, 99));
    add_time(u, "max", f->latency.n > 0 ? f->latency.most_us : -1);
    if (u->listing.first > 1 && !u->listing_full)
        cells_addf(&u->cells, CELLS_DIM, "  reading %d%%",
                   (int)(100 - 100 * (u->listing.first - 1) / u->listing.last));
}

/* The path comes last: it may be cut. */
static void vault_line(struct ui *u)
{
    size_t live = sessions_live(&u->sessions);
    cells_begin(&u->cells, 0, u->width, u->ascii);
    cells_adds(&u->cells, CELLS_TITLE, " mcp-interposer");
    if (u->file == NULL)
        cells_addf(&u->cells, CELLS_DIM, "  %zu%s session%s", u->sessions.n,
                   u->sessions.complete ? "" : "+", u->sessions.n == 1 ? "" : "s");
    if (live > 0)
        cells_addf(&u->cells, CELLS_GOOD, "  %zu live", live);
    if (u->filtered) {
        cells_adds(&u->cells, CELLS_DIM, "  filter: ");
        cells_adds(&u->cells, CELLS_WAIT, u->filter);
    }
    cells_adds(&u->cells, CELLS_DIM, "  ");
    cells_adds(&u->cells, CELLS_DIM, u->file != NULL ? u->file : u->vault);
}

static void draw_header(struct ui *u)
{
    struct area a = {0, 0, u->width, 1};
    if (u->panes.header > 1) {
        vault_line(u);
        draw_line(u, &a, 0, SCREEN_HEADER);
    }
    session_line(u);
    draw_line(u, &a, u->panes.header - 1, SCREEN_HEADER);
}

/* ---- footer ---- */

static const char *question_of(enum asking what)
{
    switch (what) {
    case ASK_FILTER:
        return "filter: ";
    case ASK_SEARCH:
        return "/";
    case ASK_EXPORT_CALL:
        return "write the call to: ";
    case ASK_EXPORT:
        return "export to (.jsonl .html .md .csv): ";
    case ASK_DIFF:
        return "compare with (session or file; empty: the one before): ";
    case ASK_REPLACE:
        return "the file exists; replace it? (y/n) ";
    case ASK_NOTHING:
        break;
    }
    return "";
}

static void draw_prompt(struct ui *u, const struct area *a)
{
    struct slice typed = {u->prompt.text, u->prompt.n}, head = {u->prompt.text, u->prompt.at};
    cells_begin(&u->cells, 0, u->width, u->ascii);
    cells_adds(&u->cells, CELLS_LABEL, question_of(u->asking));
    size_t asked = u->cells.column, at = asked + cells_columns(head, u->ascii, 4 * PROMPT_MAX);
    size_t from = at >= u->width ? at - u->width + 1 : 0; /* a long line scrolls */
    cells_begin(&u->cells, from, u->width, u->ascii);
    cells_adds(&u->cells, CELLS_LABEL, question_of(u->asking));
    cells_add(&u->cells, CELLS_PLAIN, typed);
    draw_line(u, a, 0, SCREEN_NORMAL);
    screen_cursor(at - from, a->y);
}

/* Whether a key is worth a place in the footer of this pane. */
static bool is_useful(const struct ui *u, enum action x)
{
    bool list = u->focus != PANE_DETAIL;
    switch (x) {
    case ACTION_OPEN:
    case ACTION_MODE:
    case ACTION_NEXT_FAILED:
    case ACTION_EXPORT:
    case ACTION_DIFF:
        return list;
    case ACTION_SEND:
        return u->focus != PANE_SESSIONS;
    case ACTION_FOLD:
    case ACTION_COPY:
        return !list;
    default:
        return true;
    }
}

/* Only a whole one. */
static void add_hint(struct ui *u, const char *key, const char *what)
{
    if (u->cells.column + strlen(key) + strlen(what) + 3 > u->width)
        return;
    cells_addf(&u->cells, CELLS_FOLD, " %s", key);
    cells_addf(&u->cells, CELLS_DIM, " %s ", what);
}

static void draw_hints(struct ui *u, const struct area *a)
{
    const struct keys_row *r;
    cells_begin(&u->cells, 0, a->width, u->ascii);
    static const enum action first[] = {ACTION_HELP, ACTION_QUIT};
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; (r = keys_at(i)) != NULL; i++) {
            bool early = r->action == first[0] || r->action == first[1];
            if (r->hint == NULL || early != (pass == 0) || !is_useful(u, r->action))
                continue;
            char key[16];
            snprintf(key, sizeof key, "%.*s", (int)strcspn(r->names, " "), r->names);
            add_hint(u, key, r->hint);
        }
    }
    draw_line(u, a, 0, SCREEN_NORMAL);
}

static void draw_footer(struct ui *u)
{
    struct area a = {0, u->height - 1, u->width, 1};
    if (u->asking != ASK_NOTHING) {
        draw_prompt(u, &a);
    } else if (u->message.n > 0) {
        cells_begin(&u->cells, 0, u->width, u->ascii);
        cells_adds(&u->cells, CELLS_PLAIN, " ");
        cells_add(&u->cells, CELLS_PLAIN, buf_slice(&u->message));
        draw_line(u, &a, 0, u->alarm ? SCREEN_ALARM : SCREEN_NORMAL);
    } else if (u->beside.pair != NULL && !u->help) {
        beside_hints(u, &a);
    } else if (u->compare != NULL && !u->help) {
        static const char *const keys[] = {
            "?", "help", "Esc", "back", "Enter", "open the call", "m", "only differences, or all"};
        cells_begin(&u->cells, 0, u->width, u->ascii);
        for (size_t i = 0; i < MI_COUNT(keys); i += 2)
            add_hint(u, keys[i], keys[i + 1]);
        draw_line(u, &a, 0, SCREEN_NORMAL);
    } else {
        draw_hints(u, &a);
    }
}

/* ---- the whole ---- */

static int draw_panes(struct ui *u)
{
    int st = 0;
    const struct area *a = u->panes.pane;
    if (layout_shows(&u->panes, PANE_SESSIONS))
        st = draw_sessions(u, &a[PANE_SESSIONS]);
    if (st == 0 && layout_shows(&u->panes, PANE_LIST))
        st = draw_list(u, &a[PANE_LIST]);
    if (st == 0 && layout_shows(&u->panes, PANE_DETAIL))
        st = ui_shows_overview(u) ? draw_overview(u, &a[PANE_DETAIL])
                                  : draw_detail(u, &a[PANE_DETAIL]);
    for (int p = 0; p + 1 < PANES; p++)
        if (a[p].width > 0 && a[p + 1].width > 0 && a[p + 1].x > 0)
            screen_rule(a[p + 1].x - 1, a[p + 1].y, a[p + 1].height);
    return st;
}

int draw(struct ui *u)
{
    int st = 0;
    screen_size(&u->width, &u->height);
    layout_panes(&u->panes, u->width, u->height, u->focus, u->zoom);
    screen_clear();
    if (!u->panes.usable) {
        struct area a = {0, 0, u->width, 1};
        cells_begin(&u->cells, 0, u->width, u->ascii);
        cells_adds(&u->cells, CELLS_WAIT, "too small");
        draw_line(u, &a, 0, SCREEN_NORMAL);
        screen_show();
        return 0;
    }
    draw_header(u);
    struct area all = {0, u->panes.header, u->width, u->height - u->panes.header - 1};
    if (u->help)
        draw_help(u, &all);
    else if (u->beside.pair != NULL)
        beside_draw(u, &all);
    else if (u->compare != NULL)
        st = compare_draw(u, &all);
    else
        st = draw_panes(u);
    draw_footer(u);
    screen_show();
    return st < 0 ? st : u->cells.failed ? MI_ENOMEM : 0;
}
