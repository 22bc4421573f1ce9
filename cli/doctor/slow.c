#include "cli/doctor/slow.h"

#include "base/clock.h"
#include "base/units.h"
#include "vault/query/reader.h"

#include <stdlib.h>

#define NAMED_MAX 8 /* tools that are reported one by one */
#define NAME_MAX_BYTES 128
#define DAY_US (INT64_C(86400) * 1000000)

struct slow_tool {
    char server[NAME_MAX_BYTES], tool[NAME_MAX_BYTES];
    int64_t deadline_us, longest_us;
    int64_t ended; /* calls that the deadline has ended */
};

struct slow {
    const struct rules *rules;
    struct query *q;
    struct slice server; /* of the session that is read */
    int64_t since_us;
    struct slow_tool *tool; /* owned; SLOW_TOOLS of them */
    size_t n;
    bool more; /* there are other tools */
    int status;
};

static bool copy_name(char to[NAME_MAX_BYTES], struct slice name)
{
    if (name.p == NULL || name.n >= NAME_MAX_BYTES)
        return false;
    memcpy(to, name.p, name.n);
    to[name.n] = '\0';
    return true;
}

/* NULL: no room, or the name is too long. */
static struct slow_tool *find_tool(struct slow *s, struct slice name)
{
    for (size_t i = 0; i < s->n; i++)
        if (slice_is(s->server, s->tool[i].server) && slice_is(name, s->tool[i].tool))
            return &s->tool[i];
    struct slow_tool *new = &s->tool[s->n];
    s->more |= s->n == SLOW_TOOLS;
    if (s->n == SLOW_TOOLS || !copy_name(new->server, s->server) || !copy_name(new->tool, name))
        return NULL;
    new->deadline_us = rules_deadline(s->rules, s->server, name);
    new->longest_us = new->ended = 0;
    s->n++;
    return new;
}

static bool on_call(void *ctx, const struct query_call *c)
{
    struct slow *s = ctx;
    bool answered = c->status == CALL_OK || c->status == CALL_TOOL_ERROR;
    if (!slice_is(c->method, "tools/call") || (!answered && c->status != CALL_TIMEOUT))
        return true;
    struct slow_tool *t = find_tool(s, c->target);
    if (t == NULL || t->deadline_us == 0 || c->duration_us < t->deadline_us / 3 * 2 ||
        (answered && c->duration_us > t->deadline_us))
        return true;
    if (answered && c->duration_us > t->longest_us)
        t->longest_us = c->duration_us;
    t->ended += !answered;
    return true;
}

static bool on_session(void *ctx, const struct query_session *session)
{
    struct slow *s = ctx;
    if (session->started_at_us < s->since_us || session->name.p == NULL ||
        query_is_imported(session))
        return true;
    s->server = session->name;
    int st = query_calls(s->q, session->id, on_call, s);
    if (st < 0)
        s->status = st;
    return s->status == 0;
}

static void report_tool(struct doctor *d, const struct slow_tool *t)
{
    struct buf text = {0}, remedy = {0}, rule = {0};
    long long minutes = deadline_longer_minutes(t->deadline_us);
    deadline_suggest_rule(&rule, slice_of("tools/call"), slice_of(t->tool));
    buf_printf(&text, "%s of %s: in the last %d days ", t->tool, t->server, SLOW_DAYS);
    if (t->longest_us > 0) {
        buf_adds(&text, "a call took ");
        units_show_duration(&text, t->longest_us);
    }
    if (t->ended > 0)
        buf_printf(&text, "%s%lld call%s ended at the deadline", t->longest_us > 0 ? ", and " : "",
                   (long long)t->ended, t->ended == 1 ? "" : "s");
    buf_adds(&text, "; the deadline is ");
    units_show_duration(&text, t->deadline_us);
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
            report_tool(d, &s->tool[i]);
    if (found > NAMED_MAX)
        doctor_found(d, "deadlines", "mcp-interposer stats lists the longest calls of all tools",
                     "%zu more tools are as close to their deadlines", found - NAMED_MAX);
    if (found == 0)
        doctor_fine(d, "deadlines", "no call of the last %d days came close to its deadline",
                    SLOW_DAYS);
    if (s->more)
        doctor_fine(d, "deadlines", "only the calls of %d tools were looked at", SLOW_TOOLS);
}

void doctor_slow(struct doctor *d, const struct rules *rules)
{
    struct slow s = {.rules = rules, .since_us = clock_wall_us() - SLOW_DAYS * DAY_US};
    struct buf error = {0};
    s.tool = calloc(SLOW_TOOLS, sizeof *s.tool);
    int st = s.tool == NULL ? MI_ENOMEM : query_open(&s.q, d->vault, &error);
    if (st == 0)
        st = query_sessions(s.q, 0, on_session, &s);
    if (st == 0 && s.status == 0)
        report(d, &s);
    query_close(s.q); /* an error was reported by the check of the database */
    free(s.tool);
    buf_close(&error);
}
