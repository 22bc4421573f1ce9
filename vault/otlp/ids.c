/* ids.c - ids of traces and spans, and the W3C trace context of a request. */
#include "vault/otlp/part.h"

#include "wire/json/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* The trace id of a session is its uid: 128 bits, five in each character. */
struct otlp_session otlp_session_of(const struct query_session *s)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    static const char hex[] = "0123456789abcdef";
    struct otlp_session ret = {.s = s};
    unsigned char id[17] = {0}; /* 26 characters are 130 bits, of which the first two are 0 */
    struct slice uid = s->uid;
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
        ret.trace[2 * i] = hex[id[i + 1] >> 4];
        ret.trace[2 * i + 1] = hex[id[i + 1] & 15];
        ret.seed = ret.seed * 31 + id[i + 1];
    }
    return ret;
}

/* splitmix64: different numbers give different ids. Never 0, which means no span. */
static uint64_t span_id(const struct otlp_session *s, int64_t seq)
{
    uint64_t z = s->seed + (uint64_t)seq * 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* ---- the context of a request ---- */

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

struct otlp_context otlp_context_of(struct slice body)
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
    if (parent.p != NULL && is_traceparent(parent)) {
        c.traceparent = parent;
        c.tracestate = json_string_raw(json_get(meta, "tracestate"));
    }
    return c;
}

void otlp_add_ids(struct json_out *j, const struct otlp_session *s, int64_t seq,
                  const struct otlp_context *c)
{
    struct slice parent = c->traceparent;
    char span[sizeof "0123456789abcdef"];
    snprintf(span, sizeof span, "%016llx", (unsigned long long)span_id(s, seq));
    json_out_text(j, "traceId",
                  parent.p != NULL ? (struct slice){parent.p + 3, 32} : slice_of(s->trace));
    json_out_str(j, "spanId", span);
    if (parent.p != NULL)
        json_out_int(j, "flags", strtol((char[]){parent.p[53], parent.p[54], '\0'}, NULL, 16));
}
