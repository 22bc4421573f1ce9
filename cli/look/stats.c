/* stats.c - `mcp-interposer stats`: calls by tool, server, client, day or method. */
#include "cli/look/commands.h"

#include "base/log.h"
#include "cli/frame/filter.h"
#include "cli/frame/group_line.h"
#include "cli/frame/list_out.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "by", "tool|server|client|day|method", "tool", "what to group by"},
    {0, "sort", "calls|errors|timeouts|p50|p95|p99|max|bytes|last", NULL,
     "sort by this column, largest first; default: calls, or with --by day the newest day"},
    {'n', "limit", "N", "40", "number of lines; 0: all"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    FILTER_SESSION_OPT,
    {0, "imported", NULL, NULL, "count the calls of imported sessions, too"},
    {0, "sent", NULL, NULL, "count the calls of sessions that `send` made, too"},
    OPT_REQUESTS,
    {0, "tokens", NULL, NULL,
     "show the estimated tokens of the results; a central store has no token counts"},
    LIST_OPTS("group"),
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "CALLS are those of clients; with --by tool only those of tools. A call that took\n"
    "several requests counts once, with its whole duration; PERSON is the part of it\n"
    "in which people entered what a server asked for. --requests counts each request,\n"
    "and leaves PERSON out. ERRORS are calls that failed, were rejected or timed out,\n"
    "including TIMEOUTS. OPEN are calls that have not ended: they count in CALLS, but\n"
    "in no other column. The column OPEN is shown only if there are such calls.\n"
    "P50 is the time that half of the answered calls did not exceed; P95 and P99\n"
    "likewise. BYTES are requests and answers together; with --tokens, TOKENS are\n"
    "those of results, as in `cost`. LATENCY shows how many calls took up to 1, 3,\n"
    "10, 30, 100, 300 ms, 1, 3, 10 s, and longer.\n"
    "--since and --until select calls by their own time, not by their session's.\n";
/* clang-format on */

/* Prints the groups. again: the second count of count_groups(). */
static int print_call_groups(struct list_out *o, struct count *c, const struct count *again,
                             const char *sort, size_t limit)
{
    size_t n = limit > 0 ? size_min(limit, c->tally.n) : c->tally.n;
    struct group_line *l;
    int st = make_group_lines(c, again, sort, &l);
    if (st < 0)
        return st;
    for (size_t i = 0; i < n; i++) {
        l[i].utf8 = o->out.utf8;
        (void)list_out_add_row(o, &l[i]);
    }
    free(l);
    if (n < c->tally.n)
        buf_printf(&o->more, "%zu more lines are not shown; -n 0 lists all.", c->tally.n - n);
    return 0;
}

static int stats_count_calls(struct query *q, const struct settings *s)
{
    struct count c = {.by = count_parse_option_word(settings_get_text(s, "by")),
                      .imported = settings_is_on(s, "imported"),
                      .sent = settings_is_on(s, "sent"),
                      .tokens = settings_is_on(s, "tokens"),
                      .repeats_too = true,
                      .requests = settings_is_on(s, "requests") || settings_is_on(s, "json") ||
                                  settings_is_on(s, "csv")};
    struct count again = {0};
    struct list_out o;
    filter_read_from_options(&c.filter, s);
    int st = filter_find_session(&c.filter, s, q);
    if (st == 0)
        st = count_groups(&c, &again, q);
    struct show_list list = group_line_get_columns(&c);
    int status = list_out_open(&o, s, &list);
    if (st == 0 && status == EXIT_FINE)
        st = print_call_groups(&o, &c, &again, settings_get_text(s, "sort"),
                               (size_t)settings_get_number(s, "limit"));
    bool none = c.tally.n == 0 && o.form == LIST_TABLE;
    if (st == 0 && c.repeats > 0)
        log_warn("%lld call%s repeated an earlier call that may have run; %lld of them went to the "
                 "server; `mcp-interposer check -a` lists them as repeat-of-uncertain",
                 (long long)c.repeats, c.repeats == 1 ? "" : "s", (long long)c.repeats_forwarded);
    count_close(&again);
    count_close(&c);
    if (status != EXIT_FINE)
        return status;
    status = list_out_close(&o);
    if (st < 0)
        return session_report_query_error(q, st);
    if (none && c.left_out)
        log_warn(
            "no matching call, except in imported sessions and those of `send`; --imported and "
            "--sent count them");
    else if (none)
        session_warn_empty_list(q, "no matching call");
    return status;
}

static int stats_run(const struct settings *s)
{
    return session_run_command(s, stats_count_calls);
}

const struct command command_stats = {
    .name = "stats",
    .summary = "count calls by tool, server, client, day or method",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = stats_run,
};
