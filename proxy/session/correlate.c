#include "proxy/session/correlate.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/answer_repair.h"
#include "proxy/session/arguments.h"
#include "proxy/session/credentials.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/invocation.h"
#include "proxy/session/repeat.h"
#include "proxy/session/request.h"
#include "proxy/session/rules.h"
#include "proxy/session/session_info.h"
#include "proxy/session/tool_ask.h"
#include "proxy/session/tool_changes.h"
#include "proxy/session/tool_gate.h"
#include "proxy/session/uncertain_calls.h"
#include "wire/json/text.h"

static enum row_direction opposite_direction(enum row_direction dir)
{
    return dir == ROW_C2S ? ROW_S2C : ROW_C2S;
}

/* ---- requests ------------------------------------------------------------------------------- */

static void reject_unregistered_request(struct traffic *t, struct message *x, int st)
{
    if (st == MI_EFULL) {
        x->m.findings |= FINDING(FIND_TOO_MANY_OPEN);
        answer_reject_message(t, x, RPC_INTERNAL_ERROR,
                              "too many requests are pending; retry later", "too-many-open");
    } else if (st == MI_EINVAL) {
        answer_reject_message(t, x, RPC_INVALID_REQUEST,
                              "Invalid Request: the id is longer than 64 KiB", "long-id");
    } else {
        answer_reject_message(t, x, RPC_INTERNAL_ERROR, "out of memory", "out-of-memory");
    }
}

/* Rejects a request that could not be added to the table of pending requests: the server's answer
 * would be taken for an unknown answer. A member of a batch cannot be rejected, because the whole
 * line is forwarded. Returns false if the request was rejected. */
static bool handle_unregistered_request(struct traffic *t, struct message *x, int st,
                                        bool can_reject)
{
    if (can_reject) {
        reject_unregistered_request(t, x, st);
        return false;
    }
    message_record(t, x, KIND_REQUEST, ROW_FORWARDED);
    if (x->dir == ROW_C2S && t->validate != VALIDATE_NONE) {
        log_error("%s: cannot track a request in a batch, closing the connection: server=%s",
                  st == MI_ENOMEM ? "out of memory" : "too many pending requests", t->server);
        /* The server's answer to this request will be dropped as unknown. The connection to the
         * client is closed, so that the client does not wait for the answer. */
        outbox_discard_after_error(&t->out[ROW_S2C]);
    }
    return true;
}

static bool request_passes_checks(struct traffic *t, struct message *x, struct protocol_asked *ret)
{
    if (pending_has_open_request(&t->open[x->dir], &x->id))
        x->m.findings |= FINDING(FIND_REUSED_ID);
    if (!rules_check_request(t, x, ret))
        return false;
    if (x->dir == ROW_S2C)
        return true;
    tool_changes_request_previous_tools(t);
    return arguments_check_request(t, x, ret) && repeat_check_request(t, x, ret);
}

static bool handle_request(struct traffic *t, struct message *x)
{
    struct pending *p;
    struct protocol_asked asked;
    x->id = pending_make_id(&t->open[x->dir], &x->m);
    if (!request_passes_checks(t, x, &asked)) {
        if (x->dir == ROW_C2S)
            protocol_forget_rejected_request(&t->protocol, &asked);
        return false;
    }
    bool can_reject = x->dir == ROW_C2S && x->batch_seq == 0 && t->validate != VALIDATE_NONE;
    int st = request_open(t, x, &p);
    if (st < 0)
        return handle_unregistered_request(t, x, st, can_reject);
    p->asked = asked;
    if (pending_request_shares_token(&t->open[x->dir], p))
        x->rules |= RULE(RULE_REUSED_TOKEN);
    p->t_us = t->gate.arrived_us != 0 ? t->gate.arrived_us : journal_now_us(t->journal);
    p->size = x->size;
    p->request_seq = message_record(t, x, KIND_REQUEST, ROW_FORWARDED);
    if (x->dir == ROW_C2S) {
        repeat_handle_forwarded_call(t, x, p);
        session_info_record_client(t, &x->m, p->modern);
        t->client_said_shutdown |= rpc_method_is(&x->m, "shutdown");
    } else {
        request_pause_deadlines(t, p->t_us);
    }
    /* A member of a batch is already staged with its batch. A single message is staged after this
     * function. */
    p->written_at = t->out[x->dir].staged + (x->batch_seq == 0 ? x->text.n + 1 : 0);
    return true;
}

/* ---- notifications -------------------------------------------------------------------------- */

/* Restarts the deadline of the request that a progress notification is about. Returns false if the
 * interposer has answered the request: its progress must not reach the client (mcp-wire.md 6.1). */
static bool handle_progress_notification(struct traffic *t, struct message *x)
{
    struct pending *p =
        pending_find_token(&t->open[opposite_direction(x->dir)], x->m.progress_token);
    rules_add_progress_breaches(t, x, p);
    if (x->dir == ROW_C2S)
        return true; /* requests of the server have no deadline */
    /* Some servers report progress with a token that no request had. If only one request is
     * pending, and it has no token, the progress counts for that request. */
    const struct pending_list *open = &t->open[ROW_C2S].open;
    struct pending *of = p;
    if (p == NULL && open->count == 1 && open->oldest->token.type == 0)
        of = open->oldest;
    if (of != NULL && !of->cancelled)
        timers_restart_after_progress(&t->timers, of, journal_now_us(t->journal));
    return p == NULL || !p->answered_by_proxy || t->validate == VALIDATE_NONE;
}

/* Returns false for an acknowledgement that must not reach the client: the second one for a
 * subscription that the interposer has repeated after a restart. */
static bool handle_acknowledged_notification(struct traffic *t, const struct message *x)
{
    bool type_changed;
    if (x->m.meta.type != JSON_OBJECT)
        return true;
    struct pending *p =
        pending_find(&t->open[ROW_C2S],
                     json_get(x->m.meta, "io.modelcontextprotocol/subscriptionId"), &type_changed);
    if (p == NULL)
        return true;
    bool second = p->resent;
    p->resent = false;
    p->acknowledged = true;
    return !second;
}

/* Handles a notification that cancels a request of its sender. */
static void handle_cancelled_notification(struct traffic *t, const struct message *x,
                                          struct row *row)
{
    bool type_changed;
    struct pending *p = pending_find(&t->open[x->dir], x->m.request_id, &type_changed);
    if (p == NULL || type_changed) /* the type of the id differs: "7" does not cancel request 7 */
        return;
    /* the client must not cancel this request; its answer is forwarded */
    if (json_key_is(p->method, "initialize")) {
        row->findings |= FINDING(FIND_CANCELLED_INITIALIZE);
    } else if (!p->cancelled) {
        row->request_seq = p->request_seq;
        if (x->dir == ROW_C2S) {
            invocation_log_cancelled_call(t, p);
            uncertain_calls_add_call(t, p, "cancelled");
        }
        request_abandon(t, x->dir, p);
    }
}

/* Handles notifications of LSP that some clients send (mcp-wire.md 7.5). A server may answer a
 * request that was cancelled by $/cancelRequest; if it does not, it is not considered hung. */
static void handle_lsp_notification(struct traffic *t, const struct message *x)
{
    bool type_changed;
    if (rpc_method_is(&x->m, "exit")) {
        t->client_said_shutdown = true;
    } else if (rpc_method_is(&x->m, "$/cancelRequest")) {
        struct pending *p =
            pending_find(&t->open[ROW_C2S], json_get(x->m.params, "id"), &type_changed);
        if (p != NULL && !type_changed)
            p->lsp_cancelled = true;
    }
}

/* Drops a notification that cancels a refused request: the server does not know that request.
 * Returns false if the notification is another one. */
static bool drop_cancellation_of_refused_request(struct traffic *t, struct message *x)
{
    struct json_value id =
        x->dir == ROW_C2S ? request_get_id_to_cancel(&x->m) : (struct json_value){0};
    uint64_t seq = id.type != JSON_NONE ? request_find_seq_of_refused(t, id) : 0;
    if (seq == 0 || x->batch_seq != 0 || t->validate == VALIDATE_NONE)
        return false;
    struct row row = make_message_row(t, x, KIND_NOTIFICATION, ROW_SWALLOWED);
    row.request_seq = seq;
    message_append_to_journal(t, &row);
    return true;
}

static bool handle_notification(struct traffic *t, struct message *x)
{
    if (drop_cancellation_of_refused_request(t, x))
        return false;
    if (!rules_check_notification(t, x))
        return false;
    arguments_on_notification(t, x);
    if (t->gate.rule != NULL)
        tool_gate_on_notification(t, x);
    bool in_time = true; /* false: the notification is late or a repetition, and is dropped */
    if (x->m.progress_token.type != JSON_NONE && rpc_method_is(&x->m, "notifications/progress"))
        in_time = handle_progress_notification(t, x);
    else if (x->dir == ROW_S2C && rpc_method_is(&x->m, "notifications/subscriptions/acknowledged"))
        in_time = handle_acknowledged_notification(t, x);
    if (in_time && !rules_check_progress(t, x))
        return false;
    struct row row =
        make_message_row(t, x, KIND_NOTIFICATION, in_time ? ROW_FORWARDED : ROW_SWALLOWED);
    if (!in_time)
        row.findings |= FINDING(FIND_LATE_PROGRESS);
    if (x->m.request_id.type != JSON_NONE && rpc_method_is(&x->m, "notifications/cancelled"))
        handle_cancelled_notification(t, x, &row);
    if (x->dir == ROW_C2S) {
        if (rpc_method_is(&x->m, "notifications/initialized"))
            handshake_mark_client_initialized(&t->handshake);
        handle_lsp_notification(t, x);
    }
    uint64_t seq = message_append_to_journal(t, &row);
    if (x->dir == ROW_C2S)
        t->invalid_lines.notified_seq = seq;
    return in_time;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Findings that name flaws of an answer. answer_repair_or_reject() repairs or refuses such an
 * answer. */
#define ANSWER_FLAWS                                                                               \
    (FINDING(FIND_ID_TYPE_CHANGED) | FINDING(FIND_NULL_ID) | FINDING(FIND_NULL_BESIDE_ANSWER) |    \
     FINDING(FIND_RESULT_NOT_OBJECT))

/* Handles an answer to one of the interposer's own requests, which are not in the table of pending
 * requests. Such an answer is never forwarded to the client. Returns false if x is no such
 * answer. */
static bool handle_answer_to_own_request(struct traffic *t, struct message *x)
{
    if (x->dir == ROW_C2S || !handshake_is_id_made_by_proxy(&t->handshake, x->m.id))
        return false;
    x->m.findings |= FINDING(FIND_OWN_REQUEST);
    if (t->invalid_lines.own_pending > 0)
        t->invalid_lines.own_pending--;
    message_record(t, x, row_kind_of_rpc(x->m.kind), ROW_SWALLOWED);
    if (!tool_ask_handle_answer(t, &x->m) && t->on_own_answer != NULL)
        t->on_own_answer(t->owner, &x->m);
    return true;
}

/* Checks a late answer like any other answer. Returns true if an equal call of the client may be
 * answered with it. */
static bool late_answer_is_valid(struct traffic *t, struct message *x, const struct pending *p)
{
    if (x->m.kind == RPC_RESULT && x->m.result.type != JSON_OBJECT)
        return false;
    bool sound = rules_check_late_answer(t, x, p);
    arguments_check_server_answer(t, x, p);
    return sound;
}

/* Handles an answer to a request that is not pending. The client's answers are forwarded, unless
 * the process that sent the request has exited. The server's answers are dropped, because some
 * clients close the connection when they get one (mcp-wire.md 7.3). The server's answers without an
 * id are forwarded, because newer revisions allow them for errors. With --validate none, all of the
 * server's answers are forwarded. p: the cancelled request that x answers, or NULL. */
static bool handle_stray_answer(struct traffic *t, struct message *x, struct pending *p)
{
    bool forward = x->dir == ROW_C2S || t->validate == VALIDATE_NONE || x->m.id.type == JSON_NONE;
    if (p != NULL && p->process_gone)
        forward = false;
    x->m.findings |= FINDING(p == NULL ? FIND_UNKNOWN_ANSWER : FIND_LATE_ANSWER);
    if (p != NULL && x->dir == ROW_S2C && !forward)
        uncertain_calls_store_late_answer(t, p, &x->m, late_answer_is_valid, x);
    struct row row =
        make_message_row(t, x, row_kind_of_rpc(x->m.kind), forward ? ROW_FORWARDED : ROW_SWALLOWED);
    row.request_seq = p != NULL && !forward ? p->request_seq : 0;
    message_append_to_journal(t, &row);
    if (p == NULL && x->dir == ROW_S2C)
        invalid_line_save_line_start(t, x->text);
    if (p != NULL)
        request_close(t, opposite_direction(x->dir), p);
    return forward;
}

/* Records a forwarded answer to the request p. Returns the seq of the answer. */
static uint64_t record_answer(struct traffic *t, const struct message *x, const struct pending *p,
                              bool tool_error)
{
    struct row row = make_message_row(t, x, row_kind_of_rpc(x->m.kind), ROW_FORWARDED);
    row.request_seq = p->request_seq;
    if (x->dir == ROW_C2S)
        return journal_append(t->journal, &row);
    struct invocation ended = invocation_make_from_answer(t, p, x, tool_error);
    uint64_t seq = journal_append_answer(t->journal, &row, &ended);
    message_report_repairs(t, seq);
    return seq;
}

/* Updates the state of the session from an answer of the server. */
static void update_session_from_answer(struct traffic *t, const struct message *x,
                                       const struct pending *p, bool tool_error)
{
    if (x->m.kind == RPC_RESULT)
        session_info_handle_result(t, p, &x->m);
    else if (json_key_is(p->method, "shutdown"))
        t->client_said_shutdown = false; /* the server rejected `shutdown`, so it continues */
    struct slice text = x->m.kind == RPC_ERROR ? x->m.error.text : x->m.content.text;
    if (t->on_auth != NULL && (x->m.kind == RPC_ERROR || tool_error) && text.p != NULL &&
        error_says_credentials_refused(text))
        t->on_auth(t->owner, p, x->m.text);
}

static bool handle_answer(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p = find_request_of_answer(t, x->dir, &x->m, &type_changed);
    if (x->dir == ROW_S2C && (p != NULL || handshake_is_id_made_by_proxy(&t->handshake, x->m.id)))
        t->server_answers++;
    if (handle_answer_to_own_request(t, x))
        return false;
    if (type_changed)
        x->m.findings |= FINDING(FIND_ID_TYPE_CHANGED);
    if ((x->m.findings & ANSWER_FLAWS) != 0 && !answer_repair_or_reject(t, x, p))
        return false;
    if (x->dir == ROW_S2C && p != NULL && x->m.id.type != JSON_NULL &&
        /* the server reads in order, so it has read the notification */
        p->request_seq > t->invalid_lines.notified_seq)
        t->invalid_lines.notified_seq = 0;
    if (p == NULL || p->cancelled)
        return handle_stray_answer(t, x, p);
    if (t->gate.rule != NULL && x->dir == ROW_S2C && !tool_gate_accepts_answer(t, x, p))
        return false;
    if (!rules_check_answer(t, x, p))
        return false;
    arguments_check_server_answer(t, x, p);
    bool tool_error = x->m.is_error.type == JSON_TRUE && x->m.kind == RPC_RESULT;
    if (tool_error)
        x->m.findings |= FINDING(FIND_TOOL_ERROR);
    uint64_t seq = record_answer(t, x, p, tool_error);
    tool_changes_on_recorded_result(t, seq);
    if (x->dir == ROW_S2C) {
        update_session_from_answer(t, x, p, tool_error);
        uncertain_calls_forget_answered(t, p, &x->m);
    }
    bool sent =
        t->gate.rule == NULL || x->dir == ROW_C2S || tool_gate_remove_hidden_tools(t, x, p, seq);
    request_close(t, opposite_direction(x->dir), p);
    return sent;
}

bool correlate_message(struct traffic *t, struct message *x)
{
    if (t->gate.rule != NULL && x->dir == ROW_C2S && !tool_gate_admits_message(t, x))
        return false;
    switch (x->m.kind) {
    case RPC_REQUEST:
        return handle_request(t, x);
    case RPC_NOTIFICATION:
        return handle_notification(t, x);
    case RPC_RESULT:
    case RPC_ERROR:
        return handle_answer(t, x);
    default:
        return false;
    }
}
