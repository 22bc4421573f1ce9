/* hidden.c - checks of `doctor`: tools that a client called although a rule hides them from it
 * (docs/context.md).
 *
 * The check counts all calls of the last HIDDEN_DAYS days, except those of imported sessions.
 * Blocks    on the vault. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/text.h"
#include "vault/query/reader.h"

#define HIDDEN_DAYS 7
#define NAME_SHOWN 128 /* maximum number of bytes shown of a name or a rule */
#define NAMED_MAX 8    /* maximum number of tools reported by name */
#define DAY_US (INT64_C(86400) * 1000000)

struct hidden {
    struct doctor *d;
    size_t found; /* number of tools found so far */
};

/* Returns a copy of the text without control characters, shortened to NAME_SHOWN bytes. */
static struct buf copy_short_printable_name(struct slice text)
{
    struct buf b = {0};
    struct slice head = text_prefix(text, NAME_SHOWN);
    text_append_visible(&b, head);
    buf_adds(&b, head.n < text.n ? "…" : "");
    return b;
}

static bool doctor_on_hidden_tool(void *ctx, const struct cell *row, size_t n)
{
    struct hidden *h = ctx;
    struct buf server = copy_short_printable_name(row[0].text),
               tool = copy_short_printable_name(row[1].text),
               rule = copy_short_printable_name(row[3].text);
    struct buf remedy = {0};
    long long calls = row[2].number;
    (void)n;
    if (h->found++ < NAMED_MAX) {
        buf_printf(&remedy,
                   "to let clients call the tool, change the line of the rule in section [server "
                   "%s] of the configuration, or --tools, --hide-tools or --read-only before the "
                   "'--' in the command of this server: %s",
                   buf_str(&server), buf_str(&rule));
        doctor_report_fault(h->d, "tools", buf_str(&remedy),
                            "%s of %s: in the last %d days a client called this tool %lld time%s, "
                            "and a rule hides it",
                            buf_str(&tool), buf_str(&server), HIDDEN_DAYS, calls,
                            calls == 1 ? "" : "s");
    }
    buf_close(&server);
    buf_close(&tool);
    buf_close(&rule);
    buf_close(&remedy);
    return true;
}

void doctor_check_hidden_tools(struct doctor *d)
{
    /* if several rules hid the tool, the newest rule is named */
    static const char sql[] =
        "SELECT server, target, n, (SELECT tools_rule FROM sessions WHERE id = newest)"
        " FROM (SELECT server, target, count(*) AS n, max(session_id) AS newest FROM @calls x"
        " WHERE EXISTS (SELECT 1 FROM messages m WHERE m.id = (x.session_id << 36) + x.request_seq"
        " AND m.finding LIKE '%tool-hidden%') GROUP BY server, target) ORDER BY server, target";
    struct hidden h = {.d = d};
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f, .recorded = true, .around = sql};
    struct buf error = {0};
    struct query *q = NULL;
    f.since_us = clock_wall_us() - HIDDEN_DAYS * DAY_US;
    f.tool = "*";
    f.statuses = 1u << CALL_REFUSED;
    int st = query_open(&q, d->vault, &error);
    if (st == 0)
        st = query_read_calls_as_cells(q, &x, doctor_on_hidden_tool, &h);
    if (st == 0 && h.found > NAMED_MAX)
        doctor_report_fault(
            d, "tools", "mcp-interposer check lists the calls of these tools as tool-hidden",
            "%zu more tools that clients called are hidden by a rule", h.found - NAMED_MAX);
    if (st == 0 && h.found == 0)
        doctor_report_passed(d, "tools", "no client called a hidden tool in the last %d days",
                             HIDDEN_DAYS);
    /* an error of a query is not reported here: the check of the database reports it */
    query_close(q);
    buf_close(&error);
}
