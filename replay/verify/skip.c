#include "replay/verify/skip.h"

#include "replay/live/live_ask.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"

static const struct verify_skip *skip_of_sanitized(const struct rpc *m)
{
    static const struct verify_skip redacted = {
        "a secret in its parameters was not recorded",
        "if it is not a secret, add a rule `keep` to [redact] and record the session again"};
    static const struct verify_skip truncated = {"its arguments are truncated in the recording",
                                                 "record the session again with --record full"};
    enum marks marks = marks_in_text(m->params.text);
    return marks == MARKS_SECRET ? &redacted : marks == MARKS_CUT ? &truncated : NULL;
}

/* Decides by the request, without the recorded answer. May send tools/list to the live server. */
static int skip_of_request(struct verify *v, const struct rpc *m, const struct verify_skip **ret)
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
        *ret = skip_of_sanitized(m);
    if (*ret != NULL || v->cfg->all)
        return 0;
    if (!rpc_method_is(m, "tools/call")) {
        *ret = talk_reads_only(m) ? NULL : &unknown;
        return 0;
    }
    const struct talk_tool *found = talk_find_tool(&v->talk, json_string_raw(m->name));
    if ((found == NULL || !found->live) && !v->talk.knows_live_tools) {
        struct rpc last;
        bool answered;
        st = talk_ask_tools(&v->talk, rpc_is_modern(m) ? m->meta.text : (struct slice){0}, NULL,
                            &last, &answered);
        found = talk_find_tool(&v->talk, json_string_raw(m->name));
    }
    *ret = found != NULL && found->safe ? NULL : &tool;
    return st;
}

/* Whether the client sent `$/cancelRequest` for this request before its answer (mcp-wire.md 7.5).
 * 1, 0 or an error. */
static int request_was_cancelled(struct talk *t, uint32_t i, const struct rpc *asked)
{
    struct rpc m;
    for (uint32_t k = i + 1; k < t->n && k < t->items[i].answer; k++) {
        const struct talk_item *it = &t->items[k];
        if (!it->from_client || it->lost || it->kind != RPC_NOTIFICATION)
            continue;
        int st = talk_read_body(t, k, &t->other);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&t->other), &m) == 0 && rpc_method_is(&m, "$/cancelRequest") &&
            json_equal(json_get(m.params, "id"), asked->id))
            return 1;
    }
    return 0;
}

int verify_skip(struct verify *v, uint32_t i, const struct rpc *request, const struct rpc *answer,
                const struct verify_skip **ret)
{
    static const struct verify_skip missing = {"its answer was never recorded",
                                               "nothing can be compared; record the session again"};
    static const struct verify_skip ours = {"the interposer answered it, not the server",
                                            "nothing can be compared; record the session again"};
    static const struct verify_skip cancelled = {"the client cancelled it",
                                                 "verify waits for each answer"};
    uint32_t at = v->talk.items[i].answer;
    *ret = at == TALK_NONE || v->talk.items[at].lost ? &missing
           : rpc_is_ours(answer)                      ? &ours
                                                      : NULL;
    if (*ret != NULL)
        return 0;
    int st = request_was_cancelled(&v->talk, i, request);
    if (st > 0)
        *ret = &cancelled;
    if (st != 0 || v->talk.ended)
        return st < 0 ? st : 0;
    return skip_of_request(v, request, ret);
}
