#include "replay/mock/forward_start.h"

#include "base/log.h"
#include "base/text.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"
#include "wire/mcp/own.h"

#define TOOL_PAGES_MAX 100

static int forward_start_give_up(struct conversation *s, const char *why)
{
    buf_adds(&s->forward->over, why);
    return forward_give_up(s);
}

/* ---- catching up ---- */

static bool request_may_be_repeated(const struct forward *f, const struct rpc *m)
{
    if (marks_in_text(m->params.text) != MARKS_NONE)
        return false; /* the sanitizer changed the request */
    if (!rpc_method_is(m, "tools/call"))
        return talk_reads_only(m) && !rpc_method_is(m, "initialize") && !rpc_method_is(m, "ping") &&
               !rpc_method_is(m, "server/discover") && !rpc_method_is(m, "subscriptions/listen");
    const struct talk_tool *tool = talk_find_tool(&f->talk, json_string_raw(m->name));
    return tool != NULL && tool->live && tool->reads_only;
}

/* Sends the next recorded request that may be repeated. */
static int forward_start_catch_up(struct conversation *s)
{
    struct forward *f = s->forward;
    struct rpc m;
    while (f->noted_at < f->noted_n) {
        const struct plan_exchange *x = plan_get_exchange(s->plan, f->noted[f->noted_at++]);
        buf_clear(&s->body);
        int st = source_read_body(s->source, x->place, &s->body);
        if (st < 0 && st != MI_ENOENT)
            return st;
        if (st == 0 && rpc_read(buf_slice(&s->body), &m) == 0 && request_may_be_repeated(f, &m)) {
            f->phase = FORWARD_CATCHING_UP;
            return forward_send_own(f, buf_slice(&s->body));
        }
    }
    return forward_enter_ready(s);
}

/* Requests a page of tools/list. cursor: JSON text; {NULL, 0} for the first page. */
static int forward_ask_tools(struct forward *f, struct slice meta, struct slice cursor)
{
    struct buf b = {0};
    own_tools_list(&b, slice_of("0"), meta, cursor);
    f->phase = FORWARD_LEARNING;
    f->pages++;
    int st = b.failed ? MI_ENOMEM : forward_send_own(f, buf_slice(&b));
    buf_close(&b);
    return st;
}

static int forward_after_greeting(struct conversation *s, struct slice meta)
{
    struct forward *f = s->forward;
    if (f->rules.catch_up && f->noted_n > 0)
        return forward_ask_tools(f, meta, (struct slice){0});
    return forward_enter_ready(s);
}

/* Returns the `_meta` of a waiting request, for requests of our own; {NULL, 0} if there is none, as in
 * older revisions. */
static struct slice meta_of_pending_request(const struct forward *f)
{
    struct rpc m;
    if (f->pending == NULL || rpc_read(buf_slice(&f->pending->text), &m) < 0 || !rpc_is_modern(&m))
        return (struct slice){0};
    return m.meta.text;
}

static int forward_on_tools(struct conversation *s, const struct rpc *answer)
{
    struct forward *f = s->forward;
    struct json_value cursor = json_get(answer->result, "nextCursor");
    int st = answer->kind == RPC_RESULT ? talk_learn_tools(&f->talk, answer->result, true) : 0;
    if (st < 0)
        return st;
    if (answer->kind == RPC_RESULT && cursor.type == JSON_STRING && f->pages < TOOL_PAGES_MAX)
        return forward_ask_tools(f, meta_of_pending_request(f), cursor.text);
    return forward_start_catch_up(s);
}

/* ---- the handshake ---- */

/* Sends the client's initialize, with the recorded revision. */
static int forward_start_greet(struct conversation *s)
{
    struct forward *f = s->forward;
    struct rpc m;
    const char *recorded = plan_get_version(s->plan, false);
    if (f->hello.n == 0 || rpc_read(buf_slice(&f->hello), &m) < 0)
        return forward_after_greeting(s, (struct slice){0});
    struct slice version = json_get(m.params, "protocolVersion").text, all = m.text;
    struct buf b = {0};
    if (recorded[0] == '\0' || version.p == NULL) {
        buf_slice_add(&b, all);
    } else {
        buf_add(&b, all.p, (size_t)(version.p - all.p));
        text_json(&b, slice_of(recorded));
        buf_add(&b, version.p + version.n, (size_t)(all.p + all.n - version.p) - version.n);
    }
    f->phase = FORWARD_GREETING;
    int st = b.failed ? MI_ENOMEM : forward_send_own(f, buf_slice(&b));
    buf_close(&b);
    return st;
}

static int forward_on_greeted(struct conversation *s, const struct rpc *answer)
{
    struct forward *f = s->forward;
    struct buf b = {0};
    const char *recorded = plan_get_version(s->plan, false);
    struct slice version = json_string_raw(json_get(answer->result, "protocolVersion"));
    if (answer->kind != RPC_RESULT) {
        struct buf *why = &s->forward->over;
        if (!rpc_is_ours(answer))
            return forward_start_give_up(s, "the live server rejected initialize");
        /* The proxy in front of the server made this error, because the server has ended. */
        buf_adds(why, "the live server did not answer initialize: ");
        json_unescape(why, json_string_raw(answer->error_message));
        return forward_give_up(s);
    }
    if (recorded[0] != '\0' && !json_key_is(version, recorded))
        log_warn("the live server uses another revision than the recorded one: recorded=%s "
                 "live=%.*s",
                 recorded, (int)size_min(version.n, 32), version.p);
    own_write_initialized(&b);
    int st = b.failed ? MI_ENOMEM : f->calls->send(f->ctx, buf_slice(&b));
    buf_close(&b);
    return st < 0 ? st : forward_after_greeting(s, (struct slice){0});
}

int forward_start(struct conversation *s, bool modern)
{
    struct forward *f = s->forward;
    int st = f->calls->start(f->ctx);
    if (st == MI_EIO)
        return forward_start_give_up(s, "the live server could not be started");
    if (st < 0)
        return st;
    if (f->rules.all)
        return forward_enter_ready(s);
    return modern ? forward_after_greeting(s, meta_of_pending_request(f)) : forward_start_greet(s);
}

int forward_step(struct conversation *s, const struct rpc *answer)
{
    switch (s->forward->phase) {
    case FORWARD_GREETING:
        return forward_on_greeted(s, answer);
    case FORWARD_LEARNING:
        return forward_on_tools(s, answer);
    default: /* FORWARD_CATCHING_UP: the answer is not needed */
        return forward_start_catch_up(s);
    }
}
