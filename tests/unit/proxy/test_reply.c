/* Errors of ours name their source, and are valid messages for any request. */
#include "proxy/session/reply.h"

#include "tests/support/unit.h"

#include "wire/json/text.h"
#include "wire/rpc.h"

static void write_reply(struct buf *b, const struct reply *r)
{
    buf_clear(b);
    reply_write(b, r);
    assert_false(b->failed);
}

static void test_reply_with_all_members_is_written_as_documented(void **state)
{
    (void)state;
    struct buf b = {0};
    struct reply r = {
        .id = slice_of("\"x\\u0031\""),
        .code = RPC_SERVER_GONE,
        .message = "the server s exited with status 1 before it answered",
        .cause = "server-exited",
        .method = slice_of("tools\\/call"),
        .target = slice_of("caf\\u00e9"),
        .session = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        .seq = 42,
        .ran = REPLY_RAN_MAYBE,
    };
    write_reply(&b, &r);
    assert_string_equal(
        buf_str(&b),
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0031\",\"error\":{\"code\":-32000,\"message\":"
        "\"the server s exited with status 1 before it "
        "answered\",\"data\":{\"source\":\"mcp-interposer\","
        "\"cause\":\"server-exited\",\"method\":\"tools\\/call\",\"tool\":\"caf\\u00e9\","
        "\"session\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"seq\":42,\"may_have_run\":true}}}");
    buf_close(&b);
}

static void test_reply_omits_unknown_members(void **state)
{
    (void)state;
    struct buf b = {0};
    struct reply r = {
        .code = RPC_PARSE_ERROR, .message = "Parse error", .cause = "not-json", .session = "S"};
    write_reply(&b, &r);
    assert_string_equal(
        buf_str(&b),
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
        "\"Parse error\",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"not-json\","
        "\"session\":\"S\"}}}");
    buf_close(&b);
}

static void test_reply_codes_match_the_protocol(void **state)
{
    (void)state;
    assert_int_equal(RPC_PARSE_ERROR, -32700);
    assert_int_equal(RPC_INVALID_REQUEST, -32600);
    assert_int_equal(RPC_INTERNAL_ERROR, -32603);
    assert_int_equal(RPC_SERVER_GONE, -32000);
    assert_int_equal(REPLY_SERVER_GONE_MODERN, -31000);
}

/* One line, valid JSON, a JSON-RPC error with the same message. */
static void test_reply_is_one_valid_line_for_any_message(void **state)
{
    (void)state;
    static const char *const sentences[] = {
        "plain",
        "",
        "with \"quotes\" and \\ and /",
        "two\nlines\r\n",
        "bell\a escape\x1b[31m del\x7f",
        "caf\xc3\xa9 \xe2\x80\xa8 \xf0\x9f\x98\x80",
    };
    struct buf b = {0}, back = {0};
    for (size_t i = 0; i < MI_COUNT(sentences); i++) {
        struct rpc m;
        struct reply r = {.id = slice_of("-0.0"),
                          .code = -32603,
                          .message = sentences[i],
                          .cause = "out-of-memory",
                          .session = "S",
                          .seq = UINT64_MAX};
        write_reply(&b, &r);
        for (size_t k = 0; k < b.n; k++)
            assert_true((unsigned char)b.p[k] >= 0x20 && b.p[k] != 0x7f);
        assert_int_equal(rpc_read(buf_slice(&b), &m), 0);
        assert_int_equal(m.kind, RPC_ERROR);
        assert_int_equal(m.findings, 0);
        assert_true(slice_is(m.id.text, "-0.0"));
        buf_clear(&back);
        json_unescape(&back, json_string_raw(m.error_message));
        assert_string_equal(buf_str(&back), sentences[i]);
        struct json_value data = json_get(m.error, "data");
        assert_true(slice_is(json_get(data, "source").text, "\"mcp-interposer\""));
        assert_true(slice_is(json_get(data, "seq").text, "18446744073709551615"));
    }
    buf_close(&b);
    buf_close(&back);
}

static void test_reply_over_the_buffer_limit_fails_the_buffer(void **state)
{
    (void)state;
    struct buf b = {.max = 100};
    struct reply r = {.code = -32603,
                      .message = "long enough to fill what is there",
                      .cause = "c",
                      .session = "01ARZ3NDEKTSV4RRFFQ69G5FAV"};
    reply_write(&b, &r);
    assert_true(b.failed);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reply_with_all_members_is_written_as_documented),
        cmocka_unit_test(test_reply_omits_unknown_members),
        cmocka_unit_test(test_reply_codes_match_the_protocol),
        cmocka_unit_test(test_reply_is_one_valid_line_for_any_message),
        cmocka_unit_test(test_reply_over_the_buffer_limit_fails_the_buffer),
    };
    return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}
