#include "proxy/session/reply.h"

#include "base/clock.h"
#include "wire/json/text.h"
#include "wire/rpc_out.h"

/* Adds the members that describe the earlier call which may have run. */
static void reply_add_uncertain_call(struct json_out *j, const struct repeat *r)
{
    json_out_uint(j, "seq", r->first_seq);
    json_out_str(j, "at", clock_format_utc(r->first_at_us).s);
    json_out_int(j, "age_ms", r->age_ms);
    json_out_str(j, "cause", r->cause);
    json_out_str(j, "late_answer", late_answer_name(r->late));
}

void reply_write(struct buf *b, const struct reply *r)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_error_answer(&j, r->id, r->code, r->message, r->cause);
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
    if (r->repeats != NULL) {
        json_out_object(&j, "repeats");
        reply_add_uncertain_call(&j, r->repeats);
    }
    rpc_out_end(&j);
}

/* Appends the JSON object `object` with `member` inserted as its first member. */
static void reply_append_object_with_member(struct buf *b, struct slice object, struct slice member)
{
    struct slice rest = {object.p + 1, object.n - 1};
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin_at_bracket(object.p);
    buf_addc(b, '{');
    buf_slice_add(b, member);
    if (json_walk_next(&w, &key, &v))
        buf_addc(b, ',');
    buf_slice_add(b, rest);
}

/* Appends `text`, a result or an error, and adds the member `mark` to the object that is the value
 * of the member `holder` of `text`. If there is no member `holder`, it is created. */
static void reply_append_with_added_member(struct buf *b, struct slice text, const char *holder,
                                           struct slice mark)
{
    struct buf member = {0};
    struct json_value object = {0};
    if (*text.p == '{')
        object = json_get((struct json_value){JSON_OBJECT, text}, holder);
    if (*text.p != '{' || (object.type != JSON_NONE && object.type != JSON_OBJECT)) {
        /* `mark` cannot be added, because `text` or the value of `holder` is not an object */
        buf_slice_add(b, text);
        return;
    }
    if (object.type == JSON_OBJECT) {
        buf_add(b, text.p, (size_t)(object.text.p - text.p));
        reply_append_object_with_member(b, object.text, mark);
        const char *after = object.text.p + object.text.n;
        buf_add(b, after, (size_t)(text.p + text.n - after));
        return;
    }
    buf_printf(&member, "\"%s\":{", holder);
    buf_slice_add(&member, mark);
    buf_addc(&member, '}');
    reply_append_object_with_member(b, text, buf_slice(&member));
    b->failed |= member.failed;
    buf_close(&member);
}

void reply_write_late_answer(struct buf *b, struct slice id, struct slice text, const char *session,
                             const struct repeat *r)
{
    bool is_error = r->late == LATE_ERROR;
    struct buf mark = {0};
    struct json_out m = json_out_to(&mark), j = json_out_to(b);
    json_out_object(&m, NULL);
    json_out_object(&m, REPLY_META_REPEAT);
    json_out_str(&m, "session", session);
    reply_add_uncertain_call(&m, r);
    rpc_out_end(&m);
    rpc_out_begin_answer(&j, id);
    json_out_name(&j, is_error ? "error" : "result");
    if (mark.failed)
        b->failed = true;
    else /* `mark` is an object: its text without the braces is the member to add */
        reply_append_with_added_member(b, text, is_error ? "data" : "_meta",
                                       (struct slice){mark.p + 1, mark.n - 2});
    json_out_end(&j);
    buf_close(&mark);
}

void reply_write_subscription_end(struct buf *b, struct slice id)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_answer(&j, id);
    json_out_object(&j, "result");
    json_out_str(&j, "resultType", "complete");
    json_out_object(&j, "_meta");
    json_out_raw(&j, "io.modelcontextprotocol/subscriptionId", id);
    rpc_out_end(&j);
}
