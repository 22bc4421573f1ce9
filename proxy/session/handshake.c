#include "proxy/session/handshake.h"

#include "base/text.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/mcp/own.h"
#include "wire/rpc_out.h"

#include <stdio.h>

void handshake_open(struct handshake *h)
{
    *h = (struct handshake){.subscribed = {.max = HANDSHAKE_MAX},
                            .repeatable = {.max = HANDSHAKE_MAX},
                            .own_id = HANDSHAKE_ID};
}

void handshake_set_own_id_secret(struct handshake *h, const char *secret)
{
    snprintf(h->own_id, sizeof h->own_id, HANDSHAKE_ID "%.*s:", HANDSHAKE_SECRET_MAX, secret);
}

void handshake_close(struct handshake *h)
{
    buf_close(&h->initialize);
    buf_close(&h->answer);
    buf_close(&h->level);
    buf_close(&h->subscribed);
    buf_close(&h->repeatable);
}

/* ---- sets of strings: JSON strings, each between newlines (JSON strings contain no newlines) - */

static void append_normalized_string(struct buf *b, struct slice raw)
{
    struct buf plain = {0};
    json_unescape(&plain, raw);
    buf_addc(b, '\n');
    text_append_json(b, buf_slice(&plain));
    buf_addc(b, '\n');
    if (plain.failed)
        b->failed = true;
    buf_close(&plain);
}

static const char *find_string_in_set(const struct buf *set, const struct buf *item)
{
    return set->n < item->n ? NULL : memmem(set->p, set->n, item->p, item->n);
}

/* Adds the string to the set, or removes it if `in` is false. Returns false if out of memory; then
 * the set is unchanged. */
static bool string_set_add_or_remove(struct handshake *h, struct buf *set, struct slice raw,
                                     bool in)
{
    struct buf item = {0};
    append_normalized_string(&item, raw);
    bool looked = !item.failed;
    const char *at = item.failed || item.n == 0 ? NULL : find_string_in_set(set, &item);
    if (at != NULL && !in) {
        size_t from = (size_t)(at - set->p);
        memmove(set->p + from, set->p + from + item.n, set->n - from - item.n);
        set->n -= item.n;
    } else if (at == NULL && in) {
        if (!item.failed && buf_reserve(set, item.n))
            buf_slice_add(set, buf_slice(&item));
        else
            h->incomplete = true;
        set->failed = false; /* the set still has its previous, complete content */
    }
    buf_close(&item);
    return looked;
}

/* ---- learning ------------------------------------------------------------------------------- */

/* Copies s to b. Returns false if out of memory; then b is empty. */
static bool handshake_copy_text(struct handshake *h, struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_slice_add(b, s);
    if (!b->failed)
        return true;
    buf_clear(b);
    h->incomplete = true;
    return false;
}

static void store_initialize_answer(struct handshake *h, const struct rpc *request,
                                    const struct rpc *m)
{
    h->initialized = false;
    buf_clear(&h->level);
    buf_clear(&h->subscribed);
    h->initialize_lost =
        !handshake_copy_text(h, &h->initialize, request->params.text) ||
        !handshake_copy_text(h, &h->answer,
                             m->result.type == JSON_OBJECT ? m->result.text : (struct slice){0});
    if (h->answer.n == 0)
        buf_clear(&h->initialize);
}

static void remember_repeatable_tools(struct handshake *h, struct json_value tools)
{
    struct slice key;
    struct json_value tool;
    if (tools.type != JSON_ARRAY)
        return;
    for (struct json_walk w = json_walk_begin(tools); json_walk_next(&w, &key, &tool);) {
        if (tool.type != JSON_OBJECT)
            continue;
        struct json_value name = json_get(tool, "name");
        struct json_value hints = json_get(tool, "annotations");
        bool safe =
            hints.type == JSON_OBJECT && (json_get(hints, "readOnlyHint").type == JSON_TRUE ||
                                          json_get(hints, "idempotentHint").type == JSON_TRUE);
        if (name.type == JSON_STRING && (safe || h->repeatable.n > 0) &&
            !string_set_add_or_remove(h, &h->repeatable, json_string_raw(name), safe))
            /* Out of memory: this tool may still be in the set, so all tools are forgotten. */
            buf_clear(&h->repeatable);
    }
}

void handshake_handle_answer(struct handshake *h, const struct pending *p, const struct rpc *m)
{
    struct rpc request;
    if (json_key_is(p->method, "tools/list")) {
        remember_repeatable_tools(h, json_get(m->result, "tools"));
        return;
    }
    bool initialize = json_key_is(p->method, "initialize");
    bool level = json_key_is(p->method, "logging/setLevel");
    bool subscribe = json_key_is(p->method, "resources/subscribe");
    if (!initialize && !level && !subscribe && !json_key_is(p->method, "resources/unsubscribe"))
        return;
    if (p->text.p == NULL || rpc_read(p->text, &request) < 0) {
        h->incomplete = true;
        h->initialize_lost |= initialize;
        return;
    }
    if (initialize)
        store_initialize_answer(h, &request, m);
    else if (level)
        (void)handshake_copy_text(h, &h->level, request.params.text);
    else if (request.uri.type == JSON_STRING)
        (void)string_set_add_or_remove(h, &h->subscribed, json_string_raw(request.uri), subscribe);
}

void handshake_mark_client_initialized(struct handshake *h)
{
    h->initialized = true;
}

bool handshake_may_resend_request(const struct handshake *h, const struct pending *p)
{
    return p->text.p != NULL && handshake_request_is_repeatable(h, p);
}

bool handshake_request_is_repeatable(const struct handshake *h, const struct pending *p)
{
    if (p->flags & METHOD_READS)
        return true;
    return json_key_is(p->method, "tools/call") && p->target.p != NULL &&
           handshake_tool_may_run_twice(h, p->target);
}

bool handshake_tool_may_run_twice(const struct handshake *h, struct slice raw_name)
{
    struct buf item = {0};
    append_normalized_string(&item, raw_name);
    bool has = !item.failed && item.n > 0 && find_string_in_set(&h->repeatable, &item) != NULL;
    buf_close(&item);
    return has;
}

/* ---- repeating ------------------------------------------------------------------------------ */

bool handshake_is_id_made_by_proxy(const struct handshake *h, struct json_value id)
{
    return id.type == JSON_STRING && slice_begins(json_string_raw(id), h->own_id);
}

bool handshake_is_proxy_request_id(const struct handshake *h, struct json_value id, uint64_t n)
{
    char own[64];
    snprintf(own, sizeof own, "%s%llu", h->own_id, (unsigned long long)n);
    return id.type == JSON_STRING && json_key_is(json_string_raw(id), own);
}

void handshake_begin_request(struct handshake *h, struct json_out *j, const char *method)
{
    char id[64];
    int n = snprintf(id, sizeof id, "\"%s%llu\"", h->own_id, (unsigned long long)++h->last_id);
    rpc_out_begin_request(j, (struct slice){id, (size_t)n}, method);
}

static void handshake_write_request(struct handshake *h, struct buf *b, const char *method,
                                    struct slice params)
{
    struct json_out j = json_out_to(b);
    handshake_begin_request(h, &j, method);
    json_out_raw(&j, "params", params);
    json_out_end(&j);
}

bool handshake_write_initialize_request(struct handshake *h, struct buf *b)
{
    if (h->initialize.n == 0)
        return false;
    handshake_write_request(h, b, "initialize", buf_slice(&h->initialize));
    h->initialize_id = h->last_id;
    return true;
}

bool handshake_is_initialize_answer(const struct handshake *h, const struct rpc *m)
{
    return h->initialize_id != 0 && handshake_is_proxy_request_id(h, m->id, h->initialize_id);
}

bool handshake_is_compatible(const struct handshake *h, const struct rpc *m, struct buf *why)
{
    static const char *const parts[] = {"protocolVersion", "capabilities"};
    if (m->kind != RPC_RESULT) {
        buf_adds(why, "the new process rejected initialize");
        return false;
    }
    struct json_value old = {JSON_OBJECT, buf_slice(&h->answer)};
    for (size_t i = 0; i < MI_COUNT(parts); i++) {
        if (m->result.type == JSON_OBJECT &&
            json_equal(json_get(old, parts[i]), json_get(m->result, parts[i])))
            continue;
        buf_printf(why, "the new process answered initialize with a different %s than the old one",
                   parts[i]);
        return false;
    }
    return true;
}

bool handshake_write_next_message(struct handshake *h, size_t *at, struct buf *b)
{
    const struct buf *set = &h->subscribed;
    if (*at == 0) {
        *at = 1;
        if (h->initialized) {
            own_write_initialized_message(b);
            return true;
        }
    }
    if (*at == 1) {
        *at = 2;
        if (h->level.n > 0) {
            handshake_write_request(h, b, "logging/setLevel", buf_slice(&h->level));
            return true;
        }
    }
    size_t in_set = *at - 2; /* offset of the next URI, which stands between newlines */
    if (in_set >= set->n)
        return false;
    const char *start = set->p + in_set + 1;
    const char *end = memchr(start, '\n', set->n - in_set - 1);
    struct slice uri = {start, (size_t)(end - start)};
    *at += uri.n + 2;
    struct json_out j = json_out_to(b);
    handshake_begin_request(h, &j, "resources/subscribe");
    json_out_object(&j, "params");
    json_out_raw(&j, "uri", uri);
    rpc_out_end(&j);
    return true;
}

bool handshake_write_list_changed_notice(const struct handshake *h, size_t *at, struct buf *b)
{
    static const char *const lists[] = {"tools", "resources", "prompts"};
    struct json_value old = {JSON_OBJECT, buf_slice(&h->answer)};
    if (h->answer.n == 0)
        return false;
    struct json_value has = json_get(old, "capabilities");
    while (*at < MI_COUNT(lists)) {
        const char *list = lists[(*at)++];
        struct json_value c = has.type == JSON_OBJECT ? json_get(has, list) : has;
        if (c.type != JSON_OBJECT || json_get(c, "listChanged").type != JSON_TRUE)
            continue;
        char method[64];
        snprintf(method, sizeof method, "notifications/%s/list_changed", list);
        struct json_out j = json_out_to(b);
        rpc_out_begin_notification(&j, method);
        json_out_end(&j);
        return true;
    }
    return false;
}
