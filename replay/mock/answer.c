#include "replay/mock/answer.h"

#include "replay/source/sanitize.h"
#include "wire/json/text.h"
#include "wire/rpc_out.h"

#include <stdlib.h>

int mock_send_line(struct conversation *s, struct slice line)
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
    s->out.n = whole.n; /* removes the newline, because the line may be sent again */
    return st < 0 ? st : 0;
}

int mock_send_answer(struct conversation *s, struct mock_batch *batch, struct slice text)
{
    if (batch == NULL)
        return mock_send_line(s, text);
    buf_addc(&batch->text, batch->text.n == 0 ? '[' : ',');
    buf_slice_add(&batch->text, text);
    return batch->text.failed ? MI_ENOMEM : 0;
}

int mock_batch_complete_answer(struct conversation *s, struct mock_batch *batch)
{
    if (--batch->waiting > 0)
        return 0;
    int st = 0;
    if (batch->text.n > 0) {
        buf_addc(&batch->text, ']');
        st = batch->text.failed ? MI_ENOMEM : mock_send_line(s, buf_slice(&batch->text));
    }
    buf_close(&batch->text);
    free(batch);
    return st;
}

/* Completes and sends the answer, and frees its buffer. */
static int send_answer(struct conversation *s, struct mock_batch *batch, struct json_out *j)
{
    rpc_out_end(j);
    int st = j->b->failed ? MI_ENOMEM : mock_send_answer(s, batch, buf_slice(j->b));
    buf_close(j->b);
    return st;
}

int mock_send_error(struct conversation *s, struct mock_batch *batch, struct slice id, int code,
                    const char *why, const char *cause, const struct miss *f)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    rpc_out_begin_error_answer(&j, id, code, why, cause);
    if (f != NULL)
        misses_add_error_data(&j, f);
    return send_answer(s, batch, &j);
}

/* ---- default answers ---- */

static void begin_result_answer(struct json_out *j, const struct rpc *live)
{
    rpc_out_begin_answer(j, live->id.text);
    json_out_object(j, "result");
}

static int send_unsupported_version_error(struct conversation *s, struct mock_batch *batch,
                                          const struct rpc *live, const char *supported,
                                          const char *why)
{
    struct json_value asked = rpc_is_modern(live) ? json_get(live->meta, META_VERSION)
                                                  : json_get(live->params, "protocolVersion");
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    rpc_out_begin_error_answer(&j, live->id.text, RPC_UNSUPPORTED_VERSION, why, "version");
    json_out_array(&j, "supported");
    if (supported[0] != '\0')
        json_out_str(&j, NULL, supported);
    json_out_end(&j);
    if (asked.type == JSON_STRING)
        json_out_raw(&j, "requested", asked.text);
    return send_answer(s, batch, &j);
}

/* Whether a request whose method has this prefix was recorded. */
static bool recording_has_method(const struct conversation *s, const char *prefix)
{
    for (uint32_t i = 0; i < plan_count_method_targets(s->plan); i++)
        if (plan_get_method_target(s->plan, i)->first != PLAN_NONE &&
            slice_begins(plan_get_method_target(s->plan, i)->method, prefix))
            return true;
    return false;
}

/* Writes the capabilities that the recorded requests need, for a recording without initialize. */
static void write_recorded_capabilities(const struct conversation *s, struct json_out *j,
                                        bool extensions)
{
    static const char *const uses[][2] = {{"tools/", "tools"},
                                          {"resources/", "resources"},
                                          {"prompts/", "prompts"},
                                          {"logging/", "logging"},
                                          {"completion/", "completions"}};
    json_out_object(j, "capabilities");
    for (size_t i = 0; i < MI_COUNT(uses); i++)
        if (recording_has_method(s, uses[i][0])) {
            json_out_object(j, uses[i][1]);
            json_out_end(j);
        }
    if (extensions && recording_has_method(s, "tasks/")) {
        json_out_object(j, "extensions");
        json_out_object(j, "io.modelcontextprotocol/tasks");
        json_out_end(j);
        json_out_end(j);
    }
    json_out_end(j);
}

static int send_discover_answer(struct conversation *s, struct mock_batch *batch,
                                const struct rpc *live)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    begin_result_answer(&j, live);
    json_out_str(&j, "resultType", "complete");
    json_out_array(&j, "supportedVersions");
    json_out_str(&j, NULL, plan_get_protocol_version(s->plan, true));
    json_out_end(&j);
    write_recorded_capabilities(s, &j, true);
    json_out_int(&j, "ttlMs", 0);
    json_out_str(&j, "cacheScope", "private");
    return send_answer(s, batch, &j);
}

/* Answers initialize if the recording has no initialize. */
static int send_initialize_answer(struct conversation *s, struct mock_batch *batch,
                                  const struct rpc *live)
{
    const struct source_info *info = source_info(s->source);
    struct json_value asked = json_get(live->params, "protocolVersion");
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    begin_result_answer(&j, live);
    if (info->protocol_version.p == NULL && asked.type == JSON_STRING)
        json_out_raw(&j, "protocolVersion", asked.text);
    else
        json_out_text(&j, "protocolVersion",
                      info->protocol_version.p != NULL ? info->protocol_version
                                                       : slice_of("2025-11-25"));
    write_recorded_capabilities(s, &j, false);
    json_out_object(&j, "serverInfo");
    json_out_text(&j, "name", info->name.p != NULL ? info->name : slice_of("recorded"));
    json_out_str(&j, "version", "0");
    return send_answer(s, batch, &j);
}

/* Returns 1: the request was answered; 0: it is a miss; or an error. */
static int send_default_answer(struct conversation *s, struct mock_batch *batch,
                               const struct rpc *live)
{
    const char *modern = plan_get_protocol_version(s->plan, true);
    int st = 0;
    if (rpc_method_is(live, "ping") || rpc_method_is(live, "shutdown")) {
        struct buf b = {0};
        struct json_out j = json_out_to(&b);
        begin_result_answer(&j, live);
        st = send_answer(s, batch, &j);
    } else if (rpc_method_is(live, "initialize") && modern[0] != '\0')
        st = send_unsupported_version_error(
            s, batch, live, modern,
            "the recorded server uses a later revision of MCP, which has no initialize");
    else if (rpc_method_is(live, "initialize"))
        st = send_initialize_answer(s, batch, live);
    else if (!rpc_method_is(live, "server/discover"))
        return 0;
    else if (modern[0] == '\0')
        st = mock_send_error(s, batch, live->id.text, RPC_METHOD_NOT_FOUND,
                             "Method not found: server/discover; the recorded session began with "
                             "initialize",
                             "legacy", NULL);
    else if (rpc_is_modern(live) &&
             !json_key_is(json_string_raw(json_get(live->meta, META_VERSION)), modern))
        st = send_unsupported_version_error(s, batch, live, modern, "Unsupported protocol version");
    else
        st = send_discover_answer(s, batch, live);
    return st < 0 ? st : 1;
}

/* ---- misses ---- */

/* Sets method and target of the finding. The texts of method and target are in s->key. */
static void set_method_and_target_of_miss(struct conversation *s, const struct rpc *m,
                                          struct miss *f)
{
    struct rpc_name name = rpc_name(m, &s->key);
    f->method = name.method;
    f->target = name.target;
}

/* Whether the client uses another revision than the recording. */
static bool client_uses_other_version(const struct conversation *s, const struct rpc *live)
{
    const char *modern = plan_get_protocol_version(s->plan, true);
    if (!rpc_is_modern(live))
        return modern[0] != '\0' && plan_get_protocol_version(s->plan, false)[0] == '\0';
    return !json_key_is(json_string_raw(json_get(live->meta, META_VERSION)), modern);
}

/* Whether a live server may answer. It may not answer if the same request was recorded, but out of
 * order or for another revision. */
static bool live_server_may_answer(const struct conversation *s, enum miss_kind kind)
{
    return s->forwarder != NULL && (kind == MISS_UNKNOWN_METHOD || kind == MISS_UNKNOWN_TARGET ||
                                    kind == MISS_DIFFERENT || kind == MISS_EXHAUSTED);
}

int mock_answer_unrecorded_request(struct conversation *s, struct mock_batch *batch,
                                   const struct rpc *live, const struct rpc *sanitized,
                                   enum miss_kind why)
{
    struct miss f = {.kind = why};
    struct buf text = {0};
    int st = send_default_answer(s, batch, live);
    if (st > 0)
        s->misses->counts.matched++;
    if (st != 0)
        return st < 0 ? st : 0;
    if (client_uses_other_version(s, live))
        f.kind = MISS_VERSION;
    set_method_and_target_of_miss(s, sanitized, &f);
    f.answered_live = live_server_may_answer(s, f.kind);
    st = match_explain_miss(&s->match, sanitized, &f);
    if (st < 0)
        return st;
    misses_add_and_log_miss(s->misses, &f, &text);
    if (f.answered_live) {
        buf_close(&text);
        return MOCK_FOR_LIVE;
    }
    if (text.failed)
        st = MI_ENOMEM;
    else if (f.kind == MISS_VERSION && rpc_is_modern(live))
        st = send_unsupported_version_error(
            s, batch, live,
            plan_get_protocol_version(s->plan, plan_get_protocol_version(s->plan, true)[0] != '\0'),
            buf_str(&text));
    else
        st = mock_send_error(s, batch, live->id.text,
                             f.kind == MISS_UNKNOWN_METHOD ? RPC_METHOD_NOT_FOUND
                                                           : RPC_INVALID_PARAMS,
                             buf_str(&text), miss_kind_name(f.kind), &f);
    buf_close(&text);
    return st;
}

int mock_send_no_answer_error(struct conversation *s, struct playback *p)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, p->exchange);
    const struct plan_topic *t = plan_get_method_target(s->plan, x->topic);
    struct miss f = {.kind = MISS_NO_ANSWER,
                     .method = t->method,
                     .target = t->target,
                     .nearest_seq = source_seq_in_session(x->place)};
    struct buf text = {0};
    misses_add_and_log_miss(s->misses, &f, &text);
    int st = text.failed ? MI_ENOMEM
                         : mock_send_error(s, p->batch, p->id, RPC_INTERNAL_ERROR, buf_str(&text),
                                           miss_kind_name(f.kind), &f);
    buf_close(&text);
    return st;
}

/* ---- capabilities of the client ---- */

static struct json_value get_client_capabilities(const struct rpc *m)
{
    struct json_value v = rpc_is_modern(m) ? json_get(m->meta, META_CAPABILITIES)
                                           : json_get(m->params, "capabilities");
    return v.type == JSON_OBJECT ? v : (struct json_value){JSON_OBJECT, slice_of("{}")};
}

static int report_capabilities(struct conversation *s, const struct rpc *sanitized,
                               const struct rpc *recorded, uint64_t place)
{
    struct buf a = {0}, b = {0};
    struct miss f = {.kind = MISS_CAPABILITIES,
                     .is_note = true,
                     .nearest_seq = source_seq_in_session(place),
                     .differences = 1};
    struct slice pointer =
        slice_of(rpc_is_modern(sanitized) ? "/_meta/io.modelcontextprotocol~1clientCapabilities"
                                          : "/capabilities");
    int st = sanitize_value(&a, pointer, get_client_capabilities(recorded).text);
    if (st == 0)
        st = sanitize_value(&b, pointer, get_client_capabilities(sanitized).text);
    set_method_and_target_of_miss(s, sanitized, &f);
    f.difference[0] = (struct miss_difference){pointer, buf_slice(&a), buf_slice(&b)};
    if (st == 0)
        misses_add_and_log_miss(s->misses, &f, NULL);
    buf_close(&a);
    buf_close(&b);
    return st;
}

int mock_compare_capabilities(struct conversation *s, const struct rpc *sanitized,
                              uint32_t exchange)
{
    struct rpc recorded;
    uint64_t place = plan_get_exchange(s->plan, exchange)->place;
    if (s->capabilities_seen ||
        !(rpc_is_modern(sanitized) || rpc_method_is(sanitized, "initialize")))
        return 0;
    s->capabilities_seen = true;
    buf_clear(&s->body);
    int st = source_read_body(s->source, place, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0 ||
        json_equal(get_client_capabilities(&recorded), get_client_capabilities(sanitized)))
        return 0;
    return report_capabilities(s, sanitized, &recorded, place);
}

/* ---- the client's answers to questions ---- */

static struct json_value pick_result_or_error(const struct rpc *m)
{
    return m->kind == RPC_RESULT ? m->result : m->error;
}

int mock_compare_answer(struct conversation *s, const struct plan_question *q,
                        const struct rpc *live)
{
    struct rpc recorded, asked;
    struct buf a = {0}, b = {0}, question = {0};
    int st = 0;
    if (q->answer == 0)
        return 0;
    buf_clear(&s->body);
    st = source_read_body(s->source, q->answer, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0 || recorded.kind == RPC_INVALID)
        return 0;
    canon_write_value(&a, pick_result_or_error(&recorded));
    canon_write_value(&b, pick_result_or_error(live));
    bool same = recorded.kind == live->kind && slice_eq(buf_slice(&a), buf_slice(&b));
    if (a.failed || b.failed)
        st = MI_ENOMEM;
    else if (!same)
        st = source_read_body(s->source, plan_get_step(s->plan, q->step)->place, &question);
    if (st == 0 && !same && rpc_read(buf_slice(&question), &asked) == 0) {
        struct miss f = {.kind = MISS_ANSWER_DIFFERS,
                         .is_note = !s->rules->canon.answers,
                         .nearest_seq = source_seq_in_session(q->answer),
                         .differences = 1};
        set_method_and_target_of_miss(s, &asked, &f);
        struct slice pointer = slice_of(live->kind == RPC_RESULT ? "/result" : "/error");
        buf_clear(&a);
        buf_clear(&b);
        if (sanitize_value(&a, pointer, pick_result_or_error(&recorded).text) < 0 ||
            sanitize_value(&b, pointer, pick_result_or_error(live).text) < 0)
            st = MI_ENOMEM;
        f.difference[0] = (struct miss_difference){pointer, buf_slice(&a), buf_slice(&b)};
        if (st == 0)
            misses_add_and_log_miss(s->misses, &f, NULL);
    }
    buf_close(&a);
    buf_close(&b);
    buf_close(&question);
    return st == MI_ENOENT ? 0 : st;
}
