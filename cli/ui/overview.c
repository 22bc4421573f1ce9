/* overview.c - views that are a page: the overview of a session, and the help. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/ui/gauge/gauge.h"

#include <stdio.h>

/* Lines are drawn from *top on. */
struct page {
    struct ui *u;
    const struct area *area;
    size_t *top;
    size_t line; /* the next one, from the first of the page */
};

static void begin(struct page *p)
{
    cells_begin(&p->u->cells, 0, p->area->width, p->u->ascii);
}

static void end(struct page *p)
{
    if (p->line >= *p->top && p->line - *p->top + 1 < p->area->height)
        draw_line(p->u, p->area, 1 + p->line - *p->top, SCREEN_NORMAL);
    p->line++;
}

/* Whether the page has to be drawn again, because fewer lines than a screen followed *top. It is the last full screen then. */
static bool ended_early(struct page *p)
{
    size_t height = p->area->height - 1, most = p->line > height ? p->line - height : 0;
    bool early = *p->top > most;
    if (early)
        *p->top = most;
    p->line = 0;
    return early;
}

static int move_page(struct ui *u, enum motion m, int by)
{
    move_top(&stack_top(u)->top, m, by, u->height > 6 ? u->height - 6 : 1);
    return 0;
}

static int no_key(struct ui *u, enum action x)
{
    (void)u, (void)x;
    return VIEW_UNKNOWN;
}

/* ---- overview ---- */

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
    end(p);
}

static const struct column tool_columns[] = {
    {"calls", 7, 0, COLUMN_NUMBER, CELLS_NUMBER},
    {"failed", 7, 0, COLUMN_NUMBER, CELLS_BAD},
    {"p50", 8, 0, COLUMN_DURATION, CELLS_PLAIN},
    {"p95", 8, 66, COLUMN_DURATION, CELLS_PLAIN},
    {"max", 8, 66, COLUMN_DURATION, CELLS_PLAIN},
    {"  last calls", 32, 90, COLUMN_TEXT, CELLS_NUMBER},
    {0},
};

/* t NULL: the titles. */
static void tool_line(struct page *p, struct slice name, const struct tool_figures *t)
{
    struct ui *u = p->u;
    struct buf spark = {0};
    begin(p);
    cells_blank(&u->cells, 1);
    if (t != NULL) {
        gauge_spark(&spark, t->recent_us, t->recent_n, 30, u->ascii);
        const struct column_value values[] = {
            {.n = t->calls},
            {.n = t->failed},
            {.n = latency_percentile(&t->latency, 50)},
            {.n = latency_percentile(&t->latency, 95)},
            {.n = t->latency.n > 0 ? t->latency.most_us : -1},
            {0, buf_slice(&spark), CELLS_NUMBER},
        };
        draw_columns(u, tool_columns, name, values);
    } else {
        draw_columns(u, tool_columns, slice_of("tool or method"), NULL);
    }
    buf_close(&spark);
    end(p);
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

void draw_overview(struct ui *u, const struct area *a, size_t *top)
{
    struct page p = {.u = u, .area = a, .top = top};
    uint32_t tool[FIGURES_TOOLS];
    if (ui_session(u) == NULL)
        return;
    size_t n = figures_sorted(&u->listing.figures, tool, FIGURES_TOOLS);
    do {
        session_fields(&p);
        begin(&p);
        end(&p);
        if (n > 0)
            tool_line(&p, (struct slice){0}, NULL);
        for (size_t i = 0; i < n; i++)
            tool_line(&p, intern_text(&u->listing.figures.names, tool[i]),
                      &u->listing.figures.tool[tool[i]]);
    } while (ended_early(&p));
}

static int draw_overview_view(struct ui *u, const struct area *a)
{
    draw_caption(u, a, u->focus, "overview");
    draw_overview(u, a, &stack_top(u)->top);
    return 0;
}

const struct view_ops overview_view = {
    .draw = draw_overview_view,
    .move = move_page,
    .key = no_key,
};

/* ---- help ---- */

static void help_lines(struct page *p)
{
    struct cells *c = &p->u->cells;
    const struct keys_row *r;
    for (size_t i = 0; (r = keys_at(i)) != NULL; i++) {
        if (r->action == ACTION_NONE && i > 0) {
            begin(p);
            end(p);
        }
        begin(p);
        if (r->action == ACTION_NONE) {
            cells_addf(c, CELLS_TITLE, " %s", r->names);
        } else {
            cells_addf(c, CELLS_FOLD, "   %-14s", r->names);
            cells_adds(c, CELLS_PLAIN, r->what);
        }
        end(p);
    }
}

static int draw_help(struct ui *u, const struct area *a)
{
    struct page p = {.u = u, .area = a, .top = &stack_top(u)->top};
    draw_caption(u, a, u->focus, "keys (? or Esc: back)");
    do
        help_lines(&p);
    while (ended_early(&p));
    return 0;
}

const struct view_ops help_view = {
    .draw = draw_help,
    .move = move_page,
    .key = no_key,
};
