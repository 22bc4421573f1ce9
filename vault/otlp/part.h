/* part.h - attributes, times and ids of spans, logs and metrics. Only vault/otlp includes this. */
#ifndef MI_VAULT_OTLP_PART_H
#define MI_VAULT_OTLP_PART_H

#include "vault/otlp/otlp.h"

/* The trace context in the body of a request. Slices are between the quotes; {NULL, 0}: none. */
struct otlp_context {
    struct slice traceparent, tracestate;
    struct slice uri;
};

struct otlp_context otlp_read_context(struct slice body);
/* The members traceId, spanId and flags of the call with the request `seq`. */
void otlp_add_ids(struct json_out *j, const struct otlp_session *s, int64_t seq,
                  const struct otlp_context *c);

/* Bytes of the id of an operation's span, with the NUL. */
#define OTLP_SPAN_ID sizeof "0123456789abcdef"
void otlp_operation_id(const struct otlp_session *s, int64_t seq, char ret[OTLP_SPAN_ID]);
/* The trace of a request: from its context, else the session's. */
struct slice otlp_trace_id(const struct otlp_session *s, const struct otlp_context *c);

/* {NULL, 0}: writes nothing */
void otlp_add_attribute(struct json_out *j, const char *key, struct slice text);
void otlp_add_int_attribute(struct json_out *j, const char *key, int64_t n);
/* 64-bit integers are strings in OTLP/JSON. zeros: appended to the digits. */
void otlp_add_integer(struct json_out *j, const char *name, int64_t n, const char *zeros);
void otlp_add_time(struct json_out *j, const char *name, int64_t at_us);
/* For a remote server: its protocol and address. */
void otlp_add_remote_attributes(struct json_out *j, const struct otlp_session *s);
/* Attributes of both spans and durations: method, tool, prompt and error. */
void otlp_call_attributes(struct json_out *j, const struct otlp_session *s,
                          const struct otlp_call *c, struct buf *text);

#endif
