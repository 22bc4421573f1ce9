#include "tests/support/unit.h"

#include "replay/plan/rewrite.h"

static void check(const char *recorded, enum rewrite_what what, const char *with, const char *want)
{
    struct buf b = {0};
    struct slice list[REWRITE_COUNT] = {0};
    list[what] = slice_of(with);
    assert_int_equal(rewrite_message(&b, slice_of(recorded), list), 0);
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
}

static void test_rewrite_changes_only_the_given_place(void **state)
{
    (void)state;
    check("{ \"id\" : 7 , \"result\":{\"id\":7}, \"jsonrpc\":\"2.0\" }", REWRITE_ID, "\"x\"",
          "{ \"id\" : \"x\" , \"result\":{\"id\":7}, \"jsonrpc\":\"2.0\" }");
    check("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
          "progress\",\"params\":{\"a\":{\"progressToken\":1},"
          "\"progressT\\u006fken\":\"t\",\"progress\":1}}",
          REWRITE_TOKEN, "5",
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
          "progress\",\"params\":{\"a\":{\"progressToken\":1},"
          "\"progressT\\u006fken\":5,\"progress\":1}}");
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"_meta\":{\"" META_SUBSCRIPTION "\":1}}}",
          REWRITE_SUBSCRIPTION, "\"L\"",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"_meta\":{\"" META_SUBSCRIPTION
          "\":\"L\"}}}");
    check("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"_meta\":{\"" META_SUBSCRIPTION
          "\":1}}}",
          REWRITE_SUBSCRIPTION, "2",
          "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"_meta\":{\"" META_SUBSCRIPTION
          "\":2}}}");
    check(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
        REWRITE_REQUEST_ID, "22",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":22}}");
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"" META_RELATED_TASK
        "\":{\"taskId\":\"a\"}}}}",
        REWRITE_TASK, "\"b\"",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"" META_RELATED_TASK
        "\":{\"taskId\":\"b\"}}}}");
}

static void test_rewrite_two_places_at_once(void **state)
{
    (void)state;
    struct buf b = {0};
    const struct slice with[REWRITE_COUNT] = {
        [REWRITE_ID] = slice_of("99"), [REWRITE_TASK] = slice_of("\"new\"")};
    assert_int_equal(
        rewrite_message(
            &b,
            slice_of(
                "{\"params\":{\"taskId\":\"o\"},\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}"),
            with),
        0);
    assert_string_equal(
        buf_str(&b),
        "{\"params\":{\"taskId\":\"new\"},\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":99}");
    buf_close(&b);
}

static void test_rewrite_missing_place_is_an_error_only_for_the_id(void **state)
{
    (void)state;
    struct buf b = {0};
    const char *note = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}";
    struct slice with[REWRITE_COUNT] = {[REWRITE_ID] = slice_of("9")};
    assert_int_equal(rewrite_message(&b, slice_of(note), with), MI_ENOENT);
    assert_int_equal(b.n, 0);
    check(note, REWRITE_TOKEN, "5", note);
    assert_int_equal(rewrite_message(&b, slice_of("{\"x\":1}"), with), MI_EPROTO);
    assert_int_equal(rewrite_message(&b, slice_of("[1]"), with), MI_EPROTO);
    assert_int_equal(rewrite_message(&b, slice_of("{"), with), MI_EPROTO);
    assert_int_equal(message_get_value_to_rewrite(slice_of("{"), REWRITE_ID).type, JSON_NONE);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrite_changes_only_the_given_place),
        cmocka_unit_test(test_rewrite_two_places_at_once),
        cmocka_unit_test(test_rewrite_missing_place_is_an_error_only_for_the_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
