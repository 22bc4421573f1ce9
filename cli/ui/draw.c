/* draw.c - draws the screen: header, panes, footer. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/ui/gauge/gauge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- header ---- */

static void ui_draw_add_time(struct ui *u, const char *name, int64_t us)
{
    struct units_text took = units_format_duration(us);
    /* If the time does not fit, nothing is drawn, because a part of a number would mislead. */
    if (us < 0 || u->cells.column + strlen(name) + strlen(took.s) + 3 > u->width)
        return;
    cells_add_format(&u->cells, CELLS_DIM, "  %s ", name);
    cells_add_str(&u->cells, CELLS_PLAIN, took.s);
}

static void draw_session_state(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    bool live = u->state == SESSION_LIVE;
    buf_clear(&u->scratch);
    session_append_end_reason(&u->scratch, s, u->state);
    cells_add_str(&u->cells, CELLS_PLAIN, "  ");
    if (query_session_is_imported(s))
        cells_add_str(&u->cells, CELLS_DIM, "imported");
    else
        cells_add_text(&u->cells,
                       live                       ? CELLS_GOOD
                       : u->state == SESSION_DIED ? CELLS_BAD
                                                  : CELLS_DIM,
                       draw_get_scratch_text(u));
}

/* Draws the chosen session: its state, its calls and the durations of the calls. */
static void draw_session_line(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    const struct tool_figures *f = &u->listing.figures.all;
    cells_begin_line(&u->cells, 0, u->width, u->ascii);
    if (s == NULL) {
        cells_add_str(&u->cells, CELLS_DIM, " no session");
        return;
    }
    cells_add_str(&u->cells, CELLS_PLAIN, " ");
    cells_add_text(&u->cells, CELLS_TITLE, s->name);
    draw_session_state(u);
    cells_add_format(&u->cells, CELLS_PLAIN, "  %lld", (long long)f->calls);
    cells_add_str(&u->cells, CELLS_DIM, f->calls == 1 ? " call" : " calls");
    if (f->failed > 0)
        cells_add_format(&u->cells, CELLS_BAD, "  %lld failed", (long long)f->failed);
    if (f->open > 0)
        cells_add_format(&u->cells, CELLS_WAIT, "  %lld %s", (long long)f->open,
                         u->state == SESSION_LIVE ? "open" : "unanswered");
    if (u->listing.figures.others > 0)
        cells_add_format(&u->cells, CELLS_DIM, "  %lld of the server",
                         (long long)u->listing.figures.others);
    if (u->listing.figures.others_failed > 0)
        cells_add_format(&u->cells, CELLS_BAD, ", %lld failed",
                         (long long)u->listing.figures.others_failed);
    ui_draw_add_time(u, "p50", latency_percentile(&f->latency, 50));
    ui_draw_add_time(u, "p95", latency_percentile(&f->latency, 95));
    ui_draw_add_time(u, "p99", latency_percentile(&f->latency, 99));
    ui_draw_add_time(u, "max", f->latency.n > 0 ? f->latency.most_us : -1);
    if (u->listing.first > 1 && !u->listing_full)
        cells_add_format(&u->cells, CELLS_DIM, "  reading %d%%",
                         (int)(100 - 100 * (u->listing.first - 1) / u->listing.last));
}

/* Draws the header line about the vault. The path of the vault comes last, because the path may be
 * cut. */
static void draw_vault_line(struct ui *u)
{
    size_t live = sessions_count_live(&u->sessions);
    cells_begin_line(&u->cells, 0, u->width, u->ascii);
    cells_add_str(&u->cells, CELLS_TITLE, " mcp-interposer");
    if (u->file == NULL)
        cells_add_format(&u->cells, CELLS_DIM, "  %zu%s session%s", u->sessions.n,
                         feed_has_all_sessions(u) ? "" : "+", u->sessions.n == 1 ? "" : "s");
    if (live > 0)
        cells_add_format(&u->cells, CELLS_GOOD, "  %zu live", live);
    if (u->problems_n > 0)
        cells_add_format(&u->cells, CELLS_BAD, "  %zu problem%s (!)", u->problems_n,
                         u->problems_n == 1 ? "" : "s");
    if (u->filtered) {
        cells_add_str(&u->cells, CELLS_DIM, "  filter: ");
        cells_add_str(&u->cells, CELLS_WAIT, u->filter);
    }
    cells_add_str(&u->cells, CELLS_DIM, "  ");
    cells_add_str(&u->cells, CELLS_DIM, u->file != NULL ? u->file : u->vault);
}

/* ---- footer ---- */

static const char *get_label_of_prompt(enum asking what)
{
    switch (what) {
    case ASK_FILTER:
        return "filter: ";
    case ASK_SEARCH:
        return "/";
    case ASK_GO:
        return ":";
    case ASK_EXPORT_CALL:
        return "write the call to: ";
    case ASK_EXPORT:
        return "export to (.jsonl .html .md .csv): ";
    case ASK_DIFF:
        return "compare with (session or file; empty: the previous one): ";
    case ASK_PIPE:
        return "| ";
    case ASK_REPLACE:
        return "the file exists; replace it? (y/n) ";
    case ASK_YES_NO: /* draw_prompt() draws the question */
    case ASK_NOTHING:
    case ASKINGS:
        break;
    }
    return "";
}

static void draw_prompt(struct ui *u, const struct area *a)
{
    const char *question =
        u->asking == ASK_YES_NO ? u->yes_no_question : get_label_of_prompt(u->asking);
    struct slice typed = {u->prompt.text, u->prompt.n}, head = {u->prompt.text, u->prompt.at};
    cells_begin_line(&u->cells, 0, u->width, u->ascii);
    cells_add_str(&u->cells, CELLS_LABEL, question);
    size_t asked = u->cells.column,
           at = asked + cells_count_text_columns(head, u->ascii, 4 * PROMPT_MAX);
    /* scrolls a line that is too long for the screen */
    size_t from = at >= u->width ? at - u->width + 1 : 0;
    cells_begin_line(&u->cells, from, u->width, u->ascii);
    cells_add_str(&u->cells, CELLS_LABEL, question);
    cells_add_text(&u->cells, u->prompt.proposed ? CELLS_DIM : CELLS_PLAIN, typed);
    draw_line(u, a, 0, SCREEN_NORMAL);
    screen_set_cursor(at - from, a->y);
}

/* Adds a hint to the footer, if there is room for all of it. */
static void add_key_hint_to_footer(struct ui *u, enum action x, const char *what)
{
    struct slice key = keys_get_name_of_action(x);
    if (u->cells.column + key.n + strlen(what) + 3 > u->width)
        return;
    if (u->hints_n < HINTS_MAX)
        u->hint[u->hints_n++] = (struct hint_place){u->cells.column, key.n + strlen(what) + 3, x};
    cells_add_blanks(&u->cells, 1);
    cells_add_text(&u->cells, CELLS_FOLD, key);
    cells_add_format(&u->cells, CELLS_DIM, " %s ", what);
}

static void draw_hints(struct ui *u, const struct area *a)
{
    const struct view_ops *v = stack_top(u)->view;
    const struct hint *h = v->hints[u->focus] != NULL ? v->hints[u->focus] : v->hints[0];
    bool first = u->layers_n == 1 && u->focus == PANE_SESSIONS;
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    add_key_hint_to_footer(u, ACTION_HELP, "help");
    add_key_hint_to_footer(u, ACTION_LEAVE, first ? "quit" : "back");
    for (; h != NULL && h->action != ACTION_NONE; h++)
        if (central_explain_unavailable(u, h->action) == NULL)
            add_key_hint_to_footer(u, h->action, h->text);
    draw_line(u, a, 0, SCREEN_NORMAL);
}

/* Draws the message directly above the last `below` lines of the screen. A long message takes
 * several lines. */
static void draw_message(struct ui *u, size_t below)
{
    size_t n = 0, next, most = u->height - 1 - below;
    for (struct slice rest = buf_slice(&u->message); rest.n > 0 && n < most; n++) {
        (void)cells_line_len(rest, u->ascii, u->width - 1, &next);
        rest = (struct slice){rest.p + next, rest.n - next};
    }
    struct slice rest = buf_slice(&u->message);
    struct area a = {0, u->height - below - n, u->width, 1};
    for (; n > 0; n--, a.y++) {
        cells_begin_line(&u->cells, 0, u->width, u->ascii);
        cells_add_blanks(&u->cells, 1);
        cells_add_text(&u->cells, CELLS_PLAIN,
                       (struct slice){rest.p, cells_line_len(rest, u->ascii, u->width - 1, &next)});
        draw_line(u, &a, 0, u->alarm ? SCREEN_ALARM : SCREEN_NORMAL);
        rest = (struct slice){rest.p + next, rest.n - next};
    }
}

/* ---- the whole screen ---- */

int draw_screen(struct ui *u)
{
    screen_get_size(&u->width, &u->height);
    layout_panes(&u->panes, u->width, u->height, u->focus, u->zoom);
    screen_clear();
    struct area header = {0, 0, u->width, 1}, footer = {0, u->height - 1, u->width, 1};
    if (!u->panes.usable) {
        cells_begin_line(&u->cells, 0, u->width, u->ascii);
        cells_add_str(&u->cells, CELLS_WAIT, "too small");
        draw_line(u, &header, 0, SCREEN_NORMAL);
        screen_show_changes();
        return 0;
    }
    if (u->panes.header > 1) {
        draw_vault_line(u);
        draw_line(u, &header, 0, SCREEN_HEADER);
    }
    draw_session_line(u);
    draw_line(u, &header, u->panes.header - 1, SCREEN_HEADER);
    struct area all = {0, u->panes.header, u->width, u->height - u->panes.header - 1};
    int st = stack_top(u)->view->draw(u, &all);
    if (st < 0)
        return st; /* after an error, the old picture stays on the screen */
    u->hints_n = 0;
    if (u->asking != ASK_NOTHING)
        draw_prompt(u, &footer);
    else if (u->message.n == 0)
        draw_hints(u, &footer);
    if (u->message.n > 0)
        draw_message(u, u->asking != ASK_NOTHING);
    screen_show_changes();
    return u->cells.failed ? MI_ENOMEM : 0;
}
