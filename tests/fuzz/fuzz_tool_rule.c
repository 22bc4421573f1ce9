/* A line of a rule, and a line of JSON: the text of a rule is read as the same rule; what is left of a list is JSON in which
 * cutting again finds nothing, and is shorter by what was cut; a call that is kept has one name, which the rule keeps. */
#include "wire/mcp/tool_call.h"

#include "tests/fuzz/fuzz.h"
#include "wire/json/text.h"

static void check_text(const struct tool_rule *r)
{
    struct tool_rule again;
    struct buf why = {0};
    MUST(tool_rule_read(&again, buf_slice(&r->text), &why) == 0);
    MUST(slice_eq(buf_slice(&again.text), buf_slice(&r->text)) && again.n == r->n);
    MUST(again.keeps == r->keeps && again.read_only == r->read_only);
    tool_rule_close(&again);
    buf_close(&why);
}

static void on_named(void *ctx, struct slice name, bool read_only, enum tool_fate fate)
{
    const struct tool_rule *r = ctx;
    bool named = tool_rule_allows_name(r, name);
    /* it may have other names, too, and then it is hidden by one of them */
    MUST(fate == TOOL_HIDDEN || (named && (read_only || !r->read_only)) ||
         (name.n == 0 && !r->keeps));
}

static void check_list(struct tool_rule *r, struct slice text)
{
    struct json_scan scan, left;
    struct changes c = {0}, none = {0};
    struct tool_cut cut, again;
    if (json_scan(text, NULL, NULL, &scan) < 0)
        return;
    MUST(tool_rule_remove_tools(r, (struct json_value){scan.type, scan.root}, &c, &cut, on_named,
                                r) == 0);
    MUST(cut.hidden <= cut.listed && (c.n > 0) == (cut.hidden > 0));
    for (size_t i = 0; i < c.n; i++)
        MUST(inside(text, c.list[i].from) && c.list[i].to.n == 0);
    size_t n = changes_compute_changed_size(&c, text);
    char *out = malloc(n + 1);
    MUST(out != NULL && n <= text.n);
    changes_apply_to_text(&c, text, out);
    struct slice now = {out, n};
    MUST(json_scan(now, NULL, NULL, &left) == 0);
    MUST(tool_rule_remove_tools(r, (struct json_value){left.type, left.root}, &none, &again, NULL,
                                NULL) == 0);
    MUST(again.hidden == 0 && again.listed == cut.listed - cut.hidden && none.n == 0);
    free(out);
    changes_close(&c);
    changes_close(&none);
}

static void check_call(const struct tool_rule *r, struct slice text)
{
    struct rpc m;
    struct buf name = {0}, why = {0};
    const char *fault;
    if (rpc_read(text, &m) < 0 || m.kind == RPC_BATCH || m.kind == RPC_INVALID)
        return;
    enum tool_verdict v = tool_call_get_verdict(r, NULL, &m, &name, &fault);
    MUST((v == TOOL_CALL_AMBIGUOUS) == (fault != NULL));
    MUST(v != TOOL_CALL_HIDDEN || !tool_rule_allows_name(r, buf_slice(&name)));
    if (v == TOOL_CALL_KEPT && m.method.p != NULL && rpc_method_is(&m, "tools/call")) {
        struct buf seen = {0};
        MUST(m.name.type == JSON_STRING); /* as rpc_read() has found it */
        json_unescape(&seen, json_string_raw(m.name));
        MUST(slice_eq(buf_slice(&seen), buf_slice(&name)));
        MUST(tool_rule_allows_name(r, buf_slice(&name)) &&
             memchr(buf_str(&name), '\0', name.n) == NULL);
        buf_close(&seen);
    }
    if (v != TOOL_CALL_KEPT) {
        tool_call_explain_refusal(r, v, fault, buf_slice(&name), "", &why);
        MUST(why.n > 0);
    }
    buf_close(&name);
    buf_close(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const char *nl = size > 0 ? memchr(p, '\n', size) : NULL;
    struct tool_rule r;
    struct buf why = {0};
    if (nl == NULL)
        return 0;
    struct slice rule = {p, (size_t)(nl - p)}, json = {nl + 1, size - rule.n - 1};
    int st = tool_rule_read(&r, rule, &why);
    MUST((st == 0) == (why.n == 0));
    if (st == 0 && tool_rule_exists(&r)) {
        check_text(&r);
        check_list(&r, json);
        check_call(&r, json);
    }
    tool_rule_close(&r);
    buf_close(&why);
    return 0;
}
