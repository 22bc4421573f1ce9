#include "cli/frame/preview.h"

#include "base/text.h"
#include "wire/json/text.h"

/* Indented JSON may be this many times longer than the same JSON without white space. */
#define INDENT_FACTOR 4

struct rpc_members {
    struct json_value params, result, error;
};

static void preview_on_member(void *ctx, const struct json_member *m)
{
    struct rpc_members *p = ctx;
    if (m->depth != 1)
        return;
    if (json_key_is(m->key, "params"))
        p->params = m->value;
    else if (json_key_is(m->key, "result"))
        p->result = m->value;
    else if (json_key_is(m->key, "error"))
        p->error = m->value;
}

static void append_first_bytes(struct buf *b, struct slice text, size_t max)
{
    buf_slice_add(b, text_prefix(text, max));
}

/* Returns the beginning of a JSON string's raw text: at most `max` bytes, which end between two
 * characters or escapes. */
static struct slice cut_json_string(struct slice raw, size_t max)
{
    size_t i = 0;
    if (raw.n <= max)
        return raw;
    while (i < max) {
        size_t step = raw.p[i] != '\\' ? 1 : raw.p[i + 1] == 'u' ? 6 : 2;
        if (i + step > max)
            break;
        i += step;
    }
    return text_prefix(raw, i);
}

/* Appends a string without its quotes; appends any other value unchanged. */
static void preview_add_unquoted_value(struct buf *b, struct json_value v, size_t max)
{
    if (v.type == JSON_STRING)
        json_unescape(b, cut_json_string(json_string_raw(v), max));
    else
        append_first_bytes(b, v.text, max);
}

static struct json_value preview_get_member(struct json_value v, const char *name)
{
    return v.type == JSON_OBJECT ? json_get(v, name) : (struct json_value){0};
}

static struct json_value first_array_element(struct json_value v)
{
    struct json_value item = {0};
    struct slice key;
    if (v.type != JSON_ARRAY)
        return item;
    struct json_walk w = json_walk_begin(v);
    return json_walk_next(&w, &key, &item) ? item : (struct json_value){0};
}

static void preview_add_error(struct buf *b, struct json_value error, size_t max)
{
    struct json_value code = preview_get_member(error, "code");
    struct json_value message = preview_get_member(error, "message");
    if (message.type != JSON_STRING) {
        append_first_bytes(b, error.text, max);
        return;
    }
    if (code.type != JSON_NONE) {
        append_first_bytes(b, code.text, 32);
        buf_addc(b, ' ');
    }
    preview_add_unquoted_value(b, message, max);
}

/* Appends a summary of a list, such as `3 tools: echo, get-sum, …`. Returns false if the result is
 * not a list. */
static bool preview_add_list_summary(struct buf *b, struct json_value result, size_t max)
{
    static const char *const lists[] = {"tools", "resources", "resourceTemplates", "prompts"};
    struct json_value list = {0}, item;
    size_t i = 0;
    for (; i < MI_COUNT(lists) && list.type != JSON_ARRAY; i++)
        list = preview_get_member(result, lists[i]);
    if (list.type != JSON_ARRAY)
        return false;
    int64_t n = 0;
    struct slice key;
    for (struct json_walk w = json_walk_begin(list); json_walk_next(&w, &key, &item);)
        n++;
    buf_int(b, n);
    buf_addc(b, ' ');
    buf_adds(b, lists[i - 1]);
    const char *gap = ": ";
    size_t from = b->n;
    for (struct json_walk w = json_walk_begin(list);
         json_walk_next(&w, &key, &item) && b->n - from < max;) {
        struct json_value name = preview_get_member(item, "name");
        buf_adds(b, gap);
        preview_add_unquoted_value(b, name.type == JSON_STRING ? name : item, max);
        gap = ", ";
    }
    return true;
}

/* Appends the text of a tool's result, a resource or a prompt, without the JSON around it. Returns
 * false if the result has no text. */
static bool preview_add_result_text(struct buf *b, struct json_value result, size_t max)
{
    struct json_value item = first_array_element(preview_get_member(result, "content"));
    if (item.type == JSON_NONE)
        item = first_array_element(preview_get_member(result, "contents"));
    if (item.type == JSON_NONE)
        item = preview_get_member(first_array_element(preview_get_member(result, "messages")),
                                  "content");
    struct json_value text = preview_get_member(item, "text");
    if (text.type == JSON_STRING)
        preview_add_unquoted_value(b, text, max);
    return text.type == JSON_STRING;
}

/* Appends the client or server of a handshake: "files 1.2, 2025-11-25". Returns false if there is
 * no name. */
static bool append_peer_name_and_version(struct buf *b, struct json_value peer,
                                         struct json_value revision, size_t max)
{
    struct json_value name = preview_get_member(peer, "name"),
                      version = preview_get_member(peer, "version");
    if (name.type != JSON_STRING)
        return false;
    preview_add_unquoted_value(b, name, max);
    if (version.type == JSON_STRING) {
        buf_addc(b, ' ');
        preview_add_unquoted_value(b, version, 32);
    }
    if (revision.type == JSON_STRING) {
        buf_adds(b, ", ");
        preview_add_unquoted_value(b, revision, 32);
    }
    return true;
}

/* Appends progress such as `2 of 4: copying`. Returns false if `progress` is not a number. */
static bool add_progress(struct buf *b, struct json_value params, size_t max)
{
    struct json_value done = preview_get_member(params, "progress");
    struct json_value total = preview_get_member(params, "total");
    struct json_value text = preview_get_member(params, "message");
    if (done.type != JSON_NUMBER)
        return false;
    append_first_bytes(b, done.text, 32);
    if (total.type == JSON_NUMBER) {
        buf_adds(b, " of ");
        append_first_bytes(b, total.text, 32);
    }
    if (text.type == JSON_STRING) {
        buf_adds(b, ": ");
        preview_add_unquoted_value(b, text, max);
    }
    return true;
}

static void add_params(struct buf *b, const struct query_message *m, struct json_value params,
                       size_t max)
{
    const char *inner = NULL;
    if (slice_is(m->method, "initialize") &&
        append_peer_name_and_version(b, preview_get_member(params, "clientInfo"),
                                     preview_get_member(params, "protocolVersion"), max))
        return;
    if (slice_is(m->method, "notifications/progress") && add_progress(b, params, max))
        return;
    if (slice_is(m->method, "tools/call") || slice_is(m->method, "prompts/get"))
        inner = "arguments";
    else if (slice_is(m->method, "notifications/message"))
        inner = "data";
    struct json_value v = inner != NULL ? preview_get_member(params, inner) : params;
    if (v.type != JSON_NONE)
        preview_add_unquoted_value(b, v, max);
    else if (inner == NULL || params.type != JSON_OBJECT)
        append_first_bytes(b, params.text, max);
}

/* In incomplete JSON, returns the text after the first key with this name; {NULL, 0} if there is
 * none. A heuristic, for display only: the key may be at another level than expected. */
static struct slice find_text_after_key(struct slice text, const char *name)
{
    const char *end = text.p + text.n;
    size_t n = strlen(name);
    for (const char *p = text.p; (p = memmem(p, (size_t)(end - p), name, n)) != NULL; p++) {
        size_t before = (size_t)(p - text.p);
        if (before == 0 || p[-1] != '"' || (before > 1 && p[-2] == '\\'))
            continue;
        const char *colon = p + n < end && p[n] == '"' ? p + n + 1 : end;
        while (colon < end && *colon == ' ')
            colon++;
        if (colon < end && *colon == ':')
            return (struct slice){colon + 1, (size_t)(end - colon - 1)};
    }
    return (struct slice){0};
}

/* Appends the preview of a body that is incomplete or not valid JSON. */
static void append_partial_preview(struct buf *b, const struct query_message *m, struct slice head,
                                   size_t max)
{
    static const char *const keys[] = {"arguments", "text", "params", "result"};
    bool call = m->kind == KIND_REQUEST || m->kind == KIND_NOTIFICATION;
    struct slice rest = {0};
    for (size_t i = call ? 0 : 1; i < MI_COUNT(keys) && rest.p == NULL; i += 2)
        rest = find_text_after_key(head, keys[i]);
    append_first_bytes(b, rest.p != NULL ? rest : head, max);
}

static void preview_add_body(struct buf *b, const struct query_message *m, struct slice body,
                             size_t max)
{
    struct rpc_members p = {0};
    struct json_scan scan;
    if (json_scan(body, preview_on_member, &p, &scan) < 0 || scan.type != JSON_OBJECT) {
        append_partial_preview(b, m, body, max);
    } else if (p.error.type != JSON_NONE && p.error.type != JSON_NULL) {
        preview_add_error(b, p.error, max);
    } else if (p.result.type != JSON_NONE) {
        if (!append_peer_name_and_version(b, preview_get_member(p.result, "serverInfo"),
                                          preview_get_member(p.result, "protocolVersion"), max) &&
            !preview_add_list_summary(b, p.result, max) &&
            !preview_add_result_text(b, p.result, max))
            append_first_bytes(b, p.result.text, max);
    } else if (p.params.type != JSON_NONE) {
        add_params(b, m, p.params, max);
    } else if (m->method.p == NULL) {
        append_first_bytes(b, body, max); /* the body is not a message of a known type */
    }
}

/* Replaces each run of white space with one blank, so that a line shows as much as possible of
 * indented JSON. */
static void collapse_white_space(struct buf *b, size_t from)
{
    size_t to = from;
    for (size_t i = from; i < b->n; i++) {
        bool blank = memchr(" \t\r\n", b->p[i], 4) != NULL;
        if (!blank)
            b->p[to++] = b->p[i];
        else if (to > from && b->p[to - 1] != ' ')
            b->p[to++] = ' ';
    }
    b->n = to;
}

void preview_add_message(struct buf *b, const struct query_message *m, struct slice body,
                         size_t max)
{
    size_t from = b->n;
    if (body.p == NULL)
        return;
    if (m->kind == KIND_STDERR) { /* a line of stderr is shown unchanged */
        append_first_bytes(b, body, max);
        return;
    }
    preview_add_body(b, m, body, max < SIZE_MAX / INDENT_FACTOR ? INDENT_FACTOR * max : SIZE_MAX);
    if (b->failed || b->n == from)
        return;
    collapse_white_space(b, from);
    b->n = from + text_prefix((struct slice){b->p + from, b->n - from}, max).n;
}
