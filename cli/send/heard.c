#include "cli/send/heard.h"

#include "base/log.h"
#include "base/text.h"
#include "wire/json/text.h"

#define HEARD_MAX 500 /* most bytes of a text that are reported */

static void heard_add_plain(struct buf *b, struct json_value v)
{
    struct buf text = {0};
    if (v.type == JSON_STRING)
        json_unescape(&text, json_string_raw(v));
    else
        buf_slice_add(&text, v.text);
    buf_slice_add(b, text_head(buf_slice(&text), HEARD_MAX));
    b->failed |= text.failed;
    buf_close(&text);
}

static void heard_on_message(void *ctx, const struct rpc *m, const char *refused)
{
    struct buf b = {0};
    (void)ctx;
    if (m->kind == RPC_REQUEST) {
        json_unescape(&b, m->method);
        log_note("the server requested %s: %s", buf_str(&b),
                 refused == NULL ? "it got the recorded answer" : refused);
    } else if (rpc_method_is(m, "notifications/message")) {
        heard_add_plain(&b, json_get(m->params, "level"));
        buf_adds(&b, ": ");
        heard_add_plain(&b, json_get(m->params, "data"));
        log_note("the server logs %s", buf_str(&b));
    } else if (rpc_method_is(m, "notifications/progress")) {
        struct json_value total = json_get(m->params, "total");
        struct json_value message = json_get(m->params, "message");
        heard_add_plain(&b, m->progress);
        buf_adds(&b, total.type == JSON_NUMBER ? " of " : "");
        if (total.type == JSON_NUMBER)
            heard_add_plain(&b, total);
        buf_adds(&b, message.type == JSON_STRING ? ": " : "");
        if (message.type == JSON_STRING)
            heard_add_plain(&b, message);
        log_note("progress %s", buf_str(&b));
    }
    buf_close(&b);
}

void heard_open(struct talk *t)
{
    t->heard = heard_on_message;
}
