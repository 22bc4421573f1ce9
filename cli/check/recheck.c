#include "cli/check/recheck.h"

#include "base/grow.h"
#include "base/search.h"
#include "base/text.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

void recheck_open(struct recheck *r)
{
    *r = (struct recheck){0};
    protocol_open(&r->protocol);
    no_progress_open(&r->progress, NULL);
}

void recheck_close(struct recheck *r)
{
    protocol_close(&r->protocol);
    tools_close(&r->tools);
    schema_fault_close(&r->fault);
    for (size_t i = 0; i < r->n; i++)
        buf_close(&r->request[i].tool);
    free(r->request);
    *r = (struct recheck){0};
}

/* ---- pending requests ------------------------------------------------------------------------ */

static struct recheck_request *recheck_find_request(struct recheck *r, int64_t seq)
{
    size_t at = SEARCH_INT64(r->request, r->n, seq, seq);
    return at < r->n && r->request[at].seq == seq ? &r->request[at] : NULL;
}

/* Returns the newest request that has the token and comes from this side. NULL: none. */
static struct recheck_request *recheck_find_request_by_token(struct recheck *r, bool from_client,
                                                             uint64_t token)
{
    for (size_t i = r->n; token != 0 && i > 0; i--)
        if (r->request[i - 1].token == token && r->request[i - 1].from_client == from_client)
            return &r->request[i - 1];
    return NULL;
}

/* Returns the newest request that has the id, comes from this side, and is not abandoned. NULL:
 * none. */
static struct recheck_request *recheck_find_request_by_id(struct recheck *r, bool from_client,
                                                          uint64_t id)
{
    for (size_t i = r->n; id != 0 && i > 0; i--)
        if (r->request[i - 1].id == id && r->request[i - 1].from_client == from_client &&
            !r->request[i - 1].abandoned)
            return &r->request[i - 1];
    return NULL;
}

static void recheck_remove_request(struct recheck *r, struct recheck_request *q)
{
    buf_close(&q->tool);
    memmove(q, q + 1, (size_t)(r->request + r->n - (q + 1)) * sizeof *q);
    r->n--;
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool request_has_method(const struct recheck_request *q, const char *name)
{
    return q->asked.method != NULL && strcmp(q->asked.method->name, name) == 0;
}

static int recheck_on_request(struct recheck *r, struct rpc *m, int64_t seq, bool from_client,
                              breaches *ret)
{
    struct recheck_request q = {
        .seq = seq, .from_client = from_client, .id = rpc_id_hash_json(m->id)};
    q.token = rpc_id_hash_json(json_get(m->meta, "progressToken"));
    /* protocol_check_request() reads FIND_REUSED_ID, so it must be set before the call */
    if (recheck_find_request_by_id(r, from_client, q.id) != NULL)
        m->findings |= FINDING(FIND_REUSED_ID);
    *ret = protocol_check_request(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m,
                                  &q.asked);
    const struct recheck_request *same = recheck_find_request_by_token(r, from_client, q.token);
    if (same != NULL && !same->abandoned)
        *ret |= RULE(RULE_REUSED_TOKEN);
    if (from_client && request_has_method(&q, "tools/call")) {
        struct tool *tool;
        *ret |= tools_check_call(&r->tools, m, &tool, &r->fault);
        if (tool != NULL)
            buf_slice_add(&q.tool, json_string_raw(m->name));
    }
    if (r->n == RECHECK_PENDING_MAX)
        recheck_remove_request(r, &r->request[0]);
    if (!GROW(r->request, r->n, r->cap)) {
        buf_close(&q.tool);
        return MI_ENOMEM;
    }
    r->request[r->n++] = q;
    return 0;
}

/* Checks a message that was not forwarded to the server, and therefore did not change the state of
 * the connection. */
static breaches recheck_rejected_message(struct recheck *r, const struct rpc *m)
{
    struct tool *tool;
    /* remembers the id, because the client may cancel this request later */
    if (m->kind == RPC_REQUEST)
        (void)id_set_add(&r->protocol.modern_ids, m->id);
    bool calls = m->kind == RPC_REQUEST && rpc_method_is(m, "tools/call");
    return calls ? tools_check_call(&r->tools, m, &tool, &r->fault) : 0;
}

static breaches recheck_notification(struct recheck *r, const struct rpc *m, bool from_client)
{
    breaches b =
        protocol_check_notification(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m);
    struct recheck_request *q = NULL;
    if (rpc_method_is(m, "notifications/cancelled"))
        q = recheck_find_request_by_id(r, from_client, rpc_id_hash_json(m->request_id));
    if (q != NULL && !request_has_method(q, "initialize"))
        q->abandoned = true;
    if (!from_client && rpc_method_is(m, "notifications/tools/list_changed"))
        tools_forget_all(&r->tools);
    if (m->progress_token.type == JSON_NONE || !rpc_method_is(m, "notifications/progress"))
        return b;
    q = recheck_find_request_by_token(r, !from_client, rpc_id_hash_json(m->progress_token));
    return b | protocol_check_progress(&r->protocol, m, q != NULL ? &q->asked : NULL);
}

static breaches recheck_tools_answer(struct recheck *r, const struct rpc *m,
                                     const struct recheck_request *q)
{
    struct tool *tool;
    breaches b = 0;
    if (request_has_method(q, "tools/list") && m->kind == RPC_RESULT &&
        m->result.type == JSON_OBJECT)
        tools_add_page(&r->tools, m, q->asked.cursor);
    else if (request_has_method(q, "tools/call") && !q->tool.failed && q->tool.n > 0)
        b = tools_check_result(&r->tools, buf_slice(&q->tool), m, &tool, &r->fault);
    return b;
}

static breaches recheck_check_answer(struct recheck *r, const struct rpc *m, int64_t request_seq,
                                     bool from_client)
{
    struct recheck_request *q = recheck_find_request(r, request_seq);
    breaches b = 0;
    if (q == NULL)
        return 0;
    if (!q->abandoned) {
        b = protocol_check_answer(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m,
                                  &q->asked);
        b |= from_client ? 0 : recheck_tools_answer(r, m, q);
    }
    recheck_remove_request(r, q);
    return b;
}

static int recheck_forwarded_message(struct recheck *r, struct rpc *m,
                                     const struct query_message *q, breaches *ret)
{
    bool from_client = q->direction == ROW_C2S;
    switch (m->kind) {
    case RPC_REQUEST:
        return recheck_on_request(r, m, q->seq, from_client, ret);
    case RPC_NOTIFICATION:
        *ret = recheck_notification(r, m, from_client);
        return 0;
    case RPC_RESULT:
    case RPC_ERROR:
        *ret = recheck_check_answer(r, m, q->request_seq, from_client);
        return 0;
    default:
        return 0;
    }
}

/* Finds calls without progress, as the recorder does (record/process/entries.c), in the stored
 * messages. */
static breaches recheck_calls_without_progress(struct recheck *r, const struct query_message *m,
                                               const struct rpc *rpc)
{
    struct no_progress_message p = {
        .seq = m->seq,
        .request_seq = m->request_seq,
        .direction = m->direction,
        .kind = m->kind,
        .action = m->action,
        .method = m->method,
    };
    r->stuck = no_progress_add_message(&r->progress, &p, rpc);
    return r->stuck.times > 0 ? RULE(RULE_NO_PROGRESS) : 0;
}

int recheck_message(struct recheck *r, const struct query_message *m, struct slice body,
                    breaches *ret)
{
    struct rpc rpc;
    bool readable = body.p != NULL && rpc_read(body, &rpc) == 0;
    *ret = recheck_calls_without_progress(r, m, readable ? &rpc : NULL);
    buf_clear(&r->fault.pointer);
    buf_clear(&r->fault.reason);
    bool from_client = m->direction == ROW_C2S;
    if (m->origin == ROW_INTERPOSER) {
        /* A request that the interposer has answered is abandoned. A new process of the server, to
         * which the interposer has sent `initialize`, may have other tools. */
        struct recheck_request *q =
            m->request_seq > 0 ? recheck_find_request(r, m->request_seq) : NULL;
        if (q != NULL && m->kind == KIND_ERROR)
            q->abandoned = true;
        if (m->kind == KIND_REQUEST && slice_is(m->method, "initialize"))
            tools_forget_all(&r->tools);
    } else if (m->kind == KIND_REQUEST && body.p == NULL) {
        /* The id of a request without its body is unknown and cannot be added to the sets of ids.
         * So the sets of its sender are marked as full; `modern_ids` has only ids of the client. */
        r->protocol.ids[from_client ? PARTY_CLIENT : PARTY_SERVER].full = true;
        r->protocol.modern_ids.full |= from_client;
    }
    if (!readable || m->origin != ROW_PEER)
        return 0;
    if (m->action == ROW_REFUSED && from_client)
        *ret |= recheck_rejected_message(r, &rpc);
    if (m->action != ROW_FORWARDED)
        return 0;
    breaches broken = 0;
    int st = recheck_forwarded_message(r, &rpc, m, &broken);
    *ret |= broken;
    if (forms_read_rpc(&r->forms, redact_get_current_sanitizer(), &rpc, from_client))
        *ret |= RULE(RULE_SECRET_IN_FORM);
    return st;
}

void recheck_explain_breach(const struct recheck *r, enum rule broken, struct buf *b)
{
    if ((RULES_OF_MEMBERS & RULE(broken)) != 0)
        buf_printf(b, "`%s`", r->protocol.blame);
    switch (broken) {
    case RULE_INVALID_ARGUMENTS:
    case RULE_INVALID_STRUCTURED_CONTENT:
        text_append_visible(b, text_prefix(buf_slice(&r->fault.pointer), 200));
        buf_adds(b, r->fault.pointer.n > 0 ? " " : "");
        text_append_visible(b, text_prefix(buf_slice(&r->fault.reason), 400));
        break;
    case RULE_NO_PROGRESS:
        if (r->stuck.times > 0)
            no_progress_append_reason(b, r->stuck.times, r->stuck.failed);
        break;
    default:
        break;
    }
}
