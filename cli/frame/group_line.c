#include "cli/frame/group_line.h"

#include "base/clock.h"
#include "base/os/sort.h"
#include "show/token_cell.h"

#include <stdlib.h>

static struct group_line group_line(const struct count *c, size_t i)
{
    const struct tally_group *g = &c->tally.group[i];
    struct group_line l = {.g = *g,
                           .key = intern_get_text(&c->tally.keys, g->key),
                           .p50_us = tally_compute_percentile(g, 50),
                           .p95_us = tally_compute_percentile(g, 95),
                           .p99_us = tally_compute_percentile(g, 99),
                           .max_us = tally_compute_percentile(g, 100),
                           .bytes = g->request_bytes + g->response_bytes,
                           .result_tokens = g->result_tokens};
    struct slice *const keys[COUNT_WAYS] = {[COUNT_TOOL] = &l.server,
                                            [COUNT_SERVER] = &l.server,
                                            [COUNT_CLIENT] = &l.client,
                                            [COUNT_DAY] = &l.day,
                                            [COUNT_METHOD] = &l.method};
    struct slice key = l.key;
    for (struct slice *to = keys[c->by]; key.n > 0; to = &l.tool) {
        struct slice part = count_take_key_part(&key);
        *to = part.n > 0 ? part : (struct slice){0};
    }
    return l;
}

static void append_local_date(struct buf *b, const void *row, struct cell at)
{
    (void)row;
    buf_add(b, clock_format_local_time(at.number).s, 10);
}

/* Draws one character for each bucket; its height is relative to the largest bucket. */
static void append_histogram(struct buf *b, const void *row, struct cell first)
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
    const struct group_line *l = row;
    int64_t most = 1;
    size_t n = 0; /* number of buckets, without empty buckets at the end */
    (void)first;
    for (size_t i = 0; i < TALLY_BUCKETS; i++) {
        most = l->g.bucket[i] > most ? l->g.bucket[i] : most;
        n = l->g.bucket[i] > 0 ? i + 1 : n;
    }
    for (size_t i = 0; i < n; i++) {
        size_t height = (size_t)((double)l->g.bucket[i] * 8. / (double)most + 0.5);
        if (height == 0 && l->g.bucket[i] > 0)
            height = 1;
        buf_adds(b, l->utf8 ? blocks[height] : ascii[height]);
    }
}

static void add_histogram_member(struct json_out *j, const char *name, const void *row)
{
    const struct group_line *l = row;
    json_out_array(j, name);
    for (size_t i = 0; i < TALLY_BUCKETS; i++) {
        json_out_array(j, NULL);
        if (tally_get_bucket_limit_us(i) != INT64_MAX)
            json_out_int(j, NULL, tally_get_bucket_limit_us(i));
        else
            json_out_null(j, NULL);
        json_out_int(j, NULL, l->g.bucket[i]);
        json_out_end(j);
    }
    json_out_end(j);
}

#define RECORD struct group_line
#define PERSON (1u << COUNT_WAYS)
#define CALLS (2u << COUNT_WAYS)
#define REQUESTS (4u << COUNT_WAYS)
#define OPEN (8u << COUNT_WAYS)
#define TOKENS (16u << COUNT_WAYS)
#define BY(what) .when = 1u << COUNT_##what
/* clang-format off */
static const struct show_column columns[] = {
    /* --by tool has two key columns, other groupings one. The columns about how calls ended are
     * never hidden. */
    {SHOW(server, TEXT, NO_TEXT), BY(TOOL), .json = true, .table = {"SERVER", 24, -8}, .style = OUT_CYAN},
    {SHOW(tool, TEXT, NO_TEXT), BY(TOOL), .json = true, .table = {"TOOL", 32, -16}, .style = OUT_BOLD},
    {SHOW(server, TEXT, NO_TEXT), BY(SERVER), .json = true, .table = {"SERVER", 40, -16}, .style = OUT_CYAN},
    {SHOW(client, TEXT, NO_TEXT), BY(CLIENT), .json = true, .table = {"CLIENT", 40, -16}, .style = OUT_CYAN},
    {SHOW(day, TEXT, NO_TEXT), BY(DAY), .json = true, .table = {"DAY", 10, 0}, .style = OUT_CYAN},
    {SHOW(method, TEXT, NO_TEXT), BY(METHOD), .json = true, .table = {"METHOD", 40, -16}, .style = OUT_CYAN},
    {SHOW_AS("calls", g.calls, NUMBER, NOT_NULL), .json = true},
    {SHOW(g.calls, NUMBER, NOT_NULL), .when = CALLS, .table = {"CALLS", 12, 0}},
    {SHOW(g.calls, NUMBER, NOT_NULL), .when = REQUESTS, .table = {"REQUESTS", 12, 0}},
    {SHOW_AS("errors", g.errors, NUMBER, NOT_NULL), .json = true, .table = {"ERRORS", 12, 0}, .style = OUT_RED},
    {SHOW_AS("timeouts", g.timeouts, NUMBER, NOT_NULL), .json = true, .table = {"TIMEOUTS", 12, 0}, .style = OUT_RED},
    {SHOW_AS("cancelled", g.cancelled, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("interrupted", g.interrupted, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("open", g.open, NUMBER, NOT_NULL), .json = true},
    {SHOW(g.open, NUMBER, NOT_NULL), .when = OPEN, .table = {"OPEN", 12, 3}},
    {SHOW(p50_us, TOOK, MINUS_ONE), .json = true, .table = {"P50", 10, 1}},
    {SHOW(p95_us, TOOK, MINUS_ONE), .json = true, .table = {"P95", 10, 2}},
    {SHOW(p99_us, TOOK, MINUS_ONE), .json = true, .table = {"P99", 10, 5}},
    {SHOW(max_us, TOOK, MINUS_ONE), .json = true, .table = {"MAX", 10, 4}},
    {SHOW(person_us, TOOK, ZERO), .when = PERSON, .table = {"PERSON", 10, 5}},
    {SHOW(bytes, SIZE, NOT_NULL), .table = {"BYTES", 10, 6}},
    {SHOW(result_tokens, NUMBER, MINUS_ONE), .when = TOKENS, .json = true, .table = {"TOKENS", 8, 9}, .text = token_cell_append_or_dash},
    {SHOW_AS("request_bytes", g.request_bytes, SIZE, NOT_NULL), .json = true},
    {SHOW_AS("response_bytes", g.response_bytes, SIZE, NOT_NULL), .json = true},
    {SHOW_AS("first_at_us", g.first_at_us, TIME, NOT_NULL), .json = true, .table = {"FIRST", 10, 8}, .text = append_local_date, .style = OUT_DIM},
    {SHOW_AS("last_at_us", g.last_at_us, TIME, NOT_NULL), .json = true, .table = {"LAST", 10, 7}, .text = append_local_date, .style = OUT_DIM},
    {SHOW_AS("latency", g.bucket, TIME, NOT_NULL), .json = true, .table = {"LATENCY", TALLY_BUCKETS, 3},
     .text = append_histogram, .value = add_histogram_member, .style = OUT_CYAN},
    {SHOW(operations, NUMBER, NOT_NULL), .json = true},
    {SHOW(server_us, TOOK, NOT_NULL), .json = true},
    {SHOW(person_us, TOOK, NOT_NULL), .json = true},
};
/* clang-format on */

struct show_list group_line_get_columns(const struct count *c)
{
    unsigned when = 1u << c->by | (c->requests ? REQUESTS : CALLS) | (c->tokens ? TOKENS : 0);
    for (size_t i = 0; i < c->tally.n; i++)
        when |= (!c->requests && c->tally.group[i].person_us > 0 ? PERSON : 0) |
                (c->tally.group[i].open > 0 ? OPEN : 0);
    return (struct show_list){SHOW_LIST("stats", columns), .when = when};
}

static int compare_lines(const void *a, const void *b, void *ctx)
{
    const struct record_field *by = ctx;
    const struct group_line *x = a, *y = b;
    int64_t first = field_get(by, x).number, second = field_get(by, y).number;
    if (field_is_text(by))
        return slice_cmp(y->key, x->key);
    if (first == second) {
        first = x->g.calls;
        second = y->g.calls;
    }
    return first != second ? (first < second ? 1 : -1) : slice_cmp(x->key, y->key);
}

int count_groups(struct count *c, struct count *again, struct query *q)
{
    *again = *c;
    again->requests = !c->requests;
    again->repeats_too = false;
    int st = count_calls(c, q);
    if (st == 0 && c->several)
        return count_calls(again, q);
    again->tally = (struct tally){0};
    return st;
}

static const struct tally_group *find_group_of_key(const struct count *c, struct slice key)
{
    uint32_t i;
    return intern_find(&c->tally.keys, key, &i) ? &c->tally.group[i] : NULL;
}

/* Adds the numbers of operations. Bytes and tokens remain the sums for all requests. */
static void add_operation_figures(struct group_line *l, const struct count *calls,
                                  const struct count *requests)
{
    const struct tally_group *g = find_group_of_key(calls, l->key),
                             *r = find_group_of_key(requests, l->key);
    if (r != NULL) {
        l->bytes = r->request_bytes + r->response_bytes;
        l->result_tokens = r->result_tokens;
    }
    if (g == NULL)
        return;
    l->operations = g->calls;
    l->server_us = g->server_us;
    l->person_us = g->person_us;
}

int make_group_lines(struct count *c, const struct count *again, const char *sort,
                     struct group_line **ret)
{
    const char *name = sort != NULL ? sort : c->by == COUNT_DAY ? "day" : "calls";
    const struct count *other = c->several ? again : c;
    const struct show_column *by = columns;
    size_t n = c->tally.n;
    struct group_line *l = calloc(n + 1, sizeof *l);
    if (l == NULL || tally_sort_durations(&c->tally) < 0) {
        free(l);
        return MI_ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        l[i] = group_line(c, i);
        add_operation_figures(&l[i], c->requests ? other : c, c->requests ? c : other);
    }
    while (strncmp(by->field.name, name, strlen(name)) != 0)
        by++; /* finds a column: the option allows only words with which a column name begins */
    sort_array(l, n, sizeof *l, compare_lines, (void *)(uintptr_t)&by->field);
    *ret = l;
    return 0;
}
