#include "proxy/reply.h"

#include "base/text.h"
#include "wire/json_text.h"

void reply_write(struct buf *b, const struct reply *r)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (r->id.p != NULL)
        buf_slice_add(b, r->id);
    else
        buf_adds(b, "null");
    buf_printf(b, ",\"error\":{\"code\":%d,\"message\":", r->code);
    text_json(b, slice_of(r->message));
    buf_printf(b, ",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"%s\"", r->cause);
    if (r->method.p != NULL) {
        buf_adds(b, ",\"method\":\"");
        buf_slice_add(b, r->method);
        buf_addc(b, '"');
    }
    if (r->target.p != NULL) {
        buf_adds(b, json_key_is(r->method, "tools/call") ? ",\"tool\":\"" : ",\"target\":\"");
        buf_slice_add(b, r->target);
        buf_addc(b, '"');
    }
    buf_printf(b, ",\"session\":\"%s\"", r->session);
    if (r->seq != 0)
        buf_printf(b, ",\"seq\":%llu", (unsigned long long)r->seq);
    if (r->timeout_us > 0)
        buf_printf(b, ",\"timeout_ms\":%lld", (long long)((r->timeout_us + 999) / 1000));
    if (r->reason.p != NULL) {
        buf_adds(b, ",\"pointer\":");
        text_json(b, r->pointer);
        buf_adds(b, ",\"reason\":");
        text_json(b, r->reason);
    }
    buf_adds(b, "}}}");
}

void reply_write_listen_end(struct buf *b, struct slice id)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_slice_add(b, id);
    buf_adds(b, ",\"result\":{\"resultType\":\"complete\",\"_meta\":"
                "{\"io.modelcontextprotocol/subscriptionId\":");
    buf_slice_add(b, id);
    buf_adds(b, "}}}");
}
