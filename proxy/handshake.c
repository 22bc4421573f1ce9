#include "proxy/handshake.h"

#include "base/text.h"
#include "wire/json_text.h"
#include "wire/method.h"

#include <stdio.h>

void handshake_open(struct handshake *h)
{
    *h = (struct handshake){.subscribed = {.max = HANDSHAKE_MAX},
                            .repeatable = {.max = HANDSHAKE_MAX}};
}

void handshake_close(struct handshake *h)
{
    buf_close(&h->initialize);
    buf_close(&h->answer);
    buf_close(&h->level);
    buf_close(&h->subscribed);
    buf_close(&h->repeatable);
}

/* ---- sets of strings: a list of JSON strings, each between newlines, which they cannot hold --------- */

static void normal(struct buf *b, struct slice raw)
{
    struct buf plain = {0};
    json_unescape(&plain, raw);
    buf_addc(b, '\n');
    text_json(b, buf_slice(&plain));
    buf_addc(b, '\n');
    if (plain.failed)
        b->failed = true;
    buf_close(&plain);
}

static const char *set_find(const struct buf *set, const struct buf *item)
{
    return set->n < item->n ? NULL : memmem(set->p, set->n, item->p, item->n);
}

/* False: there was no memory to look, and the set is as it was. */
static bool set_put(struct handshake *h, struct buf *set, struct slice raw, bool in)
{
    struct buf item = {0};
    normal(&item, raw);
    bool looked = !item.failed;
    const char *at = item.failed || item.n == 0 ? NULL : set_find(set, &item);
    if (at != NULL && !in) {
        size_t from = (size_t)(at - set->p);
        memmove(set->p + from, set->p + from + item.n, set->n - from - item.n);
        set->n -= item.n;
    } else if (at == NULL && in) {
        if (!item.failed && buf_room(set, item.n))
            buf_slice_add(set, buf_slice(&item));
        else
            h->forgot = true;
        set->failed = false; /* what is in it is whole */
    }
    buf_close(&item);
    return looked;
}

static bool set_has(const struct buf *set, struct slice raw)
{
    struct buf item = {0};
    normal(&item, raw);
    bool has = !item.failed && item.n > 0 && set_find(set, &item) != NULL;
    buf_close(&item);
    return has;
}

/* ---- learning ------------------------------------------------------------------------------- */

/* A copy, or nothing at all, and false. */
static bool keep(struct handshake *h, struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_slice_add(b, s);
    if (!b->failed)
        return true;
    buf_clear(b);
    h->forgot = true;
    return false;
}

static void learn_initialize(struct handshake *h, const struct rpc *request, const struct rpc *m)
{
    h->initialized = false;
    buf_clear(&h->level);
    buf_clear(&h->subscribed);
    h->lost =
        !keep(h, &h->initialize, request->params.text) ||
        !keep(h, &h->answer, m->result.type == JSON_OBJECT ? m->result.text : (struct slice){0});
    if (h->answer.n == 0)
        buf_clear(&h->initialize);
}

static void learn_tools(struct handshake *h, struct json_value tools)
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
            !set_put(h, &h->repeatable, json_string_raw(name), safe))
            buf_clear(&h->repeatable); /* this one may stand in it, and must not */
    }
}

void handshake_answered(struct handshake *h, const struct pending *p, const struct rpc *m)
{
    struct rpc request;
    if (json_key_is(p->method, "tools/list")) {
        learn_tools(h, json_get(m->result, "tools"));
        return;
    }
    bool initialize = json_key_is(p->method, "initialize");
    bool level = json_key_is(p->method, "logging/setLevel");
    bool subscribe = json_key_is(p->method, "resources/subscribe");
    if (!initialize && !level && !subscribe && !json_key_is(p->method, "resources/unsubscribe"))
        return;
    if (p->text.p == NULL || rpc_read(p->text, &request) < 0) {
        h->forgot = true;
        h->lost |= initialize;
        return;
    }
    if (initialize)
        learn_initialize(h, &request, m);
    else if (level)
        (void)keep(h, &h->level, request.params.text);
    else if (request.uri.type == JSON_STRING)
        (void)set_put(h, &h->subscribed, json_string_raw(request.uri), subscribe);
}

void handshake_initialized(struct handshake *h)
{
    h->initialized = true;
}

bool handshake_repeats(const struct handshake *h, const struct pending *p)
{
    if (p->text.p == NULL)
        return false;
    if (p->flags & METHOD_READS)
        return true;
    return json_key_is(p->method, "tools/call") && p->target.p != NULL &&
           set_has(&h->repeatable, p->target);
}

/* ---- saying it all again -------------------------------------------------------------------- */

bool handshake_is_own_id(struct json_value id)
{
    return id.type == JSON_STRING && slice_begins(json_string_raw(id), HANDSHAKE_ID);
}

uint64_t handshake_own_id(struct handshake *h)
{
    return ++h->last_id;
}

static void request(struct handshake *h, struct buf *b, const char *method, struct slice params)
{
    buf_printf(b,
               "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID "%llu\",\"method\":\"%s\",\"params\":",
               (unsigned long long)handshake_own_id(h), method);
    buf_slice_add(b, params);
    buf_addc(b, '}');
}

bool handshake_first(struct handshake *h, struct buf *b)
{
    if (h->initialize.n == 0)
        return false;
    request(h, b, "initialize", buf_slice(&h->initialize));
    h->initialize_id = h->last_id;
    return true;
}

bool handshake_is_answer(const struct handshake *h, const struct rpc *m)
{
    char id[64];
    snprintf(id, sizeof id, HANDSHAKE_ID "%llu", (unsigned long long)h->initialize_id);
    return h->initialize_id != 0 && json_key_is(json_string_raw(m->id), id);
}

bool handshake_same(const struct handshake *h, const struct rpc *m, struct buf *why)
{
    static const char *const parts[] = {"protocolVersion", "capabilities"};
    if (m->kind != RPC_RESULT) {
        buf_adds(why, "the new process refuses initialize");
        return false;
    }
    struct json_value old = {JSON_OBJECT, buf_slice(&h->answer)};
    for (size_t i = 0; i < MI_COUNT(parts); i++) {
        if (m->result.type == JSON_OBJECT &&
            json_equal(json_get(old, parts[i]), json_get(m->result, parts[i])))
            continue;
        buf_printf(why, "the new process answers initialize with another %s than the old one",
                   parts[i]);
        return false;
    }
    return true;
}

/* The *at-th uri of the set, without its newlines. */
static bool set_at(const struct buf *set, size_t *at, struct slice *ret)
{
    if (*at >= set->n)
        return false;
    const char *p = set->p + *at + 1;
    const char *end = memchr(p, '\n', set->n - *at - 1);
    *ret = (struct slice){p, (size_t)(end - p)};
    *at += ret->n + 2;
    return true;
}

bool handshake_next(struct handshake *h, size_t *at, struct buf *b)
{
    struct slice uri;
    if (*at == 0) {
        *at = 1;
        if (h->initialized) {
            buf_adds(b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
            return true;
        }
    }
    if (*at == 1) {
        *at = 2;
        if (h->level.n > 0) {
            request(h, b, "logging/setLevel", buf_slice(&h->level));
            return true;
        }
    }
    size_t in_set = *at - 2;
    if (!set_at(&h->subscribed, &in_set, &uri))
        return false;
    *at = in_set + 2;
    struct buf params = {0};
    buf_adds(&params, "{\"uri\":");
    buf_slice_add(&params, uri);
    buf_addc(&params, '}');
    request(h, b, "resources/subscribe", buf_slice(&params));
    if (params.failed)
        b->failed = true;
    buf_close(&params);
    return true;
}

bool handshake_hint(const struct handshake *h, size_t *at, struct buf *b)
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
        buf_printf(b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"}", list);
        return true;
    }
    return false;
}
