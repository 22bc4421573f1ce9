/* overview.c - the lines of a session's overview. */
#include "cli/ui/page.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/ui/gauge/gauge.h"

#include <stdio.h>

static void overview_draw_field(struct page *p, const char *label, struct slice value,
                                struct slice more)
{
    struct cells *c = &p->u->cells;
    if (value.n == 0)
        return;
    page_begin_line(p);
    cells_add_format(c, CELLS_LABEL, " %-9s ", label);
    cells_add_text(c, CELLS_PLAIN, value);
    if (more.n > 0) {
        cells_add_blanks(c, 1);
        cells_add_text(c, CELLS_DIM, more);
    }
    page_end_line(p);
}

struct tool_line {
    struct slice name, spark;
    int64_t calls, failed, p50_us, p95_us, max_us;
};

/* clang-format off */
#define RECORD struct tool_line
static const struct show_column tool_columns[] = {
    {SHOW(name, TEXT, NOT_NULL), .ui = {"tool or method", 1, 0}},
    {SHOW(calls, NUMBER, NOT_NULL), .ui = {"calls", 7, 0}},
    {SHOW(failed, NUMBER, NOT_NULL), .ui = {"failed", 7, 0}, .style = OUT_RED},
    {SHOW(p50_us, TOOK, MINUS_ONE), .ui = {"p50", 8, 0}},
    {SHOW(p95_us, TOOK, MINUS_ONE), .ui = {"p95", 8, 66}},
    {SHOW(max_us, TOOK, MINUS_ONE), .ui = {"max", 8, 66}},
    {SHOW(spark, TEXT, NOT_NULL), .ui = {"  last calls", 32, 90}},
};
/* clang-format on */
static const struct show_list tool_list = {SHOW_LIST(NULL, tool_columns)};

/* Draws the line of a tool. If t is NULL, draws the column titles. */
static void overview_draw_tool(struct page *p, struct slice name, const struct tool_figures *t)
{
    struct tool_line line;
    struct buf spark = {0};
    page_begin_line(p);
    cells_add_blanks(&p->u->cells, 1);
    if (t != NULL) {
        gauge_append_sparkline(&spark, t->recent_us, t->recent_n, 30, p->u->ascii);
        line = (struct tool_line){name,
                                  buf_slice(&spark),
                                  t->calls,
                                  t->failed,
                                  latency_percentile(&t->latency, 50),
                                  latency_percentile(&t->latency, 95),
                                  t->latency.n > 0 ? t->latency.most_us : -1};
    }
    draw_row_cells(p->u, &tool_list, t != NULL ? &line : NULL);
    buf_close(&spark);
    page_end_line(p);
}

static void overview_draw_session(struct page *p)
{
    struct ui *u = p->u;
    const struct query_session *s = ui_get_chosen_session(u);
    char started[CLOCK_TEXT_MAX], id[32];
    snprintf(id, sizeof id, "%lld", (long long)s->number);
    clock_write_local_time(s->started_at_us, started);
    overview_draw_field(p, "session", slice_of(id), s->uid);
    if (u->sessions.store != NULL)
        overview_draw_field(p, "host", s->host, (struct slice){0});
    overview_draw_field(p, "started", slice_of(started), (struct slice){0});
    struct buf text = {0};
    session_append_end_reason(&text, s, u->state);
    overview_draw_field(p, "end", buf_slice(&text), (struct slice){0});
    buf_close(&text);
    overview_draw_field(p, "server", s->server_name, s->server_version);
    overview_draw_field(p, "client", s->client_name, s->client_version);
    overview_draw_field(p, "protocol", s->protocol_version, (struct slice){0});
    overview_draw_field(p, "command", s->command, (struct slice){0});
    overview_draw_field(p, "directory", s->cwd, (struct slice){0});
    overview_draw_field(p, "recorded", s->record_level, (struct slice){0});
    overview_draw_field(p, "evidence", slice_of(session_evidence_name(s->evidence)),
                        (struct slice){0});
}

void overview_draw_page(struct page *p, const uint32_t *tool, size_t n)
{
    const struct figures *f = &p->u->listing.figures;
    p->line = 0;
    if (ui_get_chosen_session(p->u) == NULL)
        return;
    overview_draw_session(p);
    page_begin_line(p);
    page_end_line(p);
    if (n > 0)
        overview_draw_tool(p, (struct slice){0}, NULL);
    for (size_t i = 0; i < n; i++)
        overview_draw_tool(p, intern_get_text(&f->names, tool[i]), &f->tool[tool[i]]);
}

void draw_overview(struct ui *u, const struct area *a)
{
    size_t top = 0;
    struct page p = {.u = u, .area = a, .top = &top};
    uint32_t tool[FIGURES_TOOLS];
    overview_draw_page(&p, tool, figures_sort_tools(&u->listing.figures, tool, FIGURES_TOOLS));
}
