/* Sessions as OpenTelemetry data. */
#include "vault/otlp/otlp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct query_session session(const char *revision)
{
    return (struct query_session){.id = 1,
                                  .uid = slice_of("01M82WA06SFYT0XA5FYE66TQBF"),
                                  .name = slice_of("files"),
                                  .host = slice_of("laptop"),
                                  .protocol_version = slice_of(revision),
                                  .started_at_us = 1000000};
}

static struct query_message request(int64_t seq, const char *method, const char *target)
{
    return (struct query_message){.seq = seq,
                                  .t_us = 5,
                                  .kind = KIND_REQUEST,
                                  .method = slice_of(method),
                                  .target = target != NULL ? slice_of(target) : (struct slice){0},
                                  .rpc_id = slice_of("\"a\\u0062\"")};
}

static char *span_with(const struct query_session *s, const struct otlp_call *c, bool content)
{
    struct buf b = {0}, text = {0};
    struct otlp_session o = otlp_describe_session(s);
    struct otlp_request r;
    otlp_begin_request(&r, OTLP_SPANS, &b, &text);
    r.content = content;
    otlp_begin_resource(&r, &o);
    otlp_add_span(&r, &o, c);
    otlp_end_request(&r);
    char *ret = strdup(buf_str(&b));
    buf_close(&b);
    buf_close(&text);
    return ret;
}

static char *span(const struct query_session *s, const struct otlp_call *c)
{
    return span_with(s, c, false);
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("%s in %s", part, text);
}

static void test_a_span_of_a_tool_call(void **state)
{
    (void)state;
    struct query_session s = session("2025-06-18");
    struct query_message m = request(12, "tools/call", "read \"x\"");
    struct otlp_call c = {.request = &m,
                          .body = slice_of("{\"params\":{\"uri\":\"not:used\",\"arguments\":{\"a\":"
                                           "\"SECRET\"}}}"),
                          .status = CALL_OK,
                          .end_us = 25};
    char *text = span(&s, &c), *again = span(&s, &c);
    assert_string_equal(
        text,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
        "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"files\"}},"
        "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":"
        "\"01M82WA06SFYT0XA5FYE66TQBF\"}},"
        "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"laptop\"}}]},"
        "\"scopeSpans\":[{\"scope\":{\"name\":\"mcp-interposer\",\"version\":\"" MI_VERSION "\"},"
        "\"spans\":[{\"traceId\":\"01a205c500d97fb40ea8aff38c6d5d6f\","
        "\"spanId\":\"45e4507a68628628\",\"name\":\"tools/call read \\\"x\\\"\",\"kind\":3,"
        "\"startTimeUnixNano\":\"1000005000\",\"endTimeUnixNano\":\"1000025000\",\"attributes\":["
        "{\"key\":\"mcp.method.name\",\"value\":{\"stringValue\":\"tools/call\"}},"
        "{\"key\":\"mcp.protocol.version\",\"value\":{\"stringValue\":\"2025-06-18\"}},"
        "{\"key\":\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"execute_tool\"}},"
        "{\"key\":\"gen_ai.tool.name\",\"value\":{\"stringValue\":\"read \\\"x\\\"\"}},"
        "{\"key\":\"network.transport\",\"value\":{\"stringValue\":\"pipe\"}},"
        "{\"key\":\"jsonrpc.request.id\",\"value\":{\"stringValue\":\"ab\"}},"
        "{\"key\":\"mcp_interposer.session\",\"value\":{\"stringValue\":"
        "\"01M82WA06SFYT0XA5FYE66TQBF\"}},"
        "{\"key\":\"mcp_interposer.seq\",\"value\":{\"intValue\":\"12\"}},"
        "{\"key\":\"mcp_interposer.status\",\"value\":{\"stringValue\":\"ok\"}}]}]}]}]}");
    assert_string_equal(text, again);
    free(text);
    free(again);
}

static void test_a_span_of_each_outcome(void **state)
{
    (void)state;
    static const struct {
        enum call_status status;
        int64_t code; /* 0: none */
        const char *type;
    } table[] = {
        {CALL_TOOL_ERROR, 0, "tool_error"},
        {CALL_ERROR, -32602, "-32602"},
        {CALL_TIMEOUT, -32001, "timeout"},
        {CALL_CANCELLED, 0, "cancelled"},
        {CALL_SERVER_GONE, -32000, "server-gone"},
        {CALL_INTERRUPTED, -32000, "interrupted"},
        {CALL_REFUSED, 0, "refused"},
        {CALL_REFUSED, -32600, "-32600"},
        {CALL_OK, 0, NULL},
        {CALL_OPEN, 0, NULL},
    };
    struct query_session s = session("2025-06-18");
    struct query_message m = request(1, "ping", NULL);
    char part[128];
    for (size_t i = 0; i < MI_COUNT(table); i++) {
        struct otlp_call c = {.request = &m,
                              .status = table[i].status,
                              .has_error_code = table[i].code != 0,
                              .error_code = table[i].code,
                              .error_message = table[i].code != 0 ? "why" : NULL};
        char *text = span(&s, &c);
        if (table[i].type == NULL) {
            has_not(text, "error.type");
            has_not(text, "\"status\":{");
        } else {
            snprintf(part, sizeof part, "\"error.type\",\"value\":{\"stringValue\":\"%s\"",
                     table[i].type);
            has(text, part);
            has(text, table[i].code != 0 ? "\"status\":{\"code\":2,\"message\":\"why\"}"
                                         : "\"status\":{\"code\":2}");
        }
        snprintf(part, sizeof part,
                 "\"rpc.response.status_code\",\"value\":{\"stringValue\":\"%d\"",
                 (int)table[i].code);
        /* A code is only said if a side has sent it as its answer. */
        bool sent = table[i].status == CALL_ERROR || table[i].status == CALL_REFUSED;
        (table[i].code != 0 && sent ? has : has_not)(text, part);
        free(text);
    }
}

static void test_a_traceparent_is_the_parent_and_a_uri_is_bounded(void **state)
{
    (void)state;
    struct query_session s = session("2026-07-28");
    struct query_message m = request(3, "resources/read", "file:///x");
    struct buf body = {0};
    buf_adds(&body, "{\"params\":{\"_meta\":{\"traceparent\":\"" PARENT
                    "\",\"tracestate\":\"k=\\u0076\"},\"uri\":\"file:///");
    for (int i = 0; i < 10000; i++)
        buf_addc(&body, 'u');
    buf_adds(&body, "\"}}");
    struct otlp_call c = {.request = &m, .body = buf_slice(&body), .status = CALL_OK};
    char *text = span(&s, &c);
    has(text, "\"traceId\":\"0af7651916cd43dd8448eb211c80319c\"");
    has(text, "\"parentSpanId\":\"b7ad6b7169203331\"");
    has(text, "\"flags\":1,");
    has(text, "\"traceState\":\"k=v\"");
    has(text, "\"name\":\"resources/read\"");
    has(text, "\"mcp.resource.uri\",\"value\":{\"stringValue\":\"file:///uuu");
    has(text, "\"mcp.protocol.version\",\"value\":{\"stringValue\":\"2026-07-28\"");
    assert_in_range(strlen(text), 4096, 8000);
    free(text);
    buf_close(&body);
}

static void test_contents_are_bounded_and_only_written_when_asked_for(void **state)
{
    (void)state;
    struct query_session s = session("2025-06-18");
    struct query_message tool = request(1, "tools/call", "t"),
                         prompt = request(2, "prompts/get", "p");
    struct buf body = {0}, answer = {0};
    buf_adds(&body, "{\"params\":{\"arguments\":{\"");
    for (int i = 0; i < OTLP_MESSAGE_MAX - 2; i++)
        buf_addc(&body, 'k');
    buf_adds(&body, "\\u4e2d\":1,\"long\":\""); /* a cut in this escape */
    for (size_t i = 0; i < OTLP_CONTENT_MAX; i++)
        buf_addc(&body, 'a');
    buf_adds(&body, "\"");
    for (int i = 0; i < 2 * OTLP_VARIABLES_MAX; i++)
        buf_printf(&body, ",\"v%d\":%d", i, i);
    buf_adds(&body, "}}}");
    buf_adds(&answer, "{\"result\":{\"content\":[]}}");
    struct otlp_call c = {.request = &tool,
                          .body = buf_slice(&body),
                          .answer = buf_slice(&answer),
                          .status = CALL_OK};
    char *text = span_with(&s, &c, true);
    has(text, "\"gen_ai.tool.call.arguments\",\"value\":{\"stringValue\":\"{\\\"kkk");
    has(text, "\\\"long\\\":\\\"aaa");
    has(text, "\"gen_ai.tool.call.result\",\"value\":{\"stringValue\":\"{\\\"content\\\":[]}\"");
    assert_in_range(strlen(text), OTLP_CONTENT_MAX, OTLP_CONTENT_MAX + 2048);
    free(text);
    c.request = &prompt;
    text = span_with(&s, &c, true);
    has_not(text, "gen_ai.tool");
    has(text, "\"gen_ai.prompt.variable.long\",\"value\":{\"stringValue\":\"aaa");
    has(text, "\"gen_ai.prompt.variable.kkk");
    has_not(text, "variable.\"");
    has(text, "\"gen_ai.prompt.variable.v29\",\"value\":{\"stringValue\":\"29\"");
    has_not(text, "variable.v30");
    free(text);
    static const char *const odd[] = {
        NULL, "", "[]", "{\"params\":1}", "{\"params\":{\"arguments\":[1]}}", "{\"result\":\"x\"}"};
    for (size_t i = 0; i < MI_COUNT(odd); i++)
        for (size_t k = 0; k < 2; k++) {
            struct slice is = odd[i] != NULL ? slice_of(odd[i]) : (struct slice){0};
            struct otlp_call o = {
                .request = k == 0 ? &tool : &prompt, .body = is, .answer = is, .status = CALL_OK};
            text = span_with(&s, &o, true);
            has_not(text, "variable");
            free(text);
        }
    buf_close(&body);
    buf_close(&answer);
}

static void test_a_request_of_an_operation_is_its_child_or_has_a_link_to_it(void **state)
{
    (void)state;
    struct query_session s = session("2026-07-28");
    struct otlp_session o = otlp_describe_session(&s);
    struct query_message m = request(5, "tools/call", "t");
    struct slice theirs = slice_of("{\"params\":{\"_meta\":{\"traceparent\":\"" PARENT "\"}}}");
    static const struct {
        bool first_has_context, has_context;
        const char *part, *not ;
    } rows[] = {
        {false, false, "\"parentSpanId\":\"", "\"links\""},
        {true, true, "\"parentSpanId\":\"", "\"links\""},
        {false, true, "\"links\":[{\"traceId\":\"01a205c500d97fb40ea8aff38c6d5d6f\"",
         "\"parentSpanId\":\"1"},
        {true, false, "\"links\":[{\"traceId\":\"0af7651916cd43dd8448eb211c80319c\"",
         "parentSpanId"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct slice first = rows[i].first_has_context ? theirs : (struct slice){0};
        struct otlp_call c = {.request = &m,
                              .body = rows[i].has_context ? theirs : (struct slice){0},
                              .status = CALL_OK,
                              .operation = otlp_describe_operation(&o, 3, first)};
        char *text = span(&s, &c);
        has(text, rows[i].part);
        has_not(text, rows[i].not );
        if (rows[i].first_has_context == rows[i].has_context)
            has_not(text, "\"parentSpanId\":\"b7ad6b7169203331\"");
        free(text);
    }
}

static void test_a_span_has_the_revision_of_its_request(void **state)
{
    (void)state;
    struct query_session s = session("2025-11-25");
    struct query_message m = request(3, "tools/list", NULL);
    struct otlp_call c = {.request = &m, .status = CALL_OK};
    m.revision = slice_of("2026-07-28");
    char *text = span(&s, &c);
    has(text, "\"mcp.protocol.version\",\"value\":{\"stringValue\":\"2026-07-28\"");
    has_not(text, "2025-11-25");
    free(text);
}

static void test_the_address_of_a_remote_server(void **state)
{
    (void)state;
    static const struct {
        const char *command, *address, *port;
    } table[] = {
        {"[\"npx\",\"-y\",\"mcp-remote\",\"https://me:pw@example.com/mcp?key=x\"]", "example.com",
         "443"},
        {"[\"mcp-remote\",\"http:\\u002f\\u002flocalhost:8080\"]", "localhost", "8080"},
        {"[\"mcp-remote\",\"http://[::1]:80/\"]", "::1", "80"},
        {"[\"mcp-remote\",\"http://[::1]\"]", "::1", "80"},
        {"[\"mcp-remote\",\"https://example.com:/\"]", "example.com", "443"},
        {"[\"mcp-remote\",\"https://example.com:99999/\"]", NULL, NULL},
        {"[\"mcp-remote\",\"https://example.com:99999999999/\"]", NULL, NULL},
        {"[\"mcp-remote\",\"https://example.com:x/\"]", NULL, NULL},
        {"[\"server\",\"--api\",\"https://example.com\"]", NULL, NULL},
        {"[\"server\",\"https://\"]", NULL, NULL},
        {"[\"server\",\"https://:80\"]", NULL, NULL},
        {"[1,{},null]", NULL, NULL},
        {"{\"a\":\"http://x\"}", NULL, NULL},
        {"https://example.com", NULL, NULL},
        {NULL, NULL, NULL},
    };
    struct query_message m = request(1, "ping", NULL);
    struct otlp_call c = {.request = &m, .status = CALL_OK};
    char part[128];
    for (size_t i = 0; i < MI_COUNT(table); i++) {
        struct query_session s = session("2025-06-18");
        s.command = table[i].command != NULL ? slice_of(table[i].command) : (struct slice){0};
        char *text = span(&s, &c);
        if (table[i].address == NULL) {
            has(text, "\"network.transport\",\"value\":{\"stringValue\":\"pipe\"");
            has_not(text, "server.address");
            has_not(text, "network.protocol.name");
        } else {
            has(text, "\"network.transport\",\"value\":{\"stringValue\":\"tcp\"");
            has(text, "\"network.protocol.name\",\"value\":{\"stringValue\":\"http\"");
            snprintf(part, sizeof part, "\"server.address\",\"value\":{\"stringValue\":\"%s\"",
                     table[i].address);
            has(text, part);
            snprintf(part, sizeof part, "\"server.port\",\"value\":{\"intValue\":\"%s\"",
                     table[i].port);
            has(text, part);
        }
        free(text);
    }
}

static void test_the_message_of_an_error_is_bounded(void **state)
{
    (void)state;
    struct buf body = {0};
    buf_adds(&body, "{\"error\":{\"code\":1,\"message\":\"");
    for (int i = 0; i < 5000; i++)
        buf_addc(&body, 'e');
    buf_adds(&body, "\"}}");
    char *text = otlp_copy_error_message(buf_slice(&body));
    assert_non_null(text);
    assert_in_range(strlen(text), 1000, OTLP_MESSAGE_MAX);
    free(text);
    buf_close(&body);
    assert_null(otlp_copy_error_message(slice_of("{\"result\":{}}")));
    assert_null(otlp_copy_error_message(slice_of("{\"error\":{\"message\":5}}")));
    assert_null(otlp_copy_error_message((struct slice){0}));
}

/* ---- logs ---- */

static char *record(const struct query_session *s, const char *finding,
                    const struct query_message *m, const struct query_event *e,
                    const struct otlp_origin *o)
{
    struct buf b = {0}, text = {0};
    struct otlp_session session_of = otlp_describe_session(s);
    struct otlp_request r;
    otlp_begin_request(&r, OTLP_LOGS, &b, &text);
    otlp_begin_resource(&r, &session_of);
    if (e != NULL)
        otlp_add_event(&r, &session_of, e, o);
    else
        otlp_add_finding(&r, &session_of, slice_of(finding), m, o);
    otlp_end_request(&r);
    char *ret = strdup(buf_str(&b));
    buf_close(&b);
    buf_close(&text);
    return ret;
}

static void test_a_finding_has_the_ids_of_the_span_of_its_call(void **state)
{
    (void)state;
    struct query_session s = session("2025-06-18");
    struct query_message answer = {.seq = 13,
                                   .t_us = 9,
                                   .direction = ROW_S2C,
                                   .request_method = slice_of("tools/call"),
                                   .request_target = slice_of("read")};
    struct otlp_origin o = {.seq = 12};
    char *text = record(&s, "tool-error", &answer, NULL, &o);
    has(text, "{\"resourceLogs\":[{\"resource\":");
    has(text, "\"scopeLogs\":[{\"scope\":");
    has(text, "\"logRecords\":[{\"timeUnixNano\":\"1000009000\"");
    has(text, "\"eventName\":\"mcp_interposer.finding\"");
    has(text, "\"traceId\":\"01a205c500d97fb40ea8aff38c6d5d6f\",\"spanId\":\"45e4507a68628628\"}");
    has(text, "\"gen_ai.tool.name\",\"value\":{\"stringValue\":\"read\"");
    has(text, "\"mcp_interposer.seq\",\"value\":{\"intValue\":\"13\"");
    free(text);
    o.body = slice_of("{\"params\":{\"_meta\":{\"traceparent\":\"" PARENT "\"}}}");
    text = record(&s, "from-the-future", &answer, NULL, &o);
    has(text, "\"severityNumber\":9,\"severityText\":\"INFO\","
              "\"body\":{\"stringValue\":\"from-the-future\"}");
    has(text, "\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"45e4507a68628628\","
              "\"flags\":1}");
    free(text);
}

static void test_an_event_has_the_numbers_and_short_texts_of_its_detail(void **state)
{
    (void)state;
    struct query_session s = session("2025-06-18");
    struct otlp_origin none = {0};
    struct buf detail = {0};
    buf_adds(&detail,
             "{\"seq\":7,\"method\":\"a\\nb\",\"silent\":true,\"x\\u0022\":1,\"post_mortem\":"
             "{\"stderr\":\"DEEP\"},\"list\":[\"DEEP\"],\"none\":null,\"long\":\"");
    for (int i = 0; i < 5000; i++)
        buf_addc(&detail, 'z');
    buf_adds(&detail, "\"}");
    struct query_event e = {
        .id = 1, .t_us = 3, .kind = slice_of("hang"), .detail = buf_slice(&detail)};
    assert_int_equal(otlp_read_seq_of_event(&e), 7);
    char *text = record(&s, NULL, NULL, &e, &none);
    has(text, "\"severityNumber\":17,\"severityText\":\"ERROR\"");
    has(text, "\"eventName\":\"mcp_interposer.hang\"");
    has(text, "\"mcp_interposer.seq\",\"value\":{\"intValue\":\"7\"");
    has(text, "\"mcp_interposer.method\",\"value\":{\"stringValue\":\"a\\nb\"");
    has(text, "\"mcp_interposer.silent\",\"value\":{\"stringValue\":\"true\"");
    has(text, "\"traceId\":\"01a205c500d97fb40ea8aff38c6d5d6f\"}");
    has_not(text, "DEEP");
    has_not(text, "spanId");
    has_not(text, "x\\u0022");
    assert_in_range(strlen(text), 500, 2500);
    free(text);
    e = (struct query_event){.kind = slice_of("exit"), .detail = slice_of("[1]")};
    assert_int_equal(otlp_read_seq_of_event(&e), 0);
    text = record(&s, NULL, NULL, &e, &none);
    has(text, "\"severityText\":\"INFO\"");
    free(text);
    buf_close(&detail);
}

/* ---- durations ---- */

static void test_durations_are_counted_by_bucket_and_attributes(void **state)
{
    (void)state;
    static const int64_t us[] = {0, 10000, 10001, 300000000, 300000001};
    struct query_session s = session("2025-06-18");
    struct otlp_session o = otlp_describe_session(&s);
    struct query_message m = request(1, "ping", NULL), other = request(2, "tools/call", "t");
    struct otlp_durations d = {0};
    struct buf b = {0}, scratch = {0};
    for (size_t i = 0; i < MI_COUNT(us); i++) {
        struct otlp_call c = {.request = &m, .status = CALL_OK, .end_us = m.t_us + us[i]};
        otlp_add_call_duration(&d, &o, &c, &scratch);
    }
    struct otlp_call failed = {.request = &other, .status = CALL_TOOL_ERROR, .end_us = 0};
    otlp_add_call_duration(&d, &o, &failed, &scratch); /* a clock that was set back: 0 */
    assert_false(d.failed);
    assert_int_equal(d.n, 2);
    struct otlp_request r;
    otlp_begin_request(&r, OTLP_METRICS, &b, &scratch);
    otlp_begin_resource(&r, &o);
    otlp_durations_add(&r, &o, &d, 5, 77);
    otlp_end_request(&r);
    const char *text = buf_str(&b);
    has(text, "\"metrics\":[{\"name\":\"mcp.client.operation.duration\"");
    has(text, "\"unit\":\"s\",\"histogram\":{\"aggregationTemporality\":1,\"dataPoints\":[{");
    has(text,
        "\"startTimeUnixNano\":\"1000005000\",\"timeUnixNano\":\"1000077000\",\"count\":\"5\","
        "\"sum\":600.020002,\"min\":0.000000,\"max\":300.000001,\"bucketCounts\":[\"2\",\"1\","
        "\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"1\",\"1\"],"
        "\"explicitBounds\":[0.01,0.02,0.05,0.1,0.2,0.5,1,2,5,10,30,60,120,300]}");
    has(text, "\"error.type\",\"value\":{\"stringValue\":\"tool_error\"");
    has_not(text, "jsonrpc.request.id");
    assert_int_equal(d.n, 0);
    buf_close(&b);
    buf_close(&scratch);
    otlp_durations_close(&d);
}

static void test_the_duration_of_a_session(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *error; /* NULL: none */
    } table[] = {
        {"client-closed", NULL}, {"signal", NULL}, {NULL, NULL}, {"server-hung", "server-hung"}};
    char part[128];
    for (size_t i = 0; i < MI_COUNT(table); i++) {
        struct query_session s = session("2025-06-18");
        struct otlp_session o = otlp_describe_session(&s);
        struct otlp_durations d = {.metric = OTLP_SESSION};
        struct otlp_request r;
        struct buf b = {0}, scratch = {0};
        s.ended_at_us = s.started_at_us + 2500000;
        s.end_reason = table[i].reason != NULL ? slice_of(table[i].reason) : (struct slice){0};
        otlp_add_session_duration(&d, &o, 2500000);
        otlp_begin_request(&r, OTLP_METRICS, &b, &scratch);
        otlp_begin_resource(&r, &o);
        otlp_durations_add(&r, &o, &d, 0, 2500000);
        otlp_end_request(&r);
        has(buf_str(&b), "{\"name\":\"mcp.client.session.duration\"");
        has(buf_str(&b), "\"count\":\"1\",\"sum\":2.500000");
        has(buf_str(&b), "\"mcp.protocol.version\"");
        has_not(buf_str(&b), "network.transport");
        snprintf(part, sizeof part, "\"error.type\",\"value\":{\"stringValue\":\"%s\"",
                 table[i].error != NULL ? table[i].error : "");
        (table[i].error != NULL ? has : has_not)(buf_str(&b), part);
        buf_close(&b);
        buf_close(&scratch);
        otlp_durations_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_span_of_a_tool_call),
        cmocka_unit_test(test_a_span_of_each_outcome),
        cmocka_unit_test(test_a_traceparent_is_the_parent_and_a_uri_is_bounded),
        cmocka_unit_test(test_contents_are_bounded_and_only_written_when_asked_for),
        cmocka_unit_test(test_a_request_of_an_operation_is_its_child_or_has_a_link_to_it),
        cmocka_unit_test(test_a_span_has_the_revision_of_its_request),
        cmocka_unit_test(test_the_address_of_a_remote_server),
        cmocka_unit_test(test_the_duration_of_a_session),
        cmocka_unit_test(test_the_message_of_an_error_is_bounded),
        cmocka_unit_test(test_a_finding_has_the_ids_of_the_span_of_its_call),
        cmocka_unit_test(test_an_event_has_the_numbers_and_short_texts_of_its_detail),
        cmocka_unit_test(test_durations_are_counted_by_bucket_and_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
