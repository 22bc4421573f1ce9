/* slow.c - checks of `doctor`: tools whose calls took more than two thirds of their deadline, or
 * reached it.
 *
 * The check reads all calls of the last SLOW_DAYS days, except those of imported sessions. It
 * ignores calls that were answered after their deadline: they reported progress, or had another
 * deadline.
 *
 * Blocks    on the vault. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/doctor/deadline_rules.h"
#include "vault/query/reader.h"

#define SLOW_DAYS 7
#define NAME_SHOWN 128 /* maximum number of bytes shown of a name */
#define NAMED_MAX 8    /* maximum number of tools reported by name */
#define DAY_US (INT64_C(86400) * 1000000)

/* State of the check. The calls are sorted by tool; most members are about the current tool. */
struct slow {
    struct doctor *d;
    const struct rules *rules;
    struct buf server, tool; /* owned */
    int64_t deadline_us;
    int64_t longest_us; /* duration of the longest call that came close to the deadline; 0: none */
    int64_t ended;      /* number of calls of the tool that timed out */
    size_t found;       /* number of tools reported so far */
};

static void report_slow_tool(struct slow *s)
{
    struct buf text = {0}, remedy = {0}, rule = {0};
    long long minutes = deadline_suggest_minutes(s->deadline_us);
    if (s->longest_us + s->ended == 0 || s->found++ >= NAMED_MAX)
        return;
    deadline_suggest_rule(&rule, slice_of("tools/call"), buf_slice(&s->tool));
    buf_printf(&text, "%.*s of %.*s: in the last %d days ", (int)size_min(s->tool.n, NAME_SHOWN),
               buf_str(&s->tool), (int)size_min(s->server.n, NAME_SHOWN), buf_str(&s->server),
               SLOW_DAYS);
    if (s->longest_us > 0)
        buf_printf(&text, "a call took %s", units_format_duration(s->longest_us).s);
    if (s->ended > 0)
        buf_printf(&text, "%s%lld call%s ended at the deadline", s->longest_us > 0 ? ", and " : "",
                   (long long)s->ended, s->ended == 1 ? "" : "s");
    buf_printf(&text, "; the deadline is %s", units_format_duration(s->deadline_us).s);
    buf_printf(&remedy,
               "raise the deadline: %s = %lldm in section [timeout] of the configuration, or "
               "--timeout %s=%lldm before the '--' in the command of this server",
               buf_str(&rule), minutes, buf_str(&rule), minutes);
    doctor_report_fault(s->d, "deadlines", buf_str(&remedy), "%s", buf_str(&text));
    buf_close(&text);
    buf_close(&remedy);
    buf_close(&rule);
}

static bool slow_tools_on_call(void *ctx, const struct cell *call, size_t n)
{
    struct slow *s = ctx;
    struct slice server = call[0].text, tool = call[1].text;
    bool answered = call[2].number == 0;
    int64_t took_us = call[3].number;
    (void)n;
    if (!slice_eq(server, buf_slice(&s->server)) || !slice_eq(tool, buf_slice(&s->tool))) {
        report_slow_tool(s);
        buf_clear(&s->server);
        buf_clear(&s->tool);
        buf_slice_add(&s->server, server);
        buf_slice_add(&s->tool, tool);
        s->deadline_us = rules_find_deadline(s->rules, server, tool);
        s->longest_us = s->ended = 0;
    }
    if (s->deadline_us == 0 || took_us < s->deadline_us / 3 * 2 ||
        (answered && took_us > s->deadline_us))
        return true;
    if (answered && took_us > s->longest_us)
        s->longest_us = took_us;
    s->ended += !answered;
    return true;
}

void doctor_check_slow_tools(struct doctor *d, const struct rules *rules)
{
    static const char sql[] = "SELECT server, target, status = 'timeout', duration_us FROM @calls"
                              " WHERE target IS NOT NULL ORDER BY server, target";
    struct slow s = {.d = d, .rules = rules};
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f, .recorded = true, .around = sql};
    struct buf error = {0};
    struct query *q = NULL;
    f.since_us = clock_wall_us() - SLOW_DAYS * DAY_US;
    f.tool = "*";
    f.statuses = 1u << CALL_OK | 1u << CALL_TOOL_ERROR | 1u << CALL_TIMEOUT;
    int st = query_open(&q, d->vault, &error);
    if (st == 0)
        st = query_read_calls_as_cells(q, &x, slow_tools_on_call, &s);
    if (st == 0) {
        report_slow_tool(&s);
        if (s.found > NAMED_MAX)
            doctor_report_fault(
                d, "deadlines", "mcp-interposer stats lists the longest calls of all tools",
                "%zu more tools came close to their deadlines", s.found - NAMED_MAX);
        if (s.found == 0)
            doctor_report_passed(d, "deadlines",
                                 "no call of the last %d days came close to its deadline",
                                 SLOW_DAYS);
    }
    /* an error of a query is not reported here: the check of the database reports it */
    query_close(q);
    buf_close(&s.server);
    buf_close(&s.tool);
    buf_close(&error);
}
