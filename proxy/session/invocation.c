#include "proxy/session/invocation.h"

#include "base/clock.h"
#include "base/text.h"
#include "wire/json/text.h"

struct invocation invocation_make_for_request(const struct traffic *t, const struct pending *p)
{
    return (struct invocation){
        .wall_us = clock_wall_us(),
        .seq = p->request_seq,
        .method = p->method,
        .target = p->target,
        .arguments = p->arguments,
        .arguments_n = p->arguments_n,
        .duration_us = journal_now_us(t->journal) - p->t_us,
        .request_bytes = p->size,
    };
}

/* Finds the text of a content block. Blocks may be long, so nothing after the text is read. Returns
 * false if the block has no text. */
static bool find_block_text(const char *block, struct slice *ret)
{
    struct slice key;
    const char *at;
    struct json_value v;
    struct json_walk w = json_walk_begin_at_bracket(block);
    while (json_walk_peek(&w, &key, &at)) {
        if (json_key_is(key, "text") && *at == '"') {
            *ret = json_string_first_bytes(at, INVOCATION_RESULT_MAX);
            return true;
        }
        if (!json_walk_next(&w, &key, &v))
            return false;
    }
    return false;
}

struct invocation invocation_make_from_answer(const struct traffic *t, const struct pending *p,
                                              const struct message *x, bool tool_error)
{
    struct invocation v = invocation_make_for_request(t, p);
    v.status = x->m.kind == RPC_ERROR ? CALL_ERROR : tool_error ? CALL_TOOL_ERROR : CALL_OK;
    v.response_bytes = x->size;
    if (x->m.kind == RPC_ERROR) {
        v.error_code = x->m.error_code.text;
        v.error_message = x->m.error_message.text;
    } else {
        /* The result is the text of the first content block, or the start of the JSON if there is
         * no such text. */
        struct slice key;
        const char *first;
        struct json_walk w = json_walk_begin(x->m.content);
        v.result_escaped = x->m.content.type == JSON_ARRAY && json_walk_peek(&w, &key, &first) &&
                           *first == '{' && find_block_text(first, &v.result);
        if (!v.result_escaped)
            v.result = text_prefix(x->m.result.text, INVOCATION_RESULT_MAX);
    }
    return v;
}

void invocation_log_error(struct traffic *t, struct invocation *x, int code, const char *why,
                          size_t bytes)
{
    struct buf text = {0};
    buf_int(&text, code);
    size_t digits = text.n;
    text_append_json(&text, slice_of(why));
    struct slice all = buf_slice(&text);
    x->error_code = (struct slice){all.p, digits};
    x->error_message = (struct slice){all.p + digits, all.n - digits};
    x->response_bytes = bytes;
    x->wall_us = clock_wall_us();
    if (!text.failed)
        journal_append_invocation(t->journal, x);
    buf_close(&text);
}

void invocation_log_cancelled_call(struct traffic *t, const struct pending *p)
{
    struct invocation x = invocation_make_for_request(t, p);
    x.status = CALL_CANCELLED;
    journal_append_invocation(t->journal, &x);
}
