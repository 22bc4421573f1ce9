#include "proxy/session/reply.h"

#include "wire/json/text.h"
#include "wire/rpc_out.h"

void reply_write(struct buf *b, const struct reply *r)
{
    struct json_out j = json_out_to(b);
    rpc_out_error(&j, r->id, r->code, r->message, r->cause);
    if (r->method.p != NULL)
        json_out_quoted(&j, "method", r->method);
    if (r->target.p != NULL)
        json_out_quoted(&j, json_key_is(r->method, "tools/call") ? "tool" : "target", r->target);
    if (r->session != NULL)
        json_out_str(&j, "session", r->session);
    if (r->seq != 0)
        json_out_uint(&j, "seq", r->seq);
    if (r->ran != REPLY_RAN_ABSENT)
        json_out_bool(&j, "may_have_run", r->ran == REPLY_RAN_MAYBE);
    if (r->timeout_us > 0)
        json_out_int(&j, "timeout_ms", (r->timeout_us + 999) / 1000);
    if (r->reason.p != NULL) {
        json_out_text(&j, "pointer", r->pointer);
        json_out_text(&j, "reason", r->reason);
    }
    rpc_out_end(&j);
}

void reply_write_listen_end(struct buf *b, struct slice id)
{
    struct json_out j = json_out_to(b);
    rpc_out_answer(&j, id);
    json_out_object(&j, "result");
    json_out_str(&j, "resultType", "complete");
    json_out_object(&j, "_meta");
    json_out_raw(&j, "io.modelcontextprotocol/subscriptionId", id);
    rpc_out_end(&j);
}
