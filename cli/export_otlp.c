/* export_otlp.c - a span for each request, as OTLP/JSON, by the MCP conventions (docs/mcp-wire.md, section 8). */
#include "cli/export.h"

#include "base/text.h"
#include "wire/json_text.h"

#include <ctype.h>
#include <stdlib.h>

#define SPANS_A_LINE 1000 /* each line is a request to a collector; those have a limit of size */

struct spans {
    struct export *x;
    size_t n;       /* in this line */
    char trace[33]; /* of requests that bring none, hexadecimal */
    uint64_t seed;
};

/* ---- ids ---- */

/* A uid is 128 bits, five in a character: the trace's id as it stands. */
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

/* splitmix64: other numbers, other ids. Never 0, which means no span. */
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

/* W3C Trace Context: 00-<32 hex>-<16 hex>-<2 hex>, later versions longer; ids are not all zero. */
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

/* ---- JSON ---- */

static void add_attribute(struct buf *b, const char *key, struct slice text)
{
    if (text.p == NULL)
        return;
    if (b->n > 0 && b->p[b->n - 1] == '}')
        buf_addc(b, ',');
    buf_printf(b, "{\"key\":\"%s\",\"value\":{\"stringValue\":", key);
    text_json(b, text);
    buf_adds(b, "}}");
}

static void add_int_attribute(struct buf *b, const char *key, int64_t n)
{
    if (b->n > 0 && b->p[b->n - 1] == '}')
        buf_addc(b, ',');
    buf_printf(b, "{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}", key, (long long)n);
}

/* 64-bit integers are strings in OTLP/JSON. */
static void add_time(struct buf *b, const char *key, int64_t at_us)
{
    buf_printf(b, ",\"%s\":\"%lld000\"", key, (long long)at_us);
}

static bool is_tool(const struct query_message *m)
{
    return slice_is(m->method, "tools/call");
}

static bool is_prompt(const struct query_message *m)
{
    return slice_is(m->method, "prompts/get");
}

/* error.type; "": it did not fail. */
static void add_error_type(struct buf *b, const struct call *c)
{
    if (c->status == CALL_TOOL_ERROR)
        buf_adds(b, "tool_error");
    else if (c->status == CALL_TIMEOUT)
        buf_adds(b, "timeout");
    else if (c->status == CALL_CANCELLED)
        buf_adds(b, "cancelled");
    else if (c->has_error_code)
        buf_int(b, c->error_code);
    else if (c->status != CALL_OK && c->status != CALL_OPEN)
        buf_adds(b, query_status_name(c->status));
}

static void add_request_attributes(struct spans *p, const struct query_message *m,
                                   const struct context *context)
{
    struct buf *b = &p->x->b;
    struct buf *text = &p->x->text;
    add_attribute(b, "mcp.method.name", m->method);
    add_attribute(b, "mcp.protocol.version", p->x->s->protocol_version);
    if (is_tool(m)) {
        add_attribute(b, "gen_ai.operation.name", slice_of("execute_tool"));
        add_attribute(b, "gen_ai.tool.name", m->target);
    } else if (is_prompt(m)) {
        add_attribute(b, "gen_ai.prompt.name", m->target);
    } else if (context->uri.p != NULL) {
        buf_clear(text);
        json_unescape(text, context->uri);
        add_attribute(b, "mcp.resource.uri", buf_slice(text));
    }
    if (m->rpc_id.p != NULL && !slice_is(m->rpc_id, "null")) {
        bool quoted = m->rpc_id.n >= 2 && m->rpc_id.p[0] == '"';
        buf_clear(text);
        if (quoted)
            json_unescape(text, (struct slice){m->rpc_id.p + 1, m->rpc_id.n - 2});
        else
            buf_slice_add(text, m->rpc_id);
        add_attribute(b, "jsonrpc.request.id", buf_slice(text));
    }
    add_attribute(b, "network.transport", slice_of("pipe"));
}

static void add_outcome(struct spans *p, const struct query_message *m, const struct call *c)
{
    struct buf *b = &p->x->b;
    struct buf *text = &p->x->text;
    if (c->has_error_code) {
        buf_clear(text);
        buf_int(text, c->error_code);
        add_attribute(b, "rpc.response.status_code", buf_slice(text));
    }
    buf_clear(text);
    add_error_type(text, c);
    bool failed = text->n > 0;
    if (failed)
        add_attribute(b, "error.type", buf_slice(text));
    add_attribute(b, "mcp_interposer.session", p->x->s->uid);
    add_int_attribute(b, "mcp_interposer.seq", m->seq);
    add_attribute(b, "mcp_interposer.status", slice_of(query_status_name(c->status)));
    buf_adds(b, "]");
    if (!failed)
        return;
    buf_adds(b, ",\"status\":{\"code\":2");
    if (c->error_message != NULL) {
        buf_adds(b, ",\"message\":");
        text_json(b, slice_of(c->error_message));
    }
    buf_addc(b, '}');
}

static void add_ids(struct spans *p, const struct query_message *m, const struct context *context)
{
    struct buf *b = &p->x->b;
    struct slice parent = context->traceparent;
    buf_adds(b, "{\"traceId\":\"");
    if (parent.p != NULL)
        buf_add(b, parent.p + 3, 32);
    else
        buf_adds(b, p->trace);
    buf_printf(b, "\",\"spanId\":\"%016llx\"", (unsigned long long)span_id(p, m->seq));
    if (parent.p == NULL)
        return;
    buf_printf(b, ",\"parentSpanId\":\"%.16s\",\"flags\":%d", parent.p + 36,
               (int)strtol((char[]){parent.p[53], parent.p[54], '\0'}, NULL, 16));
    if (context->tracestate.n > 0) {
        buf_clear(&p->x->text);
        json_unescape(&p->x->text, context->tracestate);
        buf_adds(b, ",\"traceState\":");
        text_json(b, buf_slice(&p->x->text));
    }
}

static void add_span(struct spans *p, const struct query_message *m, const struct call *c,
                     const struct context *context)
{
    struct buf *b = &p->x->b;
    int64_t end_us = c->end_us >= 0 ? c->end_us : p->x->calls.last_t_us;
    add_ids(p, m, context);
    buf_clear(&p->x->text);
    buf_slice_add(&p->x->text, m->method);
    if ((is_tool(m) || is_prompt(m)) && m->target.p != NULL) {
        buf_addc(&p->x->text, ' ');
        buf_slice_add(&p->x->text, m->target);
    }
    buf_adds(b, ",\"name\":");
    text_json(b, buf_slice(&p->x->text));
    buf_adds(b, ",\"kind\":3"); /* CLIENT: whoever asked */
    add_time(b, "startTimeUnixNano", p->x->s->started_at_us + c->t_us);
    add_time(b, "endTimeUnixNano", p->x->s->started_at_us + end_us);
    buf_adds(b, ",\"attributes\":[");
    add_request_attributes(p, m, context);
    add_outcome(p, m, c);
    buf_addc(b, '}');
}

/* ---- lines ---- */

static void begin_line(struct spans *p)
{
    struct buf *b = &p->x->b;
    buf_adds(b, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    add_attribute(b, "service.name", p->x->s->name);
    add_attribute(b, "service.version", p->x->s->server_version);
    add_attribute(b, "mcp_interposer.client.name", p->x->s->client_name);
    add_attribute(b, "mcp_interposer.client.version", p->x->s->client_version);
    buf_adds(b,
             "]},\"scopeSpans\":[{\"scope\":{\"name\":\"mcp-interposer\",\"version\":\"" MI_VERSION
             "\"},\"spans\":[");
    p->n = 0;
}

static void end_line(struct spans *p)
{
    buf_adds(&p->x->b, "]}]}]}\n");
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct spans *p = ctx;
    const struct call *c = slice_is(m->kind, "request") ? calls_find(&p->x->calls, m->seq) : NULL;
    const char *error;
    if (c == NULL ||
        m->method.p == NULL) /* the conventions want a method; refused lines may have none */
        return true;
    struct context context = read_context(export_body(p->x, m, SIZE_MAX, &error));
    if (p->n == SPANS_A_LINE) {
        end_line(p);
        begin_line(p);
    } else if (p->n > 0) {
        buf_addc(&p->x->b, ',');
    }
    p->n++;
    add_span(p, m, c, &context);
    return export_flush(p->x);
}

int export_otlp(struct export *x)
{
    struct spans p = {.x = x};
    make_trace(&p);
    begin_line(&p);
    int st = export_each(x, on_message, NULL, &p);
    end_line(&p);
    st = st == 0 ? export_end(x) : st;
    return st;
}
