#include "cli/doctor/slow.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/intern.h"
#include "base/units.h"
#include "vault/query/reader.h"

#include <stdlib.h>

#define NAME_SHOWN 128 /* bytes of a name */
#define NAMED_MAX 8    /* tools that are reported one by one */
#define DAY_US (INT64_C(86400) * 1000000)

struct slow_tool {
    int64_t deadline_us, longest_us;
    int64_t ended; /* calls that the deadline has ended */
};

struct slow {
    const struct rules *rules;
    struct intern names;    /* owned; of a server and its tool, with a NUL between them */
    struct slow_tool *tool; /* owned; tool i has name i */
    size_t n, cap;
    struct buf name; /* owned; scratch */
    bool no_memory;
};

static struct slice server_of(const struct slow *s, size_t i)
{
    struct slice name = intern_text(&s->names, (uint32_t)i);
    return (struct slice){name.p, strnlen(name.p, name.n)};
}

static struct slice tool_of(const struct slow *s, size_t i)
{
    struct slice name = intern_text(&s->names, (uint32_t)i), server = server_of(s, i);
    size_t before = size_min(server.n + 1, name.n);
    return (struct slice){name.p + before, name.n - before};
}

/* NULL: out of memory. */
static struct slow_tool *find_tool(struct slow *s, struct slice server, struct slice tool)
{
    uint32_t i;
    buf_clear(&s->name);
    buf_slice_add(&s->name, server);
    buf_addc(&s->name, '\0');
    buf_slice_add(&s->name, tool);
    if (s->name.failed || intern_add(&s->names, buf_slice(&s->name), &i) < 0 ||
        !GROW(s->tool, s->n, s->cap))
        return NULL;
    if (i == s->n)
        s->tool[s->n++] = (struct slow_tool){.deadline_us = rules_deadline(s->rules, server, tool)};
    return &s->tool[i];
}

static bool on_call(void *ctx, const struct query_call *c)
{
    struct slow *s = ctx;
    bool answered = c->status != CALL_TIMEOUT;
    struct slow_tool *t = c->target.p != NULL ? find_tool(s, c->server, c->target) : NULL;
    if (c->target.p == NULL)
        return true;
    s->no_memory = t == NULL;
    if (t == NULL || t->deadline_us == 0 || c->duration_us < t->deadline_us / 3 * 2 ||
        (answered && c->duration_us > t->deadline_us))
        return t != NULL;
    if (answered && c->duration_us > t->longest_us)
        t->longest_us = c->duration_us;
    t->ended += !answered;
    return true;
}

static void report_tool(struct doctor *d, const struct slow *s, size_t i)
{
    const struct slow_tool *t = &s->tool[i];
    struct slice server = server_of(s, i), tool = tool_of(s, i);
    struct buf text = {0}, remedy = {0}, rule = {0};
    long long minutes = deadline_longer_minutes(t->deadline_us);
    deadline_suggest_rule(&rule, slice_of("tools/call"), tool);
    buf_printf(&text, "%.*s of %.*s: in the last %d days ", (int)size_min(tool.n, NAME_SHOWN),
               tool.p, (int)size_min(server.n, NAME_SHOWN), server.p, SLOW_DAYS);
    if (t->longest_us > 0)
        buf_printf(&text, "a call took %s", units_took(t->longest_us).s);
    if (t->ended > 0)
        buf_printf(&text, "%s%lld call%s ended at the deadline", t->longest_us > 0 ? ", and " : "",
                   (long long)t->ended, t->ended == 1 ? "" : "s");
    buf_printf(&text, "; the deadline is %s", units_took(t->deadline_us).s);
    buf_printf(&remedy,
               "raise it: %s = %lldm in section [timeout] of the configuration, or --timeout "
               "%s=%lldm before the '--' of this server",
               buf_str(&rule), minutes, buf_str(&rule), minutes);
    doctor_found(d, "deadlines", buf_str(&remedy), "%s", buf_str(&text));
    buf_close(&text);
    buf_close(&remedy);
    buf_close(&rule);
}

static void report(struct doctor *d, const struct slow *s)
{
    size_t found = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->tool[i].longest_us + s->tool[i].ended > 0 && found++ < NAMED_MAX)
            report_tool(d, s, i);
    if (found > NAMED_MAX)
        doctor_found(d, "deadlines", "mcp-interposer stats lists the longest calls of all tools",
                     "%zu more tools are as close to their deadlines", found - NAMED_MAX);
    if (found == 0)
        doctor_fine(d, "deadlines", "no call of the last %d days came close to its deadline",
                    SLOW_DAYS);
}

void doctor_slow(struct doctor *d, const struct rules *rules)
{
    struct slow s = {.rules = rules};
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f, .recorded = true};
    struct buf error = {0};
    struct query *q = NULL;
    f.since_us = clock_wall_us() - SLOW_DAYS * DAY_US;
    f.tool = "*";
    f.statuses = 1u << CALL_OK | 1u << CALL_TOOL_ERROR | 1u << CALL_TIMEOUT;
    int st = query_open(&q, d->vault, &error);
    if (st == 0)
        st = query_calls_of(q, &x, on_call, &s);
    if (st == 0 && !s.no_memory)
        report(d, &s);
    query_close(q); /* an error was reported by the check of the database */
    intern_close(&s.names);
    free(s.tool);
    buf_close(&s.name);
    buf_close(&error);
}
