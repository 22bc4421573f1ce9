#include "wire/schema/tools.h"

#include "base/grow.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

static void tool_close(struct tool *t)
{
    schema_close(t->input.schema);
    schema_close(t->output.schema);
    free(t->data);
    *t = (struct tool){0};
}

void tools_forget_all(struct tools *t)
{
    for (size_t i = 0; i < t->n; i++)
        tool_close(&t->tool[i]);
    t->n = t->bytes = 0;
    t->next = 0;
    t->begun = t->overflow = false;
}

void tools_close(struct tools *t)
{
    tools_forget_all(t);
    free(t->tool);
    *t = (struct tools){0};
}

/* Returns whether a tool has this name. *ret: index of the tool; if there is none, the index at
 * which to insert it. */
static bool tools_find_index_of_name(const struct tools *t, struct slice name, size_t *ret)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = slice_cmp(t->tool[mid].name, name);
        if (c == 0) {
            *ret = mid;
            return true;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret = low;
    return false;
}

struct tool *tools_find(struct tools *t, struct slice raw)
{
    struct buf name = {0};
    size_t at;
    if (raw.p == NULL)
        return NULL;
    bool plain = raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL;
    if (!plain)
        json_unescape(&name, raw);
    bool found = !name.failed && tools_find_index_of_name(t, plain ? raw : buf_slice(&name), &at);
    buf_close(&name);
    return found ? &t->tool[at] : NULL;
}

/* Makes a tool with copies of its name and definition. Returns false if out of memory. */
static bool tool_open(struct tool *ret, struct slice name, struct slice text)
{
    *ret = (struct tool){.data = malloc(name.n + 1 + text.n)};
    if (ret->data == NULL)
        return false;
    memcpy(ret->data, name.p, name.n);
    ret->data[name.n] = '\0';
    memcpy(ret->data + name.n + 1, text.p, text.n);
    ret->name = (struct slice){ret->data, name.n};
    ret->text = (struct slice){ret->data + name.n + 1, text.n};
    struct json_value v = {JSON_OBJECT, ret->text};
    ret->input.text = json_get(v, "inputSchema");
    ret->output.text = json_get(v, "outputSchema");
    return true;
}

static size_t get_tool_size(const struct tool *tool)
{
    return tool->name.n + tool->text.n;
}

/* Removes the tools that are not in the new list. */
static void tools_remove_unlisted(struct tools *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->tool[i].generation == t->generation) {
            t->tool[kept++] = t->tool[i];
            continue;
        }
        t->bytes -= get_tool_size(&t->tool[i]);
        tool_close(&t->tool[i]);
    }
    t->n = kept;
    t->swept = t->generation;
}

static void tools_add_or_replace(struct tools *t, struct slice name, struct slice text)
{
    size_t at, size = name.n + text.n;
    struct tool new;
    bool known = tools_find_index_of_name(t, name, &at);
    if (known) {
        t->tool[at].generation = t->generation;
        if (slice_eq(t->tool[at].text, text))
            return;
    }
    size_t old = known ? get_tool_size(&t->tool[at]) : 0; /* size of the definition to replace */
    bool full = (!known && t->n == TOOLS_MAX) || size > TOOLS_BYTES_MAX - (t->bytes - old);
    if (full && t->swept != t->generation) {
        tools_remove_unlisted(t);
        /* find the index of the tool again, because removing tools has changed it */
        (void)tools_find_index_of_name(t, name, &at);
    }
    if (size > TOOLS_BYTES_MAX - (t->bytes - old) ||
        (!known && !(t->n < TOOLS_MAX && GROW(t->tool, t->n, t->cap))) ||
        !tool_open(&new, name, text)) {
        t->overflow = true;
        return;
    }
    if (known) {
        t->bytes -= old;
        tool_close(&t->tool[at]);
    } else {
        memmove(&t->tool[at + 1], &t->tool[at], (t->n - at) * sizeof *t->tool);
        t->n++;
    }
    new.generation = t->generation;
    t->tool[at] = new;
    t->bytes += name.n + text.n;
}

void tools_add_page(struct tools *t, const struct rpc *m, uint64_t cursor)
{
    struct slice key;
    struct json_value tool, list = json_get(m->result, "tools");
    struct buf name = {0};
    if (cursor == 0) {
        t->generation++;
        t->overflow = false;
    } else if (!t->begun || t->next != cursor) {
        return; /* this page belongs to another list than the pages so far */
    }
    if (list.type != JSON_ARRAY) {
        tools_forget_all(t);
        return;
    }
    t->begun = true;
    for (struct json_walk w = json_walk_begin(list); json_walk_next(&w, &key, &tool);) {
        struct json_value n = json_get(tool, "name");
        buf_clear(&name);
        if (n.type != JSON_STRING)
            continue;
        json_unescape(&name, json_string_raw(n));
        if (name.failed)
            t->overflow = true;
        else
            tools_add_or_replace(t, buf_slice(&name), tool.text);
    }
    buf_close(&name);
    t->next = m->next_cursor.type == JSON_STRING ? rpc_id_hash_json(m->next_cursor) : 0;
    if (t->next == 0)
        tools_remove_unlisted(t);
}

bool tools_are_complete(const struct tools *t)
{
    return t->begun && t->next == 0 && !t->overflow;
}

/* Compiles the schema, unless this was done before. An invalid schema is ignored. */
static enum tool_schema_state tools_compile_schema(struct tools *t, struct tool_schema *s,
                                                   struct schema_fault *fault)
{
    struct buf why = {0};
    if (s->state != TOOL_SCHEMA_NEW)
        return s->state;
    int st = s->text.type != JSON_NONE ? schema_open(&s->schema, s->text.text, &t->limits, &why)
                                       : MI_EINVAL;
    s->state = st == 0           ? TOOL_SCHEMA_READY
               : st == MI_EINVAL ? TOOL_SCHEMA_NONE
                                 : TOOL_SCHEMA_TOO_LARGE;
    if (s->state == TOOL_SCHEMA_TOO_LARGE && fault != NULL)
        buf_adds(&fault->reason, st == MI_ENOMEM ? "out of memory" : buf_str(&why));
    buf_close(&why);
    return s->state;
}

enum schema_result tools_check_arguments(struct tools *t, struct tool *tool,
                                         struct json_value arguments, struct schema_fault *fault)
{
    struct slice v = arguments.type != JSON_NONE ? arguments.text : (struct slice){"{}", 2};
    enum tool_schema_state state = tools_compile_schema(t, &tool->input, fault);
    if (state == TOOL_SCHEMA_READY)
        return schema_check(tool->input.schema, v, fault);
    return state == TOOL_SCHEMA_NONE ? SCHEMA_FITS : SCHEMA_UNKNOWN;
}

/* Returns the rule that a message violates, from the result of a schema check: `failed` if the
 * value does not match the schema; 0 if it matches. If the result is unknown, returns the rule
 * schema-not-checked the first time for each tool, and 0 later. */
static breaches tools_get_broken_rule(struct tool *tool, enum schema_result result,
                                      enum rule failed)
{
    if (result != SCHEMA_UNKNOWN)
        return result == SCHEMA_FAILS ? RULE(failed) : 0;
    bool noted = tool->not_checked;
    tool->not_checked = true;
    return noted ? 0 : RULE(RULE_SCHEMA_NOT_CHECKED);
}

breaches tools_check_call(struct tools *t, const struct rpc *m, struct tool **ret,
                          struct schema_fault *fault)
{
    *ret = NULL;
    if (!t->begun || m->name.type != JSON_STRING)
        return 0;
    *ret = tools_find(t, json_string_raw(m->name));
    if (*ret == NULL)
        return tools_are_complete(t) ? RULE(RULE_UNKNOWN_TOOL) : 0;
    enum schema_result result = tools_check_arguments(t, *ret, m->arguments, fault);
    return tools_get_broken_rule(*ret, result, RULE_INVALID_ARGUMENTS);
}

breaches tools_check_result(struct tools *t, struct slice raw, const struct rpc *m,
                            struct tool **ret, struct schema_fault *fault)
{
    /* An ordinary result of a tool is not a failure, a task or input_required. */
    bool is_ordinary = m->kind == RPC_RESULT && m->is_error.type != JSON_TRUE &&
                       m->in_result[FIELD_TASK] == JSON_NONE &&
                       (m->result_type.type == JSON_NONE ||
                        json_key_is(json_string_raw(m->result_type), "complete"));
    *ret = t->begun && is_ordinary ? tools_find(t, raw) : NULL;
    if (*ret == NULL)
        return 0;
    enum schema_result result = SCHEMA_FAILS;
    enum tool_schema_state state = tools_compile_schema(t, &(*ret)->output, fault);
    if (state != TOOL_SCHEMA_READY)
        result = state == TOOL_SCHEMA_NONE ? SCHEMA_FITS : SCHEMA_UNKNOWN;
    else if (m->structured.type != JSON_NONE)
        result = schema_check((*ret)->output.schema, m->structured.text, fault);
    else
        buf_adds(&fault->reason,
                 "the tool has an outputSchema, but the result has no structuredContent");
    return tools_get_broken_rule(*ret, result, RULE_INVALID_STRUCTURED_CONTENT);
}
