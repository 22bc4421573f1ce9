/* ids.c - makes ids of traces and spans, and reads the W3C trace context of a request. */
#include "vault/otlp/part.h"

#include "base/server_url.h"
#include "wire/json/text.h"
#include "wire/meta.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Sets the trace id of a session to its uid: 128 bits, five in each character. */
static void set_trace_id(struct otlp_session *ret, const struct query_session *s)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    static const char hex[] = "0123456789abcdef";
    /* A UID has 26 characters of 5 bits, 130 bits in all; the first two bits are 0. */
    unsigned char id[17] = {0};
    struct slice uid = s->uid;
    for (size_t i = 0; i < uid.n && i < 26; i++) {
        const char *d = memchr(digits, toupper((unsigned char)uid.p[i]), 32);
        unsigned v = d != NULL ? (unsigned)(d - digits) : 0;
        for (unsigned bit = 0; bit < 5; bit++) {
            size_t at = 6 + 5 * i + bit; /* number of the bit in `id`, which has 136 bits */
            if ((v >> (4 - bit) & 1) != 0)
                id[at / 8] = (unsigned char)(id[at / 8] | 1U << (7 - at % 8));
        }
    }
    for (size_t i = 0; i < 16; i++) {
        ret->trace[2 * i] = hex[id[i + 1] >> 4];
        ret->trace[2 * i + 1] = hex[id[i + 1] & 15];
        ret->seed = ret->seed * 31 + id[i + 1];
    }
}

/* Sets the address from "example.com:8080", "[::1]" or "example.com". Sets nothing if the port is
 * not a number up to 65535. */
static void set_server_address(struct otlp_session *ret, const struct server_url *u)
{
    struct slice host = u->host;
    int port = 0;
    size_t n = host.n;
    while (n > 0 && host.p[n - 1] != ':' && host.p[n - 1] != ']')
        n--;
    if (n > 0 && host.p[n - 1] == ':') {
        host.n = n - 1;
        for (; n < u->host.n; n++) {
            port = port * 10 + (u->host.p[n] - '0');
            if (!isdigit((unsigned char)u->host.p[n]) || port > 65535)
                return;
        }
    }
    if (port == 0)
        port = slice_is(u->scheme, "https://") ? 443 : 80;
    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = (struct slice){host.p + 1, host.n - 2};
    if (host.n == 0 || host.n >= sizeof ret->address)
        return;
    memcpy(ret->address, host.p, host.n);
    ret->port = port;
}

static void find_server_address(struct otlp_session *ret, struct slice command)
{
    struct json_scan scan;
    struct slice key;
    struct json_value word;
    struct server_url_search search = {0};
    struct server_url u;
    bool found = false;
    if (command.p == NULL || json_scan(command, NULL, NULL, &scan) < 0 || scan.type != JSON_ARRAY)
        return;
    struct json_walk w = json_walk_begin((struct json_value){scan.type, scan.root});
    while (!found && json_walk_next(&w, &key, &word)) {
        struct buf b = {0};
        if (word.type == JSON_STRING)
            json_unescape(&b, json_string_raw(word));
        found = server_url_find_in_word(&search, buf_slice(&b), &u) && !b.failed;
        if (found)
            set_server_address(ret, &u);
        buf_close(&b);
    }
}

struct otlp_session otlp_describe_session(const struct query_session *s)
{
    struct otlp_session ret = {.s = s};
    set_trace_id(&ret, s);
    find_server_address(&ret, s->command);
    return ret;
}

/* Makes a span id with splitmix64, so that different seqs give different ids. Never returns 0,
 * which means no span. */
static uint64_t make_span_id(const struct otlp_session *s, int64_t seq)
{
    uint64_t z = s->seed + (uint64_t)seq * 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* ---- the context of a request ---- */

struct otlp_context otlp_read_trace_context(struct slice body)
{
    struct otlp_context c = {0};
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
    if (parent.p != NULL && meta_is_traceparent(parent)) {
        c.traceparent = parent;
        c.tracestate = json_string_raw(json_get(meta, "tracestate"));
    }
    return c;
}

struct slice otlp_get_trace_id(const struct otlp_session *s, const struct otlp_context *c)
{
    return c->traceparent.p != NULL ? (struct slice){c->traceparent.p + 3, 32} : slice_of(s->trace);
}

/* Added to the seq of an operation's first request, so that the sum differs from the seq of every
 * message. */
#define OPERATION_SPANS (INT64_C(1) << 40)

void otlp_operation_id(const struct otlp_session *s, int64_t seq, char ret[OTLP_SPAN_ID])
{
    snprintf(ret, OTLP_SPAN_ID, "%016llx",
             (unsigned long long)make_span_id(s, seq + OPERATION_SPANS));
}

struct otlp_operation otlp_describe_operation(const struct otlp_session *s, int64_t seq,
                                              struct slice body)
{
    struct otlp_operation o = {.seq = seq};
    struct otlp_context c = otlp_read_trace_context(body);
    memcpy(o.trace, otlp_get_trace_id(s, &c).p, sizeof o.trace - 1);
    return o;
}

void otlp_add_ids(struct json_out *j, const struct otlp_session *s, int64_t seq,
                  const struct otlp_context *c)
{
    struct slice parent = c->traceparent;
    char span[OTLP_SPAN_ID];
    snprintf(span, sizeof span, "%016llx", (unsigned long long)make_span_id(s, seq));
    json_out_text(j, "traceId", otlp_get_trace_id(s, c));
    json_out_str(j, "spanId", span);
    if (parent.p != NULL)
        json_out_int(j, "flags", strtol((char[]){parent.p[53], parent.p[54], '\0'}, NULL, 16));
}
