/* modern.c - features of revision 2026-07-28: a version and capabilities in each request, the _meta
 * of requests and results, the types of results, hints for caches, and log messages. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/meta.h"

/* ---- log messages --------------------------------------------------------------------------- */

unsigned protocol_log_level_number(struct slice name)
{
    static const char *const levels[PROTOCOL_LEVELS] = {
        "", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
    unsigned level = PROTOCOL_LEVELS - 1;
    while (level > 0 && !json_key_is(name, levels[level]))
        level--;
    return level;
}

breaches protocol_check_log_level(const struct protocol *p, const struct rpc *m)
{
    unsigned level = protocol_log_level_number(json_string_raw(json_get(m->params, "level")));
    unsigned wanted = 1;
    while (wanted < level && p->log_requests[wanted] == 0)
        wanted++;
    bool on_stream = json_get(m->meta, META_SUBSCRIPTION).type != JSON_NONE;
    return level > 0 && (on_stream || p->log_requests[wanted] == 0) ? RULE(RULE_UNASKED_LOG) : 0;
}

/* ---- _meta ---------------------------------------------------------------------------------- */

static bool is_valid_implementation(struct json_value info)
{
    return json_get(info, "name").type == JSON_STRING &&
           json_get(info, "version").type == JSON_STRING;
}

/* Whether an entry of _meta is valid. An entry whose key another revision or an extension defines
 * may have any value. */
static bool is_valid_meta_entry(struct slice key, struct json_value v)
{
    struct slice text = json_string_raw(v);
    if (json_key_is(key, "progressToken"))
        return v.type == JSON_STRING || json_is_integer(v);
    if (json_key_is(key, "traceparent"))
        return text.p != NULL && meta_is_traceparent(text);
    if (json_key_is(key, "tracestate") || json_key_is(key, "baggage"))
        return text.p != NULL && meta_is_pair_list(text);
    if (json_key_is(key, META_LOG_LEVEL))
        return protocol_log_level_number(text) != 0;
    if (json_key_is(key, META_CLIENT))
        return is_valid_implementation(v);
    return memchr(key.p, '\\', key.n) != NULL || meta_key_is_valid(key);
}

static const char *get_name_of_meta_key(struct slice key)
{
    static const char *const names[] = {"progressToken", "traceparent",  "tracestate",
                                        "baggage",       META_LOG_LEVEL, META_CLIENT};
    for (size_t i = 0; i < MI_COUNT(names); i++)
        if (json_key_is(key, names[i]))
            return names[i];
    return "_meta";
}

breaches protocol_check_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a)
{
    struct slice key;
    struct json_value v, capabilities = {0};
    breaches r = 0;
    for (struct json_walk w = json_walk_begin(m->meta); json_walk_next(&w, &key, &v);) {
        if (json_key_is(key, META_VERSION)) {
            a->revision = revision_find_by_date(json_string_raw(v));
        } else if (json_key_is(key, META_CAPABILITIES)) {
            capabilities = v;
        } else if (!is_valid_meta_entry(key, v)) {
            p->blame = get_name_of_meta_key(key);
            r |= RULE(RULE_INVALID_META);
        } else if (json_key_is(key, META_LOG_LEVEL)) {
            a->log_level = (uint8_t)protocol_log_level_number(json_string_raw(v));
        }
    }
    a->modern = p->modern = true;
    a->capabilities = capabilities_read_from_object(capabilities);
    p->log_requests[a->log_level]++;
    if (a->revision == REV_COUNT)
        r |= RULE(RULE_UNKNOWN_REVISION);
    return capabilities.type == JSON_OBJECT ? r : r | RULE(RULE_MISSING_META);
}

/* ---- results -------------------------------------------------------------------------------- */

static breaches check_cache_fields(struct protocol *p, const struct rpc *m)
{
    struct slice scope = json_string_raw(m->cache_scope);
    if (m->ttl_ms.type == JSON_NONE || m->cache_scope.type == JSON_NONE)
        return RULE(RULE_MISSING_CACHE_FIELDS);
    bool valid_ttl = json_is_integer(m->ttl_ms) && m->ttl_ms.text.p[0] != '-';
    if (valid_ttl && (json_key_is(scope, "public") || json_key_is(scope, "private")))
        return 0;
    p->blame = valid_ttl ? "cacheScope" : "ttlMs";
    return RULE(RULE_INVALID_CACHE_FIELDS);
}

static breaches check_server_info(struct protocol *p, const struct rpc *m)
{
    struct json_value info = {0};
    if (m->result_meta.type == JSON_OBJECT)
        info = json_get(m->result_meta, META_SERVER);
    if (info.type == JSON_NONE || is_valid_implementation(info))
        return 0;
    p->blame = META_SERVER;
    return RULE(RULE_INVALID_META);
}

static breaches check_complete_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a)
{
    breaches r = 0;
    if (a->method->flags & METHOD_CACHED)
        r |= check_cache_fields(p, m);
    if (a->method->flags & METHOD_LISTENS)
        r |= protocol_stream_check_result(p, m, a);
    if (slice_begins(slice_of(a->method->name), "tasks/"))
        r |= protocol_check_task_answer(p, m, a);
    if (slice_is(slice_of("server/discover"), a->method->name)) {
        p->discovered_capabilities =
            capabilities_read_from_object(json_get(m->result, "capabilities"));
        p->discovered = true;
    }
    return r;
}

breaches protocol_check_modern_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a, bool *ret_plain)
{
    struct slice type = json_string_raw(m->result_type);
    breaches r = check_server_info(p, m);
    *ret_plain = m->result_type.type == JSON_NONE || json_key_is(type, "complete");
    if (m->result_type.type == JSON_NONE)
        r |= RULE(RULE_MISSING_RESULT_TYPE);
    if (*ret_plain)
        return a->method != NULL ? r | check_complete_result(p, m, a) : r;
    if (json_key_is(type, "input_required"))
        return r | protocol_check_input_required(p, m, a);
    bool call = a->method != NULL && slice_is(slice_of("tools/call"), a->method->name);
    return r | (call && json_key_is(type, "task") ? protocol_check_created_task(p, m, a)
                                                  : RULE(RULE_UNKNOWN_RESULT_TYPE));
}
