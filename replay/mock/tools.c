#include "replay/mock/tools.h"

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
        log_warn("the recording has a rule for tools that cannot be read, so every recorded tool is "
                 "listed: %s",
                 buf_str(&why));
        tool_rule_close(&s->tools);
        st = 0;
    }
    buf_close(&why);
    return st;
}

int mock_tools_cut(struct conversation *s, const struct playback *p)
{
    struct changes c = {0};
    struct tool_cut cut;
    struct rpc m;
    const struct plan_topic *topic = plan_topic(s->plan, plan_exchange(s->plan, p->exchange)->topic);
    struct slice all = buf_slice(&s->body);
    if (!tool_rule_exists(&s->tools) || !slice_is(topic->method, "tools/list") ||
        rpc_read(all, &m) < 0 || m.kind != RPC_RESULT)
        return 0;
    int st = tool_rule_cut(&s->tools, m.result, &c, &cut, NULL, NULL);
    if (st == 0 && c.n > 0) {
        struct buf seen = {0};
        size_t n = changes_size(&c, all);
        if (buf_reserve(&seen, n)) {
            changes_write(&c, all, seen.p);
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

int mock_tools_refuse(struct conversation *s, const struct rpc *live, struct mock_batch *batch,
                      bool *ret_done)
{
    struct buf name = {0}, why = {0};
    const char *fault;
    int st = 0;
    enum tool_verdict v = tool_rule_exists(&s->tools)
                              ? tool_call_verdict(&s->tools, NULL, live, &name, &fault)
                              : TOOL_CALL_KEPT;
    *ret_done = v != TOOL_CALL_KEPT;
    if (*ret_done) {
        tool_call_explain(&s->tools, v, fault, buf_slice(&name), "", &why);
        s->misses->counts.matched++;
        st = mock_send_error(s, batch, live->id.text, RPC_INVALID_PARAMS, buf_str(&why),
                             tool_call_cause(v), NULL);
    }
    buf_close(&name);
    buf_close(&why);
    return st;
}
