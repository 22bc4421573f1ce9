#include "wire/schema/tools.h"

#include "base/grow.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

static void tool_close(struct tool *t)
{
    schema_close(t->in);
    schema_close(t->out);
    free(t->data);
    *t = (struct tool){0};
}

void tools_forget(struct tools *t)
{
    for (size_t i = 0; i < t->n; i++)
        tool_close(&t->tool[i]);
    t->n = t->bytes = 0;
    t->next = 0;
    t->begun = t->overflow = false;
}

void tools_close(struct tools *t)
{
    tools_forget(t);
    free(t->tool);
    *t = (struct tools){0};
}

static int by_name(struct slice a, struct slice b)
{
    size_t n = size_min(a.n, b.n);
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

/* The index of the name, or where to insert it. */
static bool find(const struct tools *t, struct slice name, size_t *ret)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = by_name(t->tool[mid].name, name);
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
    bool found = !name.failed && find(t, plain ? raw : buf_slice(&name), &at);
    buf_close(&name);
    return found ? &t->tool[at] : NULL;
}

/* Copies name and definition into one block. */
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
    ret->input = json_get(v, "inputSchema");
    ret->output = json_get(v, "outputSchema");
    return true;
}

/* Removes the tools that are not in the new list. */
static void sweep(struct tools *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->tool[i].generation == t->generation) {
            t->tool[kept++] = t->tool[i];
            continue;
        }
        t->bytes -= t->tool[i].name.n + t->tool[i].text.n;
        tool_close(&t->tool[i]);
    }
    t->n = kept;
}

static void put(struct tools *t, struct slice name, struct slice text)
{
    size_t at;
    struct tool new;
    bool known = find(t, name, &at);
    if (!known && (t->n == TOOLS_MAX || name.n + text.n > TOOLS_BYTES_MAX - t->bytes)) {
        sweep(t);
        (void)find(t, name, &at); /* still absent, but its index has changed */
    }
    if (known && slice_eq(t->tool[at].text, text)) {
        t->tool[at].generation = t->generation;
        return;
    }
    if (name.n + text.n > TOOLS_BYTES_MAX - t->bytes ||
        (!known && !(t->n < TOOLS_MAX && GROW(t->tool, t->n, t->cap))) ||
        !tool_open(&new, name, text)) {
        t->overflow = true;
        return;
    }
    if (known) {
        t->bytes -= t->tool[at].name.n + t->tool[at].text.n;
        tool_close(&t->tool[at]);
    } else {
        memmove(&t->tool[at + 1], &t->tool[at], (t->n - at) * sizeof *t->tool);
        t->n++;
    }
    new.generation = t->generation;
    t->tool[at] = new;
    t->bytes += name.n + text.n;
}

void tools_page(struct tools *t, const struct rpc *m, uint64_t cursor)
{
    struct slice key;
    struct json_value tool, list = json_get(m->result, "tools");
    struct buf name = {0};
    if (cursor == 0) {
        t->generation++;
        t->overflow = false;
    } else if (!t->begun || t->next != cursor) {
        return; /* a page of another list */
    }
    if (list.type != JSON_ARRAY) {
        tools_forget(t);
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
            put(t, buf_slice(&name), tool.text);
    }
    buf_close(&name);
    t->next = m->next_cursor.type == JSON_STRING ? rpc_id_hash_of(m->next_cursor) : 0;
    if (t->next == 0)
        sweep(t);
}

bool tools_whole(const struct tools *t)
{
    return t->begun && t->next == 0 && !t->overflow;
}

/* Compiles a schema once. A schema that does not compile is ignored. */
static struct schema *compiled(struct schema **s, bool *tried, struct json_value v)
{
    struct buf why = {0};
    if (!*tried && v.type != JSON_NONE && schema_open(s, v.text, &why) < 0)
        *s = NULL;
    *tried = true;
    buf_close(&why);
    return *s;
}

enum schema_result tools_check_arguments(struct tool *t, struct json_value arguments,
                                         struct schema_fault *fault)
{
    struct schema *s = compiled(&t->in, &t->in_tried, t->input);
    struct slice v = arguments.type != JSON_NONE ? arguments.text : (struct slice){"{}", 2};
    return s != NULL ? schema_check(s, v, fault) : SCHEMA_FITS;
}

static enum schema_result check_result(struct tool *t, struct json_value structured,
                                       struct schema_fault *fault)
{
    struct schema *s = compiled(&t->out, &t->out_tried, t->output);
    if (s == NULL)
        return SCHEMA_FITS;
    if (structured.type != JSON_NONE)
        return schema_check(s, structured.text, fault);
    buf_adds(&fault->reason,
             "the tool has an outputSchema, but the result has no structuredContent");
    return SCHEMA_FAILS;
}

breaches tools_call(struct tools *t, const struct rpc *m, struct tool **ret,
                    struct schema_fault *fault)
{
    *ret = NULL;
    if (!t->begun || m->name.type != JSON_STRING)
        return 0;
    *ret = tools_find(t, json_string_raw(m->name));
    if (*ret == NULL)
        return tools_whole(t) ? RULE(RULE_UNKNOWN_TOOL) : 0;
    bool fails = tools_check_arguments(*ret, m->arguments, fault) == SCHEMA_FAILS;
    return fails ? RULE(RULE_INVALID_ARGUMENTS) : 0;
}

/* An ordinary result of the tool: not a failure, a task or input_required. */
static bool is_plain(const struct rpc *m)
{
    return m->kind == RPC_RESULT && m->is_error.type != JSON_TRUE &&
           m->in_result[FIELD_TASK] == JSON_NONE &&
           (m->result_type.type == JSON_NONE ||
            json_key_is(json_string_raw(m->result_type), "complete"));
}

breaches tools_result(struct tools *t, struct slice raw, const struct rpc *m, struct tool **ret,
                      struct schema_fault *fault)
{
    *ret = t->begun && is_plain(m) ? tools_find(t, raw) : NULL;
    if (*ret == NULL || check_result(*ret, m->structured, fault) != SCHEMA_FAILS)
        return 0;
    return RULE(RULE_INVALID_STRUCTURED_CONTENT);
}
