/* stage_reply.c - what a replay says by itself: errors that name what is missing, and the few answers that
 * are sensible without a recording. */
#include "replay/stage_inner.h"

#include "base/text.h"
#include "replay/clean.h"
#include "wire/json_text.h"

#include <stdlib.h>

enum {
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    UNSUPPORTED_VERSION = -32022,
};

int stage_say(struct stage *s, struct slice line)
{
    struct slice whole = line;
    if (line.p != s->out.p) {
        buf_clear(&s->out);
        buf_slice_add(&s->out, line);
    }
    buf_addc(&s->out, '\n');
    if (s->out.failed)
        return MI_ENOMEM;
    int st = s->send(s->send_ctx, buf_slice(&s->out));
    s->full = st > 0;
    s->out.n = whole.n; /* as it was given: it may be said twice */
    return st < 0 ? st : 0;
}

int stage_reply(struct stage *s, struct stage_batch *batch, struct slice text)
{
    if (batch == NULL)
        return stage_say(s, text);
    buf_addc(&batch->text, batch->text.n == 0 ? '[' : ',');
    buf_slice_add(&batch->text, text);
    return batch->text.failed ? MI_ENOMEM : 0;
}

int stage_batch_done(struct stage *s, struct stage_batch *batch)
{
    if (--batch->waiting > 0)
        return 0;
    int st = 0;
    if (batch->text.n > 0) {
        buf_addc(&batch->text, ']');
        st = batch->text.failed ? MI_ENOMEM : stage_say(s, buf_slice(&batch->text));
    }
    buf_close(&batch->text);
    free(batch);
    return st;
}

static void begin_error(struct buf *b, struct slice id, int code, const char *why)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id.p != NULL)
        buf_slice_add(b, id);
    else
        buf_adds(b, "null");
    buf_printf(b, ",\"error\":{\"code\":%d,\"message\":", code);
    text_json(b, slice_of(why));
}

int stage_error(struct stage *s, struct stage_batch *batch, struct slice id, int code,
                const char *why, const char *cause, const struct report_finding *f)
{
    struct buf b = {0};
    begin_error(&b, id, code, why);
    buf_printf(&b, ",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"%s\"", cause);
    if (f != NULL)
        report_data(&b, f);
    buf_adds(&b, "}}}");
    int st = b.failed ? MI_ENOMEM : stage_reply(s, batch, buf_slice(&b));
    buf_close(&b);
    return st;
}

/* ---- answers that need no recording ---- */

static int result(struct stage *s, struct stage_batch *batch, const struct rpc *live,
                  const char *text)
{
    struct buf b = {0};
    buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_slice_add(&b, live->id.text);
    buf_printf(&b, ",\"result\":%s}", text);
    int st = b.failed ? MI_ENOMEM : stage_reply(s, batch, buf_slice(&b));
    buf_close(&b);
    return st;
}

static int unsupported(struct stage *s, struct stage_batch *batch, const struct rpc *live,
                       const char *supported, const char *why)
{
    struct json_value asked = rpc_is_modern(live) ? json_get(live->meta, META_VERSION)
                                                  : json_get(live->params, "protocolVersion");
    struct buf b = {0};
    begin_error(&b, live->id.text, UNSUPPORTED_VERSION, why);
    buf_adds(&b, ",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"version\",\"supported\":[");
    if (supported[0] != '\0')
        text_json(&b, slice_of(supported));
    buf_addc(&b, ']');
    if (asked.type == JSON_STRING) {
        buf_adds(&b, ",\"requested\":");
        buf_slice_add(&b, asked.text);
    }
    buf_adds(&b, "}}}");
    int st = b.failed ? MI_ENOMEM : stage_reply(s, batch, buf_slice(&b));
    buf_close(&b);
    return st;
}

/* Some request with this method was recorded. */
static bool has_method(const struct stage *s, const char *prefix)
{
    for (uint32_t i = 0; i < plan_topics(s->plan); i++)
        if (plan_topic(s->plan, i)->first != PLAN_NONE &&
            slice_begins(plan_topic(s->plan, i)->method, prefix))
            return true;
    return false;
}

/* What the recorded client used, for a recording that does not tell what there was. */
static void put_capabilities(const struct stage *s, struct buf *b)
{
    static const char *const uses[][2] = {{"tools/", "tools"},
                                          {"resources/", "resources"},
                                          {"prompts/", "prompts"},
                                          {"logging/", "logging"},
                                          {"completion/", "completions"}};
    bool first = true;
    buf_adds(b, "\"capabilities\":{");
    for (size_t i = 0; i < MI_COUNT(uses); i++) {
        if (!has_method(s, uses[i][0]))
            continue;
        buf_printf(b, "%s\"%s\":{}", first ? "" : ",", uses[i][1]);
        first = false;
    }
    buf_addc(b, '}');
}

static int discover(struct stage *s, struct stage_batch *batch, const struct rpc *live)
{
    struct buf b = {0};
    buf_adds(&b, "{\"resultType\":\"complete\",\"supportedVersions\":[");
    text_json(&b, slice_of(plan_version(s->plan, true)));
    buf_adds(&b, "],");
    put_capabilities(s, &b);
    buf_adds(&b, ",\"ttlMs\":0,\"cacheScope\":\"private\"}");
    int st = b.failed ? MI_ENOMEM : result(s, batch, live, buf_str(&b));
    buf_close(&b);
    return st;
}

/* Of a recording that begins after it. */
static int initialize(struct stage *s, struct stage_batch *batch, const struct rpc *live)
{
    const struct source_info *info = source_info(s->source);
    struct json_value asked = json_get(live->params, "protocolVersion");
    struct buf b = {0};
    buf_adds(&b, "{\"protocolVersion\":");
    if (info->protocol_version.p != NULL)
        text_json(&b, info->protocol_version);
    else if (asked.type == JSON_STRING)
        buf_slice_add(&b, asked.text);
    else
        buf_adds(&b, "\"2025-11-25\"");
    buf_addc(&b, ',');
    put_capabilities(s, &b);
    buf_adds(&b, ",\"serverInfo\":{\"name\":");
    text_json(&b, info->name.p != NULL ? info->name : slice_of("recorded"));
    buf_adds(&b, ",\"version\":\"0\"}}");
    int st = b.failed ? MI_ENOMEM : result(s, batch, live, buf_str(&b));
    buf_close(&b);
    return st;
}

/* 1: answered; 0: it is a miss; or an error. */
static int sensible(struct stage *s, struct stage_batch *batch, const struct rpc *live)
{
    const char *modern = plan_version(s->plan, true);
    int st = 0;
    if (rpc_method_is(live, "ping") || rpc_method_is(live, "shutdown"))
        st = result(s, batch, live, "{}");
    else if (rpc_method_is(live, "initialize") && modern[0] != '\0')
        st = unsupported(s, batch, live, modern,
                         "the recorded server has no initialize: it speaks a later revision");
    else if (rpc_method_is(live, "initialize"))
        st = initialize(s, batch, live);
    else if (!rpc_method_is(live, "server/discover"))
        return 0;
    else if (modern[0] == '\0')
        st = stage_error(s, batch, live->id.text, METHOD_NOT_FOUND,
                         "Method not found: server/discover; the recorded session began with "
                         "initialize",
                         "legacy", NULL);
    else if (rpc_is_modern(live) &&
             !json_key_is(json_string_raw(json_get(live->meta, META_VERSION)), modern))
        st = unsupported(s, batch, live, modern, "Unsupported protocol version");
    else
        st = discover(s, batch, live);
    return st < 0 ? st : 1;
}

/* ---- misses ---- */

/* Method and target of a request, escapes resolved, in s->key. */
static void name_it(struct stage *s, const struct rpc *m, struct report_finding *f)
{
    struct rpc_name name = rpc_name(m, &s->key);
    f->method = name.method;
    f->target = name.target;
}

/* Another revision is spoken than was recorded. */
static bool other_version(const struct stage *s, const struct rpc *live)
{
    const char *modern = plan_version(s->plan, true);
    if (!rpc_is_modern(live))
        return modern[0] != '\0' && plan_version(s->plan, false)[0] == '\0';
    return !json_key_is(json_string_raw(json_get(live->meta, META_VERSION)), modern);
}

int stage_unrecorded(struct stage *s, struct stage_batch *batch, const struct rpc *live,
                     const struct rpc *clean, enum report_kind why)
{
    struct report_finding f = {.kind = why};
    struct buf text = {0};
    int st = sensible(s, batch, live);
    if (st > 0)
        s->report->counts.matched++;
    if (st != 0)
        return st < 0 ? st : 0;
    if (other_version(s, live))
        f.kind = REPORT_VERSION;
    name_it(s, clean, &f);
    st = match_explain(&s->match, clean, &f);
    if (st < 0)
        return st;
    report_add(s->report, &f, &text);
    if (text.failed)
        st = MI_ENOMEM;
    else if (f.kind == REPORT_VERSION && rpc_is_modern(live))
        st = unsupported(s, batch, live,
                         plan_version(s->plan, plan_version(s->plan, true)[0] != '\0'),
                         buf_str(&text));
    else
        st = stage_error(s, batch, live->id.text,
                         f.kind == REPORT_UNKNOWN_METHOD ? METHOD_NOT_FOUND : INVALID_PARAMS,
                         buf_str(&text), report_kind_name(f.kind), &f);
    buf_close(&text);
    return st;
}

int stage_no_answer(struct stage *s, struct play *p)
{
    const struct plan_exchange *x = plan_exchange(s->plan, p->exchange);
    const struct plan_topic *t = plan_topic(s->plan, x->topic);
    struct report_finding f = {.kind = REPORT_NO_ANSWER,
                               .method = t->method,
                               .target = t->target,
                               .nearest_seq = source_seq(x->place)};
    struct buf text = {0};
    report_add(s->report, &f, &text);
    int st = text.failed ? MI_ENOMEM
                         : stage_error(s, p->batch, p->id, INTERNAL_ERROR, buf_str(&text),
                                       report_kind_name(f.kind), &f);
    buf_close(&text);
    return st;
}

/* ---- what the client can do ---- */

static struct json_value capabilities_of(const struct rpc *m)
{
    struct json_value v = rpc_is_modern(m) ? json_get(m->meta, META_CAPABILITIES)
                                           : json_get(m->params, "capabilities");
    return v.type == JSON_OBJECT ? v : (struct json_value){JSON_OBJECT, slice_of("{}")};
}

static int tell_of_capabilities(struct stage *s, const struct rpc *clean,
                                const struct rpc *recorded, uint64_t place)
{
    struct buf a = {0}, b = {0};
    struct report_finding f = {.kind = REPORT_CAPABILITIES,
                               .is_note = true,
                               .nearest_seq = source_seq(place),
                               .differences = 1};
    struct slice pointer =
        slice_of(rpc_is_modern(clean) ? "/_meta/io.modelcontextprotocol~1clientCapabilities"
                                      : "/capabilities");
    int st = clean_value(&a, pointer, capabilities_of(recorded).text);
    if (st == 0)
        st = clean_value(&b, pointer, capabilities_of(clean).text);
    name_it(s, clean, &f);
    f.difference[0] = (struct report_difference){pointer, buf_slice(&a), buf_slice(&b)};
    if (st == 0)
        report_add(s->report, &f, NULL);
    buf_close(&a);
    buf_close(&b);
    return st;
}

int stage_compare_capabilities(struct stage *s, const struct rpc *clean, uint32_t exchange)
{
    struct rpc recorded;
    uint64_t place = plan_exchange(s->plan, exchange)->place;
    if (s->capabilities_seen || !(rpc_is_modern(clean) || rpc_method_is(clean, "initialize")))
        return 0;
    s->capabilities_seen = true;
    buf_clear(&s->body);
    int st = source_body(s->source, place, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0 ||
        json_equal(capabilities_of(&recorded), capabilities_of(clean)))
        return 0;
    return tell_of_capabilities(s, clean, &recorded, place);
}

/* ---- the client's answers to questions ---- */

static struct json_value answer_of(const struct rpc *m)
{
    return m->kind == RPC_RESULT ? m->result : m->error;
}

int stage_compare_answer(struct stage *s, const struct plan_question *q, const struct rpc *live)
{
    struct rpc recorded, asked;
    struct buf a = {0}, b = {0}, question = {0};
    int st = 0;
    if (q->answer == 0)
        return 0;
    buf_clear(&s->body);
    st = source_body(s->source, q->answer, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0 || recorded.kind == RPC_INVALID)
        return 0;
    canon_value(&a, answer_of(&recorded));
    canon_value(&b, answer_of(live));
    bool same = recorded.kind == live->kind && slice_eq(buf_slice(&a), buf_slice(&b));
    if (a.failed || b.failed)
        st = MI_ENOMEM;
    else if (!same)
        st = source_body(s->source, plan_step(s->plan, q->step)->place, &question);
    if (st == 0 && !same && rpc_read(buf_slice(&question), &asked) == 0) {
        struct report_finding f = {.kind = REPORT_ANSWER_DIFFERS,
                                   .is_note = !s->rules->canon.answers,
                                   .nearest_seq = source_seq(q->answer),
                                   .differences = 1};
        name_it(s, &asked, &f);
        struct slice pointer = slice_of(live->kind == RPC_RESULT ? "/result" : "/error");
        buf_clear(&a);
        buf_clear(&b);
        if (clean_value(&a, pointer, answer_of(&recorded).text) < 0 ||
            clean_value(&b, pointer, answer_of(live).text) < 0)
            st = MI_ENOMEM;
        f.difference[0] = (struct report_difference){pointer, buf_slice(&a), buf_slice(&b)};
        if (st == 0)
            report_add(s->report, &f, NULL);
    }
    buf_close(&a);
    buf_close(&b);
    buf_close(&question);
    return st == MI_ENOENT ? 0 : st;
}
