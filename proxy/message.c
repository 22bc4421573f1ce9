#include "proxy/message.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/json_text.h"

/* ---- staging -------------------------------------------------------------------------------- */

static struct row row_of(const struct message *x, const char *kind, enum row_action action)
{
    struct row row = {
        .kind = kind,
        .direction = x->dir,
        .action = action,
        .method = x->m.method,
        .target = rpc_target(&x->m),
        .body = x->text,
        .not_json = x->m.fault.kind != JSON_OK,
        .size = x->size,
        .batch_seq = x->batch_seq,
        .findings = x->m.findings | x->repairs,
        .hold = x->line->chunk,
    };
    if (x->m.id.type != JSON_NONE)
        row.rpc_id = x->m.id.text;
    if (x->m.kind == RPC_ERROR)
        row.has_error_code = json_int(x->m.error_code, &row.error_code);
    return row;
}

/* The line's text and its newline, which takes the place of whatever stood behind the text. */
void message_stage(struct traffic *t, const struct message *x)
{
    char *end = x->line->p + (x->text.p - x->line->p) + x->text.n;
    *end = '\n';
    if (outbox_add(&t->out[x->dir], x->line->chunk, x->text.p, x->text.n + 1) < 0) {
        log_error("out of memory, the connection ends: server=%s", t->server);
        outbox_break(
            &t->out[x->dir]); /* a message recorded as forwarded must not be left out silently */
    }
}

uint64_t message_pass(struct traffic *t, struct message *x, const char *kind)
{
    struct row row = row_of(x, kind, ROW_FORWARDED);
    uint64_t seq = recorder_add(t->recorder, &row);
    message_stage(t, x);
    return seq;
}

uint64_t message_drop(struct traffic *t, struct message *x, const char *kind,
                      enum row_action action)
{
    struct row row = row_of(x, kind, action);
    return recorder_add(t->recorder, &row);
}

/* ---- answers of ours ------------------------------------------------------------------------ */

static uint64_t send_reply(struct traffic *t, const struct reply *r, uint64_t request_seq,
                           findings f)
{
    struct buf *b = &t->scratch;
    buf_clear(b);
    reply_write(b, r);
    size_t n = b->n;
    buf_addc(b, '\n');
    struct chunk *c = b->failed ? NULL : chunk_new(b->n);
    if (c == NULL) {
        log_error("out of memory for an error answer, the connection ends: cause=%s", r->cause);
        outbox_break(&t->out[ROW_S2C]); /* who waits for it must not wait for ever */
        return 0;
    }
    memcpy(c->data, b->p, b->n);
    struct row row = {
        .kind = "error",
        .direction = ROW_S2C,
        .origin = ROW_INTERPOSER,
        .action = ROW_FORWARDED,
        .rpc_id = r->id.p != NULL ? r->id : slice_of("null"),
        .body = {c->data, n},
        .size = n,
        .request_seq = request_seq,
        .has_error_code = true,
        .error_code = r->code,
        .findings = f,
        .hold = c,
    };
    if (r->id.p != NULL) /* the id lies in somebody's line or entry: take ours, in the chunk */
        row.rpc_id = (struct slice){c->data + sizeof "{\"jsonrpc\":\"2.0\",\"id\":" - 1, r->id.n};
    uint64_t seq = recorder_add(t->recorder, &row);
    if (outbox_add(&t->out[ROW_S2C], c, c->data, b->n) < 0)
        outbox_break(&t->out[ROW_S2C]);
    t->own_bytes += b->n;
    chunk_drop(c);
    return seq;
}

static void log_reply(struct traffic *t, struct action *a, int code, const char *why, size_t bytes)
{
    struct buf text = {0};
    buf_int(&text, code);
    size_t digits = text.n;
    text_json(&text, slice_of(why));
    struct slice all = buf_slice(&text);
    a->error_code = (struct slice){all.p, digits};
    a->error_message = (struct slice){all.p + digits, all.n - digits};
    a->response_bytes = bytes;
    a->wall_us = clock_wall_us();
    if (!text.failed)
        actions_add(&t->actions, a);
    buf_close(&text);
}

void message_refuse(struct traffic *t, struct message *x, int code, const char *why,
                    const char *cause)
{
    /* an id without a method is the client's answer to a request of the server: not ours to answer */
    bool request = x->m.is_call && (x->m.id.type == JSON_NUMBER || x->m.id.type == JSON_STRING);
    struct reply r = {
        .code = code, .message = why, .cause = cause, .session = recorder_uid(t->recorder)};
    if (request) {
        r.id = x->m.id.text;
        r.method = x->m.method;
        r.target = rpc_target(&x->m);
    }
    r.seq = message_drop(t, x, request ? "request" : "noise", ROW_REFUSED);
    findings f = x->m.findings & FINDING(FIND_SERVER_GONE);
    (void)send_reply(t, &r, r.seq, f);
    if (!request)
        return;
    struct action a = {
        .seq = r.seq,
        .status = "refused",
        .method = x->m.method,
        .target = r.target,
        .request_bytes = x->size,
    };
    log_reply(t, &a, code, why, t->scratch.n - 1);
}

void message_reply(struct traffic *t, struct slice id, uint64_t seq, int code, const char *why,
                   const char *cause)
{
    struct reply r = {.id = id,
                      .code = code,
                      .message = why,
                      .cause = cause,
                      .session = recorder_uid(t->recorder),
                      .seq = seq};
    (void)send_reply(t, &r, seq, 0);
}

static struct action action_of(const struct traffic *t, const struct pending *p)
{
    return (struct action){
        .wall_us = clock_wall_us(),
        .seq = p->request_seq,
        .method = p->method,
        .target = p->target,
        .arguments = p->arguments,
        .arguments_n = p->arguments_n,
        .duration_us = recorder_now_us(t->recorder) - p->t_us,
        .request_bytes = p->size,
    };
}

/* Closes an open request with an error of ours. */
static void answer_open(struct traffic *t, struct pending *p, int code, const char *why,
                        const char *cause, const char *status, findings f)
{
    if (!p->cancelled) { /* nobody waits for the answer of a cancelled one */
        struct reply r = {.id = p->id,
                          .code = code,
                          .message = why,
                          .cause = cause,
                          .method = p->method,
                          .target = p->target,
                          .session = recorder_uid(t->recorder),
                          .seq = p->request_seq};
        (void)send_reply(t, &r, p->request_seq, f);
        struct action a = action_of(t, p);
        a.status = status;
        log_reply(t, &a, code, why, t->scratch.n - 1);
    }
    pending_remove(&t->open[ROW_C2S], p);
}

void message_answer_for_server(struct traffic *t, struct pending *p, const char *cause,
                               const char *why)
{
    answer_open(t, p, p->modern ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE, why, cause,
                "server-gone", FINDING(FIND_SERVER_GONE));
}

static const char *malformed_because(const struct message *x)
{
    if (x->m.findings & FINDING(FIND_TOO_LONG))
        return "the server's answer is longer than --max-message";
    if (x->m.findings & FINDING(FIND_DUPLICATE_ENVELOPE_KEY))
        return "the server's answer has an envelope key twice";
    if (x->m.findings & FINDING(FIND_NOT_JSONRPC))
        return "the server's answer is no JSON-RPC 2.0 message";
    if (x->batch_seq != 0)
        return "the server answered in a batch that cannot be passed on";
    return "the server's answer is malformed: it must have a result or an error, not both";
}

bool message_malformed_answer(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p = NULL;
    if (x->m.method.p == NULL)
        p = pending_find(&t->open[ROW_C2S], x->m.id, &type_changed);
    if (p == NULL)
        return false;
    x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    struct row row = row_of(x, "noise", ROW_REFUSED);
    row.request_seq = p->request_seq;
    recorder_add(t->recorder, &row);
    answer_open(t, p, REPLY_INTERNAL_ERROR, malformed_because(x), "malformed-answer", "error",
                FINDING(FIND_MALFORMED_ANSWER));
    return true;
}

/* ---- what a session is told by its messages ------------------------------------------------- */

static void learn_peer(struct traffic *t, struct json_value info, bool client)
{
    struct json_value name = json_get(info, "name");
    struct json_value version = json_get(info, "version");
    struct buf n = {0}, v = {0};
    if (name.type == JSON_STRING)
        json_unescape(&n, json_string_raw(name));
    if (version.type == JSON_STRING)
        json_unescape(&v, json_string_raw(version));
    struct store_update u = {0};
    struct slice ns = name.type == JSON_STRING && !n.failed ? buf_slice(&n) : (struct slice){0};
    struct slice vs = version.type == JSON_STRING && !v.failed ? buf_slice(&v) : (struct slice){0};
    if (client) {
        u.client_name = ns;
        u.client_version = vs;
    } else {
        u.server_name = ns;
        u.server_version = vs;
    }
    recorder_learn(t->recorder, &u);
    buf_close(&n);
    buf_close(&v);
}

static void learn_version(struct traffic *t, struct json_value version)
{
    char text[sizeof t->version];
    size_t n;
    if (version.type != JSON_STRING ||
        json_unescape_to(json_string_raw(version), text, sizeof text - 1, &n) < 0)
        return;
    text[n] = '\0';
    memcpy(t->version, text, n + 1);
    struct store_update u = {.protocol_version = {t->version, n}};
    recorder_learn(t->recorder, &u);
}

static void learn_from_request(struct traffic *t, const struct rpc *m, bool modern)
{
    if (rpc_method_is(m, "initialize")) {
        learn_peer(t, json_get(m->params, "clientInfo"), true);
        t->knows_client = true;
    } else if (modern && !t->knows_client) {
        learn_peer(t, json_get(m->meta, "io.modelcontextprotocol/clientInfo"), true);
        learn_version(t, json_get(m->meta, "io.modelcontextprotocol/protocolVersion"));
        t->knows_client = true;
    }
}

static void learn_from_result(struct traffic *t, const struct pending *p, const struct rpc *m)
{
    if (json_key_is(p->method, "initialize")) {
        learn_version(t, json_get(m->result, "protocolVersion"));
        learn_peer(t, json_get(m->result, "serverInfo"), false);
    } else if (json_key_is(p->method, "server/discover")) {
        struct json_value meta = json_get(m->result, "_meta");
        learn_peer(t, json_get(meta, "io.modelcontextprotocol/serverInfo"), false);
    }
}

/* ---- the four kinds ------------------------------------------------------------------------- */

/* A request that cannot be kept cannot be answered for, nor its answer known. */
static void refuse_unkept(struct traffic *t, struct message *x, int st)
{
    if (st == MI_EFULL) {
        x->m.findings |= FINDING(FIND_TOO_MANY_OPEN);
        message_refuse(t, x, REPLY_INTERNAL_ERROR, "too many requests are open at once",
                       "too-many-open");
    } else if (st == MI_EINVAL) {
        message_refuse(t, x, REPLY_INVALID_REQUEST, "Invalid Request: the id is longer than 64 KiB",
                       "long-id");
    } else {
        message_refuse(t, x, REPLY_INTERNAL_ERROR, "out of memory", "out-of-memory");
    }
}

static bool note_request(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p;
    struct pending_table *table = &t->open[x->dir];
    struct pending *same = pending_find(table, x->m.id, &type_changed);
    if (same != NULL && !type_changed && !same->cancelled)
        x->m.findings |= FINDING(FIND_REUSED_ID);
    bool refusable = x->dir == ROW_C2S && x->batch_seq == 0 && t->validate != VALIDATE_NONE;
    if (refusable && t->out[ROW_C2S].broken) {
        x->m.findings |= FINDING(FIND_SERVER_GONE);
        message_refuse(t, x, rpc_is_modern(&x->m) ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE,
                       "the server takes no more messages: it closed its stdin", "server-closed");
        return false;
    }
    int st = pending_add(table, &x->m, &p);
    if (st < 0) {
        if (refusable) {
            refuse_unkept(t, x, st);
            return false;
        }
        message_drop(t, x, "request", ROW_FORWARDED); /* it goes on, uncorrelated */
        if (st == MI_ENOMEM && x->dir == ROW_C2S && t->validate != VALIDATE_NONE) {
            log_error("out of memory for a batch, the connection ends: server=%s", t->server);
            outbox_break(&t->out[ROW_S2C]); /* the answer would be swallowed, and waited for */
        }
        return true;
    }
    p->t_us = recorder_now_us(t->recorder);
    p->size = x->size;
    p->request_seq = message_drop(t, x, "request", ROW_FORWARDED);
    /* a batch is staged before its members are noted, a line of its own right after this */
    p->written_at = t->out[x->dir].staged + (x->batch_seq == 0 ? x->text.n + 1 : 0);
    if (x->dir == ROW_C2S)
        learn_from_request(t, &x->m, p->modern);
    return true;
}

static void log_cancelled(struct traffic *t, const struct pending *p)
{
    struct action a = action_of(t, p);
    a.status = "cancelled";
    actions_add(&t->actions, &a);
}

static bool note_notification(struct traffic *t, struct message *x)
{
    struct row row = row_of(x, "notification", ROW_FORWARDED);
    bool type_changed;
    struct pending *p = NULL;
    if (x->m.request_id.type != JSON_NONE && rpc_method_is(&x->m, "notifications/cancelled"))
        p = pending_find(&t->open[x->dir], x->m.request_id, &type_changed);
    if (p != NULL && type_changed)
        p = NULL; /* "7" cancels no request 7 */
    if (p != NULL && json_key_is(p->method, "initialize")) {
        row.findings |=
            FINDING(FIND_CANCELLED_INITIALIZE); /* which it must not; the answer goes through */
        p = NULL;
    }
    if (p != NULL && !p->cancelled) {
        row.request_seq = p->request_seq;
        if (x->dir == ROW_C2S)
            log_cancelled(t, p);
        pending_cancel(&t->open[x->dir], p);
    }
    recorder_add(t->recorder, &row);
    return true;
}

/* The text of a block of content, as far as it is shown. Blocks may be long: nothing behind is looked at. */
static bool block_text(struct buf *b, const char *block)
{
    struct slice key;
    const char *at;
    struct json_value v;
    struct json_walk w = json_walk_at(block);
    while (json_walk_peek(&w, &key, &at)) {
        if (json_key_is(key, "text") && *at == '"') {
            json_unescape(b,
                          json_string_head(at, (ACTIONS_CUT + 1) * 12)); /* \uXXXX\uXXXX is one */
            return true;
        }
        if (!json_walk_next(&w, &key, &v))
            return false;
    }
    return false;
}

/* The head of a result, as a person would want to see it: the first text of its content. */
static struct slice preview(struct buf *b, const struct rpc *m)
{
    struct slice key;
    const char *first;
    struct json_walk w = json_walk_begin(m->content);
    if (m->content.type == JSON_ARRAY && json_walk_peek(&w, &key, &first) && *first == '{' &&
        block_text(b, first))
        return b->failed ? (struct slice){0} : buf_slice(b);
    return text_head(m->result.text, ACTIONS_CUT * 8);
}

static void log_answer(struct traffic *t, const struct message *x, const struct pending *p,
                       bool tool_error)
{
    struct action a = action_of(t, p);
    struct buf text = {0};
    a.status = x->m.kind == RPC_ERROR ? "error" : tool_error ? "tool-error" : "ok";
    a.response_bytes = x->size;
    if (x->m.kind == RPC_ERROR) {
        a.error_code = x->m.error_code.text;
        a.error_message = x->m.error_message.text;
    } else {
        a.result = preview(&text, &x->m);
    }
    actions_add(&t->actions, &a);
    buf_close(&text);
}

/* May an answer to no open request go on? The client's may: it is the server's to judge. The server's
 * would make some clients drop the connection (mcp-wire.md 7.3), unless it has no id at all, which
 * newer revisions allow for an error. */
static bool stray_answer_passes(const struct traffic *t, const struct message *x)
{
    return x->dir == ROW_C2S || t->validate == VALIDATE_NONE || x->m.id.type == JSON_NONE;
}

static bool note_answer(struct traffic *t, struct message *x)
{
    const char *kind = rpc_kind_name(x->m.kind);
    struct pending_table *asked = &t->open[x->dir == ROW_C2S ? ROW_S2C : ROW_C2S];
    bool type_changed;
    struct pending *p = pending_find(asked, x->m.id, &type_changed);
    if (type_changed)
        x->m.findings |= FINDING(FIND_ID_TYPE_CHANGED);
    if (p == NULL || p->cancelled) {
        bool passes = stray_answer_passes(t, x);
        x->m.findings |= FINDING(p == NULL ? FIND_UNKNOWN_ANSWER : FIND_LATE_ANSWER);
        struct row row = row_of(x, kind, passes ? ROW_FORWARDED : ROW_SWALLOWED);
        row.request_seq = p != NULL && !passes ? p->request_seq : 0;
        recorder_add(t->recorder, &row);
        if (p != NULL)
            pending_remove(asked, p);
        return passes;
    }
    bool tool_error = x->m.is_error.type == JSON_TRUE && x->m.kind == RPC_RESULT;
    if (tool_error)
        x->m.findings |= FINDING(FIND_TOOL_ERROR);
    struct row row = row_of(x, kind, ROW_FORWARDED);
    row.request_seq = p->request_seq;
    recorder_add(t->recorder, &row);
    if (x->dir == ROW_S2C) {
        if (x->m.kind == RPC_RESULT)
            learn_from_result(t, p, &x->m);
        log_answer(t, x, p, tool_error);
    }
    pending_remove(asked, p);
    return true;
}

bool message_note(struct traffic *t, struct message *x)
{
    switch (x->m.kind) {
    case RPC_REQUEST:
        return note_request(t, x);
    case RPC_NOTIFICATION:
        return note_notification(t, x);
    case RPC_RESULT:
    case RPC_ERROR:
        return note_answer(t, x);
    default:
        return false;
    }
}

void message_handle(struct traffic *t, struct message *x)
{
    if (x->m.kind == RPC_BATCH)
        batch_handle(t, x);
    else if (message_note(t, x))
        message_stage(t, x);
}
