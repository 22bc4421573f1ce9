/* tools.c - `mcp-interposer tools [SERVER]`: the tools of a server, and how they have changed. */
#include "cli/look/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/frame/session.h"
#include "cli/frame/table.h"
#include "cli/look/suggest.h"
#include "cli/look/tool_diff.h"
#include "cli/settings/config.h"
#include "vault/query/tool_list.h"
#include "wire/json/text.h"
#include "wire/schema/tools_diff.h"

#define VALUE_MAX 300 /* maximum bytes shown of a value */

static const struct opt table_of_options[] = {
    {0, "diff", NULL, NULL,
     "compare the tools with those of the newest session that had other tools"},
    {0, "json", NULL, NULL, "print one JSON object per line for each tool"},
    {0, "suggest", NULL, NULL, "print a rule for `proxy` that keeps the tools that were called"},
    {0, "since", "WHEN", "30d", "with --suggest: use only calls and sessions from this time on"},
    {0, "force", NULL, NULL,
     "with --suggest: accept fewer than 5 sessions or 2 days of recordings"},
    {0, "apply", NULL, NULL, "with --suggest: write the rule into the configuration file"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "SERVER is a name as `sessions` prints it; by default, the server of the newest\n"
    "session. The tools are those of the first complete tools/list in the newest\n"
    "session of SERVER that has one. Imported sessions are read only if no other\n"
    "session has one.\n"
    "--suggest prints one line, `tools = NAME, ...`, for section [server SERVER] of\n"
    "the configuration; --apply writes it there, and shows the change on stderr.\n"
    "Exit status: 0 listed, or no difference; 1 there are differences, or no rule can\n"
    "be suggested; 2 usage error; 3 failure.\n";
/* clang-format on */

static const struct table_column columns[] = {{"TOOL", false, 40, 0},
                                              {"ARGUMENTS", false, 50, 1},
                                              {"HINTS", false, 24, 2},
                                              {"DESCRIPTION", false, 80, -24}};

struct printing {
    struct out *o;
    bool json;
};

static void print_tools_session(struct out *o, const char *mark, const struct tool_list *l)
{
    out_printf(o, "%s session %lld, %s, %zu tools\n", mark, (long long)l->number,
               clock_format_local_time(l->started_at_us).s, l->tools.n);
}

/* ---- the list ------------------------------------------------------------------------------- */

/* Appends the properties of an inputSchema, such as "path, lines?"; `?` marks an optional
 * property. */
static void append_arguments(struct buf *b, struct json_value schema)
{
    struct slice key;
    struct json_value v, name;
    struct json_value required = json_get(schema, "required");
    bool first = true;
    for (struct json_walk w = json_walk_begin(json_get(schema, "properties"));
         json_walk_next(&w, &key, &v); first = false) {
        struct slice none;
        bool must = false;
        for (struct json_walk r = json_walk_begin(required); json_walk_next(&r, &none, &name);)
            must = must || slice_eq(json_string_raw(name), key);
        buf_adds(b, first ? "" : ", ");
        json_unescape(b, key);
        buf_adds(b, must ? "" : "?");
    }
}

static void append_hints(struct buf *b, struct json_value tool)
{
    static const char *const hints[][2] = {{"readOnlyHint", "reads"},
                                           {"idempotentHint", "idempotent"},
                                           {"destructiveHint", "destroys"}};
    struct json_value annotations = json_get(tool, "annotations");
    for (size_t i = 0; i < MI_COUNT(hints); i++)
        if (json_get(annotations, hints[i][0]).type == JSON_TRUE) {
            buf_adds(b, b->n > 0 ? " " : "");
            buf_adds(b, hints[i][1]);
        }
}

static void tools_add_row(struct table *t, const struct tool *tool, struct buf *b)
{
    struct json_value v = {JSON_OBJECT, tool->text};
    struct json_value description = json_get(v, "description");
    table_add_cell(t, tool->name, OUT_PLAIN);
    buf_clear(b);
    append_arguments(b, tool->input.text);
    table_add_cell(t, buf_slice(b), OUT_PLAIN);
    buf_clear(b);
    append_hints(b, v);
    table_add_cell(t, buf_slice(b), OUT_DIM);
    buf_clear(b);
    if (description.type == JSON_STRING)
        json_unescape(b, json_string_raw(description));
    const char *nl = b->n > 0 ? memchr(b->p, '\n', b->n) : NULL;
    table_add_cell(
        t, (struct slice){b->p != NULL ? b->p : "", nl != NULL ? (size_t)(nl - b->p) : b->n},
        OUT_PLAIN);
}

static int print_tool_list(struct out *o, const struct tool_list *l, bool json)
{
    struct table t;
    struct buf b = {0};
    bool good = true;
    if (json) {
        for (size_t i = 0; i < l->tools.n; i++) {
            text_append_visible_json(&b, l->tools.tool[i].text);
            buf_addc(&b, '\n');
        }
        out_add_raw(o, buf_str(&b));
    } else {
        table_open(&t, columns, MI_COUNT(columns));
        print_tools_session(o, "tools of", l);
        for (size_t i = 0; i < l->tools.n; i++)
            tools_add_row(&t, &l->tools.tool[i], &b);
        good = l->tools.n == 0 || table_print(&t, o);
        table_close(&t);
    }
    good = good && !b.failed;
    buf_close(&b);
    return good ? EXIT_FINE : EXIT_TROUBLE;
}

/* ---- the difference ------------------------------------------------------------------------- */

static void print_diff_value(struct out *o, const char *mark, enum out_style style,
                             struct slice value)
{
    if (value.p == NULL)
        return;
    struct slice head = text_prefix(value, VALUE_MAX);
    out_style(o, style);
    out_add_raw(o, mark);
    out_add_text(o, head);
    out_add_raw(o, head.n < value.n ? "..." : "");
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

static void tools_on_difference(void *ctx, struct slice pointer, struct slice before,
                                struct slice now)
{
    struct printing *p = ctx;
    out_add_raw(p->o, "  ");
    out_add_text(p->o, pointer);
    out_end_line(p->o);
    print_diff_value(p->o, "  - ", OUT_RED, before);
    print_diff_value(p->o, "  + ", OUT_GREEN, now);
}

static void tools_print_change(void *ctx, enum tools_change change, struct slice name,
                               const struct tool *before, const struct tool *now)
{
    static const enum out_style styles[] = {OUT_GREEN, OUT_YELLOW, OUT_RED};
    struct printing *p = ctx;
    if (p->json) {
        struct buf b = {0};
        struct json_out j = json_out_to(&b);
        json_out_object(&j, NULL);
        json_out_text(&j, "tool", name);
        json_out_str(&j, "change", tools_get_change_name(change));
        json_out_add_visible_json(&j, "before", before != NULL ? before->text : (struct slice){0});
        json_out_add_visible_json(&j, "now", now != NULL ? now->text : (struct slice){0});
        json_out_end(&j);
        json_out_line(&j);
        out_add_raw(p->o, buf_str(&b));
        buf_close(&b);
        return;
    }
    out_style(p->o, styles[change]);
    out_printf(p->o, "%-8s", tools_get_change_name(change));
    out_style(p->o, OUT_PLAIN);
    out_add_text(p->o, name);
    out_end_line(p->o);
    if (before != NULL && now != NULL)
        tool_diff_compare(before->text, now->text, tools_on_difference, p);
}

/* Finds the newest earlier list of tools that differs from `now`, and prints the differences. */
static int print_tools_diff(struct out *o, struct query *q, const char *server,
                            enum tool_list_from kind, const struct tool_list *now, bool json)
{
    struct tool_list before = {.session_id = now->session_id};
    size_t n = 0, compared = 0;
    int st = 0;
    while (n == 0 && st == 0) {
        int64_t from = before.session_id;
        tool_list_close(&before);
        st = tool_list_read(q, server, kind, NULL, from, &before);
        if (st == 0) {
            compared++;
            n = tools_list_differences(&before.tools, &now->tools, NULL, NULL, NULL);
        }
    }
    if (st == MI_ENOENT)
        st = 0;
    if (n > 0) {
        struct printing p = {.o = o, .json = json};
        if (!json) {
            print_tools_session(o, "---", &before);
            print_tools_session(o, "+++", now);
        }
        tools_list_differences(&before.tools, &now->tools, NULL, tools_print_change, &p);
    } else if (st == 0 && !json) {
        if (compared == 0)
            out_printf(o, "no earlier list of tools of %s to compare with\n", server);
        else
            out_printf(o, "no difference from %zu earlier list%s of %s\n", compared,
                       compared == 1 ? "" : "s", server);
    }
    tool_list_close(&before);
    return st < 0 ? EXIT_TROUBLE : n > 0 ? EXIT_FOUND : EXIT_FINE;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int tools_print_server(const struct settings *s, struct query *q, const char *server)
{
    struct tool_list l;
    struct out o;
    bool json = settings_is_on(s, "json");
    enum tool_list_from kind = TOOL_LIST_RECORDED;
    int st = tool_list_read(q, server, kind, NULL, 0, &l);
    if (st == MI_ENOENT) {
        kind = TOOL_LIST_RECORDED_OR_IMPORTED;
        st = tool_list_read(q, server, kind, NULL, 0, &l);
    }
    if (st < 0) {
        if (st == MI_ENOENT)
            log_error(
                "no complete tools/list in the first %d messages of the newest %d sessions of "
                "%s; `mcp-interposer sessions` lists the servers",
                TOOL_LIST_MESSAGES, TOOL_LIST_SESSIONS, server);
        else
            (void)session_report_query_error(q, st);
        return EXIT_TROUBLE;
    }
    if (settings_is_on(s, "suggest")) {
        int suggested = suggest_tool_rule(q, s, server, &l);
        tool_list_close(&l);
        return suggested;
    }
    out_open(&o);
    int status = settings_is_on(s, "diff") ? print_tools_diff(&o, q, server, kind, &l, json)
                                           : print_tool_list(&o, &l, json);
    int closed = out_close(&o);
    tool_list_close(&l);
    return closed != EXIT_FINE ? closed : status;
}

static int tools_print(struct query *q, const struct settings *s)
{
    struct query_session newest;
    struct buf name = {0};
    int64_t any = 0;
    if (query_newest_session(q, &any) == 0 && any == 0) {
        if (!settings_is_on(s, "json"))
            session_warn_empty_list(q, "no tool");
        return EXIT_FINE;
    }
    if (s->operands_n > 0)
        return tools_print_server(s, q, s->operands[0]);
    int st = query_session(q, NULL, &newest);
    if (st < 0)
        return session_report_query_error(q, st);
    buf_slice_add(&name, newest.name);
    int status = tools_print_server(s, q, buf_str(&name));
    buf_close(&name);
    return status;
}

static int tools_run(const struct settings *s)
{
    if (settings_is_on(s, "suggest") && (settings_is_on(s, "diff") || settings_is_on(s, "json")))
        return settings_fail_usage(s, "--suggest cannot be combined with --diff or --json");
    if (!settings_is_on(s, "suggest") && (settings_is_on(s, "apply") || settings_is_on(s, "force")))
        return settings_fail_usage(s, "--apply and --force require --suggest");
    if (!settings_is_on(s, "suggest") && opt_get_source(&s->set, "since") == OPT_FLAG)
        return settings_fail_usage(s, "--since requires --suggest");
    return session_run_command(s, tools_print);
}

const struct command command_tools = {
    .name = "tools",
    .summary = "list the tools of a server, or their changes",
    .usage = "[OPTIONS] [SERVER]",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = tools_run,
};
