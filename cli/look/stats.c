/* stats.c - `mcp-interposer stats`: calls by tool, server, client, day or method. */
#include "cli/look/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/filter.h"
#include "cli/frame/record_json.h"
#include "cli/frame/session.h"
#include "cli/frame/table.h"
#include "cli/settings/config.h"
#include "vault/query/count.h"

static const struct opt table_of_options[] = {
    {0, "by", "tool|server|client|day|method", "tool", "what to group by"},
    {0, "sort", "calls|errors|timeouts|p50|p95|p99|max|bytes|last", NULL,
     "what the first lines have most of; calls, or with --by day the newest days, by default"},
    {'n', "limit", "N", "40", "number of lines; 0: all"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    FILTER_SESSION_OPT,
    {0, "imported", NULL, NULL, "count the calls of imported sessions, too"},
    {0, "sent", NULL, NULL, "count the calls of sessions that `send` made, too"},
    {0, "json", NULL, NULL, "print one JSON object per line for each group"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "CALLS are requests of clients; with --by tool only calls of tools. ERRORS are\n"
    "those that failed, were rejected or timed out, including TIMEOUTS. P50 is the\n"
    "time that half of the answered calls did not exceed; P95 and P99 likewise. BYTES\n"
    "are requests and answers together. LATENCY shows how many took up to 1, 3, 10,\n"
    "30, 100, 300 ms, 1, 3, 10 s, and longer.\n"
    "--since and --until select calls by their own time, not by their session's.\n";
/* clang-format on */

/* --by tool has two key columns, the others have one. How calls ended is shown on any terminal. */
#define NUMBER_COLUMNS                                                                             \
    {"CALLS", true, 12, 0}, {"ERRORS", true, 12, 0}, {"TIMEOUTS", true, 12, 0},                    \
        {"P50", true, 10, 1}, {"P95", true, 10, 2}, {"P99", true, 10, 5}, {"MAX", true, 10, 4},    \
        {"BYTES", true, 10, 6}, {"FIRST", false, 10, 8}, {"LAST", false, 10, 7},                   \
    {                                                                                              \
        "LATENCY", false, TALLY_BUCKETS, 3                                                         \
    }
static const struct table_column tool_columns[] = {
    {"SERVER", false, 24, -8}, {"TOOL", false, 32, -16}, NUMBER_COLUMNS};
static const struct table_column key_columns[][1 + 11] = {
    [COUNT_TOOL] = {{0}},
    [COUNT_SERVER] = {{"SERVER", false, 40, -16}, NUMBER_COLUMNS},
    [COUNT_CLIENT] = {{"CLIENT", false, 40, -16}, NUMBER_COLUMNS},
    [COUNT_DAY] = {{"DAY", false, 10, 0}, NUMBER_COLUMNS},
    [COUNT_METHOD] = {{"METHOD", false, 40, -16}, NUMBER_COLUMNS},
};

struct stats {
    struct count count;
    enum tally_order order;
    struct buf key; /* owned; scratch for cells */
    struct out out;
    struct table table;
};

/* ---- printing ---- */

static void add_day(struct table *t, int64_t at_us)
{
    table_add(t, (struct slice){clock_local(at_us).s, 10}, OUT_DIM);
}

/* One character per bucket; its height is relative to the largest bucket. */
static void add_histogram(struct stats *c, const struct tally_group *g)
{
    static const char *const blocks[] = {" ",
                                         "\xE2\x96\x81",
                                         "\xE2\x96\x82",
                                         "\xE2\x96\x83",
                                         "\xE2\x96\x84",
                                         "\xE2\x96\x85",
                                         "\xE2\x96\x86",
                                         "\xE2\x96\x87",
                                         "\xE2\x96\x88"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    int64_t most = 1;
    size_t n = 0; /* without trailing empty buckets */
    for (size_t i = 0; i < TALLY_BUCKETS; i++) {
        most = g->bucket[i] > most ? g->bucket[i] : most;
        n = g->bucket[i] > 0 ? i + 1 : n;
    }
    for (size_t i = 0; i < n; i++) {
        size_t height = (size_t)((double)g->bucket[i] * 8. / (double)most + 0.5);
        if (height == 0 && g->bucket[i] > 0)
            height = 1;
        buf_adds(&c->key, c->out.utf8 ? blocks[height] : ascii[height]);
    }
    table_add_buf(&c->table, &c->key, OUT_CYAN);
}

static void add_row(struct stats *c, const struct tally_group *g)
{
    struct table *t = &c->table;
    struct slice key = intern_text(&c->count.tally.keys, g->key);
    for (bool first = true; key.n > 0; first = false) {
        struct slice part = count_part(&key);
        table_add(t, part.n > 0 ? part : slice_of("-"), first ? OUT_CYAN : OUT_BOLD);
    }
    table_add_int(t, g->calls, OUT_PLAIN);
    table_add_int(t, g->errors, g->errors > 0 ? OUT_RED : OUT_PLAIN);
    table_add_int(t, g->timeouts, g->timeouts > 0 ? OUT_RED : OUT_PLAIN);
    table_add_duration(t, tally_percentile(g, 50));
    table_add_duration(t, tally_percentile(g, 95));
    table_add_duration(t, tally_percentile(g, 99));
    table_add_duration(t, tally_percentile(g, 100));
    table_add_size(t, g->request_bytes + g->response_bytes);
    add_day(t, g->first_at_us);
    add_day(t, g->last_at_us);
    add_histogram(c, g);
}

static void json_row(struct stats *c, const struct tally_group *g)
{
    struct json_out j = json_out_to(&c->out.b);
    json_out_object(&j, NULL);
    members_of_group(&j, &c->count, g);
    json_out_end(&j);
    out_end_line(&c->out);
}

static int print(struct stats *c, size_t limit, bool json)
{
    size_t n = limit > 0 ? size_min(limit, c->count.tally.n) : c->count.tally.n;
    buf_clear(&c->key);
    if (tally_sort(&c->count.tally, c->order) < 0)
        return MI_ENOMEM;
    if (c->count.by == COUNT_TOOL)
        table_open(&c->table, tool_columns, MI_COUNT(tool_columns));
    else
        table_open(&c->table, key_columns[c->count.by], MI_COUNT(key_columns[c->count.by]));
    for (size_t i = 0; i < n; i++) {
        if (json)
            json_row(c, &c->count.tally.group[i]);
        else
            add_row(c, &c->count.tally.group[i]);
    }
    bool ok = json || n == 0 || table_print(&c->table, &c->out);
    if (ok && !json && n < c->count.tally.n && c->out.is_terminal) {
        out_style(&c->out, OUT_DIM);
        out_printf(&c->out, "%zu more are not shown; -n 0 lists all.", c->count.tally.n - n);
        out_style(&c->out, OUT_PLAIN);
        out_end_line(&c->out);
    }
    table_close(&c->table);
    return ok ? 0 : MI_ENOMEM;
}

static int count(struct query *q, const struct settings *s)
{
    struct stats c = {.count.by = count_by_of(settings_text(s, "by")),
                      .count.imported = settings_on(s, "imported"),
                      .count.sent = settings_on(s, "sent")};
    const char *sort = settings_text(s, "sort");
    bool json = settings_on(s, "json");
    c.order = sort != NULL              ? tally_order_of(sort)
              : c.count.by == COUNT_DAY ? TALLY_BY_KEY
                                        : TALLY_BY_CALLS;
    filter_read(&c.count.filter, s);
    out_open(&c.out);
    int st = filter_find_session(&c.count.filter, s, q);
    if (st == 0)
        st = count_calls(&c.count, q);
    bool none = c.count.tally.n == 0;
    if (st == 0)
        st = print(&c, (size_t)settings_number(s, "limit"), json);
    count_close(&c.count);
    buf_close(&c.key);
    int status = out_close(&c.out);
    if (st < 0)
        return session_fail(q, st);
    if (none && !json && c.count.left_out)
        log_warn(
            "no matching call, except in imported sessions and those of `send`; --imported and "
            "--sent count them");
    else if (none && !json)
        session_none(q, "no matching call");
    return status;
}

static int run(const struct settings *s)
{
    return session_command(s, count);
}

const struct command command_stats = {
    .name = "stats",
    .summary = "count calls by tool, server, client, day or method",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
