/* Our MCP server: revisions, methods and errors, with an empty vault. */
#include "cli/mcp/mcp_server.h"

#include "tests/support/unit.h"

#include <stdlib.h>

struct fixture {
    struct mcp_server server;
    struct buf answer;
    int opened;
    bool broken, cancelled;
};

static int open_vault(void *ctx, struct query **ret, struct buf *error)
{
    struct fixture *f = ctx;
    f->opened++;
    if (f->broken) {
        buf_adds(error, "cannot open vault");
        return MI_EIO;
    }
    return query_open_empty_vault(ret, "/nowhere");
}

static bool is_cancelled(void *ctx, struct json_value id)
{
    struct fixture *f = ctx;
    assert_true(id.type == JSON_NUMBER || id.type == JSON_STRING);
    return f->cancelled;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->server.open_vault = open_vault;
    f->server.is_cancelled = is_cancelled;
    f->server.ctx = f;
    assert_int_equal(mcp_server_open(&f->server), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    mcp_server_close(&f->server);
    buf_close(&f->answer);
    free(f);
    return 0;
}

/* The answer to a line with 'single' quotes; "": none. */
static const char *ask(struct fixture *f, const char *line)
{
    struct buf b = {0};
    struct json_scan scan;
    buf_adds(&b, line);
    for (size_t i = 0; i < b.n; i++)
        if (b.p[i] == '\'')
            b.p[i] = '"';
    buf_clear(&f->answer);
    assert_int_equal(mcp_server_answer_line(&f->server, buf_slice(&b), &f->answer), 0);
    buf_close(&b);
    if (f->answer.n > 0)
        assert_int_equal(json_scan(buf_slice(&f->answer), NULL, NULL, &scan), 0);
    return buf_str(&f->answer);
}

static void has(struct fixture *f, const char *line, const char *part)
{
    const char *answer = ask(f, line);
    if (strstr(answer, part) == NULL)
        fail_msg("%s\n  was answered: %s\n  without: %s", line, answer, part);
}

static void lacks(struct fixture *f, const char *line, const char *part)
{
    const char *answer = ask(f, line);
    if (answer[0] == '\0' || strstr(answer, part) != NULL)
        fail_msg("%s\n  was answered: %s\n  with: %s", line, answer, part);
}

#define INITIALIZE(version)                                                                        \
    "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'" version          \
    "','capabilities':{},'clientInfo':{'name':'c','version':'1'}}}"
#define CALL(name, arguments)                                                                      \
    "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'" name                        \
    "','arguments':" arguments "}}"
#define META                                                                                       \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{}}"
#define MODERN(method, params)                                                                     \
    "{'jsonrpc':'2.0','id':1,'method':'" method "','params':{" META params "}}"
#define LIST "{'jsonrpc':'2.0','id':1,'method':'tools/list'}"

static void test_server_initialize_selects_the_revision(void **state)
{
    static const struct {
        const char *line, *version;
    } rows[] = {
        {INITIALIZE("2024-11-05"), "\"protocolVersion\":\"2024-11-05\""},
        {INITIALIZE("2025-03-26"), "\"protocolVersion\":\"2025-03-26\""},
        {INITIALIZE("2025-06-18"), "\"protocolVersion\":\"2025-06-18\""},
        {INITIALIZE("2025-11-25"), "\"protocolVersion\":\"2025-11-25\""},
        {INITIALIZE("2026-07-28"), "\"protocolVersion\":\"2025-11-25\""}, /* it has no initialize */
        {INITIALIZE("2030-01-01"), "\"protocolVersion\":\"2025-11-25\""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        has(*state, rows[i].line, rows[i].version);
        has(*state, rows[i].line, "\"capabilities\":{\"tools\":{}}");
        has(*state, rows[i].line, "\"instructions\":\"");
        lacks(*state, rows[i].line, "resultType");
    }
    has(*state, "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{}}", "-32602");
    has(*state, "{'jsonrpc':'2.0','id':1,'method':'initialize'}", "-32602");
}

static void test_server_tools_have_what_the_revision_knows(void **state)
{
    (void)ask(*state, INITIALIZE("2024-11-05"));
    has(*state, LIST, "\"inputSchema\":{\"type\":\"object\"");
    lacks(*state, LIST, "\"annotations\"");
    lacks(*state, LIST, "\"outputSchema\"");
    (void)ask(*state, INITIALIZE("2025-03-26"));
    has(*state, LIST, "\"annotations\":{\"readOnlyHint\":true");
    lacks(*state, LIST, "\"outputSchema\"");
    (void)ask(*state, INITIALIZE("2025-06-18"));
    has(*state, LIST, "\"name\":\"list_sessions\",\"title\":\"List recorded sessions\"");
    has(*state, LIST, "\"outputSchema\":{\"type\":\"object\"");
    lacks(*state, LIST, "ttlMs");
    has(*state, MODERN("tools/list", ""), "\"ttlMs\":3600000,\"cacheScope\":\"public\"");
    has(*state, MODERN("tools/list", ""), "\"resultType\":\"complete\"");
    has(*state, MODERN("tools/list", ""), "io.modelcontextprotocol/serverInfo");
    has(*state, "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'cursor':'x'}}", "-32602");
}

static void test_server_results_have_what_the_revision_knows(void **state)
{
    (void)ask(*state, INITIALIZE("2025-03-26"));
    has(*state, CALL("list_sessions", "{}"), "\"content\":[{\"type\":\"text\",\"text\":\"Recorded");
    lacks(*state, CALL("list_sessions", "{}"), "structuredContent");
    (void)ask(*state, INITIALIZE("2025-06-18"));
    has(*state, CALL("list_sessions", "{}"), "\"structuredContent\":{\"notice\":\"Recorded");
    has(*state, MODERN("tools/call", ",'name':'list_sessions'"), "\"structuredContent\"");
    has(*state, MODERN("tools/call", ",'name':'list_sessions'"), "\"resultType\":\"complete\"");
}

static void test_server_every_tool_answers_with_an_empty_vault(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[] = {
        CALL("list_sessions", "{}"), CALL("list_calls", "{}"), CALL("search", "{'text':'x'}"),
        CALL("stats", "{}"),         CALL("findings", "{}"),
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        has(f, rows[i], ":[]");
        lacks(f, rows[i], "isError");
        lacks(f, rows[i], "next_cursor");
    }
    has(f, CALL("get_call", "{'session':1,'seq':1}"), "no session 1 is recorded");
    has(f, CALL("diff", "{'session':1}"), "no session 1 is recorded");
    assert_int_equal(f->opened, 3 * 5 + 2);
}

static void test_server_modern_request_needs_its_meta(void **state)
{
    has(*state, MODERN("server/discover", ""), "\"supportedVersions\":[\"2026-07-28\"]");
    has(*state, MODERN("server/discover", ""), "\"ttlMs\":");
    has(*state, "{'jsonrpc':'2.0','id':1,'method':'server/discover'}", "-32602");
    has(*state,
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':"
        "{'io.modelcontextprotocol/clientCapabilities':{}}}}",
        "-32602");
    has(*state,
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':"
        "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}",
        "-32602");
    has(*state,
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':"
        "{'io.modelcontextprotocol/protocolVersion':'2025-11-25'}}}",
        "\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"");
    has(*state, MODERN("ping", ""), "-32601");
    has(*state, MODERN("initialize", ""), "-32601");
    has(*state, MODERN("subscriptions/listen", ",'notifications':{}"), "-32601");
}

static void test_server_modern_request_does_not_change_the_connection(void **state)
{
    (void)ask(*state, INITIALIZE("2024-11-05"));
    (void)ask(*state, MODERN("tools/list", ""));
    lacks(*state, LIST, "resultType");
    lacks(*state, LIST, "annotations");
}

static void test_server_invalid_requests_are_answered_with_errors(void **state)
{
    static const struct {
        const char *line, *part;
    } rows[] = {
        {"{", "\"id\":null,\"error\":{\"code\":-32700"},
        {"7", "-32600"},
        {"{'id':7}", "-32600"},
        {"{'jsonrpc':'1.0','id':7,'method':'ping'}", "\"id\":7,\"error\":{\"code\":-32600"},
        {"{'jsonrpc':'2.0','id':1.5,'method':'ping'}", "-32600"},
        {"{'jsonrpc':'2.0','id':{},'method':'ping'}", "-32600"},
        {"{'jsonrpc':'2.0','id':'\\u0061','method':'none'}",
         "\"id\":\"\\u0061\",\"error\":{\"code\":-32601"},
        {"{'jsonrpc':'2.0','id':1,'method':'resources/list'}",
         "Method not found: \\\"resources/list\\\""},
        {"{'jsonrpc':'2.0','id':1,'method':'ping','params':[]}", "-32602"},
        {"{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{}}", "-32602"},
        {"{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':7}}", "-32602"},
        {CALL("no_such", "{}"), "\"code\":-32602,\"message\":\"Unknown tool \\\"no_such\\\"\""},
        {CALL("stats", "[]"), "-32602"},
        {"[]", "-32600"},
        {"[{'jsonrpc':'2.0','id':1,'method':'ping'}]", "-32600"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        has(*state, rows[i].line, rows[i].part);
}

static void test_server_messages_without_an_answer_get_none(void **state)
{
    static const char *const rows[] = {
        "",
        " \r",
        "{'jsonrpc':'2.0','method':'notifications/initialized'}",
        "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':7}}",
        "{'jsonrpc':'2.0','method':'no/such'}",
        "{'jsonrpc':'2.0','id':7,'result':{}}",
        "{'jsonrpc':'2.0','id':7,'error':{'code':1,'message':'m'}}",
        "{'jsonrpc':'2.0','id':7,'error':{}}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_string_equal(ask(*state, rows[i]), "");
    has(*state, "{'jsonrpc':'2.0','id':7,'method':'ping'}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
}

static void test_server_invalid_arguments_are_errors_of_the_revision(void **state)
{
    static const char *const rows[] = {
        CALL("list_calls", "{'limit':0}"), CALL("list_calls", "{'limit':101}"),
        CALL("list_calls", "{'other':1}"), CALL("list_calls", "{'status':'bad'}"),
        CALL("get_call", "{'session':1}"), CALL("get_call", "{'session':'1','seq':1}"),
        CALL("stats", "{'by':'weekday'}"), CALL("findings", "{'from':'me'}"),
        CALL("search", "{'text':''}"),     CALL("list_sessions", "{'failed':'yes'}"),
    };
    (void)ask(*state, INITIALIZE("2025-06-18"));
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        has(*state, rows[i], "\"error\":{\"code\":-32602,\"message\":\"invalid arguments: ");
    (void)ask(*state, INITIALIZE("2025-11-25"));
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        has(*state, rows[i], "\"text\":\"invalid arguments: ");
        has(*state, rows[i], "\"isError\":true");
    }
    has(*state, MODERN("tools/call", ",'name':'stats','arguments':{'by':1}"), "\"isError\":true");
}

static void test_server_calls_that_fail_are_tool_errors(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *line, *part;
    } rows[] = {
        {CALL("search", "{}"), "nothing to search for"},
        {CALL("list_calls", "{'session':9}"), "no session 9 is recorded; list_sessions"},
        {CALL("list_calls", "{'since':'soon'}"), "since: invalid time 'soon'"},
        {CALL("list_calls", "{'until':'1y'}"), "until: invalid time '1y'"},
        {CALL("list_calls", "{'cursor':'x'}"), "invalid cursor"},
        {CALL("list_calls", "{'cursor':'1.2'}"), "invalid cursor"},
        {CALL("list_calls", "{'cursor':'0.1.1'}"), "invalid cursor"},
        {CALL("list_calls", "{'slow':'soon'}"), "slow: invalid duration 'soon'"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        has(f, rows[i].line, rows[i].part);
        has(f, rows[i].line, "\"isError\":true");
        lacks(f, rows[i].line, "structuredContent");
    }
    f->broken = true;
    has(f, CALL("stats", "{}"), "\"text\":\"cannot open vault\"");
    has(f, CALL("stats", "{}"), "\"isError\":true");
}

static void test_server_cancelled_call_is_not_answered(void **state)
{
    struct fixture *f = *state;
    f->cancelled = true;
    assert_string_equal(ask(f, CALL("stats", "{}")), "");
    has(f, LIST, "\"tools\""); /* too late */
}

static void test_server_batch_is_answered_in_2025_03_26(void **state)
{
    (void)ask(*state, INITIALIZE("2025-03-26"));
    assert_string_equal(ask(*state, "[{'jsonrpc':'2.0','id':1,'method':'ping'},"
                                    "{'jsonrpc':'2.0','method':'notifications/initialized'},"
                                    "{'jsonrpc':'2.0','id':2,'method':'ping'}]"),
                        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]");
    assert_string_equal(ask(*state, "[{'jsonrpc':'2.0','method':'notifications/initialized'}]"),
                        "");
    has(*state, "[]", "an empty batch");
    has(*state, "[7,{'jsonrpc':'2.0','id':1,'method':'ping'}]",
        "[{\"jsonrpc\":\"2.0\",\"id\":null");
    has(*state, "[" INITIALIZE("2025-11-25") "]", "must not be in a batch");
    has(*state, "[[]]", "a batch inside a batch");
    struct buf many = {0};
    for (int i = 0; i <= SERVER_BATCH_MAX; i++)
        buf_adds(&many, i == 0 ? "[1" : ",1");
    buf_addc(&many, ']');
    has(*state, buf_str(&many), "too many messages in a batch");
    buf_close(&many);
}

static void test_server_long_line_is_answered_if_its_head_has_an_id(void **state)
{
    struct fixture *f = *state;
    struct slice head =
        slice_of("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"par");
    assert_int_equal(mcp_server_answer_long_line(&f->server, head, &f->answer), 0);
    assert_non_null(strstr(buf_str(&f->answer), "\"id\":\"x\",\"error\":{\"code\":-32600"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_server_initialize_selects_the_revision, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_tools_have_what_the_revision_knows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_results_have_what_the_revision_knows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_every_tool_answers_with_an_empty_vault, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_modern_request_needs_its_meta, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_modern_request_does_not_change_the_connection,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_server_invalid_requests_are_answered_with_errors,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_server_messages_without_an_answer_get_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_invalid_arguments_are_errors_of_the_revision,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_server_calls_that_fail_are_tool_errors, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_cancelled_call_is_not_answered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_batch_is_answered_in_2025_03_26, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_server_long_line_is_answered_if_its_head_has_an_id,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
