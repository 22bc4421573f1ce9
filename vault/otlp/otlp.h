/* otlp.h - writes sessions as OpenTelemetry data: requests of OTLP in JSON, by the conventions for
 * MCP (docs/mcp-wire.md, section 8).
 *
 *     otlp_begin_request(&r, OTLP_SPANS, &b, &text);
 *     otlp_begin_resource(&r, &session);                one or more sessions
 *     otlp_add_span(&r, &session, &call);               calls of the session (or logs, or
 *     durations) otlp_end_request(&r);
 *
 * Rules     ids depend only on the session's uid and the message's seq, so data that is written
 *           again has the same ids. Arguments and results are written only if `content` of the
 *           request is set.
 * Owns      nothing; text is appended to the caller's buffers.
 * Errors    sticky, in the buffers (base/buf.h).
 * Blocks    never. Pure. */
#ifndef MI_VAULT_OTLP_OTLP_H
#define MI_VAULT_OTLP_OTLP_H

#include "base/json_out.h"
#include "vault/query/operation_list.h"

enum otlp_signal { OTLP_SPANS, OTLP_LOGS, OTLP_METRICS, OTLP_SIGNALS };

struct otlp_session {
    const struct query_session *s; /* borrowed */
    /* trace id for calls to which the client gave no trace: lower-case hexadecimal */
    char trace[33];
    uint64_t seed; /* seed for the span ids */
    /* Host and port of the remote server that the command names (base/server_url.h); "": none. */
    char address[254];
    int port;
};

struct otlp_session otlp_describe_session(const struct query_session *s);

/* A call made of several requests: the span of the call is the parent of the requests' spans. */
struct otlp_operation {
    int64_t seq; /* seq of the operation's first request; 0: the request belongs to no operation */
    char trace[33];
};

/* body: body of the first request; {NULL, 0} if it is not recorded. */
struct otlp_operation otlp_describe_operation(const struct otlp_session *s, int64_t seq,
                                              struct slice body);

/* A request of client or server with its outcome; or a notification, for which end_us is the time
 * of the message. */
struct otlp_call {
    /* borrowed; the message of the request or notification, whose `method` must not be {NULL, 0} */
    const struct query_message *request;
    struct slice body; /* body of the request; {NULL, 0}: not recorded */
    /* body of the answer, written if `content` is set; {NULL, 0}: no answer, or not recorded */
    struct slice answer;
    enum call_status status;
    int64_t end_us; /* end of the call, in microseconds since the session's start */
    bool has_error_code;
    int64_t error_code;
    const char *error_message;       /* message of a JSON-RPC error; NULL: no error */
    struct otlp_operation operation; /* the operation that the request belongs to */
};

#define OTLP_TEXT_MAX 4096 /* longest URI or trace state, in bytes */
#define OTLP_CONTENT_MAX                                                                           \
    ((size_t)16 << 10) /* longest arguments, result or variable, in bytes; the rest is cut off */
/* longest answer, in bytes; the result of a longer answer is omitted */
#define OTLP_ANSWER_MAX (INT64_C(1) << 20)
/* number of variables of a prompt that are sent; further variables are omitted */
#define OTLP_VARIABLES_MAX 32
#define OTLP_MESSAGE_MAX 1024 /* longest error message, in bytes; the rest is cut off */
/* Returns the message of a JSON-RPC error, which the caller frees with free(). NULL if there is no
 * message, or no memory. */
char *otlp_copy_error_message(struct slice body);

struct otlp_request {
    struct json_out j;
    struct buf *text; /* borrowed; scratch */
    enum otlp_signal signal;
    bool content; /* true: spans include arguments and results; set it after otlp_begin_request() */
};

void otlp_begin_request(struct otlp_request *r, enum otlp_signal signal, struct buf *b,
                        struct buf *text);
/* Ends the previous resource, if there is one, and begins another. */
void otlp_begin_resource(struct otlp_request *r, const struct otlp_session *s);
/* Whether the message is a forwarded notification that gets a span. Progress notifications get
 * none, because there are too many. */
bool otlp_notification_has_span(const struct query_message *m);
void otlp_add_span(struct otlp_request *r, const struct otlp_session *s, const struct otlp_call *c);
/* Writes the span of an operation. first, body: the operation's first request and its body.
 * last_t_us: time of the session's last message, at which the span of an open operation ends. */
void otlp_add_operation_span(struct otlp_request *r, const struct otlp_session *s,
                             const struct listed_operation *o, const struct query_message *first,
                             struct slice body, int64_t last_t_us);
void otlp_end_request(struct otlp_request *r);

/* ---- logs ---- */

/* The call to which a log record belongs. */
struct otlp_origin {
    int64_t seq;       /* seq of the request; 0: the message belongs to no call */
    struct slice body; /* body of the request; {NULL, 0}: not recorded */
};

/* Writes a log record for a finding. name: a name in the column `finding` of m. */
void otlp_add_finding(struct otlp_request *r, const struct otlp_session *s, struct slice name,
                      const struct query_message *m, const struct otlp_origin *o);
/* Writes a log record for an event. Attributes have the numbers, booleans and texts of the event's
 * detail. */
void otlp_add_event(struct otlp_request *r, const struct otlp_session *s,
                    const struct query_event *e, const struct otlp_origin *o);
/* Returns the member `seq` in the detail of an event; 0 if there is none. */
int64_t otlp_read_seq_of_event(const struct query_event *e);

/* ---- metrics ---- */

#define OTLP_BUCKETS 15

struct otlp_point {
    size_t at, n; /* range of otlp_durations.text that contains the attributes of this histogram */
    int64_t count, sum_us, min_us, max_us;
    int64_t bucket[OTLP_BUCKETS];
};

/* Metrics mcp.client.operation.duration and mcp.client.session.duration. */
enum otlp_metric { OTLP_OPERATION, OTLP_SESSION };

/* A list of durations: either of the calls of a session, or of the session itself, as the member
 * `metric` says. {0} is an empty list for durations of calls. */
struct otlp_durations {
    enum otlp_metric metric;
    struct otlp_point *point; /* owned; a histogram for each combination of attributes */
    size_t n, cap;
    struct buf text; /* owned */
    bool failed;     /* true: out of memory */
};

/* Adds the duration of a call that has ended. */
void otlp_add_call_duration(struct otlp_durations *d, const struct otlp_session *s,
                            const struct otlp_call *c, struct buf *text);
/* Adds the duration of a session that has ended. */
void otlp_add_session_duration(struct otlp_durations *d, const struct otlp_session *s,
                               int64_t lasted_us);
/* Writes the durations of all calls and sessions that ended between from_us and to_us (since the
 * start of the session), with delta temporality, and empties the list. */
void otlp_durations_add(struct otlp_request *r, const struct otlp_session *s,
                        struct otlp_durations *d, int64_t from_us, int64_t to_us);
void otlp_durations_close(struct otlp_durations *d);

#endif
