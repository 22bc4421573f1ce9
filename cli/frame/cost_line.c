#include "cli/frame/cost_line.h"

#include "base/os/sort.h"
#include "base/units.h"
#include "show/token_cell.h"

#include <stdlib.h>

#define BAR_WIDTH 12

static void append_cost_bar(struct buf *b, const void *row, struct cell v)
{
    const struct cost_tool_line *l = row;
    int64_t n =
        v.type == CELL_INT && l->most > 0 ? (v.number * BAR_WIDTH + l->most - 1) / l->most : 0;
    for (int64_t i = 0; i < n; i++)
        buf_adds(b, l->utf8 ? "\xE2\x96\x88" : "#");
}

static enum out_style cost_bar_style(const void *row)
{
    return ((const struct cost_tool_line *)row)->t.calls > 0 ? OUT_CYAN : OUT_YELLOW;
}

void cost_line_append_binaries(struct buf *b, const struct cost_binaries *x)
{
    if (x->n < 0)
        buf_addc(b, '-');
    else
        buf_printf(b, "%lld", (long long)x->n);
    if (x->n <= 0)
        return;
    buf_adds(b, ", ");
    units_show_size(b, x->size);
}

static void append_tool_binary_content(struct buf *b, const void *row, struct cell v)
{
    (void)v;
    cost_line_append_binaries(b, &((const struct cost_tool_line *)row)->t.binaries);
}

/* clang-format off */
#define RECORD struct cost_tool_line
static const struct show_column tool_columns[] = {
    {SHOW(server, TEXT, NO_TEXT), .json = true},
    {SHOW_AS("tool", t.name, TEXT, NOT_NULL), .json = true, .table = {"TOOL", 32, -12}, .style = OUT_BOLD},
    {SHOW_AS("definition_tokens", t.definition_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"DEFINITION", 12, 0}, .text = token_cell_append_or_dash},
    {SHOW_AS("bar", t.definition_tokens, TIME, MINUS_ONE), .when = COST_BAR, .table = {"", BAR_WIDTH, 3}, .text = append_cost_bar, .style_of = cost_bar_style},
    {SHOW_AS("calls", t.calls, NUMBER, NOT_NULL), .json = true, .table = {"CALLS", 12, 0}},
    {SHOW_AS("errors", t.errors, NUMBER, NOT_NULL), .json = true, .table = {"ERRORS", 12, 0}, .style = OUT_RED},
    {SHOW_AS("last_at_us", t.last_at_us, TIME, ZERO), .json = true, .table = {"LAST USE", 19, 4}, .style = OUT_DIM},
    {SHOW_AS("result_tokens_p50", t.p50, NUMBER, MINUS_ONE), .json = true, .table = {"RESULTS P50", 12, 1}, .text = token_cell_append_or_dash},
    {SHOW_AS("result_tokens_p95", t.p95, NUMBER, MINUS_ONE), .json = true, .table = {"P95", 8, 2}, .text = token_cell_append_or_dash},
    {SHOW_AS("result_tokens", t.result_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"TOTAL", 8, 2}, .text = token_cell_append_or_dash},
    {SHOW(t.binaries.n, NUMBER, MINUS_ONE), .when = COST_BINARIES, .table = {"BINARY", 16, 3}, .text = append_tool_binary_content},
    {SHOW_AS("uncounted", t.uncounted, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("result_binaries", t.binaries.n, NUMBER, MINUS_ONE), .json = true},
    {SHOW_AS("result_binary_bytes", t.binaries.size, SIZE, MINUS_ONE), .json = true},
    {SHOW_AS("uncounted_binaries", t.binaries.uncounted, NUMBER, NOT_NULL), .json = true},
};
/* clang-format on */
const struct show_list cost_tools = {SHOW_LIST("cost", tool_columns), .when = 0};

static int compare_tool_lines(const void *a, const void *b, void *ctx)
{
    const struct cost_tool_line *x = a, *y = b;
    (void)ctx;
    if (x->t.definition_tokens != y->t.definition_tokens)
        return x->t.definition_tokens < y->t.definition_tokens ? 1 : -1;
    return slice_cmp(x->t.name, y->t.name);
}

int cost_make_tool_lines(const struct cost_server *s, struct cost_tool_line **ret)
{
    int64_t most = 0;
    struct cost_tool_line *l = calloc(s->tool_n + 1, sizeof *l);
    if (l == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < s->tool_n; i++)
        most = s->tool[i].definition_tokens > most ? s->tool[i].definition_tokens : most;
    for (size_t i = 0; i < s->tool_n; i++)
        l[i] = (struct cost_tool_line){.server = s->server, .t = s->tool[i], .most = most};
    sort_array(l, s->tool_n, sizeof *l, compare_tool_lines, NULL);
    *ret = l;
    return 0;
}

void append_costs_not_in_table(struct buf *b, const struct cost_server *s)
{
    const struct {
        const char *name;
        int64_t tokens;
    } rest[] = {{"instructions", s->instruction_tokens},
                {"the list of prompts", s->prompt_tokens},
                {"the lists of resources", s->resource_tokens}};
    size_t n = 0;
    for (size_t i = 0; i < MI_COUNT(rest); i++) {
        if (rest[i].tokens <= 0)
            continue;
        buf_adds(b, n++ == 0 ? "Tokens that are not in the table: " : ", ");
        buf_printf(b, "%s ", rest[i].name);
        show_append_tokens(b, rest[i].tokens);
    }
    buf_adds(b, n > 0 ? "." : "");
}
