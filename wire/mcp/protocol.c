#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/meta.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

void protocol_open(struct protocol *p)
{
    *p = (struct protocol){.revision = REV_COUNT};
}

void protocol_close(struct protocol *p)
{
    id_set_close(&p->ids[PARTY_CLIENT]);
    id_set_close(&p->ids[PARTY_SERVER]);
    id_set_close(&p->modern_ids);
    for (int i = 0; i < PROTOCOL_LISTS; i++)
        id_set_close(&p->list[i].names);
    protocol_streams_close(p);
}

/* ---- members -------------------------------------------------------------------------------- */

/* Whether a required member is missing, or a member has a wrong type. */
static bool find_invalid_member(struct protocol *p, const struct method_need *needs,
                                const uint8_t *have, enum revision revision)
{
    for (const struct method_need *n = needs; n < needs + METHOD_NEEDS_MAX && n->types != 0; n++) {
        enum json_type type = (enum json_type)have[n->field];
        bool must = revision < REV_COUNT && (n->must & 1u << revision) != 0;
        if (type == JSON_NONE ? !must : (n->types & 1u << type) != 0)
            continue;
        p->blame = field_name((enum field)n->field);
        return true;
    }
    return false;
}

/* ---- methods -------------------------------------------------------------------------------- */

static breaches check_unknown_method(const struct rpc *m)
{
    if (rpc_method_is(m, "initialized"))
        return RULE(RULE_BARE_INITIALIZED);
    return method_is_lsp(m->method) ? RULE(RULE_LSP_METHOD) : RULE(RULE_UNKNOWN_METHOD);
}

/* Checks that the sender, the client or the server, may send the method in this revision. */
static breaches check_sender(const struct method *k, enum protocol_party from,
                             enum revision revision)
{
    uint8_t mine = from == PARTY_CLIENT ? k->from_client : k->from_server;
    uint8_t theirs = from == PARTY_CLIENT ? k->from_server : k->from_client;
    if (mine == 0)
        return RULE(RULE_WRONG_DIRECTION);
    if (revision == REV_COUNT || (mine & 1u << revision) != 0)
        return 0;
    return RULE((theirs & 1u << revision) != 0 ? RULE_WRONG_DIRECTION : RULE_OTHER_REVISION);
}

static breaches check_capability(const struct protocol *p, const struct method *k,
                                 enum protocol_party owner, enum revision revision)
{
    bool modern = revision == REV_2026_07_28;
    bool core = !modern || k->capability < CAP_TASKS || k->capability >= CAP_ROOTS;
    bool declared = modern ? p->discovered : p->declared[owner];
    uint32_t capabilities = modern ? p->discovered_capabilities : p->capabilities[owner];
    if (k->capability == CAP_NONE || !declared || revision == REV_COUNT ||
        revision < k->capability_since || !core)
        return 0;
    bool has = (capabilities & 1u << k->capability) != 0;
    return has ? 0 : RULE(RULE_UNDECLARED_CAPABILITY);
}

/* Whether the message has a log level that MCP does not define. Only methods whose rules name the
 * member `level` are checked. */
static bool log_level_is_invalid(struct protocol *p, const struct method *k, const struct rpc *m)
{
    const struct method_need *n = k->params, *end = n + METHOD_NEEDS_MAX;
    while (n < end && n->types != 0 && n->field != FIELD_LEVEL)
        n++;
    if (n == end || n->types == 0 || m->in_params[FIELD_LEVEL] != JSON_STRING ||
        protocol_log_level_number(json_string_raw(json_get(m->params, "level"))) > 0)
        return false;
    p->blame = field_name(FIELD_LEVEL);
    return true;
}

/* ---- requests ------------------------------------------------------------------------------- */

static breaches check_initialize_request(struct protocol *p, const struct rpc *m)
{
    p->said_initialized = false;
    breaches r = p->phase == PHASE_NEW ? 0 : RULE(RULE_SECOND_INITIALIZE);
    if (p->phase == PHASE_NEW)
        p->phase = PHASE_ASKED;
    p->capabilities[PARTY_CLIENT] =
        capabilities_read_from_object(json_get(m->params, "capabilities"));
    p->declared[PARTY_CLIENT] = true;
    return r;
}

/* Checks that a request of the older revisions follows the handshake. Each violation is reported
 * once, because some clients never send initialize. */
static breaches check_handshake_phase(struct protocol *p, const struct method *k)
{
    if (k != NULL && (json_key_is(slice_of(k->name), "ping") || (k->flags & METHOD_UNCANCELLED)))
        return 0;
    if (protocol_is_modern_only(p) || (k != NULL && k->from_client == REVS_2026_07_28)) {
        p->blame = "_meta";
        return RULE(RULE_MISSING_META);
    }
    if (p->phase < PHASE_ANSWERED && p->early_reported)
        return 0;
    if (p->phase < PHASE_ANSWERED) {
        p->early_reported = true;
        return RULE(RULE_REQUEST_BEFORE_INITIALIZE);
    }
    if (p->phase == PHASE_READY)
        return 0;
    p->phase = PHASE_READY;
    p->uninitialized = true;
    return RULE(RULE_REQUEST_BEFORE_INITIALIZED);
}

/* Checks that an elicitation in form mode has a schema, and that an elicitation in URL mode has a
 * URL and an id. */
static breaches check_elicitation(struct protocol *p, const struct rpc *m)
{
    bool url = json_key_is(json_string_raw(json_get(m->params, "mode")), "url");
    if (url ? protocol_lacks_member(p, m->in_params, FIELD_URL, JSON_STRING) ||
                  protocol_lacks_member(p, m->in_params, FIELD_ELICITATION_ID, JSON_STRING)
            : protocol_lacks_member(p, m->in_params, FIELD_REQUESTED_SCHEMA, JSON_OBJECT))
        return RULE(RULE_INVALID_PARAMS);
    return 0;
}

static breaches check_server_request(struct protocol *p, const struct rpc *m,
                                     const struct method *k)
{
    p->after_error = false;
    if (protocol_is_modern_only(p))
        return RULE(RULE_SERVER_REQUEST);
    breaches r = 0;
    if (p->phase < PHASE_READY && (k == NULL || !slice_is(slice_of("ping"), k->name)))
        r |= RULE(p->client_spoke ? RULE_EARLY_SERVER_REQUEST : RULE_EARLY_SERVER_MESSAGE);
    if (k == NULL || p->revision != REV_2025_11_25)
        return r;
    if (slice_is(slice_of("elicitation/create"), k->name))
        r |= check_elicitation(p, m);
    if (p->declared[PARTY_CLIENT])
        r |= protocol_check_subcapability(k, m->params, p->capabilities[PARTY_CLIENT]);
    return r;
}

static breaches check_client_request(struct protocol *p, const struct rpc *m,
                                     struct protocol_asked *a)
{
    breaches r = 0;
    const struct method *k = a->method;
    bool modern = rpc_is_modern(m);
    p->client_spoke = true;
    if (protocol_is_modern_only(p) && (k == NULL || (k->flags & METHOD_UNCANCELLED) == 0))
        a->revision = REV_2026_07_28;
    r |= modern ? protocol_check_meta(p, m, a) : check_handshake_phase(p, k);
    if (modern)
        (void)id_set_add(&p->modern_ids, m->id);
    if (k == NULL)
        return r;
    if (k->flags & METHOD_UNCANCELLED)
        r |= check_initialize_request(p, m);
    a->cursor = m->cursor.type == JSON_STRING ? rpc_id_hash_json(m->cursor) : 0;
    if (!modern)
        return r;
    a->id = rpc_id_hash_json(m->id);
    protocol_forget_request(p, a->id);
    if (k->flags & METHOD_ASKS_BACK) {
        a->target = protocol_hash_of_target(m, k);
        r |= protocol_check_retry(p, m, a);
    }
    if (k->flags & METHOD_LISTENS)
        protocol_stream_open(p, m, a);
    if (m->in_params[FIELD_TASK_ID] == JSON_STRING)
        r |= protocol_check_task_request(p, m, a);
    if (m->in_params[FIELD_INPUT_RESPONSES] == JSON_OBJECT)
        r |= protocol_check_responses(p, m);
    return r;
}

breaches protocol_check_request(struct protocol *p, enum protocol_party from, const struct rpc *m,
                                struct protocol_asked *ret)
{
    const struct method *k = method_find(m->method);
    if (k != NULL && !k->is_request)
        k = NULL;
    struct protocol_asked a = {.method = k, .revision = p->revision};
    breaches r =
        from == PARTY_CLIENT ? check_client_request(p, m, &a) : check_server_request(p, m, k);
    if (!a.modern && id_set_add(&p->ids[from], m->id) &&
        (m->findings & FINDING(FIND_REUSED_ID)) == 0)
        r |= RULE(RULE_REPEATED_ID);
    if (a.revision == REV_2025_11_25 && m->in_params[FIELD_TASK] == JSON_OBJECT)
        p->tasks = a.is_task = true;
    *ret = a;
    if (k == NULL)
        return r | check_unknown_method(m);
    if ((r & RULE(RULE_SERVER_REQUEST)) != 0)
        return r;
    breaches misplaced = check_sender(k, from, a.revision);
    if (misplaced != 0)
        return r | misplaced;
    /* initialize, which comes before a revision is negotiated, has the same rules in all
     * revisions */
    enum revision revision = k->flags & METHOD_UNCANCELLED ? REV_2024_11_05 : a.revision;
    if (find_invalid_member(p, k->params, m->in_params, revision) || log_level_is_invalid(p, k, m))
        r |= RULE(RULE_INVALID_PARAMS);
    r |= check_capability(p, k, from == PARTY_CLIENT ? PARTY_SERVER : PARTY_CLIENT, a.revision);
    return r;
}

void protocol_forget_rejected_request(struct protocol *p, const struct protocol_asked *a)
{
    unsigned flags = a->method != NULL ? a->method->flags : 0;
    p->log_requests[a->log_level] -= p->log_requests[a->log_level] > 0;
    if (a->modern && (flags & METHOD_LISTENS))
        protocol_stream_remove(p, a->id);
    if ((flags & METHOD_UNCANCELLED) && p->phase == PHASE_ASKED)
        p->phase = PHASE_NEW;
}

/* ---- notifications -------------------------------------------------------------------------- */

static breaches check_server_notification(struct protocol *p, const struct rpc *m,
                                          const struct method *k)
{
    breaches r = 0;
    bool log = k != NULL && slice_is(slice_of("notifications/message"), k->name);
    if (!p->client_spoke || (!p->modern && p->phase < PHASE_ANSWERED && !log))
        r |= RULE(RULE_EARLY_SERVER_MESSAGE);
    if (log && protocol_is_modern_only(p))
        r |= protocol_check_log_level(p, m);
    if (k != NULL && (k->flags & METHOD_STREAMED))
        r |= protocol_check_stream_notice(p, m);
    if (k != NULL && (k->from_server & REVS_LEGACY) == 0 &&
        m->in_params[FIELD_TASK_ID] != JSON_NONE)
        r |= protocol_check_task_notification(p, m);
    protocol_handle_list_changed(p, m);
    if (k == NULL && p->after_error)
        r |= RULE(RULE_ANSWER_AS_NOTIFICATION);
    p->after_error = false;
    return r;
}

/* Checks that a party cancels one of its own requests. In 2026-07-28 the server has no requests,
 * and its cancellations end subscriptions of the client. A cancellation may cross with the answer,
 * so the request need not be pending. */
static breaches check_cancellation(struct protocol *p, enum protocol_party from,
                                   const struct rpc *m)
{
    if (m->request_id.type != JSON_NUMBER && m->request_id.type != JSON_STRING)
        return 0;
    uint64_t id = rpc_id_hash_json(m->request_id);
    bool own = from == PARTY_SERVER && id_set_may_contain(&p->ids[from], m->request_id);
    bool ends = !own && protocol_stream_mark_ended(p, from, id);
    if (from == PARTY_CLIENT && protocol_request_has_open_task(p, id))
        return RULE(RULE_CANCELLED_TASK);
    if (id_set_may_contain(&p->ids[from], m->request_id) || (ends && p->modern) ||
        (from == PARTY_CLIENT && id_set_may_contain(&p->modern_ids, m->request_id)))
        return 0;
    return RULE(RULE_STRAY_CANCELLATION);
}

static void check_client_notification(struct protocol *p, const struct rpc *m)
{
    p->client_spoke = true;
    bool bare = rpc_method_is(m, "initialized");
    if (bare || rpc_method_is(m, "notifications/initialized")) {
        if (p->phase == PHASE_ANSWERED)
            p->phase = PHASE_READY;
        p->said_initialized = p->phase == PHASE_ASKED;
        p->uninitialized = bare;
    }
}

breaches protocol_check_notification(struct protocol *p, enum protocol_party from,
                                     const struct rpc *m)
{
    breaches r = 0;
    const struct method *k = method_find(m->method);
    if (k != NULL && k->is_request)
        k = NULL;
    if (from == PARTY_SERVER)
        r |= check_server_notification(p, m, k);
    else
        check_client_notification(p, m);
    if (k == NULL)
        return r | check_unknown_method(m);
    if (rpc_method_is(m, "notifications/cancelled"))
        r |= check_cancellation(p, from, m);
    /* A connection may use old and new revisions. Only a `subscriptionId` shows that a notification
     * is of the new revision. */
    bool streamed = p->modern && (k->flags & METHOD_STREAMED) != 0 &&
                    json_get(m->meta, META_SUBSCRIPTION).type != JSON_NONE;
    enum revision revision = streamed || protocol_is_modern_only(p) ? REV_2026_07_28 : p->revision;
    breaches misplaced = check_sender(k, from, revision);
    if (misplaced != 0)
        return r | misplaced;
    if (find_invalid_member(p, k->params, m->in_params, revision) || log_level_is_invalid(p, k, m))
        r |= RULE(RULE_INVALID_PARAMS);
    if (rpc_method_is(m, "notifications/tasks/status"))
        r |= protocol_check_legacy_task(p, m->params);
    /* in 2026-07-28 a notification needs a subscription instead of a capability */
    if (revision != REV_2026_07_28)
        r |= check_capability(p, k, from, revision);
    return r;
}

/* Returns the number as a double; 0 if the value is not a number or is too long. */
static double json_number_as_double(struct json_value v)
{
    char text[64];
    if (v.type != JSON_NUMBER || v.text.n >= sizeof text)
        return 0;
    memcpy(text, v.text.p, v.text.n);
    text[v.text.n] = '\0';
    return strtod(text, NULL);
}

breaches protocol_check_progress(struct protocol *p, const struct rpc *m,
                                 struct protocol_asked *asked)
{
    if (asked == NULL)
        return p->tasks ? 0 : RULE(RULE_STRAY_PROGRESS);
    if (m->progress.type != JSON_NUMBER)
        return 0;
    double now = json_number_as_double(m->progress);
    bool more = !asked->has_progress || now > asked->progress;
    asked->has_progress = true;
    asked->progress = now;
    return more ? 0 : RULE(RULE_PROGRESS_NOT_INCREASING);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void check_initialize_answer(struct protocol *p, const struct rpc *m, breaches *r)
{
    struct json_value version = json_get(m->result, "protocolVersion");
    p->phase = p->said_initialized ? PHASE_READY : PHASE_ANSWERED;
    p->revision = revision_find_by_date(json_string_raw(version));
    p->capabilities[PARTY_SERVER] =
        capabilities_read_from_object(json_get(m->result, "capabilities"));
    p->declared[PARTY_SERVER] = true;
    if (p->revision == REV_COUNT && version.type == JSON_STRING)
        *r |= RULE(RULE_UNKNOWN_REVISION);
}

static breaches check_result(struct protocol *p, const struct rpc *m,
                             const struct protocol_asked *a)
{
    bool plain = !a->is_task || m->in_result[FIELD_TASK] != JSON_OBJECT;
    breaches r = 0;
    enum revision revision = a->revision;
    if (m->result.type != JSON_OBJECT)
        /* a result that is not an object already has the finding FIND_RESULT_NOT_OBJECT */
        return 0;
    if (a->modern)
        r |= protocol_check_modern_result(p, m, a, &plain);
    else if (!plain)
        r |= protocol_check_legacy_task(p, json_get(m->result, "task"));
    else if (revision == REV_2025_11_25 && a->method != NULL &&
             (slice_is(slice_of("tasks/get"), a->method->name) ||
              slice_is(slice_of("tasks/cancel"), a->method->name)))
        r |= protocol_check_legacy_task(p, m->result);
    if (a->method == NULL)
        return r;
    if (a->method->flags & METHOD_UNCANCELLED) {
        check_initialize_answer(p, m, &r);
        revision = REV_2024_11_05;
    }
    if (plain && find_invalid_member(p, a->method->result, m->in_result, revision))
        r |= RULE(RULE_INVALID_RESULT);
    if (plain && (a->method->flags & METHOD_CACHED))
        r |= protocol_check_page(p, m, a);
    if (a->method->result[0].field == FIELD_ROOTS && m->in_result[FIELD_ROOTS] == JSON_ARRAY &&
        protocol_has_invalid_roots(p, json_get(m->result, "roots")))
        r |= RULE(RULE_INVALID_RESULT);
    if (a->cursor != 0 && m->next_cursor.type == JSON_STRING &&
        rpc_id_hash_json(m->next_cursor) == a->cursor)
        r |= RULE(RULE_REPEATED_CURSOR);
    return r;
}

breaches protocol_check_answer(struct protocol *p, enum protocol_party from, const struct rpc *m,
                               const struct protocol_asked *a)
{
    bool initialize = a->method != NULL && (a->method->flags & METHOD_UNCANCELLED) != 0;
    if (from == PARTY_CLIENT)
        p->client_spoke = true;
    else
        p->after_error = m->kind == RPC_ERROR;
    if (from == PARTY_CLIENT && protocol_is_modern_only(p))
        return RULE(RULE_CLIENT_ANSWER);
    p->log_requests[a->log_level] -= p->log_requests[a->log_level] > 0;
    breaches r = m->kind == RPC_RESULT ? check_result(p, m, a) : 0;
    if (a->method != NULL && (a->method->flags & METHOD_LISTENS))
        (void)protocol_stream_mark_ended(p, PARTY_SERVER, a->id);
    if (m->kind == RPC_RESULT)
        return r;
    if (initialize && p->phase == PHASE_ASKED)
        p->phase = PHASE_NEW;
    return protocol_check_error(p, m, a->revision);
}
