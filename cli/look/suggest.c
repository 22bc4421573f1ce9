#include "cli/look/suggest.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/frame/session.h"
#include "cli/look/suggest_apply.h"
#include "cli/settings/tool_settings.h"
#include "model/context.h"
#include "vault/query/count.h"
#include "wire/json/text.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_SHOWN 100 /* bytes of a name in a message */

/* ---- what was recorded ---------------------------------------------------------------------- */

struct basis {
    struct query *q;
    const char *server;
    int64_t sessions, days, first_at_us;
    char day[11]; /* of the last session counted; sessions are read newest first */
    int status;
};

/* Counts sessions of real clients: neither imported ones nor those of `send`. */
static bool suggest_on_session(void *ctx, const struct query_session *s)
{
    struct basis *b = ctx;
    bool sent = false;
    if (!slice_is(s->name, b->server) || query_is_imported(s))
        return true;
    b->status = query_is_sent(b->q, s->id, &sent);
    if (b->status < 0 || sent)
        return b->status == 0;
    struct clock_text at = clock_local(s->started_at_us);
    b->sessions++;
    b->first_at_us = s->started_at_us;
    if (memcmp(b->day, at.s, 10) != 0) {
        b->days++;
        memcpy(b->day, at.s, 10);
    }
    return true;
}

static int compare_tools_by_name(const void *a, const void *b)
{
    const struct tool *const *x = a, *const *y = b;
    size_t n = size_min((*x)->name.n, (*y)->name.n);
    int c = n > 0 ? memcmp((*x)->name.p, (*y)->name.p, n) : 0;
    return c != 0 ? c : ((*x)->name.n > (*y)->name.n) - ((*x)->name.n < (*y)->name.n);
}

/* Whether a rule can name this tool. */
static bool tool_name_fits_rule(struct slice name)
{
    return name.n > 0 && name.n <= TOOL_RULE_NAME_MAX && memchr(name.p, '\0', name.n) == NULL &&
           memmem(name.p, name.n, "\xEF\xBF\xBD", 3) == NULL;
}

#define MARK "[redacted:" /* replaces a secret; ends with `]` */

/* Adds a pattern for the name to the list. Characters that a list cannot contain, or that are
 * special in a glob, become `?`; redacted parts become `*`; a glob that is too long is cut. So the
 * pattern matches the name, and perhaps other names. */
static void add_pattern(struct buf *b, struct slice name)
{
    struct buf p = {0};
    bool glob = false;
    for (size_t i = 0, len; i < name.n; i += len) {
        struct slice rest = {name.p + i, name.n - i};
        unsigned char c = (unsigned char)rest.p[0];
        const char *end = slice_begins(rest, MARK) ? memchr(rest.p, ']', rest.n) : NULL;
        bool plain = c > 0x20 && c != 0x7F && strchr(",;[]*?", c) == NULL;
        len = end != NULL ? (size_t)(end - rest.p) + 1 : text_utf8_len(rest.p, rest.n);
        glob |= !plain;
        if (plain)
            buf_add(&p, rest.p, len);
        else
            buf_addc(&p, end != NULL ? '*' : '?');
    }
    struct slice all = buf_slice(&p);
    struct slice head = glob ? text_head(all, TOOL_RULE_GLOB_MAX - 1) : all;
    buf_adds(b, b->n > 0 ? ", " : "");
    buf_slice_add(b, head);
    buf_adds(b, head.n < all.n ? "*" : "");
    b->failed |= p.failed;
    buf_close(&p);
}

struct used {
    /* owned; sorted by name; called tools that hide-tools and read-only do not hide */
    const struct tool **tool;
    size_t n;
    int64_t calls;
    size_t called; /* number of called tools, including hidden ones */
    /* number of tools that were called successfully but are not in the list of tools */
    size_t gone;
    struct buf names;          /* owned; value of `tools`: patterns for tool[] and `gone` */
    struct buf hidden;         /* owned; list for people: called tools that stay hidden */
    struct slice without;      /* a name that no pattern can match; n == 0: none */
    struct tool_rule in_force; /* owned; hide-tools and read-only of the configuration */
    struct tool_rule rule;     /* owned; rule made of `names` */
};

static void used_tools_close(struct used *u)
{
    free(u->tool);
    buf_close(&u->names);
    buf_close(&u->hidden);
    tool_rule_close(&u->in_force);
    tool_rule_close(&u->rule);
}

/* Whether hide-tools and read-only of the configuration keep this tool. */
static bool is_kept_by_configuration(const struct used *u, const struct tool *t)
{
    struct json_value hint = json_get((struct json_value){JSON_OBJECT, t->text}, "annotations");
    return (t->name.n > TOOL_RULE_NAME_MAX || tool_rule_keeps_name(&u->in_force, t->name)) &&
           (!u->in_force.read_only || json_get(hint, "readOnlyHint").type == JSON_TRUE);
}

static void add_name(struct used *u, struct slice name)
{
    if (tool_name_fits_rule(name))
        add_pattern(&u->names, name);
    else if (u->without.n == 0)
        u->without = name.n > 0 ? name : slice_of("(an empty name)");
}

static int64_t calls_of_tool(const struct count *c, const char *server, struct slice tool,
                             int64_t *ret_good)
{
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_text(&c->tally.keys, c->tally.group[i].key);
        struct slice name = count_part(&key), of = count_part(&key);
        if (slice_is(name, server) && slice_eq(of, tool)) {
            *ret_good = c->tally.group[i].calls - c->tally.group[i].errors;
            return c->tally.group[i].calls;
        }
    }
    return 0;
}

/* Adds names that the server does not list, if a call with that name succeeded. */
static void find_gone(const struct count *c, const char *server, const struct tool_list *list,
                      struct used *u)
{
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_text(&c->tally.keys, c->tally.group[i].key);
        struct slice name = count_part(&key), of = count_part(&key);
        bool listed = false;
        for (size_t k = 0; k < list->tools.n && !listed; k++)
            listed = slice_eq(list->tools.tool[k].name, of);
        if (listed || of.n == 0 || !slice_is(name, server) ||
            c->tally.group[i].calls <= c->tally.group[i].errors ||
            !tool_rule_keeps_name(&u->in_force, of))
            continue;
        u->gone++;
        add_name(u, of);
    }
}

/* Finds the tools that were called. Refused calls count too, because a client needed the tool.
 * Returns 0; MI_ENOMEM; MI_EINVAL: the names make no valid rule, as `why` says. */
static int find_used(const struct count *c, const char *server, const struct tool_list *list,
                     struct used *u, struct buf *why)
{
    int64_t good;
    u->tool = calloc(list->tools.n + 1, sizeof *u->tool);
    if (u->tool == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < list->tools.n; i++) {
        const struct tool *t = &list->tools.tool[i];
        int64_t calls = calls_of_tool(c, server, t->name, &good);
        u->calls += calls;
        u->called += calls > 0;
        if (calls > 0 && is_kept_by_configuration(u, t)) {
            u->tool[u->n++] = t;
        } else if (calls > 0) {
            buf_adds(&u->hidden, u->hidden.n > 0 ? ", " : "");
            text_visible(&u->hidden, text_head(t->name, NAME_SHOWN));
        }
    }
    qsort(u->tool, u->n, sizeof *u->tool, compare_tools_by_name);
    for (size_t i = 0; i < u->n; i++)
        add_name(u, u->tool[i]->name);
    find_gone(c, server, list, u);
    if (u->names.failed || u->hidden.failed)
        return MI_ENOMEM;
    return u->names.n > 0 ? tool_rule_open(&u->rule, buf_str(&u->names), NULL, false, why) : 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool basis_is_enough(const struct settings *s, const struct basis *b)
{
    if (settings_is_on(s, "force") ||
        (b->sessions >= SUGGEST_SESSIONS_MIN && b->days >= SUGGEST_DAYS_MIN))
        return true;
    log_error("too little is recorded to suggest a rule: found %lld session%s on %lld day%s, need "
              "%d on %d; use --since to look further back, or --force to suggest a rule anyway",
              (long long)b->sessions, b->sessions == 1 ? "" : "s", (long long)b->days,
              b->days == 1 ? "" : "s", SUGGEST_SESSIONS_MIN, SUGGEST_DAYS_MIN);
    return false;
}

/* Effect of the rule, in addition to hide-tools and read-only of the configuration. */
struct effect {
    size_t hidden;      /* number of tools that the rule hides */
    size_t more;        /* number of tools that nobody called and the rule does not hide */
    int64_t tokens_all; /* tokens of the definitions of all tools of the server */
    int64_t tokens_hidden;
};

static struct effect effect_of_rule(const struct tool_list *l, const struct used *u)
{
    struct effect e = {0};
    size_t kept = 0;
    for (size_t i = 0; i < l->tools.n; i++) {
        const struct tool *t = &l->tools.tool[i];
        int64_t tokens = context_definition_tokens(t->text);
        e.tokens_all += tokens;
        if (!is_kept_by_configuration(u, t))
            continue;
        if (tool_rule_keeps_name(&u->rule, t->name)) {
            kept++;
        } else {
            e.hidden++;
            e.tokens_hidden += tokens;
        }
    }
    e.more = kept - size_min(kept, u->n);
    return e;
}

static void suggest_explain(const struct basis *b, const struct tool_list *l, struct used *u,
                            const struct effect *e)
{
    fprintf(stderr,
            "%s: %zu of %zu tools were called, %lld times in %lld session%s on %lld day%s since "
            "%.10s\n",
            b->server, u->called, l->tools.n, (long long)u->calls, (long long)b->sessions,
            b->sessions == 1 ? "" : "s", (long long)b->days, b->days == 1 ? "" : "s",
            clock_local(b->first_at_us).s);
    fprintf(stderr, "the rule hides %zu tool%s; their definitions have ~%lld of ~%lld tokens\n",
            e->hidden, e->hidden == 1 ? "" : "s", (long long)e->tokens_hidden,
            (long long)e->tokens_all);
    if (e->more > 0)
        fprintf(stderr,
                "%zu tool%s that nobody called %s kept, because a pattern matches the name, too\n",
                e->more, e->more == 1 ? "" : "s", e->more == 1 ? "is" : "are");
    if (u->gone > 0)
        fprintf(stderr, "%zu tool%s that the server no longer lists, but that worked, %s kept\n",
                u->gone, u->gone == 1 ? "" : "s", u->gone == 1 ? "is" : "are");
    if (u->hidden.n > 0)
        fprintf(stderr,
                "called, but still hidden by hide-tools or read-only of the configuration: %s\n",
                buf_str(&u->hidden));
}

static int print_rule(const struct settings *s, const struct basis *b, const char *names)
{
    struct out o;
    out_open(&o);
    out_raw(&o, "tools = ");
    out_raw(&o, names); /* may be too long for out_printf() */
    out_end_line(&o);
    int status = out_close(&o);
    return status == EXIT_FINE && settings_is_on(s, "apply") ? suggest_apply(s, b->server, names)
                                                             : status;
}

static int suggest_from_calls(const struct settings *s, const struct basis *b,
                              struct tool_list *list, const struct count *c)
{
    struct used u = {0};
    struct buf why = {0};
    int status = EXIT_FOUND;
    int st = settings_read_configured_tools(s, b->server, &u.in_force, &why);
    if (st == 0)
        st = find_used(c, b->server, list, &u, &why);
    struct effect e = st == 0 && u.names.n > 0 ? effect_of_rule(list, &u) : (struct effect){0};
    struct buf without = {0};
    text_visible(&without, text_head(u.without, NAME_SHOWN));
    if (st == MI_ENOMEM)
        status = command_fail(st, &why);
    else if (st < 0)
        log_error("no rule can be suggested: %s", buf_str(&why));
    else if (u.without.n > 0)
        log_error(
            "no rule can keep the tool '%s', which was called: its name is empty or longer than "
            "%d bytes, or contains NUL or U+FFFD",
            buf_str(&without), TOOL_RULE_NAME_MAX);
    else if (u.names.n == 0 && u.hidden.n > 0)
        log_error("hide-tools or read-only of the configuration hides every tool of %s that was "
                  "called: %s",
                  b->server, buf_str(&u.hidden));
    else if (u.names.n == 0)
        log_error("no tool of %s was called: a rule would hide all of them", b->server);
    else if (!basis_is_enough(s, b))
        ; /* basis_is_enough() has logged the reason */
    else if (e.hidden == 0)
        log_error("a rule would hide no tool of %s: %s", b->server,
                  e.more > 0 ? "its patterns match those that nobody called, too"
                             : "all that clients see were called");
    else {
        suggest_explain(b, list, &u, &e);
        status = print_rule(s, b, buf_str(&u.names));
    }
    used_tools_close(&u);
    buf_close(&without);
    buf_close(&why);
    return status;
}

int suggest_rule(struct query *q, const struct settings *s, const char *server,
                 struct tool_list *list)
{
    struct basis b = {.q = q, .server = server};
    int64_t since_us = 0;
    const char *since = settings_text(s, "since");
    if (when_parse(since != NULL ? since : "30d", clock_wall_us(), &since_us) < 0)
        return EXIT_USAGE; /* cannot happen: the value was checked when the options were read */
    struct count c = {.by = COUNT_TOOL, .filter = FILTER_ANY, .requests = true};
    /* a name with glob characters is compared later */
    c.filter.server = filter_is_glob(server) ? NULL : server;
    c.filter.since_us = since_us;
    int st = query_matching_sessions(q, &c.filter, FILTER_BEGAN, 0, suggest_on_session, &b);
    if (st == 0)
        st = b.status;
    if (st == 0)
        st = count_calls(&c, q);
    int status = st < 0 ? session_fail(q, st) : suggest_from_calls(s, &b, list, &c);
    count_close(&c);
    return status;
}
