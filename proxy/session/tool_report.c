#include "proxy/session/tool_report.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/mcp/tool_call.h"

/* Appends the names and globs of the rule that match no tool: all of them to *j, and the first
 * ones, quoted, to *b. */
static void append_unmatched_patterns(const struct tool_gate *g, struct buf *b, struct json_out *j)
{
    struct slice pattern;
    size_t n = 0;
    for (size_t at = 0; tool_rule_next_unmatched_pattern(g->rule, &at, &pattern); n++) {
        json_out_text(j, NULL, pattern);
        if (n < 8) {
            buf_adds(b, n > 0 ? ", '" : "'");
            text_append_visible(b, text_prefix(pattern, 100));
            buf_addc(b, '\'');
        } else if (n == 8) {
            buf_adds(b, ", …");
        }
    }
}

/* The first complete list shows whether the rule matches the tools that its author intended. */
void tool_report_record_rule_effect(struct traffic *t, const struct tool_cut *cut)
{
    struct tool_gate *g = &t->gate;
    struct buf detail = {0}, names = {0}, why = {0};
    if (g->judged)
        return;
    g->judged = g->rule->judged = true;
    struct json_out j = json_out_to(&detail);
    json_out_object(&j, NULL);
    json_out_text(&j, "rule", buf_slice(&g->rule->text));
    json_out_uint(&j, "listed", cut->listed);
    json_out_uint(&j, "hidden", cut->hidden);
    json_out_array(&j, "unmatched");
    append_unmatched_patterns(g, &names, &j);
    bool all = cut->listed > 0 && cut->hidden == cut->listed;
    json_out_end(&j);
    json_out_end(&j);
    if (all)
        buf_printf(&why, "the rule hides all %zu tools of the server", cut->listed);
    else if (names.n > 0 && cut->listed > 0)
        buf_printf(&why, "the server has no such tool: %s", buf_str(&names));
    if (why.n > 0) {
        buf_adds(&why, "; rule: ");
        tool_call_add_rule(g->rule, &why);
        log_warn("%s: server=%s", buf_str(&why), t->server);
        journal_append_event(t->journal, "tools-rule", detail.failed ? NULL : buf_str(&detail));
    }
    if (all && t->on_rule != NULL && !why.failed)
        t->on_rule(t->owner, buf_str(&why));
    buf_close(&detail);
    buf_close(&names);
    buf_close(&why);
}
