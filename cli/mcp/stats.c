/* stats.c - the tool stats. */
#include "cli/mcp/rows.h"

#include "base/clock.h"
#include "base/units.h"
#include "vault/query/count.h"

static bool goes_on(void *ctx)
{
    return tool_goes_on(ctx);
}

/* The key: server and tool, or one part. */
static void add_key(struct tool_call *c, const struct count *x, const struct tally_group *g)
{
    struct slice key = intern_text(&x->tally.keys, g->key);
    for (bool first = true; key.n > 0; first = false) {
        struct slice part = count_part(&key);
        bool server = first && x->by == COUNT_TOOL;
        if (part.n == 0)
            part = slice_of("-");
        shown_member(&c->j, server ? "server" : count_by_name(x->by), part, SHOWN_NAME);
        buf_adds(&c->text, first ? "" : " ");
        shown_quoted(&c->text, part, SHOWN_NAME);
    }
}

static void add_percentile(struct tool_call *c, const struct tally_group *g, int percent,
                           const char *member)
{
    int64_t us = tally_percentile(g, percent);
    shown_ms(&c->j, member, us);
    if (us < 0)
        return;
    buf_adds(&c->text, percent == 100 ? ", max " : ", p");
    if (percent < 100)
        buf_printf(&c->text, "%d ", percent);
    units_show_duration(&c->text, us);
}

static void add_row(struct tool_call *c, const struct count *x, const struct tally_group *g)
{
    add_key(c, x, g);
    json_out_int(&c->j, "calls", g->calls);
    json_out_int(&c->j, "failed", g->errors);
    json_out_int(&c->j, "timeouts", g->timeouts);
    json_out_int(&c->j, "cancelled", g->cancelled);
    json_out_int(&c->j, "interrupted", g->interrupted);
    json_out_int(&c->j, "open", g->open);
    buf_printf(&c->text, ": calls %lld, failed %lld, timed out %lld", (long long)g->calls,
               (long long)g->errors, (long long)g->timeouts);
    add_percentile(c, g, 50, "p50_ms");
    add_percentile(c, g, 95, "p95_ms");
    add_percentile(c, g, 99, "p99_ms");
    add_percentile(c, g, 100, "max_ms");
    json_out_int(&c->j, "request_bytes", g->request_bytes);
    json_out_int(&c->j, "answer_bytes", g->response_bytes);
    shown_time(&c->j, "first_at", g->first_at_us);
    shown_time(&c->j, "last_at", g->last_at_us);
}

int tool_stats(struct tool_call *c)
{
    struct rows r;
    const char *by = tool_text(c, "by");
    struct count x = {
        .by = by != NULL ? count_by_of(by) : COUNT_TOOL,
        .imported = tool_flag(c, "imported"),
        .filter = c->filter,
        .goes_on = goes_on,
        .ctx = c,
    };
    json_out_str(&c->j, "by", count_by_name(x.by));
    int st = rows_open(&r, c, "groups", ROWS_LIMIT);
    if (st < 0)
        return st;
    st = count_calls(&x, c->q);
    st = st == 0 ? tally_sort(&x.tally, x.by == COUNT_DAY ? TALLY_BY_KEY : TALLY_BY_CALLS) : st;
    bool more = st == 0;
    for (size_t i = (size_t)r.first.n; more && i < x.tally.n; i++) {
        if (rows_begin(&r, 1, (int64_t)i)) /* not of one session */
            add_row(c, &x, &x.tally.group[i]);
        more = rows_end(&r);
    }
    rows_close(&r, x.left_out
                       ? "No matching call, except in imported sessions (use imported), or in "
                         "those that send made"
                       : "No matching call is recorded");
    count_close(&x);
    return st;
}
