/* input.c - results that ask for input in 2026-07-28, and the retries with this input. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/rpc_id.h"

#define HASHED_MAX ((size_t)16 << 10) /* maximum number of bytes of a value that is hashed */

/* ---- hashes --------------------------------------------------------------------------------- */

/* Returns the end of the string or other scalar that begins at p. */
static const char *find_end_of_scalar(const char *p, const char *end)
{
    if (*p == '"') {
        for (p++; p < end && *p != '"'; p++)
            if (*p == '\\')
                p++;
        return p < end ? p + 1 : end;
    }
    while (p < end && strchr(",:]}[{ \t\r\n", *p) == NULL)
        p++;
    return p;
}

/* Whether the scalar that ends at p is the key of a member. */
static bool scalar_is_member_key(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) != NULL)
        p++;
    return p < end && *p == ':';
}

uint64_t protocol_hash_scalars_of_value(struct json_value v)
{
    /* hash of the key that was read last; 0: no key was read since the start or the last `}` */
    uint64_t sum = 1, key = 0;
    if (v.text.n == 0 || v.text.n > HASHED_MAX)
        return v.text.n == 0;
    const char *p = v.text.p, *end = v.text.p + v.text.n;
    while (p < end) {
        if (strchr(",:]}[{ \t\r\n", *p) != NULL) {
            key = *p == '}' ? 0 : key;
            p++;
            continue;
        }
        const char *to = find_end_of_scalar(p, end);
        struct slice scalar = {p, (size_t)(to - p)};
        uint64_t hash = *p == '"' ? rpc_id_hash_json((struct json_value){JSON_STRING, scalar})
                                  : rpc_id_hash(scalar);
        if (hash == 0) /* the hash is 0 if memory runs out */
            return 0;
        if (scalar_is_member_key(to, end)) {
            key = hash;
        } else {
            hash += key * 31;
            sum += (hash ^ hash >> 29) * 0x9E3779B97F4A7C15u;
        }
        p = to;
    }
    return sum != 0 ? sum : 1;
}

uint64_t protocol_hash_of_target(const struct rpc *m, const struct method *k)
{
    uint64_t arguments = protocol_hash_scalars_of_value(m->arguments);
    uint64_t name = protocol_hash_scalars_of_value(m->name.type != JSON_NONE ? m->name : m->uri);
    uint64_t both = (name * 31 + arguments) * 31 + rpc_id_hash(slice_of(k->name));
    return arguments != 0 && name != 0 ? both : 0;
}

/* ---- requests for input --------------------------------------------------------------------- */

/* Whether the text begins with the scheme of a URL, and has no blanks. */
static bool text_is_url(struct slice s)
{
    size_t n = 0;
    if (s.p == NULL || memchr(s.p, ' ', s.n) != NULL)
        return false;
    while (n < s.n && ((s.p[n] >= 'a' && s.p[n] <= 'z') || (s.p[n] >= 'A' && s.p[n] <= 'Z') ||
                       (n > 0 && strchr("0123456789+.-", s.p[n]) != NULL)))
        n++;
    return n > 0 && n + 1 < s.n && s.p[n] == ':';
}

/* Whether the schema describes an object that has no objects as members. */
static bool schema_has_no_object_members(struct json_value schema)
{
    struct slice key;
    struct json_value one, members = json_get(schema, "properties");
    if (!json_key_is(json_string_raw(json_get(schema, "type")), "object") ||
        members.type != JSON_OBJECT)
        return false;
    for (struct json_walk w = json_walk_begin(members); json_walk_next(&w, &key, &one);)
        if (one.type != JSON_OBJECT ||
            json_key_is(json_string_raw(json_get(one, "type")), "object") ||
            json_get(one, "properties").type != JSON_NONE)
            return false;
    return true;
}

/* Returns the member that makes an elicitation invalid, or NULL. */
static const char *find_elicitation_flaw(struct json_value params)
{
    struct json_value mode = json_get(params, "mode");
    bool url = json_key_is(json_string_raw(mode), "url");
    if (json_get(params, "message").type != JSON_STRING)
        return "message";
    if (mode.type != JSON_NONE && !url && !json_key_is(json_string_raw(mode), "form"))
        return "mode";
    if (url)
        return text_is_url(json_string_raw(json_get(params, "url"))) ? NULL : "url";
    return schema_has_no_object_members(json_get(params, "requestedSchema")) ? NULL
                                                                             : "requestedSchema";
}

static const char *find_sampling_flaw(struct json_value params)
{
    struct slice key;
    struct json_value one, messages = json_get(params, "messages");
    if (messages.type != JSON_ARRAY)
        return "messages";
    for (struct json_walk w = json_walk_begin(messages); json_walk_next(&w, &key, &one);) {
        struct slice role = json_string_raw(json_get(one, "role"));
        if (!json_key_is(role, "user") && !json_key_is(role, "assistant"))
            return "role";
        if (json_get(one, "content").type == JSON_NONE)
            return "content";
    }
    return json_get(params, "maxTokens").type == JSON_NUMBER ? NULL : "maxTokens";
}

static const char *find_request_flaw(struct json_value request)
{
    struct slice method = json_string_raw(json_get(request, "method"));
    struct json_value params = json_get(request, "params");
    if (json_key_is(method, "elicitation/create"))
        return find_elicitation_flaw(params);
    if (json_key_is(method, "sampling/createMessage"))
        return find_sampling_flaw(params);
    return json_key_is(method, "roots/list") ? NULL : "method";
}

breaches protocol_check_inputs(struct protocol *p, struct json_value requests,
                               uint32_t capabilities)
{
    struct slice key;
    struct json_value one;
    breaches r = 0;
    struct json_walk w = json_walk_begin(requests);
    for (int i = 0; i < PROTOCOL_KEYS && json_walk_next(&w, &key, &one); i++) {
        /* skip a request that was redacted: `check` reads messages from recordings */
        if (slice_begins(json_string_raw(one), "[redacted:"))
            continue;
        const char *flaw = find_request_flaw(one);
        const struct method *k = method_find(json_string_raw(json_get(one, "method")));
        if (flaw != NULL) {
            p->blame = flaw;
            r |= RULE(RULE_INVALID_INPUT_REQUEST);
        }
        if (k == NULL || k->from_client != 0 || k->capability == CAP_NONE)
            continue;
        if ((capabilities & 1u << k->capability) == 0 ||
            protocol_check_subcapability(k, json_get(one, "params"), capabilities) != 0)
            r |= RULE(RULE_UNDECLARED_CAPABILITY);
    }
    return r;
}

breaches protocol_check_input_required(struct protocol *p, const struct rpc *m,
                                       const struct protocol_asked *a)
{
    bool has_state = m->request_state.type == JSON_STRING;
    struct json_value requests = json_get(m->result, "inputRequests");
    if (a->method == NULL || (a->method->flags & METHOD_ASKS_BACK) == 0 ||
        (!has_state && requests.type != JSON_OBJECT))
        return RULE(RULE_MISPLACED_INPUT_REQUIRED);
    if (has_state)
        p->given[p->states++ % PROTOCOL_STATES] =
            (struct protocol_state){.state = rpc_id_hash_json(m->request_state),
                                    .id = a->id,
                                    .target = a->target,
                                    .asks = requests.type == JSON_OBJECT};
    else
        p->stateless++;
    return requests.type == JSON_OBJECT ? protocol_check_inputs(p, requests, a->capabilities) : 0;
}

/* ---- responses ------------------------------------------------------------------------------ */

bool protocol_has_invalid_roots(struct protocol *p, struct json_value roots)
{
    struct slice key;
    struct json_value one;
    for (struct json_walk w = json_walk_begin(roots); json_walk_next(&w, &key, &one);) {
        struct slice uri = json_string_raw(json_get(one, "uri"));
        if (uri.p == NULL ||
            (memchr(uri.p, '\\', uri.n) == NULL && !slice_begins(uri, "file://"))) {
            p->blame = "uri";
            return true;
        }
    }
    return false;
}

breaches protocol_check_responses(struct protocol *p, const struct rpc *m)
{
    struct slice key;
    struct json_value one, all = json_get(m->params, "inputResponses");
    for (struct json_walk w = json_walk_begin(all); json_walk_next(&w, &key, &one);)
        if (protocol_has_invalid_roots(p, json_get(one, "roots")))
            return RULE(RULE_INVALID_PARAMS);
    return 0;
}

/* ---- retries -------------------------------------------------------------------------------- */

/* Checks that a retry has a requestState that the server has given, or input that the server has
 * requested without a state. If no input_required result was seen on this connection, any state is
 * accepted: another process of the server may have made it. A conversation is not bound to a
 * connection (mcp-wire.md 3.3), and some gateways start a process for each request. A server may
 * give one state to several requests. */
breaches protocol_check_retry(const struct protocol *p, const struct rpc *m,
                              const struct protocol_asked *a)
{
    bool has_input = m->in_params[FIELD_INPUT_RESPONSES] != JSON_NONE;
    unsigned n = p->states < PROTOCOL_STATES ? p->states : PROTOCOL_STATES;
    if (p->states == 0 && p->stateless == 0)
        return 0;
    if (has_input && m->in_params[FIELD_REQUEST_STATE] == JSON_NONE)
        return p->stateless > 0 ? 0 : RULE(RULE_BAD_RETRY);
    if (m->request_state.type != JSON_STRING)
        return 0;
    uint64_t state = rpc_id_hash_json(m->request_state);
    for (unsigned i = 0; i < n; i++) {
        const struct protocol_state *s = &p->given[i];
        if (s->state == state && s->id != a->id && (has_input || !s->asks) &&
            (s->target == a->target || s->target == 0 || a->target == 0))
            return 0;
    }
    return p->states <= PROTOCOL_STATES ? RULE(RULE_BAD_RETRY) : 0;
}
