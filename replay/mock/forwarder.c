#include "replay/mock/forwarder.h"

#include "base/grow.h"
#include "base/log.h"
#include "base/text.h"
#include "replay/mock/answer.h"
#include "replay/mock/forwarder_queue.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"
#include "wire/mcp/own.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

#define TOOL_PAGES_MAX 100 /* maximum number of pages of tools/list that are read */

int forwarder_open(struct forwarder **ret, const struct forwarder_rules *rules,
                   const struct forwarder_callbacks *calls, void *ctx)
{
    struct forwarder *f = calloc(1, sizeof *f);
    if (f == NULL)
        return MI_ENOMEM;
    f->rules = *rules;
    f->calls = calls;
    f->ctx = ctx;
    f->session.error = &f->error;
    *ret = f;
    return 0;
}

void forwarder_close(struct forwarder *f)
{
    if (f == NULL)
        return;
    forwarder_free_all_requests(f);
    for (struct forwarder_question *q = f->questions, *next; q != NULL; q = next) {
        next = q->next;
        free(q);
    }
    live_session_close(&f->session);
    free(f->noted);
    buf_close(&f->hello);
    buf_close(&f->error);
    buf_close(&f->out);
    buf_close(&f->over);
    free(f);
}

bool forwarder_forwards_all_requests(const struct forwarder *f)
{
    return f != NULL && f->rules.all;
}

size_t forwarder_count_requests(const struct forwarder *f)
{
    return f != NULL ? f->pending_n : 0;
}

/* ---- the first messages to the live server: the handshake, and earlier recorded requests ---- */

static int forwarder_refuse_all_with_reason(struct conversation *s, const char *why)
{
    buf_adds(&s->forwarder->over, why);
    return forwarder_refuse_all_requests(s);
}

/* ---- catching up ---- */

static bool request_may_be_repeated(const struct forwarder *f, const struct rpc *m)
{
    if (marks_find_in_text(m->params.text) != MARKS_NONE)
        return false; /* the sanitizer changed the request */
    if (!rpc_method_is(m, "tools/call"))
        return live_session_request_is_harmless(m) && !rpc_method_is(m, "initialize") &&
               !rpc_method_is(m, "ping") && !rpc_method_is(m, "server/discover") &&
               !rpc_method_is(m, "subscriptions/listen");
    const struct live_session_tool *tool =
        live_session_find_tool(&f->session, json_string_raw(m->name));
    return tool != NULL && tool->live && tool->reads_only;
}

/* Sends the next recorded request that may be repeated. */
static int forwarder_repeat_next_request(struct conversation *s)
{
    struct forwarder *f = s->forwarder;
    struct rpc m;
    while (f->noted_at < f->noted_n) {
        const struct plan_exchange *x = plan_get_exchange(s->plan, f->noted[f->noted_at++]);
        buf_clear(&s->body);
        int st = source_read_body(s->source, x->place, &s->body);
        if (st < 0 && st != MI_ENOENT)
            return st;
        if (st == 0 && rpc_read(buf_slice(&s->body), &m) == 0 && request_may_be_repeated(f, &m)) {
            f->phase = FORWARDER_CATCHING_UP;
            return forwarder_send_own_request(f, buf_slice(&s->body));
        }
    }
    return forwarder_send_all_queued_requests(s);
}

/* Requests a page of tools/list. cursor: JSON text; {NULL, 0} for the first page. */
static int forwarder_request_tools_page(struct forwarder *f, struct slice meta, struct slice cursor)
{
    struct buf b = {0};
    own_write_tools_list(&b, slice_of("0"), meta, cursor);
    f->phase = FORWARDER_LEARNING;
    f->pages++;
    int st = b.failed ? MI_ENOMEM : forwarder_send_own_request(f, buf_slice(&b));
    buf_close(&b);
    return st;
}

static int forwarder_continue_after_handshake(struct conversation *s, struct slice meta)
{
    struct forwarder *f = s->forwarder;
    if (f->rules.catch_up && f->noted_n > 0)
        return forwarder_request_tools_page(f, meta, (struct slice){0});
    return forwarder_send_all_queued_requests(s);
}

/* Returns the `_meta` of the first waiting request, for use in requests of the mock server's own.
 * {NULL, 0} if there is none, as in older revisions. */
static struct slice get_meta_of_first_request(const struct forwarder *f)
{
    struct rpc m;
    if (f->pending == NULL || rpc_read(buf_slice(&f->pending->text), &m) < 0 || !rpc_is_modern(&m))
        return (struct slice){0};
    return m.meta.text;
}

static int forwarder_on_tools_list_answer(struct conversation *s, const struct rpc *answer)
{
    struct forwarder *f = s->forwarder;
    struct json_value cursor = json_get(answer->result, "nextCursor");
    int st =
        answer->kind == RPC_RESULT ? live_session_add_tools(&f->session, answer->result, true) : 0;
    if (st < 0)
        return st;
    if (answer->kind == RPC_RESULT && cursor.type == JSON_STRING && f->pages < TOOL_PAGES_MAX)
        return forwarder_request_tools_page(f, get_meta_of_first_request(f), cursor.text);
    return forwarder_repeat_next_request(s);
}

/* ---- the handshake ---- */

/* Sends the client's initialize, with the recorded revision. */
static int forwarder_send_initialize(struct conversation *s)
{
    struct forwarder *f = s->forwarder;
    struct rpc m;
    const char *recorded = plan_get_protocol_version(s->plan, false);
    if (f->hello.n == 0 || rpc_read(buf_slice(&f->hello), &m) < 0)
        return forwarder_continue_after_handshake(s, (struct slice){0});
    struct slice version = json_get(m.params, "protocolVersion").text, all = m.text;
    struct buf b = {0};
    if (recorded[0] == '\0' || version.p == NULL) {
        buf_slice_add(&b, all);
    } else {
        buf_add(&b, all.p, (size_t)(version.p - all.p));
        text_append_json(&b, slice_of(recorded));
        buf_add(&b, version.p + version.n, (size_t)(all.p + all.n - version.p) - version.n);
    }
    f->phase = FORWARDER_GREETING;
    int st = b.failed ? MI_ENOMEM : forwarder_send_own_request(f, buf_slice(&b));
    buf_close(&b);
    return st;
}

static int forwarder_on_initialize_answer(struct conversation *s, const struct rpc *answer)
{
    struct forwarder *f = s->forwarder;
    struct buf b = {0};
    const char *recorded = plan_get_protocol_version(s->plan, false);
    struct slice version = json_string_raw(json_get(answer->result, "protocolVersion"));
    if (answer->kind != RPC_RESULT) {
        struct buf *why = &s->forwarder->over;
        if (!rpc_is_interposer_error(answer))
            return forwarder_refuse_all_with_reason(s, "the live server rejected initialize");
        /* The proxy in front of the server made this error, because the server has ended. */
        buf_adds(why, "the live server did not answer initialize: ");
        json_unescape(why, json_string_raw(answer->error_message));
        return forwarder_refuse_all_requests(s);
    }
    if (recorded[0] != '\0' && !json_key_is(version, recorded))
        log_warn("the live server uses another revision than the recorded one: recorded=%s "
                 "live=%.*s",
                 recorded, (int)size_min(version.n, 32), version.p);
    own_write_initialized_message(&b);
    int st = b.failed ? MI_ENOMEM : f->calls->send(f->ctx, buf_slice(&b));
    buf_close(&b);
    return st < 0 ? st : forwarder_continue_after_handshake(s, (struct slice){0});
}

/* Starts the server. The client's first request waits in the list until the server is ready. */
static int forwarder_start_server(struct conversation *s, bool modern)
{
    struct forwarder *f = s->forwarder;
    int st = f->calls->start(f->ctx);
    if (st == MI_EIO)
        return forwarder_refuse_all_with_reason(s, "the live server could not be started");
    if (st < 0)
        return st;
    if (f->rules.all)
        return forwarder_send_all_queued_requests(s);
    return modern ? forwarder_continue_after_handshake(s, get_meta_of_first_request(f))
                  : forwarder_send_initialize(s);
}

/* Handles the answer to a request of the mock server's own. */
static int forwarder_on_answer_to_own_request(struct conversation *s, const struct rpc *answer)
{
    switch (s->forwarder->phase) {
    case FORWARDER_GREETING:
        return forwarder_on_initialize_answer(s, answer);
    case FORWARDER_LEARNING:
        return forwarder_on_tools_list_answer(s, answer);
    default: /* FORWARDER_CATCHING_UP: the answer is ignored */
        return forwarder_repeat_next_request(s);
    }
}

/* ---- the client's requests ---- */

int forwarder_send_or_queue_request(struct conversation *s, const struct rpc *live,
                                    struct mock_batch *batch)
{
    struct forwarder *f = s->forwarder;
    struct forwarder_request *p = forwarder_add_request_to_list(s, live, batch);
    if (p == NULL)
        return MI_ENOMEM;
    if (f->phase == FORWARDER_READY)
        return forwarder_send_queued_request(s, p, live->text);
    if (f->phase == FORWARDER_OVER)
        return forwarder_refuse_all_requests(s);
    buf_slice_add(&p->text, live->text);
    if (p->text.failed)
        return MI_ENOMEM;
    return f->phase == FORWARDER_NOT_STARTED ? forwarder_start_server(s, rpc_is_modern(live)) : 0;
}

int forwarder_copy_initialize(struct conversation *s, const struct rpc *live)
{
    struct buf *b = &s->forwarder->hello;
    buf_clear(b);
    buf_slice_add(b, live->text);
    return b->failed ? MI_ENOMEM : 0;
}

int forwarder_add_catch_up_exchange(struct conversation *s, uint32_t exchange)
{
    struct forwarder *f = s->forwarder;
    if (!f->rules.catch_up || f->phase != FORWARDER_NOT_STARTED)
        return 0;
    if (!GROW(f->noted, f->noted_n, f->noted_cap))
        return MI_ENOMEM;
    f->noted[f->noted_n++] = exchange;
    return 0;
}

/* ---- the client's other messages ---- */

static int forwarder_send_client_cancellation(struct conversation *s, const struct rpc *live)
{
    struct forwarder *f = s->forwarder;
    char text[32];
    struct slice with[REWRITE_COUNT] = {0};
    if (live->request_id.type != JSON_NUMBER && live->request_id.type != JSON_STRING)
        return 0;
    buf_clear(&s->key);
    rpc_id_append_key(&s->key, live->request_id);
    struct forwarder_request *p = f->pending;
    while (p != NULL && !slice_eq(p->key, buf_slice(&s->key)))
        p = p->next;
    if (p != NULL)
        p->cancelled = true;
    if (p == NULL || p->number == 0)
        return 0; /* nothing to cancel at the server: the request was answered, or not sent yet */
    with[REWRITE_REQUEST_ID] = forwarder_format_number(p->number, text);
    int st = forwarder_record_message(s, true, live->text);
    return st < 0 ? st : forwarder_send_message(f, live->text, with);
}

int forwarder_send_client_notification(struct conversation *s, const struct rpc *live)
{
    struct forwarder *f = s->forwarder;
    if (f->phase != FORWARDER_READY)
        return 0;
    if (rpc_method_is(live, "notifications/cancelled"))
        return forwarder_send_client_cancellation(s, live);
    if (!f->rules.all && rpc_method_is(live, "notifications/initialized"))
        return 0; /* the mock server has already sent an initialized notification to the server */
    int st = forwarder_record_message(s, true, live->text);
    return st < 0 ? st : f->calls->send(f->ctx, live->text);
}

int forwarder_send_client_answer(struct conversation *s, const struct rpc *live)
{
    struct forwarder *f = s->forwarder;
    struct forwarder_question **at = &f->questions;
    struct slice with[REWRITE_COUNT] = {0};
    while (*at != NULL && !rpc_id_equals_number(live->id, (*at)->number))
        at = &(*at)->next;
    struct forwarder_question *q = *at;
    if (q == NULL)
        return 0;
    *at = q->next;
    f->questions_n--;
    with[REWRITE_ID] = (struct slice){q->id, q->id_n};
    int st = f->phase == FORWARDER_READY ? forwarder_record_message(s, true, live->text) : 0;
    if (st == 0 && f->phase != FORWARDER_OVER)
        st = forwarder_send_message(f, live->text, with);
    free(q);
    return st;
}

/* ---- the live server ---- */

/* Sends a request of the live server to the client, with a new id, because the live server's id may
 * equal the id of a recorded request. */
static int forwarder_on_server_request(struct conversation *s, const struct rpc *m)
{
    struct forwarder *f = s->forwarder;
    char text[32];
    struct slice with[REWRITE_COUNT] = {0};
    if (f->questions_n == CONVERSATION_OPEN_MAX)
        /* the request is dropped, because the client does not answer requests of the server */
        return 0;
    struct forwarder_question *q = malloc(sizeof *q + m->id.text.n);
    if (q == NULL)
        return MI_ENOMEM;
    memcpy(q->id, m->id.text.p, m->id.text.n);
    q->id_n = m->id.text.n;
    q->number = ++s->question_number;
    q->next = f->questions;
    f->questions = q;
    f->questions_n++;
    with[REWRITE_ID] = forwarder_format_number(q->number, text);
    buf_clear(&s->out);
    int st = rewrite_message(&s->out, m->text, with);
    if (st == 0 && f->phase == FORWARDER_READY)
        st = forwarder_record_message(s, false, buf_slice(&s->out));
    return st < 0 ? st : mock_send_line(s, buf_slice(&s->out));
}

static const struct forwarder_request *find_forwarded_request(const struct forwarder *f,
                                                              struct json_value id)
{
    const struct forwarder_request *p = f->pending;
    while (p != NULL && (p->number == 0 || !rpc_id_equals_number(id, p->number)))
        p = p->next;
    return p;
}

static int forwarder_on_server_answer(struct conversation *s, const struct rpc *m)
{
    struct forwarder *f = s->forwarder;
    struct slice with[REWRITE_COUNT] = {0};
    if (f->own != 0 && rpc_id_equals_number(m->id, f->own)) {
        f->own = 0;
        return forwarder_on_answer_to_own_request(s, m);
    }
    const struct forwarder_request *found = find_forwarded_request(f, m->id);
    if (found == NULL)
        return 0; /* the client's request was already answered */
    struct forwarder_request *p = forwarder_remove_request_by_number(f, found->number);
    if (rpc_is_interposer_error(m)) /* the proxy in front of the server made this answer */
        forwarder_report_unanswered(s, p);
    with[REWRITE_ID] = with[REWRITE_SUBSCRIPTION] = p->id;
    buf_clear(&s->out);
    int st = rewrite_message(&s->out, m->text, with);
    if (st == 0)
        st = forwarder_record_message(s, false, buf_slice(&s->out));
    if (st == 0)
        st = mock_send_answer(s, p->batch, buf_slice(&s->out));
    int ended = forwarder_free_request(s, p);
    return st < 0 ? st : ended;
}

/* Sends a notification of the server to the client. Replaces the id that the notification contains:
 * the id of a subscription, of another request of the client, or of a request of the server. */
static int forwarder_on_server_notification(struct conversation *s, const struct rpc *m)
{
    struct forwarder *f = s->forwarder;
    char text[32];
    struct slice with[REWRITE_COUNT] = {0};
    const struct forwarder_request *p =
        find_forwarded_request(f, message_get_value_to_rewrite(m->text, REWRITE_SUBSCRIPTION));
    if (f->phase != FORWARDER_READY)
        return 0;
    if (p != NULL)
        with[REWRITE_SUBSCRIPTION] = p->id;
    if (rpc_method_is(m, "notifications/cancelled")) {
        const struct forwarder_question *q = f->questions;
        while (q != NULL && !slice_eq((struct slice){q->id, q->id_n}, m->request_id.text))
            q = q->next;
        p = find_forwarded_request(f, m->request_id);
        with[REWRITE_REQUEST_ID] = q != NULL   ? forwarder_format_number(q->number, text)
                                   : p != NULL ? p->id
                                               : (struct slice){0};
    }
    buf_clear(&s->out);
    int st = rewrite_message(&s->out, m->text, with);
    if (st == 0)
        st = forwarder_record_message(s, false, buf_slice(&s->out));
    return st < 0 ? st : mock_send_line(s, buf_slice(&s->out));
}

int forwarder_handle_server_line(struct conversation *s, struct slice line)
{
    struct rpc m;
    if (rpc_read(line, &m) < 0)
        return 0;
    switch (m.kind) {
    case RPC_REQUEST:
        return forwarder_on_server_request(s, &m);
    case RPC_RESULT:
    case RPC_ERROR:
        return forwarder_on_server_answer(s, &m);
    case RPC_NOTIFICATION:
        return forwarder_on_server_notification(s, &m);
    default:
        return 0;
    }
}

int forwarder_on_server_ended(struct conversation *s)
{
    struct forwarder *f = s->forwarder;
    if (f->phase == FORWARDER_OVER)
        return 0;
    buf_adds(&f->over, "the live server ");
    f->calls->end_text(f->ctx, &f->over);
    return forwarder_refuse_all_requests(s);
}
