#include "proxy/message.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "proxy/arguments.h"
#include "wire/json_text.h"

/* ---- staging -------------------------------------------------------------------------------- */

struct row message_row(const struct message *x, const char *kind, enum row_action action)
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
        .rules = x->rules,
        .hold = x->line->chunk,
    };
    if (x->m.id.type != JSON_NONE)
        row.rpc_id = x->m.id.text;
    if (x->m.kind == RPC_ERROR)
        row.has_error_code = json_int(x->m.error_code, &row.error_code);
    return row;
}

/* The line's text and its newline, which takes the place of whatever stood behind the text. */
static void stage(struct traffic *t, const struct message *x)
{
    char *end = x->line->p + (x->text.p - x->line->p) + x->text.n;
    *end = '\n';
    if (outbox_add(&t->out[x->dir], x->line->chunk, x->text.p, x->text.n + 1) < 0) {
        log_error("out of memory, the connection ends: server=%s", t->server);
        /* A message recorded as forwarded must not be left out silently. */
        outbox_break(&t->out[x->dir]);
    }
}

uint64_t message_pass(struct traffic *t, struct message *x, const char *kind)
{
    struct row row = message_row(x, kind, ROW_FORWARDED);
    uint64_t seq = recorder_add(t->recorder, &row);
    stage(t, x);
    return seq;
}

uint64_t message_drop(struct traffic *t, struct message *x, const char *kind,
                      enum row_action action)
{
    struct row row = message_row(x, kind, action);
    return recorder_add(t->recorder, &row);
}

/* A request leaves its table: its clock goes with it, or all clocks go on. */
static void clock_out(struct traffic *t, enum row_direction dir, struct pending *p)
{
    if (dir == ROW_C2S && !p->cancelled)
        timers_remove(&t->timers, p);
    else if (dir == ROW_S2C && !p->cancelled && t->open[ROW_S2C].open.count == 1)
        timers_stand(&t->timers, false, recorder_now_us(t->recorder));
}

void message_close(struct traffic *t, enum row_direction dir, struct pending *p)
{
    clock_out(t, dir, p);
    pending_remove(&t->open[dir], p);
}

void message_give_up(struct traffic *t, enum row_direction dir, struct pending *p)
{
    clock_out(t, dir, p);
    pending_cancel(&t->open[dir], p);
}

uint64_t message_own(struct traffic *t, enum row_direction dir, struct outbox *to,
                     struct slice text)
{
    struct rpc m;
    struct chunk *c = chunk_new(text.n + 1);
    if (c == NULL || rpc_read(text, &m) < 0) {
        chunk_drop(c);
        log_error("out of memory for a message of ours: server=%s", t->server);
        return 0;
    }
    memcpy(c->data, text.p, text.n);
    c->data[text.n] = '\n';
    struct row row = {
        .kind = rpc_kind_name(m.kind),
        .direction = dir,
        .origin = ROW_INTERPOSER,
        .action = ROW_FORWARDED,
        .method = m.method,
        .body = {c->data, text.n},
        .size = text.n,
        .findings = m.kind == RPC_REQUEST ? FINDING(FIND_OWN_REQUEST) : 0,
        .hold = c,
    };
    /* the slices of m lie in the caller's text: the same place in the chunk */
    if (m.id.text.p != NULL)
        row.rpc_id = (struct slice){c->data + (m.id.text.p - text.p), m.id.text.n};
    row.method.p = c->data + (m.method.p - text.p);
    uint64_t seq = recorder_add(t->recorder, &row);
    if (outbox_add(to, c, c->data, text.n + 1) < 0)
        outbox_break(to);
    chunk_drop(c);
    return seq;
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

/* A call of 2026-07-28 that comes back with what somebody was asked for, maybe in a browser. */
static bool waits_for_people(const struct rpc *m)
{
    return m->in_params[FIELD_INPUT_RESPONSES] != JSON_NONE ||
           m->in_params[FIELD_REQUEST_STATE] != JSON_NONE;
}

/* Does it go on? A member of a batch does, with its line, and uncorrelated. */
static bool unkept_request(struct traffic *t, struct message *x, int st, bool refusable)
{
    if (refusable) {
        refuse_unkept(t, x, st);
        return false;
    }
    message_drop(t, x, "request", ROW_FORWARDED);
    if (x->dir == ROW_C2S && t->validate != VALIDATE_NONE) {
        log_error("%s for a batch, the connection ends: server=%s",
                  st == MI_ENOMEM ? "out of memory" : "no room", t->server);
        outbox_break(&t->out[ROW_S2C]); /* the answer would be swallowed, and waited for */
    }
    return true;
}

/* Into the table, and its clock with it. 0, or what pending_add() has. */
static int keep_request(struct traffic *t, struct message *x, struct pending **ret)
{
    int st = pending_add(&t->open[x->dir], &x->m, ret);
    if (st < 0 || x->dir != ROW_C2S)
        return st;
    (*ret)->patient = (*ret)->modern && waits_for_people(&x->m);
    st = timers_add(&t->timers, *ret, recorder_now_us(t->recorder));
    if (st < 0)
        pending_remove(&t->open[x->dir], *ret);
    return st;
}

static bool note_request(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p;
    struct pending_table *table = &t->open[x->dir];
    struct pending *same = pending_find(table, x->m.id, &type_changed);
    if (same != NULL && !type_changed && !same->cancelled)
        x->m.findings |= FINDING(FIND_REUSED_ID);
    struct protocol_asked asked;
    if (!judge_request(t, x, &asked) || (x->dir == ROW_C2S && !arguments_request(t, x, &asked)))
        return false;
    bool refusable = x->dir == ROW_C2S && x->batch_seq == 0 && t->validate != VALIDATE_NONE;
    if (refusable && t->out[ROW_C2S].broken) {
        x->m.findings |= FINDING(FIND_SERVER_GONE);
        message_refuse(t, x, rpc_is_modern(&x->m) ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE,
                       "the server takes no more messages: it closed its stdin", "server-closed");
        return false;
    }
    int st = keep_request(t, x, &p);
    if (st < 0)
        return unkept_request(t, x, st, refusable);
    p->asked = asked;
    if (pending_shares_token(table, p))
        x->rules |= RULE(RULE_REUSED_TOKEN);
    p->t_us = recorder_now_us(t->recorder);
    p->size = x->size;
    p->request_seq = message_drop(t, x, "request", ROW_FORWARDED);
    if (x->dir == ROW_C2S) {
        message_learn_request(t, &x->m, p->modern);
        t->leaving |= rpc_method_is(&x->m, "shutdown");
    } else {
        timers_stand(&t->timers, true, p->t_us);
    }
    /* a batch is staged before its members are noted, a line of its own right after this */
    p->written_at = t->out[x->dir].staged + (x->batch_seq == 0 ? x->text.n + 1 : 0);
    return true;
}

static void log_cancelled(struct traffic *t, const struct pending *p)
{
    struct action a = message_action(t, p);
    a.status = "cancelled";
    actions_add(&t->actions, &a);
}

/* Some servers report under a token that nobody gave: it is clear for whom, if one request alone is open. */
static struct pending *only_one_without_token(const struct traffic *t)
{
    const struct pending_list *open = &t->open[ROW_C2S].open;
    return open->count == 1 && open->oldest->token.p == NULL ? open->oldest : NULL;
}

/* Progress gives its request more time; that of one given up must not reach the client (mcp-wire.md
 * 6.1), nor must the second acknowledgement of a stream that we have asked for again. */
static bool note_progress(struct traffic *t, struct message *x)
{
    struct pending *p = NULL;
    bool type_changed;
    if (x->m.progress_token.type != JSON_NONE && rpc_method_is(&x->m, "notifications/progress")) {
        p = pending_find_token(&t->open[x->dir == ROW_S2C ? ROW_C2S : ROW_S2C],
                               x->m.progress_token);
        judge_progress(t, x, p);
        if (x->dir == ROW_C2S)
            return true; /* the server's requests have no clock */
        struct pending *of = p != NULL ? p : only_one_without_token(t);
        if (of != NULL && !of->cancelled)
            timers_progress(&t->timers, of, recorder_now_us(t->recorder));
        return p == NULL || !p->timed_out || t->validate == VALIDATE_NONE;
    }
    if (x->dir == ROW_C2S)
        return true;
    if (x->m.meta.type != JSON_OBJECT ||
        !rpc_method_is(&x->m, "notifications/subscriptions/acknowledged"))
        return true;
    p = pending_find(&t->open[ROW_C2S],
                     json_get(x->m.meta, "io.modelcontextprotocol/subscriptionId"), &type_changed);
    if (p == NULL || !p->sent_again)
        return true;
    p->sent_again = false;
    return false;
}

/* What clients with habits from LSP say (mcp-wire.md 7.5). The server answers what was called off, with an error
 * or with what it has; if it does not, that is no hang. */
static void note_lsp(struct traffic *t, const struct message *x)
{
    bool type_changed;
    struct pending *p;
    if (rpc_method_is(&x->m, "exit")) {
        t->leaving = true;
    } else if (rpc_method_is(&x->m, "$/cancelRequest")) {
        p = pending_find(&t->open[ROW_C2S], json_get(x->m.params, "id"), &type_changed);
        if (p != NULL && !type_changed)
            p->called_off = true;
    }
}

static bool note_notification(struct traffic *t, struct message *x)
{
    bool type_changed;
    struct pending *p = NULL;
    if (!judge_notification(t, x))
        return false;
    arguments_notification(t, x);
    bool kept_back = !note_progress(t, x);
    if (!kept_back && !judge_progress_passes(t, x))
        return false;
    struct row row = message_row(x, "notification", ROW_FORWARDED);
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
        message_give_up(t, x->dir, p);
    }
    if (x->dir == ROW_C2S && rpc_method_is(&x->m, "notifications/initialized"))
        handshake_initialized(&t->handshake);
    if (x->dir == ROW_C2S)
        note_lsp(t, x);
    if (kept_back) {
        row.action = ROW_SWALLOWED;
        row.findings |= FINDING(FIND_LATE_PROGRESS);
    }
    recorder_add(t->recorder, &row);
    return row.action == ROW_FORWARDED;
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
            json_unescape(b, json_string_head(at, ACTIONS_LOOK));
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
    return text_head(m->result.text, ACTIONS_LOOK);
}

static void log_answer(struct traffic *t, const struct message *x, const struct pending *p,
                       bool tool_error)
{
    struct action a = message_action(t, p);
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
    if (p == NULL && x->dir == ROW_S2C && handshake_is_own_id(x->m.id)) {
        x->m.findings |= FINDING(FIND_OWN_REQUEST);
        message_drop(t, x, kind, ROW_SWALLOWED);
        if (t->on_own_answer != NULL)
            t->on_own_answer(t->owner, &x->m);
        return false;
    }
    if (type_changed)
        x->m.findings |= FINDING(FIND_ID_TYPE_CHANGED);
    if (p == NULL || p->cancelled) {
        bool passes = stray_answer_passes(t, x) && (p == NULL || !p->dead);
        x->m.findings |= FINDING(p == NULL ? FIND_UNKNOWN_ANSWER : FIND_LATE_ANSWER);
        struct row row = message_row(x, kind, passes ? ROW_FORWARDED : ROW_SWALLOWED);
        row.request_seq = p != NULL && !passes ? p->request_seq : 0;
        recorder_add(t->recorder, &row);
        if (p != NULL)
            message_close(t, x->dir == ROW_C2S ? ROW_S2C : ROW_C2S, p);
        return passes;
    }
    if (!judge_answer(t, x, p))
        return false;
    arguments_answer(t, x, p);
    bool tool_error = x->m.is_error.type == JSON_TRUE && x->m.kind == RPC_RESULT;
    if (tool_error)
        x->m.findings |= FINDING(FIND_TOOL_ERROR);
    struct row row = message_row(x, kind, ROW_FORWARDED);
    row.request_seq = p->request_seq;
    recorder_add(t->recorder, &row);
    if (x->dir == ROW_S2C) {
        if (x->m.kind == RPC_RESULT)
            message_learn_result(t, p, &x->m);
        else if (json_key_is(p->method, "shutdown"))
            t->leaving = false; /* the server knows no such thing, and goes on */
        log_answer(t, x, p, tool_error);
        struct slice said = x->m.kind == RPC_ERROR ? x->m.error.text : x->m.content.text;
        if (t->on_auth != NULL && (x->m.kind == RPC_ERROR || tool_error) && said.p != NULL &&
            message_says_unauthorized(said))
            t->on_auth(t->owner, p, x->m.text);
    }
    message_close(t, x->dir == ROW_C2S ? ROW_S2C : ROW_C2S, p);
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
    if (x->dir == ROW_S2C)
        t->timers.heard++;
    if (x->m.kind == RPC_BATCH)
        batch_handle(t, x);
    else if (message_note(t, x))
        stage(t, x);
}
