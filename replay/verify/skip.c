#include "replay/verify/skip.h"

#include "replay/verify/ask.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

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

static const struct verify_skip *skip_sanitized(const struct rpc *m)
{
    static const struct verify_skip redacted = {
        "a secret in its parameters was not recorded",
        "if it is not a secret, add a rule `keep` to [redact] and record the session again"};
    static const struct verify_skip truncated = {"its arguments are truncated in the recording",
                                                 "record the session again with --record full"};
    enum compare_cut cut = compare_cut(m->params.text);
    return cut == COMPARE_REDACTED ? &redacted : cut == COMPARE_TRUNCATED ? &truncated : NULL;
}

/* Decides by the request alone, without its answer. May send tools/list to the live server. */
static int skip_request(struct verify *v, const struct rpc *m, const struct verify_skip **ret)
{
    static const struct verify_skip again = {
        "the recording contains more than one initialize",
        "verify starts one server; record each part as a session of its own"};
    static const struct verify_skip stream = {"a subscription gets no answer",
                                              "its notifications are not compared"};
    static const struct verify_skip tool = {"the tool is not marked read-only or idempotent",
                                            "--all calls it anyway"};
    static const struct verify_skip unknown = {"the method is not known to be read-only",
                                               "--all sends it anyway"};
    int st = 0;
    *ret = NULL;
    if (rpc_method_is(m, "initialize") && v->initialized)
        *ret = &again;
    else if (rpc_method_is(m, "subscriptions/listen"))
        *ret = &stream;
    else if (!rpc_method_is(m, "initialize"))
        *ret = skip_sanitized(m);
    if (*ret != NULL || v->cfg->all)
        return 0;
    if (!rpc_method_is(m, "tools/call")) {
        *ret = reads_only(m) ? NULL : &unknown;
        return 0;
    }
    const struct verify_tool *t = verify_tool(v, json_string_raw(m->name));
    if ((t == NULL || !t->live) && !v->knows_live_tools) {
        st = verify_ask_tools(v, m);
        t = verify_tool(v, json_string_raw(m->name));
    }
    *ret = t != NULL && t->safe ? NULL : &tool;
    return st;
}

static const struct verify_skip *skip_unanswered(const struct verify *v, uint32_t answer,
                                                 const struct rpc *recorded)
{
    static const struct verify_skip missing = {"its answer was never recorded",
                                               "nothing can be compared; record the session again"};
    static const struct verify_skip ours = {"the interposer answered it, not the server",
                                            "nothing can be compared; record the session again"};
    if (answer == VERIFY_NONE || v->items[answer].lost)
        return &missing;
    struct json_value source = json_get(json_get(recorded->error, "data"), "source");
    return json_key_is(json_string_raw(source), "mcp-interposer") ? &ours : NULL;
}

/* Did the client send `$/cancelRequest` for this request before its answer (mcp-wire.md 7.5)? 1, 0 or an error. */
static int is_cancelled(struct verify *v, uint32_t i, const struct rpc *asked)
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

int verify_skip(struct verify *v, uint32_t i, const struct rpc *request, const struct rpc *answer,
                const struct verify_skip **ret)
{
    static const struct verify_skip cancelled = {"the client cancelled it",
                                                 "verify waits for each answer"};
    *ret = skip_unanswered(v, v->items[i].answer, answer);
    if (*ret != NULL)
        return 0;
    int st = is_cancelled(v, i, request);
    if (st > 0)
        *ret = &cancelled;
    if (st != 0 || v->ended)
        return st < 0 ? st : 0;
    return skip_request(v, request, ret);
}
