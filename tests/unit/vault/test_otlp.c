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

static char *span(const struct query_session *s, const struct otlp_call *c)
{
    struct buf b = {0}, text = {0};
    struct otlp_session o = otlp_session_of(s);
    struct otlp_request r;
    otlp_begin(&r, OTLP_SPANS, &b, &text);
    otlp_resource(&r, &o);
    otlp_span(&r, &o, c);
    otlp_end(&r);
    char *ret = strdup(buf_str(&b));
    buf_close(&b);
    buf_close(&text);
    return ret;
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
        "{\"key\":\"mcp.session.id\",\"value\":{\"stringValue\":\"01M82WA06SFYT0XA5FYE66TQBF\"}},"
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
        {CALL_SERVER_GONE, -32000, "-32000"},
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
        (table[i].code != 0 ? has : has_not)(text, part);
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
    has_not(text, "mcp.session.id"); /* revisions from 2026-07-28 on have no sessions */
    assert_in_range(strlen(text), 4096, 8000);
    free(text);
    buf_close(&body);
}

static void test_the_message_of_an_error_is_bounded(void **state)
{
    (void)state;
    struct buf body = {0};
    buf_adds(&body, "{\"error\":{\"code\":1,\"message\":\"");
    for (int i = 0; i < 5000; i++)
        buf_addc(&body, 'e');
    buf_adds(&body, "\"}}");
    char *text = otlp_error_message(buf_slice(&body));
    assert_non_null(text);
    assert_in_range(strlen(text), 1000, OTLP_MESSAGE_MAX);
    free(text);
    buf_close(&body);
    assert_null(otlp_error_message(slice_of("{\"result\":{}}")));
    assert_null(otlp_error_message(slice_of("{\"error\":{\"message\":5}}")));
    assert_null(otlp_error_message((struct slice){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_span_of_a_tool_call),
        cmocka_unit_test(test_a_span_of_each_outcome),
        cmocka_unit_test(test_a_traceparent_is_the_parent_and_a_uri_is_bounded),
        cmocka_unit_test(test_the_message_of_an_error_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
