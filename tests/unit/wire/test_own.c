/* Messages that this program sends in its own name, read back. */
#include "wire/mcp/own.h"

#include "tests/support/unit.h"
#include "wire/json/text.h"
#include "wire/rpc.h"

static struct rpc read_own(struct buf *b)
{
    struct rpc m;
    assert_false(b->failed);
    assert_int_equal(rpc_read(buf_slice(b), &m), 0);
    return m;
}

static void test_own_messages_are_those_of_the_protocol(void **state)
{
    (void)state;
    struct buf b = {0};
    own_write_initialized_message(&b);
    assert_string_equal(buf_str(&b),
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    buf_clear(&b);
    own_write_cancelled_message(&b, slice_of("\"a\""), NULL);
    assert_string_equal(buf_str(&b), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                     "\"params\":{\"requestId\":\"a\"}}");
    buf_clear(&b);
    own_write_cancelled_message(&b, slice_of("7"), "late");
    struct rpc m = read_own(&b);
    assert_int_equal(m.kind, RPC_NOTIFICATION);
    assert_true(json_key_is(json_string_raw(json_get(m.params, "reason")), "late"));
    buf_close(&b);
}

static void test_own_tools_list_has_a_cursor_and_meta_only_if_given(void **state)
{
    (void)state;
    struct buf b = {0};
    own_write_tools_list(&b, slice_of("1"), (struct slice){0}, (struct slice){0});
    struct rpc m = read_own(&b);
    assert_int_equal(m.kind, RPC_REQUEST);
    assert_int_equal(json_get(m.params, "cursor").type, JSON_NONE);
    assert_int_equal(json_get(m.params, "_meta").type, JSON_NONE);
    buf_clear(&b);
    own_write_tools_list(&b, slice_of("2"), slice_of("{\"x\":1}"), slice_of("\"next\""));
    m = read_own(&b);
    assert_true(json_key_is(json_string_raw(json_get(m.params, "cursor")), "next"));
    assert_int_equal(json_get(m.params, "_meta").type, JSON_OBJECT);
    buf_close(&b);
}

static void test_own_revisions_are_told_in_initialize_and_in_meta(void **state)
{
    (void)state;
    struct buf b = {0}, line = {0};
    own_write_request_meta(&b);
    own_write_tools_list(&line, slice_of("1"), buf_slice(&b), (struct slice){0});
    struct rpc m = read_own(&line);
    assert_true(rpc_is_modern(&m));
    buf_clear(&b);
    own_write_initialize_params(&b, REV_2025_06_18);
    assert_non_null(strstr(buf_str(&b), "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}"));
    buf_close(&b);
    buf_close(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_messages_are_those_of_the_protocol),
        cmocka_unit_test(test_own_tools_list_has_a_cursor_and_meta_only_if_given),
        cmocka_unit_test(test_own_revisions_are_told_in_initialize_and_in_meta),
    };
    return cmocka_run_group_tests_name("own", tests, NULL, NULL);
}
