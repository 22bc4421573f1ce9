#include "replay/mock/hidden_tools.h"

#include "base/log.h"
#include "replay/mock/answer.h"
#include "wire/mcp/tool_call.h"
#include "wire/rpc_out.h"

int mock_tools_open(struct conversation *s)
{
    struct slice text = source_info(s->source)->tools_rule;
    struct buf why = {0};
    int st = tool_rule_read(&s->tools, text, &why);
    if (st == MI_EINVAL) {
        log_warn(
            "the tool rule of the recording cannot be read, so every recorded tool is listed: %s",
            buf_str(&why));
        tool_rule_close(&s->tools);
        st = 0;
    }
    buf_close(&why);
    return st;
}

int mock_tools_remove_hidden(struct conversation *s, const struct playback *p)
{
    struct changes c = {0};
    struct tool_cut cut;
    struct rpc m;
    const struct plan_topic *topic =
        plan_get_method_target(s->plan, plan_get_exchange(s->plan, p->exchange)->topic);
    struct slice all = buf_slice(&s->body);
    if (!tool_rule_exists(&s->tools) || !slice_is(topic->method, "tools/list") ||
        rpc_read(all, &m) < 0 || m.kind != RPC_RESULT)
        return 0;
    int st = tool_rule_remove_tools(&s->tools, m.result, &c, &cut, NULL, NULL);
    if (st == 0 && c.n > 0) {
        struct buf seen = {0};
        size_t n = changes_compute_changed_size(&c, all);
        if (buf_reserve(&seen, n)) {
            changes_apply_to_text(&c, all, seen.p);
            seen.n = n;
            buf_close(&s->body);
            s->body = seen;
        } else {
            st = MI_ENOMEM;
        }
    }
    changes_close(&c);
    return st;
}

/* Sends the error that the interposer gave for calls of hidden tools in the recorded session. The
 * session and the message number are not known here and are left out. */
static int refuse_hidden_tool_call(struct conversation *s, struct mock_batch *batch,
                                   const struct rpc *live, enum tool_verdict v, const char *why)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    struct slice target = rpc_target(live);
    rpc_out_begin_error_answer(&j, live->id.text, RPC_INVALID_PARAMS, why,
                               finding_name(tool_call_finding_of_verdict(v)));
    json_out_quoted(&j, "method", live->method);
    if (target.p != NULL)
        json_out_quoted(&j, rpc_method_is(live, "tools/call") ? "tool" : "target", target);
    rpc_out_end(&j);
    int st = b.failed ? MI_ENOMEM : mock_send_answer(s, batch, buf_slice(&b));
    buf_close(&b);
    return st;
}

int mock_tools_refuse_hidden_call(struct conversation *s, const struct rpc *live,
                                  struct mock_batch *batch, bool *ret_done)
{
    struct buf name = {0}, why = {0};
    const char *fault;
    int st = 0;
    enum tool_verdict v = tool_rule_exists(&s->tools)
                              ? tool_call_get_verdict(&s->tools, NULL, live, &name, &fault)
                              : TOOL_CALL_KEPT;
    *ret_done = v != TOOL_CALL_KEPT;
    if (*ret_done) {
        tool_call_explain_refusal(&s->tools, v, fault, buf_slice(&name), "", &why);
        s->misses->counts.matched++;
        st = why.failed ? MI_ENOMEM : refuse_hidden_tool_call(s, batch, live, v, buf_str(&why));
    }
    buf_close(&name);
    buf_close(&why);
    return st;
}
