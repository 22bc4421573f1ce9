/* stats.c - the tool stats. */
#include "cli/mcp/rows.h"

#include "base/units.h"
#include "cli/frame/record_json.h"

/* "files" "read_file": calls 12, failed 1, timed out 0, p50 1.00ms, p95 … */
static void add_text(struct buf *b, const struct count *x, const struct tally_group *g)
{
    static const struct {
        const char *name;
        int percent;
    } percentiles[] = {{"p50", 50}, {"p95", 95}, {"p99", 99}, {"max", 100}};
    struct slice key = intern_text(&x->tally.keys, g->key);
    for (bool first = true; key.n > 0; first = false) {
        struct slice part = count_part(&key);
        buf_adds(b, first ? "" : " ");
        shown_quoted(b, part.n > 0 ? part : (struct slice){0}, SHOWN_NAME);
    }
    buf_printf(b, ": calls %lld, failed %lld, timed out %lld", (long long)g->calls,
               (long long)g->errors, (long long)g->timeouts);
    for (size_t i = 0; i < MI_COUNT(percentiles) && g->took_n > 0; i++) {
        buf_printf(b, ", %s ", percentiles[i].name);
        units_show_duration(b, tally_percentile(g, percentiles[i].percent));
    }
}

int tool_stats(struct tool_call *c)
{
    struct rows r;
    const char *by = tool_text(c, "by"), *sort = tool_text(c, "sort");
    struct count x = {
        .by = by != NULL ? count_by_of(by) : COUNT_TOOL,
        .imported = tool_flag(c, "imported"),
        .filter = c->filter,
        .goes_on = tool_goes_on,
        .ctx = c,
    };
    json_out_str(&c->j, "by", count_by_name(x.by));
    int st = rows_open(&r, c, "groups", ROWS_LIMIT);
    if (st < 0)
        return st;
    st = count_calls(&x, c->q);
    if (st == 0)
        st = tally_sort(&x.tally, sort != NULL        ? tally_order_of(sort)
                                  : x.by == COUNT_DAY ? TALLY_BY_KEY
                                                      : TALLY_BY_CALLS);
    bool more = st == 0;
    for (size_t i = (size_t)r.first.n; more && i < x.tally.n; i++) {
        if (rows_begin(&r, 1, (int64_t)i)) { /* not of one session */
            members_of_group(&c->j, &x, &x.tally.group[i]);
            add_text(&c->text, &x, &x.tally.group[i]);
        }
        more = rows_end(&r);
    }
    rows_close(&r, x.left_out
                       ? "No matching call, except in imported sessions (use imported), or in "
                         "those that send made"
                       : "No matching call is recorded");
    count_close(&x);
    return st;
}
