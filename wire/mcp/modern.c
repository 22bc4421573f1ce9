/* modern.c - features of revision 2026-07-28: a version and capabilities in each request, input requests inside
 * results, and streams of notifications. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/meta.h"
#include "wire/rpc_id.h"

/* ---- requests ------------------------------------------------------------------------------- */

breaches protocol_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a)
{
    struct json_value version = json_get(m->meta, META_VERSION);
    struct json_value capabilities = json_get(m->meta, META_CAPABILITIES);
    a->modern = true;
    a->revision = revision_of(json_string_raw(version));
    a->capabilities = capabilities_of(capabilities);
    a->wants_log = json_get(m->meta, META_LOG_LEVEL).type != JSON_NONE;
    p->log_requests += a->wants_log;
    p->modern = true;
    breaches r = a->revision == REV_COUNT ? RULE(RULE_UNKNOWN_REVISION) : 0;
    if (capabilities.type != JSON_OBJECT) {
        p->blame = FIELD_META;
        r |= RULE(RULE_MISSING_META);
    }
    return r;
}

/* Without an input_required result on this connection the state may come from another process of the server: a
 * conversation is not bound to a connection (mcp-wire.md 3.3), and some gateways start a process for each request. */
breaches protocol_retry(const struct protocol *p, const struct rpc *m, uint64_t id)
{
    if (p->states == 0 && p->stateless == 0)
        return 0;
    if (m->in_params[FIELD_INPUT_RESPONSES] != JSON_NONE &&
        m->in_params[FIELD_REQUEST_STATE] == JSON_NONE)
        return p->stateless > 0 ? 0 : RULE(RULE_BAD_RETRY);
    if (m->request_state.type != JSON_STRING || p->states > PROTOCOL_STATES)
        return 0;
    uint64_t state = rpc_id_hash_of(m->request_state);
    for (unsigned i = 0; i < p->states; i++)
        if (p->given[i].state == state)
            return p->given[i].id == id ? RULE(RULE_BAD_RETRY) : 0;
    return RULE(RULE_BAD_RETRY);
}

/* ---- streams -------------------------------------------------------------------------------- */

static uint8_t stream_kind(struct slice method)
{
    static const char *const kinds[] = {"notifications/tools/list_changed",
                                        "notifications/prompts/list_changed",
                                        "notifications/resources/list_changed",
                                        "notifications/resources/updated", "notifications/tasks"};
    for (unsigned i = 0; i < MI_COUNT(kinds); i++)
        if (json_key_is(method, kinds[i]))
            return (uint8_t)(1u << i);
    return 0;
}

void protocol_stream_open(struct protocol *p, const struct rpc *m, uint64_t id)
{
    static const char *const kinds[] = {"toolsListChanged", "promptsListChanged",
                                        "resourcesListChanged", "resourceSubscriptions", "taskIds"};
    struct json_value asked = json_get(m->params, "notifications");
    struct protocol_stream *s = &p->stream[p->next_stream++ % PROTOCOL_STREAMS];
    *s = (struct protocol_stream){.id = id};
    for (unsigned i = 0; i < MI_COUNT(kinds); i++) {
        struct json_value v = json_get(asked, kinds[i]);
        if (v.type == JSON_TRUE || v.type == JSON_ARRAY)
            s->kinds |= (uint8_t)(1u << i);
    }
}

static struct protocol_stream *find_stream(struct protocol *p, uint64_t id)
{
    for (int i = 0; id != 0 && i < PROTOCOL_STREAMS; i++)
        if (p->stream[i].id == id)
            return &p->stream[i];
    return NULL;
}

void protocol_stream_over(struct protocol *p, uint64_t id)
{
    struct protocol_stream *s = find_stream(p, id);
    if (s != NULL)
        s->over = true;
}

breaches protocol_streamed(struct protocol *p, const struct rpc *m)
{
    struct json_value id = json_get(m->meta, META_SUBSCRIPTION);
    if (id.type == JSON_NONE)
        return protocol_modern_only(p) ? RULE(RULE_NO_SUBSCRIPTION) : 0;
    struct protocol_stream *s = find_stream(p, rpc_id_hash_of(id));
    if (s == NULL)
        return p->next_stream > PROTOCOL_STREAMS ? 0 : RULE(RULE_NO_SUBSCRIPTION);
    uint8_t kind = stream_kind(m->method);
    if (kind == 0) {
        s->acknowledged = true;
        return 0;
    }
    if (s->over)
        return 0; /* the notification crossed with the end of the stream */
    return s->acknowledged && (s->kinds & kind) != 0 ? 0 : RULE(RULE_UNASKED_NOTIFICATION);
}

/* ---- results -------------------------------------------------------------------------------- */

/* The input requests inside a result require capabilities that the request declared. */
static breaches check_input_requests(const struct rpc *m, const struct protocol_asked *a)
{
    struct slice key;
    struct json_value one;
    struct json_value all = json_get(m->result, "inputRequests");
    if (all.type != JSON_OBJECT)
        return 0;
    for (struct json_walk w = json_walk_begin(all); json_walk_next(&w, &key, &one);) {
        const struct method *k = method_find(json_string_raw(json_get(one, "method")));
        if (k == NULL || k->from_client != 0 || k->capability == CAP_NONE)
            continue;
        if ((a->capabilities & 1u << k->capability) == 0 ||
            protocol_part(k, json_get(one, "params"), a->capabilities) != 0)
            return RULE(RULE_UNDECLARED_CAPABILITY);
    }
    return 0;
}

static breaches input_required(struct protocol *p, const struct rpc *m,
                               const struct protocol_asked *a)
{
    bool state = m->request_state.type == JSON_STRING;
    if (a->method == NULL || (a->method->flags & METHOD_ASKS_BACK) == 0 ||
        (!state && m->in_result[FIELD_INPUT_REQUESTS] != JSON_OBJECT))
        return RULE(RULE_MISPLACED_INPUT_REQUIRED);
    if (state) {
        p->given[p->states % PROTOCOL_STATES].state = rpc_id_hash_of(m->request_state);
        p->given[p->states % PROTOCOL_STATES].id = a->id;
        p->states++;
    } else {
        p->stateless++;
    }
    return check_input_requests(m, a);
}

static bool is_cached(struct protocol *p, const struct rpc *m)
{
    return !protocol_lacks(p, m->in_result, FIELD_TTL_MS, JSON_NUMBER) &&
           !protocol_lacks(p, m->in_result, FIELD_CACHE_SCOPE, JSON_STRING);
}

breaches protocol_modern_result(struct protocol *p, const struct rpc *m,
                                const struct protocol_asked *a, bool *ret_plain)
{
    struct slice type = json_string_raw(m->result_type);
    *ret_plain = false;
    if (m->result_type.type != JSON_NONE && !json_key_is(type, "complete")) {
        if (json_key_is(type, "input_required"))
            return input_required(p, m, a);
        bool call = a->method != NULL && slice_is(slice_of("tools/call"), a->method->name);
        return call && json_key_is(type, "task") ? 0 : RULE(RULE_UNKNOWN_RESULT_TYPE);
    }
    *ret_plain = true;
    breaches r = m->result_type.type == JSON_NONE ? RULE(RULE_MISSING_RESULT_TYPE) : 0;
    if (a->method == NULL)
        return r;
    if ((a->method->flags & METHOD_CACHED) && !is_cached(p, m))
        r |= RULE(RULE_MISSING_CACHE_FIELDS);
    if (slice_is(slice_of("server/discover"), a->method->name) && !p->declared[PARTY_SERVER]) {
        p->capabilities[PARTY_SERVER] = capabilities_of(json_get(m->result, "capabilities"));
        p->declared[PARTY_SERVER] = true;
    }
    return r;
}
