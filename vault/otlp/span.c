/* span.c - writes calls, notifications and operations as spans. */
#include "vault/otlp/part.h"

#include "base/text.h"
#include "wire/json/text.h"

#include <string.h>

static bool message_is_tool_call(const struct query_message *m)
{
    return slice_is(m->method, "tools/call");
}

static bool message_is_prompt(const struct query_message *m)
{
    return slice_is(m->method, "prompts/get");
}

char *otlp_copy_error_message(struct slice body)
{
    struct json_scan scan;
    if (body.p == NULL || json_scan(body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return NULL;
    struct json_value error = json_get((struct json_value){scan.type, scan.root}, "error");
    if (error.type != JSON_OBJECT)
        return NULL;
    struct json_value text = json_get(error, "message");
    if (text.type != JSON_STRING)
        return NULL;
    struct buf b = {0};
    json_unescape(&b, json_string_first_bytes(text.text.p, OTLP_MESSAGE_MAX));
    char *copy = b.failed ? NULL : strndup(buf_str(&b), b.n);
    buf_close(&b);
    return copy;
}

/* ---- attributes ---- */

/* Returns error.type of a request that failed; NULL: use the code of the error, if there is one. */
static const char *error_type_of_call(const struct otlp_call *c)
{
    switch (c->status) {
    case CALL_TOOL_ERROR:
        return "tool_error";
    case CALL_TIMEOUT:
    case CALL_CANCELLED:
    case CALL_INTERRUPTED:
    case CALL_SERVER_GONE:
        return call_status_name(c->status);
    default:
        return c->has_error_code || c->status == CALL_OK || c->status == CALL_OPEN
                   ? NULL
                   : call_status_name(c->status);
    }
}

/* Adds error.type and, if the peer has sent the error, its code. */
static void otlp_span_add_error(struct json_out *j, const struct otlp_call *c, struct buf *text)
{
    const char *type = error_type_of_call(c);
    if (type == NULL && !c->has_error_code)
        return;
    buf_clear(text);
    if (type != NULL)
        buf_adds(text, type);
    else
        buf_int(text, c->error_code);
    if (type == NULL)
        otlp_add_attribute(j, "rpc.response.status_code", buf_slice(text));
    otlp_add_attribute(j, "error.type", buf_slice(text));
}

void otlp_add_call_attributes(struct json_out *j, const struct otlp_session *s,
                              const struct otlp_call *c, struct buf *text)
{
    const struct query_message *m = c->request;
    otlp_add_attribute(j, "mcp.method.name", m->method);
    otlp_add_attribute(j, "mcp.protocol.version",
                       m->revision.p != NULL ? m->revision : s->s->protocol_version);
    if (message_is_tool_call(m)) {
        otlp_add_attribute(j, "gen_ai.operation.name", slice_of("execute_tool"));
        otlp_add_attribute(j, "gen_ai.tool.name", m->target);
    } else if (message_is_prompt(m)) {
        otlp_add_attribute(j, "gen_ai.prompt.name", m->target);
    }
    otlp_add_attribute(j, "network.transport", slice_of(s->address[0] != '\0' ? "tcp" : "pipe"));
    otlp_add_remote_attributes(j, s);
    otlp_span_add_error(j, c, text);
}

static void add_span_attributes(struct otlp_request *r, const struct otlp_session *s,
                                const struct otlp_call *c, const struct otlp_context *context)
{
    struct json_out *j = &r->j;
    struct buf *text = r->text;
    const struct query_message *m = c->request;
    otlp_add_call_attributes(j, s, c, text);
    if (!message_is_tool_call(m) && !message_is_prompt(m) && context->uri.p != NULL) {
        buf_clear(text);
        json_unescape(text, context->uri);
        otlp_add_attribute(j, "mcp.resource.uri", text_prefix(buf_slice(text), OTLP_TEXT_MAX));
    }
    if (m->rpc_id.p != NULL && !slice_is(m->rpc_id, "null")) {
        bool quoted = m->rpc_id.n >= 2 && m->rpc_id.p[0] == '"';
        buf_clear(text);
        if (quoted)
            json_unescape(text, (struct slice){m->rpc_id.p + 1, m->rpc_id.n - 2});
        else
            buf_slice_add(text, m->rpc_id);
        otlp_add_attribute(j, "jsonrpc.request.id", buf_slice(text));
    }
    otlp_add_attribute(j, "mcp_interposer.session", s->s->uid);
    otlp_add_int_attribute(j, "mcp_interposer.seq", m->seq);
    if (m->kind != KIND_NOTIFICATION)
        otlp_add_attribute(j, "mcp_interposer.status", slice_of(call_status_name(c->status)));
}

/* ---- arguments and results ---- */

/* Returns the member `name` of the object with the key `object` in a body; if name is NULL, the
 * object itself. */
static struct json_value get_member_of_body(struct slice body, const char *object, const char *name)
{
    struct json_scan scan;
    if (body.p == NULL || json_scan(body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return (struct json_value){0};
    struct json_value v = json_get((struct json_value){scan.type, scan.root}, object);
    return name == NULL || v.type != JSON_OBJECT ? v : json_get(v, name);
}

static void otlp_span_add_json(struct json_out *j, const char *key, struct json_value v)
{
    if (v.text.p != NULL)
        otlp_add_attribute(j, key, text_prefix(v.text, OTLP_CONTENT_MAX));
}

static void add_prompt_variables(struct otlp_request *r, struct json_value arguments)
{
    struct slice name;
    struct json_value v;
    if (arguments.type != JSON_OBJECT)
        return;
    struct json_walk w = json_walk_begin(arguments);
    for (int n = 0; n < OTLP_VARIABLES_MAX && json_walk_next(&w, &name, &v); n++) {
        struct buf key = {0};
        buf_adds(&key, "gen_ai.prompt.variable.");
        json_unescape(&key, json_string_first_bytes(name.p - 1, OTLP_MESSAGE_MAX));
        buf_clear(r->text);
        if (v.type == JSON_STRING)
            json_unescape(r->text, json_string_first_bytes(v.text.p, OTLP_CONTENT_MAX));
        else
            buf_slice_add(r->text, text_prefix(v.text, OTLP_CONTENT_MAX));
        otlp_add_attribute(&r->j, buf_str(&key), buf_slice(r->text));
        r->text->failed |= key.failed;
        buf_close(&key);
    }
}

/* ---- the span ---- */

/* Writes the parent of a span. operation: id of the operation's span, which is the parent; NULL:
 * the client's span is the parent, if the context has one. */
static void add_span_parent(struct otlp_request *r, const struct otlp_context *c,
                            const char *operation)
{
    if (operation != NULL)
        json_out_str(&r->j, "parentSpanId", operation);
    else if (c->traceparent.p != NULL)
        json_out_text(&r->j, "parentSpanId", (struct slice){c->traceparent.p + 36, 16});
    if (c->tracestate.n == 0 || c->tracestate.n > OTLP_TEXT_MAX)
        return;
    buf_clear(r->text);
    json_unescape(r->text, c->tracestate);
    json_out_text(&r->j, "traceState", buf_slice(r->text));
}

static void add_span_status(struct json_out *j, const struct otlp_call *c)
{
    if (!c->has_error_code && (c->status == CALL_OK || c->status == CALL_OPEN))
        return;
    json_out_object(j, "status");
    json_out_int(j, "code", 2); /* 2 is the span status ERROR */
    if (c->error_message != NULL)
        json_out_str(j, "message", c->error_message);
    json_out_end(j);
}

bool otlp_notification_has_span(const struct query_message *m)
{
    return m->kind == KIND_NOTIFICATION && m->method.p != NULL && m->action == ROW_FORWARDED &&
           m->origin == ROW_PEER && !slice_is(m->method, "notifications/progress");
}

/* Writes name, kind and times of a span. before: prefix of the name. */
static void add_span_name_and_times(struct otlp_request *r, const struct otlp_session *s,
                                    const struct otlp_call *c, const char *before, int kind)
{
    struct json_out *j = &r->j;
    struct buf *name = r->text;
    const struct query_message *m = c->request;
    buf_clear(name);
    buf_adds(name, before);
    buf_slice_add(name, m->method);
    if ((message_is_tool_call(m) || message_is_prompt(m)) && m->target.p != NULL) {
        buf_addc(name, ' ');
        buf_slice_add(name, m->target);
    }
    json_out_text(j, "name", buf_slice(name));
    json_out_int(j, "kind", kind);
    otlp_add_time(j, "startTimeUnixNano", s->s->started_at_us + m->t_us);
    otlp_add_time(j, "endTimeUnixNano", s->s->started_at_us + c->end_us);
}

void otlp_add_operation_span(struct otlp_request *r, const struct otlp_session *s,
                             const struct listed_operation *o, const struct query_message *first,
                             struct slice body, int64_t last_t_us)
{
    struct json_out *j = &r->j;
    struct otlp_context context = otlp_read_trace_context(body);
    char id[OTLP_SPAN_ID];
    struct otlp_call c = {.request = first,
                          .status = o->status,
                          .end_us = o->closing_seq != 0 ? o->t_us + o->duration_us : last_t_us,
                          .has_error_code = o->has_error_code,
                          .error_code = o->error_code};
    otlp_operation_id(s, o->seq, id);
    json_out_object(j, NULL);
    json_out_text(j, "traceId", otlp_get_trace_id(s, &context));
    json_out_str(j, "spanId", id);
    add_span_parent(r, &context, NULL);
    add_span_name_and_times(r, s, &c, "operation ", 1); /* 1 is the span kind INTERNAL */
    json_out_array(j, "attributes");
    otlp_add_attribute(j, "mcp.method.name", first->method);
    if (message_is_tool_call(first) || message_is_prompt(first))
        otlp_add_attribute(j,
                           message_is_tool_call(first) ? "gen_ai.tool.name" : "gen_ai.prompt.name",
                           first->target);
    otlp_span_add_error(j, &c, r->text);
    otlp_add_attribute(j, "mcp_interposer.session", s->s->uid);
    otlp_add_int_attribute(j, "mcp_interposer.operation", o->seq);
    otlp_add_attribute(j, "mcp_interposer.status", slice_of(call_status_name(o->status)));
    otlp_add_int_attribute(j, "mcp_interposer.requests", o->requests);
    otlp_add_int_attribute(j, "mcp_interposer.asked", o->asked);
    otlp_add_int_attribute(j, "mcp_interposer.server_us", o->server_us);
    otlp_add_int_attribute(j, "mcp_interposer.person_us", o->person_us);
    json_out_end(j);
    add_span_status(j, &c);
    json_out_end(j);
}

void otlp_add_span(struct otlp_request *r, const struct otlp_session *s, const struct otlp_call *c)
{
    struct json_out *j = &r->j;
    const struct otlp_operation *o = &c->operation;
    struct otlp_context context = otlp_read_trace_context(c->body);
    char id[OTLP_SPAN_ID];
    bool same_trace = o->seq != 0 && slice_is(otlp_get_trace_id(s, &context), o->trace);
    otlp_operation_id(s, o->seq, id);
    json_out_object(j, NULL);
    otlp_add_ids(j, s, c->request->seq, &context);
    add_span_parent(r, &context, same_trace ? id : NULL);
    add_span_name_and_times(r, s, c, "", 3); /* 3 is the span kind CLIENT */
    json_out_array(j, "attributes");
    add_span_attributes(r, s, c, &context);
    /* Arguments and results are sanitized, as in the vault. */
    if (r->content && message_is_prompt(c->request))
        add_prompt_variables(r, get_member_of_body(c->body, "params", "arguments"));
    if (r->content && message_is_tool_call(c->request)) {
        otlp_span_add_json(j, "gen_ai.tool.call.arguments",
                           get_member_of_body(c->body, "params", "arguments"));
        otlp_span_add_json(j, "gen_ai.tool.call.result",
                           get_member_of_body(c->answer, "result", NULL));
    }
    json_out_end(j);
    if (o->seq != 0 && !same_trace) {
        /* The operation's span cannot be the parent, because it is in another trace: add a link to
         * it. */
        json_out_array(j, "links");
        json_out_object(j, NULL);
        json_out_text(j, "traceId", slice_of(o->trace));
        json_out_text(j, "spanId", slice_of(id));
        json_out_end(j);
        json_out_end(j);
    }
    add_span_status(j, c);
    json_out_end(j);
}
