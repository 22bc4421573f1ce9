/* cost.c - how much of the context of a client's model the tools take: `mcp-interposer cost
 * [SERVER]`, and a view of `ui`. */
#include "cli/lists/list.h"

#include "base/log.h"
#include "cli/frame/cost_line.h"
#include "cli/frame/filter.h"
#include "cli/frame/list_out.h"
#include "cli/frame/session.h"
#include "show/token_cell.h"
#include "vault/query/tool_list.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    FILTER_OPTS,
    {0, "imported", NULL, NULL, "count imported sessions, too"},
    {0, "sent", NULL, NULL, "count sessions that `send` made, too"},
    LIST_OPTS("server, or with SERVER for each tool"),
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static void cost_append_binaries(struct buf *b, const void *row, struct cell v)
{
    (void)v;
    cost_line_append_binaries(b, &((const struct cost_server *)row)->binaries);
}

/* clang-format off */
#define RECORD struct cost_server
static const struct show_column columns[] = {
    {SHOW(server, TEXT, NO_TEXT), .json = true, .table = {"SERVER", 24, -8}, .ui = {"server", 1, 0}, .style = OUT_CYAN},
    {SHOW(sessions, NUMBER, NOT_NULL), .json = true, .table = {"SESSIONS", 10, 5}, .ui = {"sessions", 10, 100}},
    {SHOW(tools, NUMBER, MINUS_ONE), .json = true, .table = {"TOOLS", 8, 0}, .ui = {"tools", 6, 0}},
    {SHOW(used, NUMBER, MINUS_ONE), .json = true, .table = {"USED", 8, 0}, .ui = {"used", 5, 0}},
    {SHOW(definition_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"DEFINITIONS", 12, 0}, .ui = {"definitions", 13, 0}, .text = token_cell_append_or_dash, .style = OUT_BOLD},
    {SHOW(instruction_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"INSTRUCTIONS", 12, 6}, .text = token_cell_append_or_dash},
    {SHOW(prompt_tokens, NUMBER, MINUS_ONE), .json = true},
    {SHOW(resource_tokens, NUMBER, MINUS_ONE), .json = true},
    {SHOW(calls, NUMBER, NOT_NULL), .json = true, .table = {"CALLS", 12, 0}, .ui = {"calls", 8, 60}},
    {SHOW(errors, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("result_tokens_p50", p50, NUMBER, MINUS_ONE), .json = true, .table = {"RESULTS P50", 12, 1}, .text = token_cell_append_or_dash},
    {SHOW_AS("result_tokens_p95", p95, NUMBER, MINUS_ONE), .json = true, .table = {"P95", 8, 2}, .ui = {"results p95", 13, 84}, .text = token_cell_append_or_dash},
    {SHOW(result_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"TOTAL", 8, 3}, .ui = {"total", 8, 72}, .text = token_cell_append_or_dash},
    {SHOW(binaries.n, NUMBER, MINUS_ONE), .when = COST_BINARIES, .table = {"BINARY", 16, 4}, .text = cost_append_binaries},
    {SHOW(binaries.n, NUMBER, MINUS_ONE), .ui = {"binary", 15, 112}, .text = cost_append_binaries},
    {SHOW(uncounted, NUMBER, NOT_NULL), .json = true},
    {SHOW(never_used_tokens, NUMBER, MINUS_ONE), .json = true, .table = {"NEVER USED", 12, 0}, .ui = {"never used", 12, 48}, .text = token_cell_append_or_dash, .style = OUT_YELLOW},
    {SHOW(last_at_us, TIME, ZERO), .json = true},
    {SHOW_AS("result_binaries", binaries.n, NUMBER, MINUS_ONE), .json = true},
    {SHOW_AS("result_binary_bytes", binaries.size, SIZE, MINUS_ONE), .json = true},
    {SHOW_AS("uncounted_binaries", binaries.uncounted, NUMBER, NOT_NULL), .json = true},
};
/* clang-format on */

/* clang-format off */
static const char about[] =
    "Numbers marked with ~ are estimated tokens. DEFINITIONS is what a client passes\n"
    "to its model in every session: names, descriptions, schemas and annotations of\n"
    "all tools. USED is the number of tools that were called. NEVER USED is how many\n"
    "tokens the definitions of the other tools have. RESULTS are the texts of results\n"
    "of tools: half of them had at most P50 tokens, 95 % at most P95. Images, audio\n"
    "and blobs have no tokens: BINARY is their number and size, if there are any.\n"
    "SERVER is a name as `sessions` prints it: its tools are listed.\n"
    "--since and --until select calls by their own time.\n";
/* clang-format on */

static int cost_print_servers(const struct settings *s, const struct cost *c)
{
    struct list_out o;
    struct show_list list = list_cost.shown;
    for (size_t i = 0; i < c->n; i++)
        list.when |= c->list[i].binaries.n > 0 ? COST_BINARIES : 0;
    int status = list_out_open(&o, s, &list);
    for (size_t i = 0; status == EXIT_FINE && i < c->n; i++)
        if (!list_out_add_row(&o, &c->list[i]))
            break;
    return status == EXIT_FINE ? list_out_close(&o) : status;
}

static int cost_print_tools(const struct settings *s, const struct cost_server *server)
{
    struct list_out o;
    struct cost_tool_line *l = NULL;
    struct show_list list = cost_tools;
    list.when = COST_BAR | (server->binaries.n > 0 ? COST_BINARIES : 0);
    int status = list_out_open(&o, s, &list);
    if (status != EXIT_FINE)
        return status;
    int st = cost_make_tool_lines(server, &l);
    for (size_t i = 0; st == 0 && i < server->tool_n; i++) {
        l[i].utf8 = o.out.utf8;
        if (!list_out_add_row(&o, &l[i]))
            break;
    }
    free(l);
    append_costs_not_in_table(&o.more, server);
    status = list_out_close(&o);
    if (st == 0)
        return status;
    log_error("out of memory");
    return EXIT_TROUBLE;
}

/* Warns about definitions, results and binaries that the numbers do not include. */
static void cost_warn_of_uncounted_items(struct query *q, const struct cost *c)
{
    int64_t uncounted = 0, binaries = 0, calls = 0, unknown = 0;
    struct slice server = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct cost_server *s = &c->list[i];
        uncounted += s->uncounted;
        binaries += s->binaries.uncounted;
        calls += s->calls;
        unknown += s->tools < 0;
        server = s->tools < 0 ? s->server : server;
    }
    if (unknown > 0)
        log_warn("the definitions of server '%.*s'%s are not known: no complete list of tools is "
                 "among the "
                 "first %d messages of their newest %d matching sessions",
                 (int)server.n, server.p, unknown > 1 ? " and others" : "", TOOL_LIST_MESSAGES,
                 TOOL_LIST_SESSIONS);
    if (uncounted > 0)
        log_warn("the result tokens of %lld of %lld calls are not known: %s", (long long)uncounted,
                 (long long)calls,
                 query_is_store(q) ? "a central store has no token counts"
                                   : "an earlier version recorded these calls");
    else if (binaries > 0 && !query_is_store(q))
        log_warn(
            "images, audio and blobs are not counted in %lld of %lld calls: an earlier version "
            "recorded these calls",
            (long long)binaries, (long long)calls);
}

static int cost_print(struct query *q, const struct settings *s)
{
    struct cost c = {.server = s->operands_n > 0 ? s->operands[0] : NULL,
                     .imported = settings_is_on(s, "imported"),
                     .sent = settings_is_on(s, "sent")};
    filter_read_from_options(&c.filter, s);
    int st = cost_read_sessions(&c, q), status = EXIT_FINE;
    bool none = c.n == 0, left_out = c.left_out;
    if (st == 0 && none && c.server != NULL) {
        log_error(
            "no matching session of server '%s'%s; `mcp-interposer sessions` lists the servers",
            c.server, left_out ? ", except imported ones or those of `send`" : "");
        status = EXIT_TROUBLE;
    } else if (st == 0) {
        status = c.server != NULL ? cost_print_tools(s, &c.list[0]) : cost_print_servers(s, &c);
        cost_warn_of_uncounted_items(q, &c);
    }
    cost_close(&c);
    if (st < 0)
        return session_report_query_error(q, st);
    if (none && status == EXIT_FINE && left_out)
        log_warn("no matching session, except imported ones and those of `send`; --imported and "
                 "--sent count them");
    else if (none && status == EXIT_FINE && !settings_is_on(s, "json") && !settings_is_on(s, "csv"))
        session_warn_empty_list(q, "no matching session");
    return status;
}

static int cost_run(const struct settings *s)
{
    return session_run_command(s, cost_print);
}

/* Reads the rows for `ui`. */
static int read_cost_rows(struct list_reading *r)
{
    struct cost c = {.filter = FILTER_ANY};
    int st = cost_read_sessions(&c, r->q);
    for (size_t i = 0; st == 0 && i < c.n; i++)
        if (!r->row(r->ctx, &c.list[i]))
            break;
    cost_close(&c);
    return st;
}

const struct list list_cost = {
    .command = {.name = "cost",
                .summary = "show what tools cost the model's context",
                .usage = "[OPTIONS] [SERVER]",
                .about = about,
                .table = table_of_options,
                .operands_max = 1,
                .run = cost_run},
    .shown = {SHOW_LIST("cost", columns)},
    .one = "server, by the cost of its tools",
    .all = "servers, by the cost of their tools",
    .none = "no session is recorded",
    .read = read_cost_rows,
};
