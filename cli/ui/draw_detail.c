/* draw_detail.c - the pane of one call or message, the overview of a session, and the help page. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/ui/gauge/gauge.h"

#include <stdio.h>

static void keep_in_view(struct shown *s, size_t height)
{
    if (s->at < s->top)
        s->top = s->at;
    else if (height > 0 && s->at >= s->top + height)
        s->top = s->at - height + 1;
}

int draw_detail(struct ui *u, const struct area *a)
{
    struct shown *s = &u->shown;
    size_t height = a->height - 1;
    bool exact = true;
    int st = show_selected(u, a->width);
    if (st < 0)
        return st;
    if (s->doc == NULL) {
        draw_caption(u, a, PANE_DETAIL, "detail");
        return 0;
    }
    size_t n = detail_lines(s->doc, &exact);
    if (exact && n > 0 && s->at >= n)
        s->at = n - 1;
    else if (s->at >= n)
        n = s->at + 1; /* the estimate was too low */
    keep_in_view(s, height);
    draw_caption(u, a, PANE_DETAIL, "%s %lld  %zu/%zu%s", s->subject.is_call ? "call" : "message",
                 (long long)s->seq, s->at + 1, n, exact ? "" : "+");
    for (size_t i = 0; i < height; i++) {
        bool selected = s->top + i == s->at && u->focus == PANE_DETAIL;
        if (!detail_line(s->doc, s->top + i, s->from, a->width, &u->cells))
            break;
        draw_line(u, a, 1 + i, selected ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    return 0;
}

/* ---- overview ---- */

/* Lines are drawn from overview_top on. */
struct page {
    struct ui *u;
    const struct area *area;
    size_t line; /* the next one, from the first of the page */
};

static void begin(struct page *p)
{
    cells_begin(&p->u->cells, 0, p->area->width, p->u->ascii);
}

static void end(struct page *p, size_t top)
{
    if (p->line >= top && p->line - top + 1 < p->area->height)
        draw_line(p->u, p->area, 1 + p->line - top, SCREEN_NORMAL);
    p->line++;
}

/* Whether the page has to be drawn again, because fewer lines than a screen followed *top. It is the last full screen then. */
static bool ended_early(const struct page *p, size_t *top)
{
    size_t height = p->area->height - 1, most = p->line > height ? p->line - height : 0;
    bool early = *top > most;
    if (early)
        *top = most;
    return early;
}

static void field(struct page *p, const char *label, struct slice value, struct slice more)
{
    struct cells *c = &p->u->cells;
    if (value.n == 0)
        return;
    begin(p);
    cells_addf(c, CELLS_LABEL, " %-9s ", label);
    cells_add(c, CELLS_PLAIN, value);
    if (more.n > 0) {
        cells_blank(c, 1);
        cells_add(c, CELLS_DIM, more);
    }
    end(p, p->u->overview_top);
}

static void time_cell(struct ui *u, int64_t us, size_t width)
{
    buf_clear(&u->scratch);
    if (us >= 0)
        units_show_duration(&u->scratch, us);
    else
        buf_addc(&u->scratch, '-');
    draw_field(u, CELLS_PLAIN, buf_slice(&u->scratch), width, DRAW_RIGHT);
}

static void number_cell(struct ui *u, enum cells_style style, int64_t n, size_t width)
{
    buf_clear(&u->scratch);
    buf_int(&u->scratch, n);
    draw_field(u, n > 0 ? style : CELLS_DIM, buf_slice(&u->scratch), width, DRAW_RIGHT);
}

static void spark_cell(struct ui *u, const struct tool_figures *t, size_t width)
{
    buf_clear(&u->scratch);
    gauge_spark(&u->scratch, t->recent_us, t->recent_n, width, u->ascii);
    cells_add(&u->cells, CELLS_NUMBER, buf_slice(&u->scratch));
}

static void tool_line(struct page *p, const char *title, struct slice name,
                      const struct tool_figures *t)
{
    struct ui *u = p->u;
    size_t width = p->area->width, spark = width >= 90 ? 32 : width >= 60 ? 16 : 8;
    bool wide = width >= 66;
    size_t numbers = (wide ? 39U : 23U) + spark;
    begin(p);
    cells_blank(&u->cells, 1);
    draw_field(u, title != NULL ? CELLS_LABEL : CELLS_PLAIN, title != NULL ? slice_of(title) : name,
               width > numbers + 2 ? width - numbers - 2 : 4, DRAW_LEFT);
    if (title != NULL) {
        static const char *const titles[] = {"calls", "failed", "p50", "p95", "max"};
        for (size_t i = 0; i < (wide ? 5 : 3); i++)
            draw_field(u, CELLS_LABEL, slice_of(titles[i]), i < 2 ? 7 : 8, DRAW_RIGHT);
        cells_adds(&u->cells, CELLS_LABEL, " last calls");
    } else {
        number_cell(u, CELLS_NUMBER, t->calls, 7);
        number_cell(u, CELLS_BAD, t->failed, 7);
        time_cell(u, latency_percentile(&t->latency, 50), 8);
        if (wide) {
            time_cell(u, latency_percentile(&t->latency, 95), 8);
            time_cell(u, t->latency.n > 0 ? t->latency.most_us : -1, 8);
        }
        cells_blank(&u->cells, 1);
        spark_cell(u, t, spark);
    }
    end(p, u->overview_top);
}

static void session_fields(struct page *p)
{
    struct ui *u = p->u;
    const struct query_session *s = ui_session(u);
    char started[CLOCK_TEXT_MAX], id[32];
    snprintf(id, sizeof id, "%lld", (long long)s->id);
    clock_local_text(s->started_at_us, started);
    field(p, "session", slice_of(id), s->uid);
    field(p, "started", slice_of(started), (struct slice){0});
    struct buf text = {0};
    session_end_text(&text, s, u->state);
    field(p, "end", buf_slice(&text), (struct slice){0});
    buf_close(&text);
    field(p, "server", s->server_name, s->server_version);
    field(p, "client", s->client_name, s->client_version);
    field(p, "protocol", s->protocol_version, (struct slice){0});
    field(p, "command", s->command, (struct slice){0});
    field(p, "directory", s->cwd, (struct slice){0});
    field(p, "recorded", s->record_level, (struct slice){0});
    field(p, "evidence", slice_of(session_evidence_name(s->evidence)), (struct slice){0});
}

int draw_overview(struct ui *u, const struct area *a)
{
    struct page p = {.u = u, .area = a};
    uint32_t tool[FIGURES_TOOLS];
    draw_caption(u, a, PANE_DETAIL, "overview");
    if (ui_session(u) == NULL)
        return 0;
    size_t n = figures_sorted(&u->listing.figures, tool, FIGURES_TOOLS);
    do {
        p.line = 0;
        session_fields(&p);
        begin(&p);
        end(&p, u->overview_top);
        if (n > 0)
            tool_line(&p, "tool or method", (struct slice){0}, NULL);
        for (size_t i = 0; i < n; i++)
            tool_line(&p, NULL, intern_text(&u->listing.figures.names, tool[i]),
                      &u->listing.figures.tool[tool[i]]);
    } while (ended_early(&p, &u->overview_top));
    return 0;
}

/* ---- help ---- */

static void help_lines(struct page *p, size_t top)
{
    struct cells *c = &p->u->cells;
    const struct keys_row *r;
    for (size_t i = 0; (r = keys_at(i)) != NULL; i++) {
        if (r->action == ACTION_NONE && i > 0) {
            begin(p);
            end(p, top);
        }
        begin(p);
        if (r->action == ACTION_NONE)
            cells_addf(c, CELLS_TITLE, " %s", r->names);
        else {
            cells_addf(c, CELLS_FOLD, "   %-14s", r->names);
            cells_adds(c, CELLS_PLAIN, r->what);
        }
        end(p, top);
    }
}

void draw_help(struct ui *u, const struct area *a)
{
    struct page p = {.u = u, .area = a};
    draw_caption(u, a, u->focus, "keys (? or Esc: back)");
    do {
        p.line = 0;
        help_lines(&p, u->help_top);
    } while (ended_early(&p, &u->help_top));
}
