#include "cli/look/suggest.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/make_path.h"
#include "base/text.h"
#include "base/time_point.h"
#include "cli/frame/replace.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"
#include "cli/settings/config_edit.h"
#include "cli/settings/paths.h"
#include "cli/settings/tool_settings.h"
#include "model/context.h"
#include "vault/query/count.h"
#include "wire/json/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_SHOWN 100 /* maximum bytes of a name in a message */

/* ---- what was recorded ---------------------------------------------------------------------- */

/* The sessions from which the rule is made. */
struct basis {
    struct query *q;
    const char *server;
    int64_t sessions, days, first_at_us; /* first_at_us: start of the oldest session */
    char day[11]; /* day of the session that was counted last, the oldest so far */
    int status;
};

/* Counts the session if it is a session of the server with a real client: skips imported sessions,
 * and sessions that `send` made. */
static bool count_session_for_suggestion(void *ctx, const struct query_session *s)
{
    struct basis *b = ctx;
    bool sent = false;
    if (!slice_is(s->name, b->server) || query_session_is_imported(s))
        return true;
    b->status = query_session_is_made_by_send(b->q, s->id, &sent);
    if (b->status < 0 || sent)
        return b->status == 0;
    struct clock_text at = clock_format_local_time(s->started_at_us);
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

#define MARK "[redacted:" /* beginning of the mark that replaces a secret; the mark ends with `]` */

/* Adds a pattern for the name to the list. Characters that a list cannot contain, or that are
 * special in a glob, become `?`; redacted parts become `*`; a glob that is too long is cut. So the
 * pattern matches the name, and perhaps other names. */
static void add_name_pattern(struct buf *b, struct slice name)
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
    struct slice head = glob ? text_prefix(all, TOOL_RULE_GLOB_MAX - 1) : all;
    buf_adds(b, b->n > 0 ? ", " : "");
    buf_slice_add(b, head);
    buf_adds(b, head.n < all.n ? "*" : "");
    b->failed |= p.failed;
    buf_close(&p);
}

/* The tools that were called, and the rule that keeps them. */
struct used {
    /* the called tools that hide-tools and read-only do not hide, sorted by name; owned */
    const struct tool **tool;
    size_t n;
    int64_t calls;
    size_t called; /* number of called tools, including hidden ones */
    /* number of tools that were called successfully but are not in the list of tools */
    size_t gone;
    /* owned; value of `tools`: patterns for tool[] and for the tools that `gone` counts */
    struct buf names;
    struct buf hidden;    /* owned; names of called tools that stay hidden, for a message */
    struct slice without; /* name of a called tool that a rule cannot contain; n == 0: none */
    /* owned; the rule of hide-tools and read-only in the configuration */
    struct tool_rule in_force;
    struct tool_rule rule; /* owned; rule made of `names` */
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
static bool configuration_allows_tool(const struct used *u, const struct tool *t)
{
    struct json_value hint = json_get((struct json_value){JSON_OBJECT, t->text}, "annotations");
    return (t->name.n > TOOL_RULE_NAME_MAX || tool_rule_allows_name(&u->in_force, t->name)) &&
           (!u->in_force.read_only || json_get(hint, "readOnlyHint").type == JSON_TRUE);
}

/* Adds a pattern for the name to the rule. If a rule cannot contain the name, sets u->without. */
static void add_name_to_rule(struct used *u, struct slice name)
{
    bool fits = name.n > 0 && name.n <= TOOL_RULE_NAME_MAX &&
                memchr(name.p, '\0', name.n) == NULL &&
                memmem(name.p, name.n, "\xEF\xBF\xBD", 3) == NULL; /* U+FFFD */
    if (fits)
        add_name_pattern(&u->names, name);
    else if (u->without.n == 0)
        u->without = name.n > 0 ? name : slice_of("(an empty name)");
}

static int64_t count_calls_of_tool(const struct count *c, const char *server, struct slice tool)
{
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_get_text(&c->tally.keys, c->tally.group[i].key);
        struct slice key_server = count_take_key_part(&key), key_tool = count_take_key_part(&key);
        if (slice_is(key_server, server) && slice_eq(key_tool, tool))
            return c->tally.group[i].calls;
    }
    return 0;
}

/* Adds each tool that the server does not list, if a call of the tool succeeded. */
static void find_unlisted_tools(const struct count *c, const char *server,
                                const struct tool_list *list, struct used *u)
{
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_get_text(&c->tally.keys, c->tally.group[i].key);
        struct slice key_server = count_take_key_part(&key), key_tool = count_take_key_part(&key);
        bool listed = false;
        for (size_t k = 0; k < list->tools.n && !listed; k++)
            listed = slice_eq(list->tools.tool[k].name, key_tool);
        if (listed || key_tool.n == 0 || !slice_is(key_server, server) ||
            c->tally.group[i].calls <= c->tally.group[i].errors ||
            !tool_rule_allows_name(&u->in_force, key_tool))
            continue;
        u->gone++;
        add_name_to_rule(u, key_tool);
    }
}

/* Finds the tools that were called. Rejected calls count as well, because a client needed the tool.
 * Returns 0; MI_ENOMEM; MI_EINVAL: the names make no valid rule, and `why` has the reason. */
static int find_used_tools(const struct count *c, const char *server, const struct tool_list *list,
                           struct used *u, struct buf *why)
{
    u->tool = calloc(list->tools.n + 1, sizeof *u->tool);
    if (u->tool == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < list->tools.n; i++) {
        const struct tool *t = &list->tools.tool[i];
        int64_t calls = count_calls_of_tool(c, server, t->name);
        u->calls += calls;
        u->called += calls > 0;
        if (calls > 0 && configuration_allows_tool(u, t)) {
            u->tool[u->n++] = t;
        } else if (calls > 0) {
            buf_adds(&u->hidden, u->hidden.n > 0 ? ", " : "");
            text_append_visible(&u->hidden, text_prefix(t->name, NAME_SHOWN));
        }
    }
    qsort(u->tool, u->n, sizeof *u->tool, compare_tools_by_name);
    for (size_t i = 0; i < u->n; i++)
        add_name_to_rule(u, u->tool[i]->name);
    find_unlisted_tools(c, server, list, u);
    if (u->names.failed || u->hidden.failed)
        return MI_ENOMEM;
    return u->names.n > 0 ? tool_rule_open(&u->rule, buf_str(&u->names), NULL, false, why) : 0;
}

/* ---- --apply -------------------------------------------------------------------------------- */

static void print_marked_lines(const char *mark, struct slice text)
{
    while (text.n > 0) {
        const char *nl = memchr(text.p, '\n', text.n);
        size_t n = nl != NULL ? (size_t)(nl - text.p) : text.n;
        struct buf b = {0};
        text_append_visible(&b, (struct slice){text.p, n - (n > 0 && text.p[n - 1] == '\r')});
        fprintf(stderr, "%s%s\n", mark, buf_str(&b));
        buf_close(&b);
        n += nl != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
}

/* Creates the missing file, and its directory if the directory is missing as well. Returns the exit
 * status. */
static int create_config_file(const char *path, struct slice text)
{
    struct save out;
    char *dir = strdup(path);
    char *slash = dir != NULL ? strrchr(dir, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    int st = dir == NULL ? MI_ENOMEM : slash != NULL && dir[0] != '\0' ? make_path(dir) : 0;
    if (st < 0)
        log_error("cannot make the directory of %s: %s", path,
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
    free(dir);
    if (st < 0)
        return EXIT_TROUBLE;
    save_open(&out, path, SAVE_PRIVATE);
    bool good = save_write_bytes(&out, text);
    return save_close(&out, good);
}

/* Writes the changed configuration, and shows the change on stderr. Returns the exit status. */
static int write_config_file(const char *path, struct replace *file, bool exists,
                             const struct config_edit *e)
{
    struct slice old = buf_slice(&file->text);
    size_t at = (size_t)(e->before.p - old.p), behind = at + e->before.n;
    struct buf all = {0};
    int status = EXIT_TROUBLE;
    if (slice_eq(e->before, buf_slice(&e->now))) {
        fprintf(stderr, "%s has this line already: nothing is written\n", path);
        return EXIT_FINE;
    }
    buf_add(&all, old.p, at);
    buf_slice_add(&all, buf_slice(&e->now));
    buf_add(&all, old.p + behind, old.n - behind);
    if (all.failed) {
        log_error("out of memory");
    } else if (all.n > CONFIG_FILE_MAX) {
        log_error("the configuration would be longer than %d bytes: %s", CONFIG_FILE_MAX, path);
    } else {
        fprintf(stderr, "--- %s\n+++ %s\n", path, path);
        print_marked_lines("-", e->before);
        print_marked_lines("+", buf_slice(&e->now));
        status = EXIT_FINE;
        if (!exists)
            status = create_config_file(path, buf_slice(&all));
        else if (replace_write_file(file, buf_slice(&all)) < 0) {
            log_error("cannot write %s: %s", path,
                      file->error.n > 0 ? buf_str(&file->error) : "out of memory");
            status = EXIT_TROUBLE;
        }
    }
    buf_close(&all);
    if (status == EXIT_FINE)
        fprintf(stderr,
                "the rule was written; a running client uses it after a restart of the server\n");
    return status;
}

/* Writes the rule into the configuration file, and shows the change on stderr. `names` is the value
 * of `tools` for this server. An existing file is replaced; the new file has the same mode and
 * owner, and a symbolic link stays one (cli/frame/replace.h). Returns the exit status. */
static int apply_suggested_rule(const struct settings *s, const char *server, const char *names)
{
    struct replace file = {0};
    struct config_edit e = {0};
    int status = EXIT_TROUBLE;
    char *path = path_of_config_file(settings_get_text(s, "config"));
    if (path == NULL) {
        log_error("cannot locate the configuration file: use --config FILE");
        return EXIT_TROUBLE;
    }
    int st = replace_open(&file, path);
    bool missing = st == MI_EIO && access(path, F_OK) != 0 && errno == ENOENT;
    if (st < 0 && !missing)
        log_error("cannot read configuration %s: %s", path,
                  file.error.n > 0 ? buf_str(&file.error) : "out of memory");
    else if ((st = config_edit_server_setting(buf_slice(&file.text), server, "tools", names, &e)) <
             0)
        log_error("%s", st == MI_ENOMEM ? "out of memory"
                                        : "the name of this server cannot be the name of a section "
                                          "in the configuration: use --tools of `proxy`");
    else
        status = write_config_file(path, &file, !missing, &e);
    buf_close(&e.now);
    replace_close(&file);
    free(path);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Whether enough is recorded for a rule. If not, logs the reason. */
static bool has_enough_data_for_rule(const struct settings *s, const struct basis *b)
{
    if (settings_is_on(s, "force") ||
        (b->sessions >= SUGGEST_SESSIONS_MIN && b->days >= SUGGEST_DAYS_MIN))
        return true;
    log_error("too little is recorded to suggest a rule: found %lld session%s on %lld day%s, need "
              "%d sessions on %d days; use --since to look further back, or --force to suggest a "
              "rule anyway",
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

static struct effect compute_effect_of_rule(const struct tool_list *l, const struct used *u)
{
    struct effect e = {0};
    size_t kept = 0;
    for (size_t i = 0; i < l->tools.n; i++) {
        const struct tool *t = &l->tools.tool[i];
        int64_t tokens = context_count_definition_tokens(t->text);
        e.tokens_all += tokens;
        if (!configuration_allows_tool(u, t))
            continue;
        if (tool_rule_allows_name(&u->rule, t->name)) {
            kept++;
        } else {
            e.hidden++;
            e.tokens_hidden += tokens;
        }
    }
    e.more = kept - size_min(kept, u->n);
    return e;
}

static void print_basis_of_suggestion(const struct basis *b, const struct tool_list *l,
                                      struct used *u, const struct effect *e)
{
    fprintf(stderr,
            "%s: %zu of %zu tools were called, %lld times in %lld session%s on %lld day%s since "
            "%.10s\n",
            b->server, u->called, l->tools.n, (long long)u->calls, (long long)b->sessions,
            b->sessions == 1 ? "" : "s", (long long)b->days, b->days == 1 ? "" : "s",
            clock_format_local_time(b->first_at_us).s);
    fprintf(stderr, "the rule hides %zu tool%s; their definitions have ~%lld of ~%lld tokens\n",
            e->hidden, e->hidden == 1 ? "" : "s", (long long)e->tokens_hidden,
            (long long)e->tokens_all);
    if (e->more > 0)
        fprintf(stderr,
                "the rule also keeps %zu tool%s that nobody called, because a pattern matches "
                "%s\n",
                e->more, e->more == 1 ? "" : "s", e->more == 1 ? "its name" : "their names");
    if (u->gone > 0)
        fprintf(stderr,
                "the rule also keeps %zu tool%s that the server no longer lists, because calls of "
                "%s succeeded\n",
                u->gone, u->gone == 1 ? "" : "s", u->gone == 1 ? "it" : "them");
    if (u->hidden.n > 0)
        fprintf(stderr,
                "these tools were called, but hide-tools or read-only of the configuration still "
                "hides them: %s\n",
                buf_str(&u->hidden));
}

/* Prints the rule and, with --apply, writes it into the configuration. Returns the exit status. */
static int print_and_apply_rule(const struct settings *s, const struct basis *b, const char *names)
{
    struct out o;
    out_open(&o);
    out_add_raw(&o, "tools = ");
    out_add_raw(&o, names);
    out_end_line(&o);
    int status = out_close(&o);
    return status == EXIT_FINE && settings_is_on(s, "apply")
               ? apply_suggested_rule(s, b->server, names)
               : status;
}

static int suggest_rules_from_calls(const struct settings *s, const struct basis *b,
                                    struct tool_list *list, const struct count *c)
{
    struct used u = {0};
    struct buf why = {0};
    int status = EXIT_FOUND;
    int st = settings_read_configured_tools(s, b->server, &u.in_force, &why);
    if (st == 0)
        st = find_used_tools(c, b->server, list, &u, &why);
    struct effect e =
        st == 0 && u.names.n > 0 ? compute_effect_of_rule(list, &u) : (struct effect){0};
    struct buf without = {0};
    text_append_visible(&without, text_prefix(u.without, NAME_SHOWN));
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
        log_error("no tool of %s was called, so a rule would hide every tool", b->server);
    else if (!has_enough_data_for_rule(s, b))
        ; /* has_enough_data_for_rule() has logged the reason */
    else if (e.hidden == 0)
        log_error("a rule would hide no tool of %s: %s", b->server,
                  e.more > 0 ? "the patterns of the rule also match all tools that nobody called"
                             : "all tools that clients see were called");
    else {
        print_basis_of_suggestion(b, list, &u, &e);
        status = print_and_apply_rule(s, b, buf_str(&u.names));
    }
    used_tools_close(&u);
    buf_close(&without);
    buf_close(&why);
    return status;
}

int suggest_tool_rule(struct query *q, const struct settings *s, const char *server,
                      struct tool_list *list)
{
    struct basis b = {.q = q, .server = server};
    int64_t since_us = 0;
    const char *since = settings_get_text(s, "since");
    if (time_point_parse_text(since != NULL ? since : "30d", clock_wall_us(), &since_us) < 0)
        /* cannot happen, because the value was checked when the options were read */
        return EXIT_USAGE;
    struct count c = {.by = COUNT_TOOL, .filter = FILTER_ANY, .requests = true};
    /* The filter would read a name with glob characters as a glob. So the filter has no such name.
     * count_session_for_suggestion() and find_used_tools() compare the name in any case. */
    c.filter.server = filter_is_glob(server) ? NULL : server;
    c.filter.since_us = since_us;
    int st =
        query_matching_sessions(q, &c.filter, FILTER_BEGAN, 0, count_session_for_suggestion, &b);
    if (st == 0)
        st = b.status;
    if (st == 0)
        st = count_calls(&c, q);
    int status =
        st < 0 ? session_report_query_error(q, st) : suggest_rules_from_calls(s, &b, list, &c);
    count_close(&c);
    return status;
}
