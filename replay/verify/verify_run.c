#include "replay/verify/verify_run.h"

#include "base/clock.h"
#include "replay/live/live_ask.h"
#include "replay/source/marks.h"
#include "replay/source/sanitize.h"
#include "wire/json/text.h"

struct verify {
    const struct verify_config *cfg;
    verify_fn fn;
    void *ctx;
    struct live_session session;
    bool initialized;  /* true: an initialize was sent */
    struct buf shown;  /* owned; the live answer with the recorded ids */
    struct buf reason; /* owned; why the server has sent no answer */
};

const char *verify_verdict_name(enum verify_verdict verdict)
{
    static const char *const names[VERIFY_VERDICTS] = {"match", "changed",   "schema-changed",
                                                       "gone",  "no-answer", "skipped"};
    return names[verdict];
}

/* ---- requests that are not sent ---- */

/* Why a request is not sent, for example because it may change something (unless --all). */
struct verify_skip {
    const char *reason, *remedy;
};

static const struct verify_skip *get_skip_reason_if_sanitized(const struct rpc *m)
{
    static const struct verify_skip redacted = {
        "a secret in the parameters was not recorded",
        "if the text is not a secret, add a rule `keep` to [redact] and record the session again"};
    static const struct verify_skip truncated = {"the arguments are truncated in the recording",
                                                 "record the session again with --record full"};
    enum marks marks = marks_find_in_text(m->params.text);
    return marks == MARKS_SECRET ? &redacted : marks == MARKS_CUT ? &truncated : NULL;
}

/* Finds out, without the recorded answer, whether the request must not be sent. May send tools/list
 * to the live server. */
static int find_skip_reason_by_request(struct verify *v, const struct rpc *m,
                                       const struct verify_skip **ret)
{
    static const struct verify_skip again = {
        "the recording contains more than one initialize",
        "verify sends one initialize only; record each connection as a session of its own"};
    static const struct verify_skip stream = {
        "a subscription has no answer to compare",
        "the notifications of a subscription are not compared"};
    static const struct verify_skip tool = {"the tool is not marked read-only or idempotent",
                                            "--all calls the tool anyway"};
    static const struct verify_skip unknown = {"the method is not known to be read-only",
                                               "--all sends the request anyway"};
    int st = 0;
    *ret = NULL;
    if (rpc_method_is(m, "initialize") && v->initialized)
        *ret = &again;
    else if (rpc_method_is(m, "subscriptions/listen"))
        *ret = &stream;
    else if (!rpc_method_is(m, "initialize"))
        *ret = get_skip_reason_if_sanitized(m);
    if (*ret != NULL || v->cfg->all)
        return 0;
    if (!rpc_method_is(m, "tools/call")) {
        *ret = live_session_request_is_harmless(m) ? NULL : &unknown;
        return 0;
    }
    const struct live_session_tool *found =
        live_session_find_tool(&v->session, json_string_raw(m->name));
    if ((found == NULL || !found->live) && !v->session.knows_live_tools) {
        struct rpc last;
        bool answered;
        st = live_session_request_tools(&v->session,
                                        rpc_is_modern(m) ? m->meta.text : (struct slice){0}, NULL,
                                        &last, &answered);
        found = live_session_find_tool(&v->session, json_string_raw(m->name));
    }
    *ret = found != NULL && found->safe ? NULL : &tool;
    return st;
}

/* Whether the client sent `$/cancelRequest` for this request before its answer (mcp-wire.md 7.5).
 * 1, 0 or an error. */
static int request_was_cancelled(struct live_session *t, uint32_t i, const struct rpc *asked)
{
    struct rpc m;
    for (uint32_t k = i + 1; k < t->n && k < t->items[i].answer; k++) {
        const struct recorded_message *it = &t->items[k];
        if (!it->from_client || it->lost || it->kind != RPC_NOTIFICATION)
            continue;
        int st = live_session_read_recorded_body(t, k, &t->other);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&t->other), &m) == 0 && rpc_method_is(&m, "$/cancelRequest") &&
            json_equal(json_get(m.params, "id"), asked->id))
            return 1;
    }
    return 0;
}

/* Finds the reason why the request (item i) is not sent, also from the recorded answer. *ret: the
 * reason; NULL: the request is sent. answer: the recorded answer; all zero if there is none. */
static int verifier_find_skip_reason(struct verify *v, uint32_t i, const struct rpc *request,
                                     const struct rpc *answer, const struct verify_skip **ret)
{
    static const struct verify_skip missing = {"the request's answer was never recorded",
                                               "nothing can be compared; record the session again"};
    static const struct verify_skip ours = {"the interposer answered the request, not the server",
                                            "nothing can be compared; record the session again"};
    static const struct verify_skip cancelled = {"the client cancelled the request",
                                                 "verify waits for each answer"};
    uint32_t at = v->session.items[i].answer;
    *ret = at == LIVE_SESSION_NONE || v->session.items[at].lost ? &missing
           : rpc_is_interposer_error(answer)                    ? &ours
                                                                : NULL;
    if (*ret != NULL)
        return 0;
    int st = request_was_cancelled(&v->session, i, request);
    if (st > 0)
        *ret = &cancelled;
    if (st != 0 || v->session.ended)
        return st < 0 ? st : 0;
    return find_skip_reason_by_request(v, request, ret);
}

/* ---- comparing ---- */

/* The differences of one answer, copied because the next message invalidates their texts. */
struct differences {
    struct verify_result *r;
    struct buf text; /* owned; texts of the listed differences */
    struct span {
        size_t at, n;
        bool exists;
    } spans[VERIFY_DIFFERENCES_MAX][3];
    bool all_schema, entry_gone;
};

static void verifier_copy_text(struct differences *g, struct span *s, struct slice text)
{
    *s = (struct span){.at = g->text.n, .n = text.n, .exists = text.p != NULL};
    buf_slice_add(&g->text, text);
}

static void verifier_copy_value(struct differences *g, struct span *s, struct slice pointer,
                                struct slice value)
{
    struct buf sanitized = {0};
    if (value.p != NULL && sanitize_value(&sanitized, pointer, value) < 0)
        g->text.failed = true;
    verifier_copy_text(g, s, value.p != NULL ? buf_slice(&sanitized) : value);
    buf_close(&sanitized);
}

static bool verifier_on_difference(void *ctx, const struct compare_difference *d)
{
    struct differences *g = ctx;
    g->all_schema = g->all_schema && d->in_schema;
    g->entry_gone = g->entry_gone || (d->is_entry && d->live.p == NULL);
    if (g->r->differences < VERIFY_DIFFERENCES_MAX) {
        struct span *s = g->spans[g->r->differences];
        verifier_copy_text(g, &s[0], d->pointer);
        verifier_copy_value(g, &s[1], d->pointer, d->recorded);
        verifier_copy_value(g, &s[2], d->pointer, d->live);
    }
    g->r->differences++;
    return true;
}

static struct slice get_text_of_span(const struct differences *g, struct span s)
{
    return s.exists ? (struct slice){g->text.p + s.at, s.n} : (struct slice){0};
}

/* Whether the live server no longer has the method, tool or resource. */
static bool live_server_lacks_feature(const struct verify *v, const struct rpc *request,
                                      const struct rpc *live)
{
    int64_t code = 0;
    if (live->kind == RPC_ERROR && json_int(live->error_code, &code) &&
        (code == -32601 || (code == -32002 && rpc_method_is(request, "resources/read"))))
        return true;
    if (!rpc_method_is(request, "tools/call") || !v->session.knows_live_tools)
        return false;
    const struct live_session_tool *tool =
        live_session_find_tool(&v->session, json_string_raw(request->name));
    return tool == NULL || !tool->live;
}

static int compare_answers(struct verify *v, const struct rpc *request, const struct rpc *recorded,
                           const struct rpc *live, struct differences *g)
{
    bool both_errors = recorded->kind == RPC_ERROR && live->kind == RPC_ERROR;
    struct compare_rules rules = {.ignore = v->cfg->ignore};
    int st = 0;
    if (recorded->kind != live->kind)
        (void)verifier_on_difference(
            g, &(struct compare_difference){
                   .pointer = slice_of(""),
                   .recorded =
                       recorded->kind == RPC_ERROR ? recorded->error.text : recorded->result.text,
                   .live = live->kind == RPC_ERROR ? live->error.text : live->result.text});
    else
        st = compare_values(both_errors ? recorded->error : recorded->result,
                            both_errors ? live->error : live->result, &rules,
                            verifier_on_difference, g);
    struct verify_result *r = g->r;
    r->verdict = r->differences == 0 ? VERIFY_MATCH
                 : g->entry_gone || (recorded->kind == RPC_RESULT &&
                                     live_server_lacks_feature(v, request, live))
                     ? VERIFY_GONE
                 : g->all_schema ? VERIFY_SCHEMA
                                 : VERIFY_CHANGED;
    return st < 0 || g->text.failed ? live_session_set_no_memory_error(&v->session) : 0;
}

/* ---- the run ---- */

/* Sets the verdict of a request without an answer. was_sent: false if the server had already
 * ended. */
static void set_verdict_of_missing_answer(struct verify *v, bool was_sent, struct verify_result *r)
{
    bool ended = v->session.ended;
    buf_clear(&v->reason);
    buf_adds(&v->reason, ended ? "the server " : "no answer before the deadline");
    if (ended) {
        live_append_server_end_reason(v->session.server, &v->reason);
        buf_adds(&v->reason, " before it answered");
        buf_adds(&v->reason, !was_sent || live_read_output(v->session.server) < v->session.sent
                                 ? "; this request was not read"
                                 : "");
    }
    r->verdict = VERIFY_SILENT;
    r->reason = buf_str(&v->reason);
    r->remedy = ended ? NULL : "allow more time with --timeout";
}

static int verify_request(struct verify *v, const struct rpc *request, const struct rpc *recorded,
                          struct verify_result *r)
{
    struct differences d = {.r = r, .all_schema = true};
    struct rpc live;
    bool answered, was_sent = !v->session.ended;
    int64_t began = clock_mono_us();
    int st = live_session_send_and_await(&v->session, request, &live, &answered);
    if (st == 0 && !answered) {
        set_verdict_of_missing_answer(v, was_sent, r);
    } else if (st == 0) {
        r->took_us = clock_mono_us() - began;
        st = live_session_add_handles(&v->session, recorded->result, live.result);
        if (st == 0 && live.kind == RPC_RESULT && rpc_method_is(request, "tools/list"))
            st = live_session_add_tools(&v->session, live.result, true);
        if (st == 0)
            st = compare_answers(v, request, recorded, &live, &d);
        if (st == 0)
            st = live_session_rewrite_message(&v->session, &live, recorded->id.text, false,
                                              &v->shown);
        r->live = buf_slice(&v->shown);
    }
    if (st == 0) {
        size_t n = size_min(d.r->differences, VERIFY_DIFFERENCES_MAX);
        for (size_t i = 0; i < n; i++)
            d.r->difference[i] = (struct verify_difference){get_text_of_span(&d, d.spans[i][0]),
                                                            get_text_of_span(&d, d.spans[i][1]),
                                                            get_text_of_span(&d, d.spans[i][2])};
        v->fn(v->ctx, r);
    }
    buf_close(&d.text);
    return st;
}

static int verify_recorded_request(struct verify *v, uint32_t i)
{
    struct rpc request, recorded = {0};
    uint32_t answer = v->session.items[i].answer;
    const struct verify_skip *skip;
    int st = live_session_read_recorded_body(&v->session, i, &v->session.request);
    if (st < 0 || rpc_read(buf_slice(&v->session.request), &request) < 0)
        return st;
    if (answer != LIVE_SESSION_NONE && !v->session.items[answer].lost) {
        st = live_session_read_recorded_body(&v->session, answer, &v->session.recorded);
        if (st < 0 || rpc_read(buf_slice(&v->session.recorded), &recorded) < 0)
            return st;
    }
    struct verify_result r = {
        .verdict = VERIFY_SKIPPED,
        .seq = (int64_t)source_seq_in_session((uint64_t)v->session.items[i].place),
        .method = request.method,
        .target = rpc_target(&request),
        .answer_seq = answer != LIVE_SESSION_NONE
                          ? (int64_t)source_seq_in_session((uint64_t)v->session.items[answer].place)
                          : 0,
    };
    st = verifier_find_skip_reason(v, i, &request, &recorded, &skip);
    if (st < 0)
        return st;
    if (skip != NULL) {
        r.reason = skip->reason;
        r.remedy = skip->remedy;
        v->fn(v->ctx, &r);
        return 0;
    }
    v->initialized = v->initialized || rpc_method_is(&request, "initialize");
    return verify_request(v, &request, &recorded, &r);
}

static int send_recorded_notification(struct verify *v, uint32_t i)
{
    struct rpc m;
    int st = live_session_read_recorded_body(&v->session, i, &v->session.request);
    if (st < 0 || rpc_read(buf_slice(&v->session.request), &m) < 0 ||
        rpc_method_is(&m, "notifications/cancelled") || rpc_method_is(&m, "$/cancelRequest"))
        return st; /* verify waits for each answer, so it sends no cancellations */
    return live_session_send_notification(&v->session, m.text);
}

int verify_run(const struct verify_config *cfg, struct source *source, verify_fn fn, void *ctx,
               struct buf *error)
{
    struct verify v = {
        .cfg = cfg,
        .fn = fn,
        .ctx = ctx,
        .session = {.source = source, .error = error, .timeout_us = cfg->timeout_us},
    };
    struct live *server = NULL;
    int st = live_session_load_recording(&v.session);
    if (st == 0)
        st = live_open(&server, cfg->argv, NULL, error);
    v.session.server = server;
    for (uint32_t i = 0; st == 0 && i < v.session.n; i++) {
        const struct recorded_message *it = &v.session.items[i];
        if (!it->from_client || it->lost)
            continue;
        if (it->kind == RPC_REQUEST)
            st = verify_recorded_request(&v, i);
        else if (it->kind == RPC_NOTIFICATION)
            st = send_recorded_notification(&v, i);
    }
    (void)live_close(server, cfg->grace_us);
    live_session_close(&v.session);
    buf_close(&v.shown);
    buf_close(&v.reason);
    if (st == MI_ENOMEM && error->n == 0)
        buf_adds(error, "out of memory");
    return st;
}
