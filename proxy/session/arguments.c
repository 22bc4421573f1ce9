#include "proxy/session/arguments.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/text.h"
#include "proxy/session/answer.h"
#include "proxy/session/tool_changes.h"
#include "wire/json/text.h"

static bool method_has_name(const struct method *m, const char *name)
{
    return m != NULL && strcmp(m->name, name) == 0;
}

/* Appends a text such as "add: /a must be of type …", for the client and for stderr. raw: the
 * tool's name as a JSON string without its quotes. fault may be NULL. */
static void describe_argument_fault(struct buf *b, struct slice raw,
                                    const struct schema_fault *fault)
{
    struct buf name = {0};
    json_unescape(&name, raw);
    text_append_visible(b, text_prefix(buf_slice(&name), 200));
    buf_close(&name);
    if (fault == NULL)
        return;
    buf_adds(b, ": ");
    if (fault->pointer.n > 0) {
        text_append_visible(b, buf_slice(&fault->pointer));
        buf_addc(b, ' ');
    }
    text_append_visible(b, text_prefix(buf_slice(&fault->reason), 400));
}

static bool must_reject_call(const struct traffic *t, const struct message *x)
{
    return t->check_arguments == ARGUMENTS_REJECT && x->batch_seq == 0 &&
           t->validate != VALIDATE_NONE;
}

/* Notes invalid arguments. Returns true if the call is forwarded anyway. */
static bool log_or_reject_invalid_arguments(struct traffic *t, struct message *x, struct tool *tool,
                                            const struct schema_fault *fault)
{
    struct buf why = {0};
    buf_adds(&why, "invalid arguments for the tool ");
    describe_argument_fault(
        &why, x->m.name.type == JSON_STRING ? json_string_raw(x->m.name) : (struct slice){0},
        fault);
    bool reject = must_reject_call(t, x);
    if (reject || !tool->warned)
        log_warn("%s: server=%s %s", reject ? "rejected" : "noted", t->server, buf_str(&why));
    tool->warned = true;
    if (reject)
        answer_reject_arguments(t, x, RPC_INVALID_PARAMS, buf_str(&why), "invalid-arguments",
                                fault);
    buf_close(&why);
    return !reject;
}

/* Notes that the tool's schema, or the checked value, exceeds a limit. The message is forwarded. */
static void log_skipped_schema_check(struct traffic *t, struct slice name,
                                     const struct schema_fault *fault)
{
    struct buf why = {0};
    describe_argument_fault(&why, name, fault);
    log_warn("noted: a message was not compared with the tool's schema: server=%s %s", t->server,
             buf_str(&why));
    buf_close(&why);
}

/* Returns true if an error may name the tool: the tool rule does not hide it from the client. */
static bool tool_is_visible_to_client(const struct traffic *t, struct slice name)
{
    const struct tool_gate *g = &t->gate;
    return g->rule == NULL ||
           (tool_rule_allows_name(g->rule, name) &&
            (!g->rule->read_only || tool_hints_get(&g->hints, name) == TOOL_HINT_READS));
}

static void reject_unknown_tool(struct traffic *t, struct message *x)
{
    struct buf why = {0}, name = {0};
    buf_adds(&why, "unknown tool: ");
    describe_argument_fault(&why, json_string_raw(x->m.name), NULL);
    json_unescape(&name, text_prefix(json_string_raw(x->m.name), 200));
    struct nearest n = nearest_begin_search(buf_str(&name));
    for (size_t i = 0; i < t->tools.n; i++)
        if (tool_is_visible_to_client(t, slice_of(t->tools.tool[i].name.p)))
            nearest_add_candidate(&n, t->tools.tool[i].name.p);
    if (n.best != NULL) {
        buf_adds(&why, "; did you mean ");
        text_append_visible(&why, slice_of(n.best));
        buf_addc(&why, '?');
    }
    log_warn("rejected: server=%s %s", t->server, buf_str(&why));
    answer_reject_message(t, x, RPC_INVALID_PARAMS, buf_str(&why), "unknown-tool");
    buf_close(&why);
    buf_close(&name);
}

bool arguments_check_request(struct traffic *t, struct message *x,
                             const struct protocol_asked *asked)
{
    if (t->check_arguments == ARGUMENTS_OFF || !method_has_name(asked->method, "tools/call"))
        return true;
    struct tool *tool;
    struct schema_fault fault = {{0}, {0}};
    bool forward = true;
    breaches violated = tools_check_call(&t->tools, &x->m, &tool, &fault);
    x->rules |= violated;
    if ((violated & RULE(RULE_SCHEMA_NOT_CHECKED)) != 0) {
        log_skipped_schema_check(t, json_string_raw(x->m.name), &fault);
    } else if (violated != 0 && tool != NULL) {
        forward = log_or_reject_invalid_arguments(t, x, tool, &fault);
    } else if (violated != 0 && must_reject_call(t, x)) {
        reject_unknown_tool(t, x);
        forward = false;
    }
    schema_fault_close(&fault);
    return forward;
}

static void check_tool_result(struct traffic *t, struct message *x, const struct pending *p)
{
    struct tool *tool;
    struct schema_fault fault = {{0}, {0}};
    breaches violated = tools_check_result(&t->tools, p->target, &x->m, &tool, &fault);
    x->rules |= violated;
    if ((violated & RULE(RULE_SCHEMA_NOT_CHECKED)) != 0) {
        log_skipped_schema_check(t, p->target, &fault);
    } else if (violated != 0) {
        struct buf why = {0};
        describe_argument_fault(&why, p->target, &fault);
        if (!tool->warned)
            log_warn("noted: a result violates the tool's outputSchema: server=%s %s", t->server,
                     buf_str(&why));
        tool->warned = true;
        buf_close(&why);
    }
    schema_fault_close(&fault);
}

void arguments_check_server_answer(struct traffic *t, struct message *x, const struct pending *p)
{
    if (x->dir != ROW_S2C)
        return;
    if (method_has_name(p->asked.method, "tools/list")) {
        if (x->m.kind == RPC_RESULT && x->m.result.type == JSON_OBJECT)
            tool_changes_add_list_page(t, x, p->asked.cursor);
    } else if (t->check_arguments != ARGUMENTS_OFF &&
               method_has_name(p->asked.method, "tools/call")) {
        check_tool_result(t, x, p);
    }
}

void arguments_on_notification(struct traffic *t, const struct message *x)
{
    if (t->tools.begun && x->dir == ROW_S2C &&
        rpc_method_is(&x->m, "notifications/tools/list_changed"))
        tools_forget_all(&t->tools);
}
