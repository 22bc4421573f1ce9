/* otlp.c - a span for each request, as OTLP/JSON, by the MCP conventions (docs/mcp-wire.md, section 8). */
#include "cli/export/formats.h"

#include "base/json_out.h"
#include "wire/json/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define SPANS_A_LINE 1000 /* a line is one request to a collector, whose size is limited */

struct spans {
    struct export *x;
    struct json_out j;
    size_t n;       /* in this line */
    char trace[33]; /* hexadecimal; for requests without a trace id of their own */
    uint64_t seed;
};

/* ---- ids ---- */

/* The trace id of a session is its uid: 128 bits, five in each character. */
static void make_trace(struct spans *p)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    static const char hex[] = "0123456789abcdef";
    unsigned char id[17] = {0}; /* 26 characters are 130 bits, of which the first two are 0 */
    struct slice uid = p->x->s->uid;
    for (size_t i = 0; i < uid.n && i < 26; i++) {
        const char *d = memchr(digits, toupper((unsigned char)uid.p[i]), 32);
        unsigned v = d != NULL ? (unsigned)(d - digits) : 0;
        for (unsigned bit = 0; bit < 5; bit++) {
            size_t at = 6 + 5 * i + bit; /* of 136 */
            if ((v >> (4 - bit) & 1) != 0)
                id[at / 8] = (unsigned char)(id[at / 8] | 1U << (7 - at % 8));
        }
    }
    for (size_t i = 0; i < 16; i++) {
        p->trace[2 * i] = hex[id[i + 1] >> 4];
        p->trace[2 * i + 1] = hex[id[i + 1] & 15];
        p->seed = p->seed * 31 + id[i + 1];
    }
}

/* splitmix64: different numbers give different ids. Never 0, which means no span. */
static uint64_t span_id(const struct spans *p, int64_t seq)
{
    uint64_t z = p->seed + (uint64_t)seq * 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* ---- the context of a request ---- */

struct context {
    struct slice traceparent, tracestate; /* between the quotes; {NULL, 0}: none */
    struct slice uri;
};

static bool is_hex(struct slice s, size_t from, size_t n)
{
    bool zero = true;
    for (size_t i = from; i < from + n; i++) {
        if (!isdigit((unsigned char)s.p[i]) && (s.p[i] < 'a' || s.p[i] > 'f'))
            return false;
        zero &= s.p[i] == '0';
    }
    return !zero || n == 2;
}

/* W3C Trace Context: 00-<32 hex>-<16 hex>-<2 hex>; later versions may be longer; an id is never all zero. */
static bool is_traceparent(struct slice s)
{
    return s.n >= 55 && s.p[2] == '-' && s.p[35] == '-' && s.p[52] == '-' && is_hex(s, 0, 2) &&
           is_hex(s, 3, 32) && is_hex(s, 36, 16) && is_hex(s, 53, 2) && memcmp(s.p, "ff", 2) != 0 &&
           (s.n == 55 || (s.p[55] == '-' && s.p[0] != '0'));
}

static struct context read_context(struct slice body)
{
    struct context c = {0};
    struct json_scan scan;
    if (body.p == NULL || json_scan(body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return c;
    struct json_value params = json_get((struct json_value){scan.type, scan.root}, "params");
    if (params.type != JSON_OBJECT)
        return c;
    c.uri = json_string_raw(json_get(params, "uri"));
    struct json_value meta = json_get(params, "_meta");
    if (meta.type != JSON_OBJECT)
        return c;
    struct slice parent = json_string_raw(json_get(meta, "traceparent"));
    if (parent.p != NULL && is_traceparent(parent)) {
        c.traceparent = parent;
        c.tracestate = json_string_raw(json_get(meta, "tracestate"));
    }
    return c;
}

/* ---- attributes ---- */

static void add_attribute(struct json_out *j, const char *key, struct slice text)
{
    if (text.p == NULL)
        return;
    json_out_object(j, NULL);
    json_out_str(j, "key", key);
    json_out_object(j, "value");
    json_out_text(j, "stringValue", text);
    json_out_end(j);
    json_out_end(j);
}

/* 64-bit integers are strings in OTLP/JSON. */
static void add_integer(struct json_out *j, const char *name, int64_t n, const char *zeros)
{
    json_out_name(j, name);
    buf_printf(j->b, "\"%lld%s\"", (long long)n, zeros);
}

static void add_int_attribute(struct json_out *j, const char *key, int64_t n)
{
    json_out_object(j, NULL);
    json_out_str(j, "key", key);
    json_out_object(j, "value");
    add_integer(j, "intValue", n, "");
    json_out_end(j);
    json_out_end(j);
}

static void add_time(struct json_out *j, const char *name, int64_t at_us)
{
    add_integer(j, name, at_us, "000"); /* nanoseconds */
}

static bool is_tool(const struct query_message *m)
{
    return slice_is(m->method, "tools/call");
}

static bool is_prompt(const struct query_message *m)
{
    return slice_is(m->method, "prompts/get");
}

/* error.type; nothing is added for a request that did not fail. */
static void add_error_type(struct buf *b, const struct call *c)
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

static void add_request_attributes(struct spans *p, const struct query_message *m,
                                   const struct context *context)
{
    struct json_out *j = &p->j;
    struct buf *text = &p->x->text;
    add_attribute(j, "mcp.method.name", m->method);
    add_attribute(j, "mcp.protocol.version", p->x->s->protocol_version);
    if (is_tool(m)) {
        add_attribute(j, "gen_ai.operation.name", slice_of("execute_tool"));
        add_attribute(j, "gen_ai.tool.name", m->target);
    } else if (is_prompt(m)) {
        add_attribute(j, "gen_ai.prompt.name", m->target);
    } else if (context->uri.p != NULL) {
        buf_clear(text);
        json_unescape(text, context->uri);
        add_attribute(j, "mcp.resource.uri", buf_slice(text));
    }
    if (m->rpc_id.p != NULL && !slice_is(m->rpc_id, "null")) {
        bool quoted = m->rpc_id.n >= 2 && m->rpc_id.p[0] == '"';
        buf_clear(text);
        if (quoted)
            json_unescape(text, (struct slice){m->rpc_id.p + 1, m->rpc_id.n - 2});
        else
            buf_slice_add(text, m->rpc_id);
        add_attribute(j, "jsonrpc.request.id", buf_slice(text));
    }
    add_attribute(j, "network.transport", slice_of("pipe"));
}

static void add_outcome(struct spans *p, const struct query_message *m, const struct call *c)
{
    struct json_out *j = &p->j;
    struct buf *text = &p->x->text;
    if (c->has_error_code) {
        buf_clear(text);
        buf_int(text, c->error_code);
        add_attribute(j, "rpc.response.status_code", buf_slice(text));
    }
    buf_clear(text);
    add_error_type(text, c);
    bool failed = text->n > 0;
    if (failed)
        add_attribute(j, "error.type", buf_slice(text));
    add_attribute(j, "mcp_interposer.session", p->x->s->uid);
    add_int_attribute(j, "mcp_interposer.seq", m->seq);
    add_attribute(j, "mcp_interposer.status", slice_of(call_status_name(c->status)));
    json_out_end(j);
    if (!failed)
        return;
    json_out_object(j, "status");
    json_out_int(j, "code", 2);
    if (c->error_message != NULL)
        json_out_str(j, "message", c->error_message);
    json_out_end(j);
}

/* ---- spans ---- */

static void add_ids(struct spans *p, const struct query_message *m, const struct context *context)
{
    struct json_out *j = &p->j;
    struct slice parent = context->traceparent;
    char span[sizeof "0123456789abcdef"];
    snprintf(span, sizeof span, "%016llx", (unsigned long long)span_id(p, m->seq));
    json_out_text(j, "traceId",
                  parent.p != NULL ? (struct slice){parent.p + 3, 32} : slice_of(p->trace));
    json_out_str(j, "spanId", span);
    if (parent.p == NULL)
        return;
    json_out_text(j, "parentSpanId", (struct slice){parent.p + 36, 16});
    json_out_int(j, "flags", strtol((char[]){parent.p[53], parent.p[54], '\0'}, NULL, 16));
    if (context->tracestate.n > 0) {
        buf_clear(&p->x->text);
        json_unescape(&p->x->text, context->tracestate);
        json_out_text(j, "traceState", buf_slice(&p->x->text));
    }
}

static void add_span(struct spans *p, const struct query_message *m, const struct call *c,
                     const struct context *context)
{
    struct json_out *j = &p->j;
    struct buf *name = &p->x->text;
    int64_t end_us = c->end_us >= 0 ? c->end_us : p->x->calls.last_t_us;
    json_out_object(j, NULL);
    add_ids(p, m, context);
    buf_clear(name);
    buf_slice_add(name, m->method);
    if ((is_tool(m) || is_prompt(m)) && m->target.p != NULL) {
        buf_addc(name, ' ');
        buf_slice_add(name, m->target);
    }
    json_out_text(j, "name", buf_slice(name));
    json_out_int(j, "kind", 3); /* CLIENT */
    add_time(j, "startTimeUnixNano", p->x->s->started_at_us + c->t_us);
    add_time(j, "endTimeUnixNano", p->x->s->started_at_us + end_us);
    json_out_array(j, "attributes");
    add_request_attributes(p, m, context);
    add_outcome(p, m, c);
    json_out_end(j);
}

/* ---- lines ---- */

static void begin_line(struct spans *p)
{
    struct json_out *j = &p->j;
    json_out_object(j, NULL);
    json_out_array(j, "resourceSpans");
    json_out_object(j, NULL);
    json_out_object(j, "resource");
    json_out_array(j, "attributes");
    add_attribute(j, "service.name", p->x->s->name);
    add_attribute(j, "service.version", p->x->s->server_version);
    add_attribute(j, "mcp_interposer.client.name", p->x->s->client_name);
    add_attribute(j, "mcp_interposer.client.version", p->x->s->client_version);
    json_out_end(j);
    json_out_end(j);
    json_out_array(j, "scopeSpans");
    json_out_object(j, NULL);
    json_out_object(j, "scope");
    json_out_str(j, "name", "mcp-interposer");
    json_out_str(j, "version", MI_VERSION);
    json_out_end(j);
    json_out_array(j, "spans");
    p->n = 0;
}

static void end_line(struct spans *p)
{
    while (p->j.depth > 0)
        json_out_end(&p->j);
    json_out_line(&p->j);
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const struct call *c = export_call(p->x, m);
    const char *error;
    if (c == NULL ||
        m->method.p == NULL) /* a span must have a method; a rejected line may have none */
        return true;
    struct context context = read_context(export_body(p->x, m, SIZE_MAX, &error));
    if (p->n == SPANS_A_LINE) {
        end_line(p);
        begin_line(p);
    }
    p->n++;
    add_span(p, m, c, &context);
    return export_flush(p->x);
}

int export_otlp(struct export *x)
{
    struct spans p = {.x = x, .j = json_out_to(&x->b)};
    make_trace(&p);
    begin_line(&p);
    int st = export_each(x, on_message, NULL, &p);
    end_line(&p);
    st = st == 0 ? export_end(x) : st;
    return st;
}
