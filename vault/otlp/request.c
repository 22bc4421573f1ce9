/* request.c - writes the envelope of a request, and attributes. */
#include "vault/otlp/part.h"

/* ---- values ---- */

void otlp_add_attribute(struct json_out *j, const char *key, struct slice text)
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

void otlp_add_integer(struct json_out *j, const char *name, int64_t n, const char *zeros)
{
    json_out_name(j, name);
    buf_printf(j->b, "\"%lld%s\"", (long long)n, zeros);
}

void otlp_add_int_attribute(struct json_out *j, const char *key, int64_t n)
{
    json_out_object(j, NULL);
    json_out_str(j, "key", key);
    json_out_object(j, "value");
    otlp_add_integer(j, "intValue", n, "");
    json_out_end(j);
    json_out_end(j);
}

void otlp_add_remote_attributes(struct json_out *j, const struct otlp_session *s)
{
    if (s->address[0] == '\0')
        return;
    otlp_add_attribute(j, "network.protocol.name", slice_of("http"));
    otlp_add_attribute(j, "server.address", slice_of(s->address));
    otlp_add_int_attribute(j, "server.port", s->port);
}

void otlp_add_time(struct json_out *j, const char *name, int64_t at_us)
{
    /* three zeros convert microseconds to nanoseconds, the unit of OTLP */
    otlp_add_integer(j, name, at_us, "000");
}

/* ---- the envelope ---- */

static const struct {
    const char *resources, *scopes, *items;
} names[OTLP_SIGNALS] = {
    [OTLP_SPANS] = {"resourceSpans", "scopeSpans", "spans"},
    [OTLP_LOGS] = {"resourceLogs", "scopeLogs", "logRecords"},
    [OTLP_METRICS] = {"resourceMetrics", "scopeMetrics", "metrics"},
};

#define RESOURCES_DEPTH 2 /* number of open JSON levels around the resources */

void otlp_begin_request(struct otlp_request *r, enum otlp_signal signal, struct buf *b,
                        struct buf *text)
{
    *r = (struct otlp_request){.j = json_out_to(b), .text = text, .signal = signal};
    json_out_object(&r->j, NULL);
    json_out_array(&r->j, names[signal].resources);
}

static void close_json_levels_to_depth(struct otlp_request *r, unsigned depth)
{
    while (r->j.depth > depth)
        json_out_end(&r->j);
}

void otlp_begin_resource(struct otlp_request *r, const struct otlp_session *s)
{
    struct json_out *j = &r->j;
    close_json_levels_to_depth(r, RESOURCES_DEPTH);
    json_out_object(j, NULL);
    json_out_object(j, "resource");
    json_out_array(j, "attributes");
    otlp_add_attribute(j, "service.name", s->s->name);
    otlp_add_attribute(j, "service.version", s->s->server_version);
    otlp_add_attribute(j, "service.instance.id", s->s->uid);
    otlp_add_attribute(j, "host.name", s->s->host);
    otlp_add_attribute(j, "mcp_interposer.client.name", s->s->client_name);
    otlp_add_attribute(j, "mcp_interposer.client.version", s->s->client_version);
    json_out_end(j);
    json_out_end(j);
    json_out_array(j, names[r->signal].scopes);
    json_out_object(j, NULL);
    json_out_object(j, "scope");
    json_out_str(j, "name", "mcp-interposer");
    json_out_str(j, "version", MI_VERSION);
    json_out_end(j);
    json_out_array(j, names[r->signal].items);
}

void otlp_end_request(struct otlp_request *r)
{
    close_json_levels_to_depth(r, 0);
}
