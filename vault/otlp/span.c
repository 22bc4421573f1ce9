/* span.c - a call as a span. */
#include "vault/otlp/part.h"

#include "base/text.h"
#include "wire/json/text.h"

#include <string.h>

static bool is_tool(const struct query_message *m)
{
    return slice_is(m->method, "tools/call");
}

static bool is_prompt(const struct query_message *m)
{
    return slice_is(m->method, "prompts/get");
}

char *otlp_error_message(struct slice body)
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
    json_unescape(&b, json_string_head(text.text.p, OTLP_MESSAGE_MAX));
    char *copy = b.failed ? NULL : strndup(buf_str(&b), b.n);
    buf_close(&b);
    return copy;
}

/* ---- attributes ---- */

/* error.type; nothing is added for a request that did not fail. */
static void add_error_type(struct buf *b, const struct otlp_call *c)
{
    if (c->status == CALL_TOOL_ERROR)
        buf_adds(b, "tool_error");
    else if (c->status == CALL_TIMEOUT)
        buf_adds(b, "timeout");
    else if (c->status == CALL_CANCELLED)
        buf_adds(b, "cancelled");
    else if (c->status == CALL_INTERRUPTED)
        buf_adds(b, "interrupted");
    else if (c->has_error_code)
        buf_int(b, c->error_code);
    else if (c->status != CALL_OK && c->status != CALL_OPEN)
        buf_adds(b, call_status_name(c->status));
}

static bool is_failed(const struct otlp_call *c)
{
    return c->has_error_code || (c->status != CALL_OK && c->status != CALL_OPEN);
}

void otlp_call_attributes(struct json_out *j, const struct otlp_session *s,
                          const struct otlp_call *c, struct buf *text)
{
    const struct query_message *m = c->request;
    otlp_attribute(j, "mcp.method.name", m->method);
    otlp_attribute(j, "mcp.protocol.version", s->s->protocol_version);
    if (is_tool(m)) {
        otlp_attribute(j, "gen_ai.operation.name", slice_of("execute_tool"));
        otlp_attribute(j, "gen_ai.tool.name", m->target);
    } else if (is_prompt(m)) {
        otlp_attribute(j, "gen_ai.prompt.name", m->target);
    }
    otlp_attribute(j, "network.transport", slice_of("pipe"));
    if (c->has_error_code) {
        buf_clear(text);
        buf_int(text, c->error_code);
        otlp_attribute(j, "rpc.response.status_code", buf_slice(text));
    }
    if (is_failed(c)) {
        buf_clear(text);
        add_error_type(text, c);
        otlp_attribute(j, "error.type", buf_slice(text));
    }
}

/* A session id of the protocol: revisions from 2026-07-28 on have none, and the conventions forbid the attribute. */
static bool has_session_id(struct slice revision)
{
    static const char first[] = "2026-07-28";
    return revision.n == sizeof first - 1 && memcmp(revision.p, first, sizeof first - 1) < 0;
}

static void add_span_attributes(struct otlp_request *r, const struct otlp_session *s,
                                const struct otlp_call *c, const struct otlp_context *context)
{
    struct json_out *j = &r->j;
    struct buf *text = r->text;
    const struct query_message *m = c->request;
    otlp_call_attributes(j, s, c, text);
    if (has_session_id(s->s->protocol_version))
        otlp_attribute(j, "mcp.session.id", s->s->uid);
    if (!is_tool(m) && !is_prompt(m) && context->uri.p != NULL) {
        buf_clear(text);
        json_unescape(text, context->uri);
        otlp_attribute(j, "mcp.resource.uri", text_head(buf_slice(text), OTLP_TEXT_MAX));
    }
    if (m->rpc_id.p != NULL && !slice_is(m->rpc_id, "null")) {
        bool quoted = m->rpc_id.n >= 2 && m->rpc_id.p[0] == '"';
        buf_clear(text);
        if (quoted)
            json_unescape(text, (struct slice){m->rpc_id.p + 1, m->rpc_id.n - 2});
        else
            buf_slice_add(text, m->rpc_id);
        otlp_attribute(j, "jsonrpc.request.id", buf_slice(text));
    }
    otlp_attribute(j, "mcp_interposer.session", s->s->uid);
    otlp_int_attribute(j, "mcp_interposer.seq", m->seq);
    otlp_attribute(j, "mcp_interposer.status", slice_of(call_status_name(c->status)));
}

/* ---- the span ---- */

static void add_parent(struct otlp_request *r, const struct otlp_context *c)
{
    if (c->traceparent.p == NULL)
        return;
    json_out_text(&r->j, "parentSpanId", (struct slice){c->traceparent.p + 36, 16});
    if (c->tracestate.n == 0 || c->tracestate.n > OTLP_TEXT_MAX)
        return;
    buf_clear(r->text);
    json_unescape(r->text, c->tracestate);
    json_out_text(&r->j, "traceState", buf_slice(r->text));
}

static void add_status(struct json_out *j, const struct otlp_call *c)
{
    if (!is_failed(c))
        return;
    json_out_object(j, "status");
    json_out_int(j, "code", 2); /* ERROR */
    if (c->error_message != NULL)
        json_out_str(j, "message", c->error_message);
    json_out_end(j);
}

void otlp_span(struct otlp_request *r, const struct otlp_session *s, const struct otlp_call *c)
{
    struct json_out *j = &r->j;
    struct buf *name = r->text;
    const struct query_message *m = c->request;
    struct otlp_context context = otlp_context_of(c->body);
    json_out_object(j, NULL);
    otlp_add_ids(j, s, m->seq, &context);
    add_parent(r, &context);
    buf_clear(name);
    buf_slice_add(name, m->method);
    if ((is_tool(m) || is_prompt(m)) && m->target.p != NULL) {
        buf_addc(name, ' ');
        buf_slice_add(name, m->target);
    }
    json_out_text(j, "name", buf_slice(name));
    json_out_int(j, "kind", 3); /* CLIENT */
    otlp_time(j, "startTimeUnixNano", s->s->started_at_us + m->t_us);
    otlp_time(j, "endTimeUnixNano", s->s->started_at_us + c->end_us);
    json_out_array(j, "attributes");
    add_span_attributes(r, s, c, &context);
    json_out_end(j);
    add_status(j, c);
    json_out_end(j);
}
