/* part.h - writes attributes, times and ids of spans, logs and metrics. Private to vault/otlp. */
#ifndef MI_VAULT_OTLP_PART_H
#define MI_VAULT_OTLP_PART_H

#include "vault/otlp/otlp.h"

/* Members of the params of a request: strings without their quotes; {NULL, 0}: missing. */
struct otlp_context {
    struct slice traceparent, tracestate; /* the trace context */
    struct slice uri;                     /* URI of a resource */
};

struct otlp_context otlp_read_trace_context(struct slice body);
/* Writes the members traceId, spanId and flags for the call with request `seq`. */
void otlp_add_ids(struct json_out *j, const struct otlp_session *s, int64_t seq,
                  const struct otlp_context *c);

/* Size of the id of an operation's span, in bytes with the NUL. */
#define OTLP_SPAN_ID sizeof "0123456789abcdef"
void otlp_operation_id(const struct otlp_session *s, int64_t seq, char ret[OTLP_SPAN_ID]);
/* Returns the trace id of a request: the trace id in the request's context, or else that of the
 * session. */
struct slice otlp_get_trace_id(const struct otlp_session *s, const struct otlp_context *c);

/* Writes an attribute; nothing if text is {NULL, 0}. */
void otlp_add_attribute(struct json_out *j, const char *key, struct slice text);
void otlp_add_int_attribute(struct json_out *j, const char *key, int64_t n);
/* Writes a 64-bit integer as a string, as OTLP/JSON requires. zeros: text that is appended to the
 * digits. */
void otlp_add_integer(struct json_out *j, const char *name, int64_t n, const char *zeros);
void otlp_add_time(struct json_out *j, const char *name, int64_t at_us);
/* Writes protocol and address of a remote server; nothing for a local server. */
void otlp_add_remote_attributes(struct json_out *j, const struct otlp_session *s);
/* Writes the attributes that spans and durations share: method, tool, prompt, error and others. */
void otlp_add_call_attributes(struct json_out *j, const struct otlp_session *s,
                              const struct otlp_call *c, struct buf *text);

#endif
