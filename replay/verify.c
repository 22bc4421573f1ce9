#include "replay/verify.h"

#include "base/clock.h"
#include "replay/clean.h"
#include "replay/verify_inner.h"
#include "wire/json_text.h"
#include "wire/method.h"

#include <stdio.h>

#define PAGES_MAX 100 /* of a live tools/list that nobody recorded */

const char *verify_verdict_name(enum verify_verdict verdict)
{
    static const char *const names[VERIFY_VERDICTS] = {"match", "changed",   "schema-changed",
                                                       "gone",  "no-answer", "skipped"};
    return names[verdict];
}

/* ---- questions of the live server ---- */

/* The next recorded question of this method that the client answered. */
static int find_question(struct verify *v, const struct rpc *live, uint32_t *ret)
{
    struct buf method = {0};
    int st = 0;
    json_unescape(&method, live->method);
    buf_addc(&method, '\0');
    *ret = VERIFY_NONE;
    for (uint32_t i = 0; st == 0 && !method.failed && i < v->n && *ret == VERIFY_NONE; i++) {
        struct verify_item *it = &v->items[i];
        struct rpc m;
        if (it->kind != RPC_REQUEST || it->from_client || it->used || it->lost ||
            it->answer == VERIFY_NONE || v->items[it->answer].lost)
            continue;
        st = verify_body(v, i, &v->other);
        if (st == 0 && rpc_read(buf_slice(&v->other), &m) == 0 && rpc_method_is(&m, method.p))
            *ret = i;
    }
    if (method.failed)
        st = verify_no_memory(v);
    buf_close(&method);
    return st;
}

/* The client's recorded answer, or an honest error. */
static int answer_question(struct verify *v, const struct rpc *live)
{
    uint32_t i = VERIFY_NONE;
    struct rpc m;
    struct buf out = {0};
    int st = rpc_method_is(live, "ping") ? 0 : find_question(v, live, &i);
    if (st == 0 && i != VERIFY_NONE) {
        v->items[i].used = true;
        st = verify_body(v, v->items[i].answer, &v->other);
        if (st == 0 && rpc_read(buf_slice(&v->other), &m) == 0)
            st = verify_rewrite(v, &m, live->id.text, true, &out);
    }
    if (out.n == 0) {
        buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,", (int)live->id.text.n,
                   live->id.text.p);
        buf_adds(&out, rpc_method_is(live, "ping")
                           ? "\"result\":{}}"
                           : "\"error\":{\"code\":-32601,\"message\":\"No answer to this was "
                             "recorded\"}}");
    }
    if (st == 0)
        st = out.failed ? verify_no_memory(v) : live_send(v->server, buf_slice(&out));
    buf_close(&out);
    return st;
}

/* ---- one request, live ---- */

/* Waits for the answer with this id; *ret lies in the live server's line. *ret_said: it came. */
static int await(struct verify *v, int64_t id, struct rpc *ret, bool *ret_said)
{
    int64_t until = clock_mono_us() + v->cfg->timeout_us;
    *ret_said = false;
    for (;;) {
        struct slice line;
        int64_t got;
        enum live_result r = live_recv(v->server, until, &line);
        if (r == LIVE_FAILED)
            return verify_no_memory(v);
        if (r != LIVE_LINE) {
            v->ended = r == LIVE_ENDED;
            return 0;
        }
        if (rpc_read(line, ret) < 0)
            continue; /* a banner, a log line: the proxy keeps it from the client, too */
        if (ret->kind == RPC_REQUEST) {
            int st = answer_question(v, ret);
            if (st < 0)
                return st;
        } else if ((ret->kind == RPC_RESULT || ret->kind == RPC_ERROR) && json_int(ret->id, &got) &&
                   got == id) {
            *ret_said = true;
            return 0;
        } else if (ret->kind == RPC_NOTIFICATION && rpc_method_is(ret, "notifications/progress")) {
            until = clock_mono_us() + v->cfg->timeout_us; /* it is at work */
        }
    }
}

static int send_request(struct verify *v, const struct rpc *m, int64_t *ret_id)
{
    char id[24];
    int n = snprintf(id, sizeof id, "%lld", (long long)++v->next_id);
    *ret_id = v->next_id;
    int st = verify_rewrite(v, m, (struct slice){id, (size_t)n}, true, &v->line);
    return st < 0 ? st : live_send(v->server, buf_slice(&v->line));
}

/* Nobody recorded what the tools are: the live server is asked, in the words of this call's revision. */
static int ask_tools(struct verify *v, const struct rpc *call)
{
    struct buf cursor = {0};
    bool said = true;
    int st = 0;
    for (int page = 0; st == 0 && said && !v->knows_live_tools && page < PAGES_MAX; page++) {
        struct rpc answer = {0};
        buf_clear(&v->line);
        buf_printf(&v->line,
                   "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/list\","
                   "\"params\":{",
                   (long long)++v->next_id);
        if (rpc_is_modern(call)) {
            buf_adds(&v->line, "\"_meta\":");
            buf_slice_add(&v->line, call->meta.text);
        }
        if (cursor.n > 0)
            buf_adds(&v->line, rpc_is_modern(call) ? ",\"cursor\":" : "\"cursor\":");
        buf_slice_add(&v->line, buf_slice(&cursor));
        buf_adds(&v->line, "}}");
        st = v->line.failed ? verify_no_memory(v) : live_send(v->server, buf_slice(&v->line));
        if (st == 0)
            st = await(v, v->next_id, &answer, &said);
        said = said && answer.kind == RPC_RESULT;
        if (st < 0 || !said)
            break;
        st = verify_learn_tools(v, answer.result, true);
        buf_clear(&cursor);
        buf_slice_add(&cursor, json_get(answer.result, "nextCursor").text);
    }
    buf_close(&cursor);
    return st;
}

/* ---- what is sent ---- */

struct refusal {
    const char *reason, *remedy;
};

static bool reads_only(const struct rpc *m)
{
    static const char *const harmless[] = {"initialize",          "ping",
                                           "server/discover",     "logging/setLevel",
                                           "resources/subscribe", "resources/unsubscribe"};
    for (size_t i = 0; i < MI_COUNT(harmless); i++)
        if (rpc_method_is(m, harmless[i]))
            return true;
    return (method_flags(m->method) & METHOD_READS) != 0;
}

static const struct refusal *refuse_cut(const struct rpc *m)
{
    static const struct refusal redacted = {
        "a secret in its parameters was not recorded",
        "if it is none, add a rule `keep` to [redact] and record the session again"};
    static const struct refusal shortened = {"its arguments were shortened in the recording",
                                             "record the session again with --record full"};
    enum compare_cut cut = compare_cut(m->params.text);
    return cut == COMPARE_REDACTED ? &redacted : cut == COMPARE_SHORTENED ? &shortened : NULL;
}

/* Why a request must not be sent; NULL: it may. Tools may have to be asked for first. */
static int refuse(struct verify *v, const struct rpc *m, const struct refusal **ret)
{
    static const struct refusal again = {"the client said it a second time",
                                         "verify starts one server; record that part by itself"};
    static const struct refusal stream = {"a subscription has no answer to wait for",
                                          "none is needed: what it tells is not compared"};
    static const struct refusal tool = {"the tool is not marked read-only or idempotent",
                                        "--all calls it all the same"};
    static const struct refusal unknown = {"the method is not known to only read",
                                           "--all sends it all the same"};
    int st = 0;
    *ret = NULL;
    if (rpc_method_is(m, "initialize") && v->initialized)
        *ret = &again;
    else if (rpc_method_is(m, "subscriptions/listen"))
        *ret = &stream;
    else if (!rpc_method_is(m, "initialize"))
        *ret = refuse_cut(m);
    if (*ret != NULL || v->cfg->all)
        return 0;
    if (!rpc_method_is(m, "tools/call")) {
        *ret = reads_only(m) ? NULL : &unknown;
        return 0;
    }
    const struct verify_tool *t = verify_tool(v, json_string_raw(m->name));
    if ((t == NULL || !t->live) && !v->knows_live_tools) {
        st = ask_tools(v, m);
        t = verify_tool(v, json_string_raw(m->name));
    }
    *ret = t != NULL && t->safe ? NULL : &tool;
    return st;
}

/* ---- comparing ---- */

struct gathering {
    struct verify_result *r;
    struct buf text; /* owned; what the listed differences point to */
    struct span {
        size_t at, n;
        bool there;
    } spans[VERIFY_DIFFERENCES_MAX][3];
    bool all_schema, entry_gone;
};

static void keep(struct gathering *g, struct span *s, struct slice text)
{
    *s = (struct span){.at = g->text.n, .n = text.n, .there = text.p != NULL};
    buf_slice_add(&g->text, text);
}

static void keep_value(struct gathering *g, struct span *s, struct slice pointer,
                       struct slice value)
{
    struct buf cleaned = {0};
    if (value.p != NULL && clean_value(&cleaned, pointer, value) < 0)
        g->text.failed = true;
    keep(g, s, value.p != NULL ? buf_slice(&cleaned) : value);
    buf_close(&cleaned);
}

static bool on_difference(void *ctx, const struct compare_difference *d)
{
    struct gathering *g = ctx;
    g->all_schema = g->all_schema && d->in_schema;
    g->entry_gone = g->entry_gone || (d->is_entry && d->live.p == NULL);
    if (g->r->differences < VERIFY_DIFFERENCES_MAX) {
        struct span *s = g->spans[g->r->differences];
        keep(g, &s[0], d->pointer);
        keep_value(g, &s[1], d->pointer, d->recorded);
        keep_value(g, &s[2], d->pointer, d->live);
    }
    g->r->differences++;
    return true;
}

static struct slice span_text(const struct gathering *g, struct span s)
{
    return s.there ? (struct slice){g->text.p + s.at, s.n} : (struct slice){0};
}

static void show_differences(struct gathering *g)
{
    size_t n = size_min(g->r->differences, VERIFY_DIFFERENCES_MAX);
    for (size_t i = 0; i < n; i++)
        g->r->difference[i] =
            (struct verify_difference){span_text(g, g->spans[i][0]), span_text(g, g->spans[i][1]),
                                       span_text(g, g->spans[i][2])};
}

/* What was asked for is not there any more. */
static bool is_gone(const struct verify *v, const struct rpc *asked, const struct rpc *live)
{
    int64_t code = 0;
    if (live->kind == RPC_ERROR && json_int(live->error_code, &code) &&
        (code == -32601 || (code == -32002 && rpc_method_is(asked, "resources/read"))))
        return true;
    if (!rpc_method_is(asked, "tools/call") || !v->knows_live_tools)
        return false;
    const struct verify_tool *t = verify_tool(v, json_string_raw(asked->name));
    return t == NULL || !t->live;
}

static int compare_answers(struct verify *v, const struct rpc *asked, const struct rpc *recorded,
                           const struct rpc *live, struct gathering *g)
{
    bool both_errors = recorded->kind == RPC_ERROR && live->kind == RPC_ERROR;
    int st = 0;
    if (recorded->kind != live->kind)
        (void)on_difference(
            g, &(struct compare_difference){
                   .pointer = slice_of(""),
                   .recorded =
                       recorded->kind == RPC_ERROR ? recorded->error.text : recorded->result.text,
                   .live = live->kind == RPC_ERROR ? live->error.text : live->result.text});
    else
        st = compare_values(both_errors ? recorded->error : recorded->result,
                            both_errors ? live->error : live->result, v->cfg->ignore, on_difference,
                            g);
    struct verify_result *r = g->r;
    r->verdict = r->differences == 0 ? VERIFY_MATCH
                 : g->entry_gone || (recorded->kind == RPC_RESULT && is_gone(v, asked, live))
                     ? VERIFY_GONE
                 : g->all_schema ? VERIFY_SCHEMA
                                 : VERIFY_CHANGED;
    return st < 0 || g->text.failed ? verify_no_memory(v) : 0;
}

/* ---- the run ---- */

static int learn(struct verify *v, const struct rpc *asked, const struct rpc *recorded,
                 const struct rpc *live)
{
    int st = verify_learn_handles(v, recorded->result, live->result);
    if (st == 0 && live->kind == RPC_RESULT && rpc_method_is(asked, "tools/list"))
        st = verify_learn_tools(v, live->result, true);
    return st;
}

static int exchange(struct verify *v, const struct rpc *asked, const struct rpc *recorded,
                    struct verify_result *r)
{
    static const struct refusal ended = {"the server had ended", NULL};
    static const struct refusal late = {"no answer came in time", "give it longer with --timeout"};
    struct gathering g = {.r = r, .all_schema = true};
    struct rpc live;
    bool said = false;
    int64_t id, began = clock_mono_us();
    int st = 0;
    if (!v->ended) {
        st = send_request(v, asked, &id);
        if (st == 0)
            st = await(v, id, &live, &said);
    }
    if (st == 0 && !said) {
        r->verdict = VERIFY_SILENT;
        r->reason = v->ended ? ended.reason : late.reason;
        r->remedy = v->ended ? ended.remedy : late.remedy;
    } else if (st == 0) {
        r->took_us = clock_mono_us() - began;
        st = learn(v, asked, recorded, &live);
        if (st == 0)
            st = compare_answers(v, asked, recorded, &live, &g);
        if (st == 0)
            st = verify_rewrite(v, &live, recorded->id.text, false, &v->shown);
        r->live = buf_slice(&v->shown);
    }
    if (st == 0) {
        show_differences(&g);
        v->fn(v->ctx, r);
    }
    buf_close(&g.text);
    return st;
}

static const struct refusal *refuse_answer(const struct verify *v, uint32_t answer,
                                           const struct rpc *recorded)
{
    static const struct refusal never = {"its answer was never recorded",
                                         "nothing can be compared; record the session again"};
    static const struct refusal ours = {"the interposer answered it, not the server",
                                        "nothing can be compared; record the session again"};
    if (answer == VERIFY_NONE || v->items[answer].lost)
        return &never;
    struct json_value source = json_get(json_get(recorded->error, "data"), "source");
    return json_key_is(json_string_raw(source), "mcp-interposer") ? &ours : NULL;
}

/* `$/cancelRequest` for this request, before its answer (mcp-wire.md 7.5). 1: there is; 0; or an error. */
static int was_called_off(struct verify *v, uint32_t i, const struct rpc *asked)
{
    struct rpc m;
    for (uint32_t k = i + 1; k < v->n && k < v->items[i].answer; k++) {
        const struct verify_item *it = &v->items[k];
        if (!it->from_client || it->lost || it->kind != RPC_NOTIFICATION)
            continue;
        int st = verify_body(v, k, &v->other);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&v->other), &m) == 0 && rpc_method_is(&m, "$/cancelRequest") &&
            json_equal(json_get(m.params, "id"), asked->id))
            return 1;
    }
    return 0;
}

static int do_request(struct verify *v, uint32_t i)
{
    static const struct refusal off = {"the client called it off, which made its answer",
                                       "none is needed: verify lets each request end"};
    struct rpc asked, recorded = {0};
    uint32_t answer = v->items[i].answer;
    const struct refusal *no = NULL;
    int st = verify_body(v, i, &v->request);
    if (st < 0 || rpc_read(buf_slice(&v->request), &asked) < 0)
        return st;
    if (answer != VERIFY_NONE && !v->items[answer].lost) {
        st = verify_body(v, answer, &v->recorded);
        if (st < 0 || rpc_read(buf_slice(&v->recorded), &recorded) < 0)
            return st;
    }
    struct verify_result r = {
        .verdict = VERIFY_SKIPPED,
        .seq = (int64_t)source_seq(v->items[i].place),
        .method = asked.method,
        .target = rpc_target(&asked),
        .answer_seq = answer != VERIFY_NONE ? (int64_t)source_seq(v->items[answer].place) : 0,
    };
    no = refuse_answer(v, answer, &recorded);
    st = no == NULL ? was_called_off(v, i, &asked) : 0;
    if (st > 0)
        no = &off;
    if (st < 0)
        return st;
    if (no == NULL && !v->ended)
        st = refuse(v, &asked, &no);
    if (st < 0)
        return st;
    if (no != NULL) {
        r.reason = no->reason;
        r.remedy = no->remedy;
        v->fn(v->ctx, &r);
        return 0;
    }
    v->initialized = v->initialized || rpc_method_is(&asked, "initialize");
    return exchange(v, &asked, &recorded, &r);
}

static int do_notification(struct verify *v, uint32_t i)
{
    struct rpc m;
    int st = verify_body(v, i, &v->request);
    if (st < 0 || rpc_read(buf_slice(&v->request), &m) < 0 ||
        rpc_method_is(&m, "notifications/cancelled") || rpc_method_is(&m, "$/cancelRequest"))
        return st; /* a cancelled request was not sent */
    return live_send(v->server, m.text);
}

int verify_run(const struct verify_config *cfg, struct source *source, verify_fn fn, void *ctx,
               struct buf *error)
{
    struct verify v = {.cfg = cfg, .source = source, .fn = fn, .ctx = ctx, .error = error};
    int st = verify_load(&v);
    if (st == 0)
        st = live_open(&v.server, cfg->argv, error);
    for (uint32_t i = 0; st == 0 && i < v.n; i++) {
        const struct verify_item *it = &v.items[i];
        if (!it->from_client || it->lost)
            continue;
        if (it->kind == RPC_REQUEST)
            st = do_request(&v, i);
        else if (it->kind == RPC_NOTIFICATION)
            st = do_notification(&v, i);
    }
    (void)live_close(v.server, cfg->grace_us);
    verify_close(&v);
    if (st == MI_ENOMEM && error->n == 0)
        buf_adds(error, "no memory");
    return st;
}
