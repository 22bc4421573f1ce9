#include "model/context.h"

#include "wire/json/text.h"

static void tokens_add_text(struct tokens *t, const char *text)
{
    tokens_add(t, text, strlen(text));
}

/* Adds the tokens of a JSON string. raw: the text between its quotes. */
static void tokens_add_json_string(struct tokens *t, struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        tokens_add(t, p, (size_t)((escape != NULL ? escape : end) - p));
        if (escape == NULL)
            return;
        char c[JSON_CHAR_MAX];
        p = escape;
        tokens_add(t, c, json_decode_char(&p, end, c));
    }
}

int64_t context_count_text_tokens(struct slice raw)
{
    struct tokens t = {0};
    if (raw.p != NULL)
        tokens_add_json_string(&t, raw);
    return tokens_count(&t);
}

/* ---- definitions ---------------------------------------------------------------------------- */

static bool context_counts_member(struct slice key)
{
    static const char *const counted[] = {"name",         "description", "inputSchema",
                                          "outputSchema", "annotations", "arguments",
                                          "uri",          "uriTemplate", "mimeType"};
    for (size_t i = 0; i < MI_COUNT(counted); i++)
        if (json_key_is(key, counted[i]))
            return true;
    return false;
}

int64_t context_count_definition_tokens(struct slice object)
{
    struct tokens t = {0};
    struct slice key;
    struct json_value v;
    const char *before = "{\"";
    for (struct json_walk w = json_walk_begin((struct json_value){JSON_OBJECT, object});
         json_walk_next(&w, &key, &v);) {
        if (!context_counts_member(key))
            continue;
        tokens_add_text(&t, before);
        tokens_add(&t, key.p, key.n);
        tokens_add_text(&t, "\":");
        tokens_add(&t, v.text.p, v.text.n);
        before = ",\"";
    }
    if (before[0] == ',')
        tokens_add_text(&t, "}");
    return tokens_count(&t);
}

int64_t context_count_definitions_tokens(struct json_value array)
{
    int64_t sum = 0;
    struct slice none;
    struct json_value v;
    if (array.type != JSON_ARRAY)
        return 0;
    for (struct json_walk w = json_walk_begin(array); json_walk_next(&w, &none, &v);)
        if (v.type == JSON_OBJECT)
            sum += context_count_definition_tokens(v.text);
    return sum;
}

/* ---- results -------------------------------------------------------------------------------- */

bool context_counts_method_results(struct slice method)
{
    static const char *const counted[] = {"tools/call", "prompts/get", "resources/read",
                                          "tasks/result", "tasks/get"};
    for (size_t i = 0; i < MI_COUNT(counted); i++)
        if (slice_is(method, counted[i]))
            return true;
    return false;
}

/* What was counted so far, while the blocks of a result are read. */
struct context_reading {
    struct tokens tokens;
    bool has_text;
    int64_t binaries, binary_size;
};

/* Adds a text as a line. An empty text is ignored, so that structuredContent may be counted
 * instead. */
static void context_count_text_line(struct context_reading *r, struct json_value text)
{
    struct slice raw = json_string_raw(text);
    if (text.type != JSON_STRING || raw.n == 0)
        return;
    if (r->has_text)
        tokens_add_text(&r->tokens, "\n");
    tokens_add_json_string(&r->tokens, raw);
    r->has_text = true;
}

/* Adds the size of an image, audio or blob without decoding it. Four characters of base64 stand for
 * three bytes; each `=` at the end stands for one byte less. */
static void context_count_binary_size(struct context_reading *r, struct json_value base64)
{
    struct slice raw = json_string_raw(base64);
    if (base64.type != JSON_STRING)
        return;
    for (int i = 0; i < 2 && raw.n > 0 && raw.p[raw.n - 1] == '='; i++)
        raw.n--;
    r->binaries++;
    r->binary_size += (int64_t)(raw.n / 4 * 3 + raw.n % 4 * 3 / 4);
}

/* Adds a block of content. Blocks in the contents of a resource have no `type`. */
static void context_count_content_block(struct context_reading *r, struct json_value block)
{
    struct json_value type = {0}, text = {0}, data = {0}, blob = {0}, resource = {0}, v;
    struct slice key;
    for (struct json_walk w = json_walk_begin(block); json_walk_next(&w, &key, &v);) {
        if (json_key_is(key, "type"))
            type = v;
        else if (json_key_is(key, "text"))
            text = v;
        else if (json_key_is(key, "data"))
            data = v;
        else if (json_key_is(key, "blob"))
            blob = v;
        else if (json_key_is(key, "resource"))
            resource = v;
    }
    struct slice name = json_string_raw(type);
    if (type.type == JSON_NONE) {
        context_count_text_line(r, text);
        context_count_binary_size(r, blob);
    } else if (json_key_is(name, "text")) {
        context_count_text_line(r, text);
    } else if (json_key_is(name, "image") || json_key_is(name, "audio")) {
        context_count_binary_size(r, data);
    } else if (json_key_is(name, "resource")) {
        context_count_text_line(r, json_get(resource, "text"));
        context_count_binary_size(r, json_get(resource, "blob"));
    } else if (json_key_is(name, "resource_link")) {
        context_count_text_line(r, json_get(block, "uri"));
        context_count_text_line(r, json_get(block, "name"));
        context_count_text_line(r, json_get(block, "description"));
    }
}

/* Adds a block, or an array. If `inside` is NULL, the elements of the array are the blocks.
 * Otherwise each element has a member with this name, which is a block or an array of blocks. */
static void context_count_blocks_in_value(struct context_reading *r, struct json_value blocks,
                                          const char *inside)
{
    struct slice none;
    struct json_value v;
    if (blocks.type == JSON_OBJECT) { /* a prompt's message has one block instead of an array */
        context_count_content_block(r, blocks);
        return;
    }
    if (blocks.type != JSON_ARRAY)
        return;
    for (struct json_walk w = json_walk_begin(blocks); json_walk_next(&w, &none, &v);) {
        if (inside == NULL && v.type == JSON_OBJECT)
            context_count_content_block(r, v);
        else if (v.type == JSON_OBJECT)
            context_count_blocks_in_value(r, json_get(v, inside), NULL);
    }
}

struct context_members {
    struct json_value content, structured, contents, messages;
};

/* Counts the contents of a result. structuredContent repeats the texts, so it is counted only if
 * the result has no texts. */
static struct context_result measure_result_object(const struct context_members *m)
{
    struct context_reading r = {0};
    if (m->content.type == JSON_NONE && m->structured.type == JSON_NONE &&
        m->contents.type != JSON_ARRAY && m->messages.type != JSON_ARRAY)
        return CONTEXT_NO_RESULT;
    context_count_blocks_in_value(&r, m->content, NULL);
    context_count_blocks_in_value(&r, m->contents, NULL);
    context_count_blocks_in_value(&r, m->messages, "content");
    struct slice structured = m->structured.text;
    int64_t tokens = r.has_text || m->structured.type == JSON_NONE
                         ? tokens_count(&r.tokens)
                         : tokens_estimate(structured.p, structured.n);
    return (struct context_result){tokens, r.binaries, r.binary_size};
}

static struct json_value get_result_member(const struct rpc *m, enum field f)
{
    return m->in_result[f] != JSON_NONE ? json_get(m->result, field_name(f))
                                        : (struct json_value){0};
}

struct context_result context_result(const struct rpc *m)
{
    if (m->kind == RPC_ERROR)
        return (struct context_result){context_count_text_tokens(json_string_raw(m->error_message)),
                                       0, 0};
    if (m->kind != RPC_RESULT || m->result.type != JSON_OBJECT)
        return CONTEXT_NO_RESULT;
    struct context_result result = measure_result_object(
        &(struct context_members){m->content, m->structured, get_result_member(m, FIELD_CONTENTS),
                                  get_result_member(m, FIELD_MESSAGES)});
    if (result.tokens >= 0)
        return result;
    /* In revision 2026-07-28, an answer to tasks/get contains the result of the task. */
    struct json_value task = json_get(m->result, "result");
    return measure_result_object(
        &(struct context_members){json_get(task, "content"), json_get(task, "structuredContent"),
                                  json_get(task, "contents"), json_get(task, "messages")});
}
