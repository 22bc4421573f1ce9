/* html_cost.c - a table with bars: how much of the model's context the tools of a session take. The
 * table needs no scripts, only markup and CSS. */
#include "cli/export/formats.h"

#include "base/grow.h"
#include "base/search.h"
#include "base/text.h"
#include "cli/frame/cost_line.h"
#include "model/context.h"
#include "show/token_cell.h"

#include <stdlib.h>

#define COST_ROWS 30                /* maximum number of tools shown */
#define BODY_MAX ((size_t)16 << 20) /* maximum bytes of a body whose tokens are counted */

/* ---- results -------------------------------------------------------------------------------- */

/* The results of the calls of a session, counted from the recorded bodies. The columns of the table
 * `calls` are not used: they count the text before it is redacted, and a central store does not
 * have them. */
struct html_results {
    struct export *x;
    struct html_result {
        int64_t seq; /* seq of the request */
        struct context_result result;
    } * list; /* the results; owned; sorted by seq when all results are known */
    size_t n, cap;
};

static bool html_cost_on_message(void *ctx, const struct query_message *m)
{
    struct html_results *r = ctx;
    struct export *x = r->x;
    const char *error;
    struct rpc rpc;
    if (m->direction != ROW_S2C || !query_message_ended_call(m) ||
        !context_counts_method_results(m->request_method))
        return true;
    bool fits = !m->is_large || (uint64_t)m->body_length <= BODY_MAX;
    struct slice body = fits ? export_read_body(x, m, BODY_MAX, &error) : (struct slice){0};
    if (x->status == 0 && !GROW(r->list, r->n, r->cap))
        x->status = MI_ENOMEM;
    if (x->status < 0)
        return false;
    bool counts = body.p != NULL && rpc_read(body, &rpc) == 0;
    r->list[r->n++] =
        (struct html_result){m->request_seq, counts ? context_result(&rpc) : CONTEXT_NO_RESULT};
    return true;
}

static int html_compare_results_by_seq(const void *a, const void *b)
{
    const struct html_result *x = a, *y = b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static struct context_result html_find_result(void *ctx, int64_t seq)
{
    const struct html_results *r = ctx;
    size_t at = SEARCH_INT64(r->list, r->n, seq, seq);
    return at < r->n && r->list[at].seq == seq ? r->list[at].result : CONTEXT_NO_RESULT;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Adds recorded text, escaped so that it contains no markup. */
static void html_add_escaped_text(struct buf *b, struct slice text)
{
    struct buf visible = {0};
    text_append_visible(&visible, text);
    for (size_t i = 0; i < visible.n; i++) {
        if (strchr("<>&\"'", visible.p[i]) != NULL)
            buf_printf(b, "&#%d;", visible.p[i]);
        else
            buf_addc(b, visible.p[i]);
    }
    b->failed |= visible.failed;
    buf_close(&visible);
}

/* Adds a number and its bar. */
static void html_add_bar(struct buf *b, int64_t tokens, int64_t most, const char *style)
{
    if (tokens < 0) {
        buf_adds(b, "<td class=\"num\">-</td><td></td>");
        return;
    }
    buf_adds(b, "<td class=\"num\">");
    show_append_tokens(b, tokens);
    buf_printf(b, "</td><td class=\"bar\"><i class=\"%s\" style=\"width:%d%%\"></i></td>", style,
               most > 0 ? (int)((double)tokens * 100 / (double)most + 0.5) : 0);
}

static void html_add_tool(struct buf *b, const struct cost_tool *t, int64_t most,
                          int64_t most_results, bool binaries)
{
    buf_adds(b, "<tr><th scope=\"row\">");
    html_add_escaped_text(b, text_prefix(t->name, 100));
    buf_adds(b, "</th>");
    html_add_bar(b, t->definition_tokens, most, t->calls > 0 ? "used" : "unused");
    buf_printf(b, "<td class=\"num\">%lld</td>", (long long)t->calls);
    html_add_bar(b, t->calls > 0 ? t->result_tokens : 0, most_results, "used");
    if (binaries) {
        buf_adds(b, "<td class=\"num\">");
        cost_line_append_binaries(b, &t->binaries);
        buf_adds(b, "</td>");
    }
    buf_adds(b, "</tr>\n");
}

static void html_add_sum(struct buf *b, const struct cost_server *s)
{
    buf_adds(b, "<p class=\"soft\">");
    if (s->tools >= 0) {
        buf_printf(b, "%lld tools: their definitions take ", (long long)s->tools);
        show_append_tokens(b, s->definition_tokens);
        buf_adds(b, " tokens; the definitions of tools that were not called take ");
        show_append_tokens(b, s->never_used_tokens);
        buf_adds(b, ". ");
    } else {
        buf_adds(b, "The session has no complete list of tools. ");
    }
    if (s->result_tokens >= 0) {
        buf_adds(b, "The texts of results take ");
        show_append_tokens(b, s->result_tokens);
        buf_adds(b, ". ");
    }
    buf_adds(b, "Numbers with ~ are estimates; they do not include images, audio and blobs.</p>\n");
}

static void html_add_table(struct buf *b, const struct cost_server *s,
                           const struct cost_tool_line *l)
{
    int64_t most_results = 0;
    bool binaries = s->binaries.n > 0;
    for (size_t i = 0; i < s->tool_n; i++)
        most_results = l[i].t.result_tokens > most_results ? l[i].t.result_tokens : most_results;
    buf_adds(
        b, "<section id=\"cost\">\n<h2>What the tools cost</h2>\n<table>\n<thead><tr><th>tool</th>"
           "<th colspan=\"2\">definition</th><th>calls</th><th colspan=\"2\">results</th>");
    buf_adds(b, binaries ? "<th>images, audio, blobs</th>" : "");
    buf_adds(b, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < s->tool_n && i < COST_ROWS; i++)
        html_add_tool(b, &l[i].t, l[i].most, most_results, binaries);
    buf_adds(b, "</tbody>\n</table>\n");
    if (s->tool_n > COST_ROWS)
        buf_printf(b, "<p class=\"soft\">%zu tools with smaller definitions are not shown.</p>\n",
                   s->tool_n - COST_ROWS);
    html_add_sum(b, s);
    buf_adds(b, "</section>");
}

int export_html_cost(struct export *x)
{
    struct html_results results = {.x = x};
    struct cost c = {.filter = FILTER_ANY,
                     .imported = true,
                     .sent = true,
                     .result = html_find_result,
                     .ctx = &results};
    struct cost_tool_line *l = NULL;
    c.filter.session_id = x->s->id;
    int st = export_read_rows(x, html_cost_on_message, NULL, &results);
    if (results.n > 0)
        qsort(results.list, results.n, sizeof *results.list, html_compare_results_by_seq);
    if (st == 0)
        st = cost_read_sessions(&c, x->q);
    if (st == 0 && c.n > 0 && c.list[0].tool_n > 0) {
        st = cost_make_tool_lines(&c.list[0], &l);
        if (st == 0)
            html_add_table(&x->b, &c.list[0], l);
    }
    free(l);
    free(results.list);
    cost_close(&c);
    return st;
}
