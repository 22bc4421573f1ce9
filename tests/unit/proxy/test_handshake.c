/* What is sent to a new server process, and which requests may be repeated. */
#include "proxy/session/handshake.h"

#include "base/text.h"
#include "tests/support/unit.h"

#define INIT                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define PARAMS                                                                                     \
    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\","      \
    "\"version\":\"1\"}}"
#define ANSWER(version, capabilities)                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"" version                     \
    "\",\"capabilities\":" capabilities ",\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"
#define OK "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}"

/* A message in its own memory. */
static char *read_message(const char *text, struct rpc *ret)
{
    size_t n = strlen(text);
    char *copy = unit_copy(text, n);
    assert_int_equal(rpc_read((struct slice){copy, n}, ret), 0);
    assert_int_not_equal(ret->kind, RPC_INVALID);
    return copy;
}

static struct pending *ask(struct pending_table *t, const char *request)
{
    struct rpc m;
    struct pending *p;
    char *text = read_message(request, &m);
    struct rpc_id key = pending_make_id(t, &m);
    assert_int_equal(pending_add(t, &m, &key, &p), 0);
    free(text);
    return p;
}

/* The request gets this answer; both messages are freed. */
static void answered(struct handshake *h, const char *request, const char *answer)
{
    struct pending_table t;
    struct rpc m;
    pending_open(&t);
    struct pending *p = ask(&t, request);
    char *text = read_message(answer, &m);
    handshake_handle_answer(h, p, &m);
    free(text);
    pending_close(&t);
}

static void subscribe(struct handshake *h, const char *verb, const char *uri)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/%s\",\"params\":{\"uri\":%s}}",
             verb, uri);
    answered(h, text, OK);
}

static void check_next(struct handshake *h, size_t *at, const char *wanted)
{
    struct buf b = {0};
    bool more = handshake_write_next_message(h, at, &b);
    assert_int_equal(more, wanted != NULL);
    assert_string_equal(buf_str(&b), wanted != NULL ? wanted : "");
    buf_close(&b);
}

static void test_handshake_without_initialize_sends_nothing(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    size_t at = 0;
    handshake_open(&h);
    assert_false(handshake_write_initialize_request(&h, &b));
    assert_false(handshake_write_list_changed_notice(&h, &at, &b));
    check_next(&h, &at, NULL);
    assert_int_equal(b.n, 0);
    handshake_close(&h);
    handshake_close(&h);
}

static void test_handshake_repeats_the_clients_params_with_a_new_id(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    size_t at = 0;
    handshake_open(&h);
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    assert_true(handshake_write_initialize_request(&h, &b));
    assert_string_equal(buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
                                     "1\",\"method\":\"initialize\",\"params\":" PARAMS "}");
    check_next(&h, &at, NULL); /* the client has not sent notifications/initialized */
    handshake_mark_client_initialized(&h);
    at = 0;
    check_next(&h, &at, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    check_next(&h, &at, NULL);
    buf_close(&b);
    handshake_close(&h);
}

static void test_handshake_failed_initialize_is_not_repeated(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    handshake_open(&h);
    answered(&h, INIT, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":7}");
    assert_false(handshake_write_initialize_request(&h, &b));
    handshake_close(&h);
}

static bool is_answer(struct handshake *h, const char *id)
{
    char text[256];
    struct rpc m;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", id);
    char *copy = read_message(text, &m);
    bool is = handshake_is_initialize_answer(h, &m);
    free(copy);
    return is;
}

static void test_handshake_recognizes_the_answer_by_its_id(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    handshake_open(&h);
    assert_false(is_answer(&h, "\"" HANDSHAKE_ID "0\""));
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    struct json_out j = json_out_to(&b);
    handshake_begin_request(&h, &j, "ping");
    assert_string_equal(buf_str(&b),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID "1\",\"method\":\"ping\"");
    buf_clear(&b);
    assert_true(handshake_write_initialize_request(&h, &b));
    assert_true(is_answer(&h, "\"" HANDSHAKE_ID "2\""));
    assert_false(is_answer(&h, "\"" HANDSHAKE_ID "1\""));
    assert_false(is_answer(&h, "\"" HANDSHAKE_ID "22\""));
    assert_false(is_answer(&h, "2"));
    assert_false(is_answer(&h, "0"));
    buf_close(&b);
    handshake_close(&h);
}

static void test_handshake_own_ids_are_strings_with_a_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        bool own;
    } rows[] = {{"\"" HANDSHAKE_ID "7\"", true},
                {"\"" HANDSHAKE_ID "\"", true},
                {"\"mcp-interposer\"", false},
                {"\"x" HANDSHAKE_ID "1\"", false},
                {"7", false},
                {"null", false}};
    struct handshake h;
    handshake_open(&h);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_value v = {json_type_at(rows[i].id[0]), slice_of(rows[i].id)};
        assert_int_equal(handshake_is_id_made_by_proxy(&h, v), rows[i].own);
    }
    handshake_close(&h);
}

static void test_handshake_own_ids_have_the_secret(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    struct json_value plain = {JSON_STRING, slice_of("\"" HANDSHAKE_ID "1\"")};
    struct json_value own = {JSON_STRING, slice_of("\"" HANDSHAKE_ID "0123456789ABCDEF:1\"")};
    handshake_open(&h);
    handshake_set_own_id_secret(&h, "0123456789ABCDEFGH");
    handshake_begin_request(&h, &j, "ping");
    assert_string_equal(buf_str(&b), "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
                                     "0123456789ABCDEF:1\",\"method\":\"ping\"");
    assert_false(handshake_is_id_made_by_proxy(&h, plain));
    assert_true(handshake_is_id_made_by_proxy(&h, own));
    assert_true(handshake_is_proxy_request_id(&h, own, 1));
    assert_false(handshake_is_proxy_request_id(&h, own, 2));
    buf_close(&b);
    handshake_close(&h);
}

static void test_handshake_is_compatible_if_version_and_capabilities_are_equal(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *why; /* NULL: the same */
    } rows[] = {
        {ANSWER("2025-06-18", "{\"tools\":{\"listChanged\":true},\"logging\":{}}"), NULL},
        {ANSWER("2025-06-18", "{ \"logging\" : {}, \"t\\u006fols\":{\"listChanged\": true } }"),
         NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\","
         "\"capabilities\":{\"tools\":{\"listChanged\":true},\"logging\":{}},\"serverInfo\":"
         "{\"name\":\"s\",\"version\":\"2\"},\"instructions\":\"new\"}}",
         NULL},
        {ANSWER("2024-11-05", "{\"tools\":{\"listChanged\":true},\"logging\":{}}"),
         "protocolVersion"},
        {ANSWER("2025-06-18", "{\"tools\":{\"listChanged\":false},\"logging\":{}}"),
         "capabilities"},
        {ANSWER("2025-06-18", "{\"tools\":{\"listChanged\":true}}"), "capabilities"},
        {ANSWER("2025-06-18", "{\"tools\":{\"listChanged\":true},\"logging\":{},\"prompts\":{}}"),
         "capabilities"},
        {OK, "protocolVersion"},
        {"{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32602,\"message\":\"no\"}}",
         "rejected initialize"},
    };
    struct handshake h;
    handshake_open(&h);
    answered(&h, INIT, ANSWER("2025-06-18", "{\"tools\":{\"listChanged\":true},\"logging\":{}}"));
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct rpc m;
        struct buf why = {0};
        char *text = read_message(rows[i].answer, &m);
        bool same = handshake_is_compatible(&h, &m, &why);
        if (same != (rows[i].why == NULL) ||
            (rows[i].why != NULL && strstr(buf_str(&why), rows[i].why) == NULL))
            fail_msg("%s: %d '%s'", rows[i].answer, same, buf_str(&why));
        buf_close(&why);
        free(text);
    }
    handshake_close(&h);
}

static void test_handshake_repeats_the_last_level_and_current_subscriptions(void **state)
{
    (void)state;
    struct handshake h;
    size_t at = 0;
    handshake_open(&h);
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    handshake_mark_client_initialized(&h);
    for (int i = 0; i < 2; i++)
        answered(&h,
                 i == 0 ? "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
                          "\"params\":{\"level\":\"debug\"}}"
                        : "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\","
                          "\"params\":{\"level\":\"error\"}}",
                 OK);
    subscribe(&h, "subscribe", "\"x:a\"");
    subscribe(&h, "subscribe", "\"x:b\"");
    subscribe(&h, "subscribe", "\"x:\\u0062\"");
    subscribe(&h, "subscribe", "\"\"");
    subscribe(&h, "subscribe", "\"x:\\nc\"");
    subscribe(&h, "unsubscribe", "\"\\u0078:a\"");
    subscribe(&h, "unsubscribe", "\"never\"");
    check_next(&h, &at, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    check_next(&h, &at,
               "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
               "1\",\"method\":\"logging/setLevel\",\"params\":{\"level\":\"error\"}}");
    check_next(&h, &at,
               "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
               "2\",\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:b\"}}");
    check_next(&h, &at,
               "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
               "3\",\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"\"}}");
    check_next(&h, &at,
               "{\"jsonrpc\":\"2.0\",\"id\":\"" HANDSHAKE_ID
               "4\",\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:\\nc\"}}");
    check_next(&h, &at, NULL);
    check_next(&h, &at, NULL);
    assert_false(h.incomplete);
    handshake_close(&h);
}

static void test_handshake_second_initialize_replaces_the_first(void **state)
{
    (void)state;
    struct handshake h;
    size_t at = 0;
    handshake_open(&h);
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    handshake_mark_client_initialized(&h);
    subscribe(&h, "subscribe", "\"x:a\"");
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    check_next(&h, &at, NULL);
    handshake_close(&h);
}

static void test_handshake_announces_changed_lists_that_the_server_announces(void **state)
{
    (void)state;
    struct handshake h;
    struct buf b = {0};
    size_t at = 0, n = 0;
    handshake_open(&h);
    answered(&h, INIT,
             ANSWER("2025-06-18",
                    "{\"prompts\":{\"listChanged\":true},\"tools\":{\"listChanged\":"
                    "true},\"resources\":{\"listChanged\":false,\"subscribe\":true}}"));
    while (handshake_write_list_changed_notice(&h, &at, &b)) {
        buf_addc(&b, '\n');
        n++;
    }
    assert_int_equal(n, 2);
    assert_string_equal(
        buf_str(&b), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n"
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n");
    buf_close(&b);
    handshake_close(&h);
}

static bool repeats(struct handshake *h, const char *request)
{
    struct pending_table t;
    pending_open(&t);
    bool may = handshake_may_resend_request(h, ask(&t, request));
    pending_close(&t);
    return may;
}

static bool repeats_call(struct handshake *h, const char *tool)
{
    char text[256];
    snprintf(
        text, sizeof text,
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}",
        tool);
    return repeats(h, text);
}

#define TOOL(name, hints) "{\"name\":\"" name "\",\"inputSchema\":{}" hints "}"
#define TOOLS(list) "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"tools\":[" list "]}}"
#define HINTS(hint) ",\"annotations\":{" hint "}"
#define READS TOOL("reads", HINTS("\"readOnlyHint\":true"))
#define SAME TOOL("same", HINTS("\"idempotentHint\":true,\"destructiveHint\":true"))
#define PLAIN TOOL("plain", "")
#define NO TOOL("no", HINTS("\"readOnlyHint\":false"))
#define TEXT TOOL("text", HINTS("\"readOnlyHint\":\"true\""))
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"tools/list\"}"

static void test_handshake_may_repeat_reads_and_idempotent_tools(void **state)
{
    (void)state;
    struct handshake h;
    handshake_open(&h);
    assert_false(repeats_call(&h, "reads"));
    answered(&h, LIST, TOOLS(READS "," SAME "," PLAIN "," NO "," TEXT ",7,{\"name\":8}"));
    answered(&h, LIST, TOOLS(TOOL("page two", HINTS("\"readOnlyHint\":true"))));
    assert_true(repeats_call(&h, "reads"));
    assert_true(repeats_call(&h, "r\\u0065ads"));
    assert_true(repeats_call(&h, "same"));
    assert_true(repeats_call(&h, "page two"));
    assert_false(repeats_call(&h, "plain"));
    assert_false(repeats_call(&h, "no"));
    assert_false(repeats_call(&h, "text"));
    assert_false(repeats_call(&h, "read"));
    assert_false(repeats_call(&h, "unknown"));
    assert_false(repeats_call(&h, ""));

    answered(&h, LIST, TOOLS(TOOL("reads", "")));
    assert_false(repeats_call(&h, "reads"));
    assert_true(repeats_call(&h, "same"));

    assert_true(repeats(&h, LIST));
    assert_true(repeats(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
                            "\"params\":{\"uri\":\"x\"}}"));
    assert_false(repeats(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\","
                             "\"params\":{\"taskId\":\"reads\"}}"));
    assert_false(repeats(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x/y\",\"params\":"
                             "{\"name\":\"same\"}}"));
    handshake_close(&h);
}

static void test_handshake_too_long_request_is_not_repeated(void **state)
{
    (void)state;
    struct handshake h;
    char *text = malloc(PENDING_WHOLE_MAX + 256);
    assert_non_null(text);
    handshake_open(&h);
    int n = sprintf(text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":"
                          "{\"uri\":\"");
    memset(text + n, 'u', PENDING_WHOLE_MAX);
    memcpy(text + n + PENDING_WHOLE_MAX, "\"}}", sizeof "\"}}");
    assert_false(repeats(&h, text));
    free(text);
    handshake_close(&h);
}

static void test_handshake_over_its_limit_is_marked_incomplete(void **state)
{
    (void)state;
    struct handshake h;
    char uri[300];
    size_t at = 2, n = 0;
    struct buf b = {0};
    handshake_open(&h);
    memset(uri, 'u', sizeof uri);
    for (int i = 0; !h.incomplete; i++) {
        assert_true(i < 10000);
        snprintf(uri, sizeof uri, "\"x:%d", i);
        uri[strlen(uri)] = 'u';
        memcpy(uri + 290, "\"", 2);
        subscribe(&h, "subscribe", uri);
        n++;
    }
    assert_true(h.subscribed.n <= HANDSHAKE_MAX);
    size_t repeated = 0;
    while (handshake_write_next_message(&h, &at, &b)) {
        buf_clear(&b);
        repeated++;
    }
    assert_int_equal(repeated, n - 1); /* the earlier ones are complete */
    buf_close(&b);
    handshake_close(&h);
}

static void test_handshake_repeats_no_initialize_that_was_too_long(void **state)
{
    (void)state;
    struct handshake h;
    struct buf text = {0}, b = {0};
    handshake_open(&h);
    buf_adds(&text, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"x\":\"");
    for (size_t i = 0; i < PENDING_WHOLE_MAX; i++)
        buf_addc(&text, 'x');
    buf_adds(&text, "\"}}");
    answered(&h, buf_str(&text), ANSWER("2025-06-18", "{}"));
    assert_true(h.initialize_lost);
    assert_false(handshake_write_initialize_request(&h, &b));
    answered(&h, INIT, ANSWER("2025-06-18", "{}"));
    assert_false(h.initialize_lost);
    assert_true(handshake_write_initialize_request(&h, &b));
    buf_close(&text);
    buf_close(&b);
    handshake_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshake_without_initialize_sends_nothing),
        cmocka_unit_test(test_handshake_repeats_no_initialize_that_was_too_long),
        cmocka_unit_test(test_handshake_repeats_the_clients_params_with_a_new_id),
        cmocka_unit_test(test_handshake_failed_initialize_is_not_repeated),
        cmocka_unit_test(test_handshake_recognizes_the_answer_by_its_id),
        cmocka_unit_test(test_handshake_own_ids_are_strings_with_a_prefix),
        cmocka_unit_test(test_handshake_own_ids_have_the_secret),
        cmocka_unit_test(test_handshake_is_compatible_if_version_and_capabilities_are_equal),
        cmocka_unit_test(test_handshake_repeats_the_last_level_and_current_subscriptions),
        cmocka_unit_test(test_handshake_second_initialize_replaces_the_first),
        cmocka_unit_test(test_handshake_announces_changed_lists_that_the_server_announces),
        cmocka_unit_test(test_handshake_may_repeat_reads_and_idempotent_tools),
        cmocka_unit_test(test_handshake_too_long_request_is_not_repeated),
        cmocka_unit_test(test_handshake_over_its_limit_is_marked_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
