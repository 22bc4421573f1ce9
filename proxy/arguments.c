#include "proxy/arguments.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/text.h"
#include "wire/json_text.h"

static bool is_method(const struct method *m, const char *name)
{
    return m != NULL && strcmp(m->name, name) == 0;
}

/* "add: /a must be of type …": what the client is told, and stderr. */
static void say(struct buf *b, struct slice raw, const struct schema_fault *f)
{
    struct buf name = {0};
    json_unescape(&name, raw);
    text_visible(b, text_head(buf_slice(&name), 200));
    buf_close(&name);
    if (f == NULL)
        return;
    buf_adds(b, ": ");
    if (f->pointer.n > 0) {
        text_visible(b, buf_slice(&f->pointer));
        buf_addc(b, ' ');
    }
    text_visible(b, text_head(buf_slice(&f->reason), 400));
}

static bool refuses(const struct traffic *t, const struct message *x)
{
    return t->check_arguments == ARGUMENTS_REJECT && x->batch_seq == 0 &&
           t->validate != VALIDATE_NONE;
}

static bool bad_arguments(struct traffic *t, struct message *x, struct tool *tool,
                          const struct schema_fault *f)
{
    struct buf why = {0};
    buf_adds(&why, "invalid arguments for the tool ");
    say(&why, x->m.name.type == JSON_STRING ? json_string_raw(x->m.name) : (struct slice){0}, f);
    bool refused = refuses(t, x);
    if (refused || !tool->told)
        log_warn("%s: server=%s %s", refused ? "refused" : "noted", t->server, buf_str(&why));
    tool->told = true;
    if (refused) {
        message_refuse_fault(t, x, REPLY_INVALID_PARAMS, buf_str(&why), "invalid-arguments", f);
    }
    buf_close(&why);
    return !refused;
}

static bool unknown_tool(struct traffic *t, struct message *x)
{
    struct buf why = {0}, name = {0};
    bool refused = refuses(t, x);
    if (refused) {
        buf_adds(&why, "unknown tool: ");
        say(&why, json_string_raw(x->m.name), NULL);
        json_unescape(&name, text_head(json_string_raw(x->m.name), 200));
        struct nearest n = nearest_to(buf_str(&name));
        for (size_t i = 0; i < t->tools.n; i++)
            nearest_try(&n, t->tools.tool[i].name.p);
        if (n.best != NULL) {
            buf_adds(&why, "; did you mean ");
            text_visible(&why, slice_of(n.best));
            buf_addc(&why, '?');
        }
        log_warn("refused: server=%s %s", t->server, buf_str(&why));
        message_refuse(t, x, REPLY_INVALID_PARAMS, buf_str(&why), "unknown-tool");
    }
    buf_close(&why);
    buf_close(&name);
    return !refused;
}

bool arguments_request(struct traffic *t, struct message *x, const struct protocol_asked *asked)
{
    if (t->before_state == TOOLS_BEFORE_UNASKED && is_method(asked->method, "tools/list"))
        t->before_state = TOOLS_BEFORE_WANTED;
    if (t->check_arguments == ARGUMENTS_OFF || !is_method(asked->method, "tools/call"))
        return true;
    struct tool *tool;
    struct schema_fault f = {{0}, {0}};
    breaches broken = tools_call(&t->tools, &x->m, &tool, &f);
    x->rules |= broken;
    bool passes =
        broken == 0 || (tool == NULL ? unknown_tool(t, x) : bad_arguments(t, x, tool, &f));
    schema_fault_close(&f);
    return passes;
}

/* ---- the tools of the session before ------------------------------------------------------- */

void arguments_turn(struct traffic *t)
{
    struct query *q = NULL;
    struct buf error = {0};
    if (t->before_state != TOOLS_BEFORE_WANTED)
        return;
    t->before_state = TOOLS_BEFORE_DONE;
    const char *vault = recorder_vault(t->recorder);
    if (vault != NULL && query_open(&q, vault, &error) == 0 &&
        toollist_read(q, t->server, recorder_uid(t->recorder), 0, &t->before) == 0)
        t->before_state = TOOLS_BEFORE_READ;
    query_close(q);
    buf_close(&error);
}

struct changes {
    struct buf detail, words;
    size_t n;
};

#define CHANGES_TOLD 8 /* tools named on stderr; all are in the event */

static void on_change(void *ctx, enum toollist_change change, struct slice name,
                      const struct tool *before, const struct tool *now)
{
    (void)before, (void)now;
    struct changes *c = ctx;
    buf_printf(&c->detail, "%s{\"tool\":", c->n > 0 ? "," : "");
    text_json(&c->detail, name);
    buf_printf(&c->detail, ",\"change\":\"%s\"}", toollist_change_name(change));
    if (c->n++ >= CHANGES_TOLD)
        return;
    buf_printf(&c->words, "%s%s ", c->n > 1 ? ", " : "", toollist_change_name(change));
    text_visible(&c->words, text_head(name, 100));
}

/* The first whole list of a session is held against the one of the session before. */
static void compare(struct traffic *t, struct message *x)
{
    struct changes c = {0};
    t->before_state = TOOLS_BEFORE_DONE;
    buf_adds(&c.detail, "{\"tools\":[");
    if (toollist_compare(&t->before.tools, &t->tools, true, on_change, &c) > 0) {
        buf_printf(&c.detail, "],\"before\":\"%s\"}", t->before.uid);
        x->rules |= RULE(RULE_TOOL_CHANGED);
        recorder_event(t->recorder, "tool-changed", c.detail.failed ? NULL : buf_str(&c.detail));
        log_warn("tools differ from those of the session before: server=%s %s%s; see "
                 "mcp-interposer tools %s --diff",
                 t->server, buf_str(&c.words), c.n > CHANGES_TOLD ? ", …" : "", t->server);
    }
    buf_close(&c.detail);
    buf_close(&c.words);
    toollist_close(&t->before);
}

static void learn_list(struct traffic *t, struct message *x, uint64_t cursor)
{
    tools_page(&t->tools, &x->m, cursor);
    if (t->before_state == TOOLS_BEFORE_READ && tools_whole(&t->tools))
        compare(t, x);
}

/* ---- answers -------------------------------------------------------------------------------- */

void arguments_answer(struct traffic *t, struct message *x, const struct pending *p)
{
    if (x->dir != ROW_S2C)
        return;
    if (is_method(p->asked.method, "tools/list")) {
        if (x->m.kind == RPC_RESULT && x->m.result.type == JSON_OBJECT)
            learn_list(t, x, p->asked.cursor);
        return;
    }
    if (t->check_arguments == ARGUMENTS_OFF || !is_method(p->asked.method, "tools/call"))
        return;
    struct tool *tool;
    struct schema_fault f = {{0}, {0}};
    breaches broken = tools_result(&t->tools, p->target, &x->m, &tool, &f);
    x->rules |= broken;
    if (broken != 0) {
        struct buf why = {0};
        say(&why, p->target, &f);
        if (!tool->told)
            log_warn("noted, a result that is not as its outputSchema says: server=%s %s",
                     t->server, buf_str(&why));
        tool->told = true;
        buf_close(&why);
    }
    schema_fault_close(&f);
}

void arguments_notification(struct traffic *t, const struct message *x)
{
    if (t->tools.begun && x->dir == ROW_S2C &&
        rpc_method_is(&x->m, "notifications/tools/list_changed"))
        tools_forget(&t->tools);
}
