#include "proxy/session/tool_changes.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/json/text.h"
#include "wire/schema/tools_diff.h"

#include <stdio.h>

#define CHANGES_LOGGED 8 /* maximum number of tools named on stderr; the event names all tools */

void tool_changes_request_previous_tools(struct traffic *t)
{
    if (t->previous_tools.state != PREVIOUS_TOOLS_UNKNOWN)
        return;
    t->previous_tools.state = PREVIOUS_TOOLS_WANTED;
    journal_request_previous_tools(t->journal);
}

/* Returns true if the recorded forms of two definitions are equal. The old definition was sanitized
 * when it was recorded, so the new one is sanitized before the comparison. */
static bool recorded_definitions_are_equal(const struct tool *before, const struct tool *now)
{
    struct json_value a = {JSON_OBJECT, before->text}, b = {JSON_OBJECT, now->text};
    struct redact *r = redact_get_current_sanitizer();
    struct buf clean = {0};
    size_t n = 0;
    bool same = json_equal(a, b);
    if (!same && r != NULL && redact_value(r, b.text, &clean, &n) == 0 && n > 0) {
        b.text = buf_slice(&clean);
        same = json_equal(a, b);
    }
    buf_close(&clean);
    return same;
}

struct change_report {
    struct buf detail, text; /* `detail`: detail of the event; `text`: text of the log line */
    struct json_out j;       /* writes JSON to `detail` */
    size_t n;                /* number of changes so far */
};

static void tool_changes_add_to_report(void *ctx, enum tools_change change, struct slice name,
                                       const struct tool *before, const struct tool *now)
{
    (void)before, (void)now;
    struct change_report *c = ctx;
    json_out_object(&c->j, NULL);
    json_out_text(&c->j, "tool", name);
    json_out_str(&c->j, "change", tools_get_change_name(change));
    json_out_end(&c->j);
    if (c->n++ >= CHANGES_LOGGED)
        return;
    buf_printf(&c->text, "%s%s ", c->n > 1 ? ", " : "", tools_get_change_name(change));
    text_append_visible(&c->text, text_prefix(name, 100));
}

/* Compares the previous list with this one, and reports the changes. Returns true if the lists
 * differ. */
static bool compare_tool_lists(struct traffic *t)
{
    struct previous_tools *p = &t->previous_tools;
    struct change_report c = {0};
    p->state = PREVIOUS_TOOLS_COMPARED;
    c.j = json_out_to(&c.detail);
    json_out_object(&c.j, NULL);
    json_out_array(&c.j, "tools");
    bool differ = tools_list_differences(&p->tools, &t->tools, recorded_definitions_are_equal,
                                         tool_changes_add_to_report, &c) > 0;
    if (differ) {
        json_out_end(&c.j);
        json_out_str(&c.j, "before", p->uid);
        json_out_end(&c.j);
        journal_append_event(t->journal, "tool-changed",
                             c.detail.failed ? NULL : buf_str(&c.detail));
        log_warn("the tools differ from the previous session: server=%s %s%s; run "
                 "mcp-interposer tools %s --diff for details",
                 t->server, buf_str(&c.text), c.n > CHANGES_LOGGED ? ", …" : "", t->server);
    }
    buf_close(&c.detail);
    buf_close(&c.text);
    tools_close(&p->tools);
    return differ;
}

void tool_changes_take_previous_tools(struct traffic *t, struct tools *tools, const char *uid)
{
    struct previous_tools *p = &t->previous_tools;
    if (p->state != PREVIOUS_TOOLS_WANTED) {
        tools_close(tools);
        return;
    }
    p->state = PREVIOUS_TOOLS_KNOWN;
    p->tools = *tools;
    *tools = (struct tools){0};
    snprintf(p->uid, sizeof p->uid, "%s", uid);
    if (p->list_seq != 0 && tools_are_complete(&t->tools) && compare_tool_lists(t))
        journal_add_breached_rules(t->journal, p->list_seq, RULE(RULE_TOOL_CHANGED));
}

void tool_changes_add_list_page(struct traffic *t, struct message *x, uint64_t cursor)
{
    tools_add_page(&t->tools, &x->m, cursor);
    t->previous_tools.completes =
        t->previous_tools.state == PREVIOUS_TOOLS_WANTED && tools_are_complete(&t->tools);
    if (t->previous_tools.state == PREVIOUS_TOOLS_KNOWN && tools_are_complete(&t->tools) &&
        compare_tool_lists(t))
        x->rules |= RULE(RULE_TOOL_CHANGED);
}

void tool_changes_on_recorded_result(struct traffic *t, uint64_t seq)
{
    struct previous_tools *p = &t->previous_tools;
    if (p->completes)
        p->list_seq = seq;
    p->completes = false;
}
