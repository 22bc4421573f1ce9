#include "wire/mcp/tool_call.h"

#include "base/text.h"
#include "wire/json/text.h"

/* Maximum number of bytes of the rule, and of the tool's name, that an error shows. */
#define RULE_SHOWN 300
#define NAME_SHOWN 200

/* Returns why a message of the client can be read in two ways: some readers take another member for
 * `method` or `params`, or the method contains a NUL. NULL: there is only one reading. */
static const char *find_message_fault(const struct rpc *m)
{
    struct slice key;
    struct json_value v;
    bool exact;
    for (struct json_walk w = json_walk_begin((struct json_value){JSON_OBJECT, m->text});
         json_walk_next(&w, &key, &v);) {
        if (tool_rule_key_matches(key, "method", &exact) && !exact)
            return "a member differs from `method` only in case or by a NUL";
        if (tool_rule_key_matches(key, "params", &exact) && !exact)
            return "a member differs from `params` only in case or by a NUL";
    }
    /* a program that takes a NUL for the end of a string would read another method */
    if (m->method.n > 0 && memmem(m->method.p, m->method.n, "\\u0000", 6) != NULL)
        return "the method contains a NUL character";
    return NULL;
}

/* Returns why the params of a tools/call do not name exactly one tool. NULL: the params name one
 * tool, and `name` is its unescaped name. */
static const char *find_name_fault(struct json_value params, struct buf *name)
{
    struct slice key, raw = {0};
    struct json_value v;
    bool exact;
    size_t names = 0;
    if (params.type != JSON_OBJECT)
        return "the params are not an object";
    for (struct json_walk w = json_walk_begin(params); json_walk_next(&w, &key, &v);) {
        if (!tool_rule_key_matches(key, "name", &exact))
            continue;
        if (!exact)
            return "a member of the params differs from `name` only in case or by a NUL";
        if (names++ > 0)
            return "the params have several members `name`";
        if (v.type != JSON_STRING)
            return "`name` is not a string";
        raw = json_string_raw(v);
    }
    if (names == 0)
        return "the params have no `name`";
    buf_clear(name);
    json_unescape(name, raw);
    if (name->failed)
        return "out of memory";
    /* programs differ in how they read a NUL or a lone surrogate */
    if (memchr(name->p != NULL ? name->p : "", '\0', name->n) != NULL)
        return "`name` contains a NUL character";
    if (name->n >= 3 && memmem(name->p, name->n, "\xEF\xBF\xBD", 3) != NULL)
        return "`name` contains a lone surrogate or U+FFFD";
    return NULL;
}

enum tool_verdict tool_call_get_verdict(const struct tool_rule *r, const struct tool_hints *hints,
                                        const struct rpc *m, struct buf *name,
                                        const char **ret_fault)
{
    *ret_fault = find_message_fault(m);
    if (*ret_fault != NULL)
        return TOOL_CALL_AMBIGUOUS;
    if (m->method.p == NULL || !rpc_method_is(m, "tools/call"))
        return TOOL_CALL_KEPT;
    *ret_fault = find_name_fault(m->params, name);
    if (*ret_fault != NULL)
        return TOOL_CALL_AMBIGUOUS;
    if (!tool_rule_allows_name(r, buf_slice(name)))
        return TOOL_CALL_HIDDEN;
    if (!r->read_only || hints == NULL)
        return TOOL_CALL_KEPT;
    switch (tool_hints_get(hints, buf_slice(name))) {
    case TOOL_HINT_READS:
        return TOOL_CALL_KEPT;
    case TOOL_HINT_WRITES:
        return TOOL_CALL_WRITES;
    case TOOL_HINT_ABSENT:
        return TOOL_CALL_UNLISTED;
    default:
        return TOOL_CALL_UNKNOWN;
    }
}

enum finding tool_call_finding_of_verdict(enum tool_verdict v)
{
    switch (v) {
    case TOOL_CALL_AMBIGUOUS:
        return FIND_AMBIGUOUS_CALL;
    case TOOL_CALL_UNLISTED:
    case TOOL_CALL_UNKNOWN:
        return FIND_TOOL_UNLISTED;
    default:
        return FIND_TOOL_HIDDEN;
    }
}

void tool_call_add_rule(const struct tool_rule *r, struct buf *b)
{
    struct slice all = buf_slice(&r->text), head = text_prefix(all, RULE_SHOWN);
    buf_slice_add(b, head);
    buf_adds(b, head.n < all.n ? "…" : "");
}

void tool_call_explain_refusal(const struct tool_rule *r, enum tool_verdict v, const char *fault,
                               struct slice name, const char *failure, struct buf *why)
{
    struct slice head = text_prefix(name, NAME_SHOWN);
    if (v == TOOL_CALL_AMBIGUOUS) {
        buf_printf(
            why, "ambiguous message: programs may read different tool names from this message: %s",
            fault);
        return;
    }
    buf_adds(why, v == TOOL_CALL_UNKNOWN ? "tool '" : "unknown tool '");
    text_append_visible(why, head);
    buf_adds(why, head.n < name.n ? "…'" : "'");
    if (v == TOOL_CALL_UNKNOWN) {
        buf_printf(
            why,
            " was not called: mcp-interposer forwards only calls of tools that the server marks "
            "readOnlyHint, and the server's list of tools is not known: %s",
            failure[0] != '\0' ? failure : "the server cannot be asked for the list");
        return;
    }
    buf_adds(why, v == TOOL_CALL_HIDDEN ? ": the tool is hidden by the rule of mcp-interposer: "
                  : v == TOOL_CALL_WRITES
                      ? ": the tool is hidden by the rule of mcp-interposer, because the "
                        "server does not mark it readOnlyHint: "
                      : ": the tool is not in the server's list of tools, and the rule of "
                        "mcp-interposer allows only those marked readOnlyHint: ");
    tool_call_add_rule(r, why);
}
