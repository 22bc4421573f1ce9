/* One value in JSON text is changed, the rest is copied byte for byte. */
#include "wire/json/set.h"

#include "tests/support/unit.h"

/* want: the result, or "!" and a part of the reason. */
static void check(const char *text, const char *pointer, const char *value, const char *want)
{
    struct buf out = {0}, error = {0};
    char *copy = unit_copy(text, strlen(text)); /* nothing past its end is read */
    int st = json_set_value_at_pointer(&out, (struct slice){copy, strlen(text)}, slice_of(pointer),
                                       slice_of(value), &error);
    bool good = want[0] == '!' ? st == MI_EINVAL && strstr(buf_str(&error), want + 1) != NULL
                               : st == 0 && strcmp(buf_str(&out), want) == 0;
    struct json_scan scan;
    good = good && (st != 0 || json_scan(buf_slice(&out), NULL, NULL, &scan) == 0);
    if (!good)
        fail_msg("%s at %s: got %d '%s' '%s', wanted '%s'", text, pointer, st, buf_str(&out),
                 buf_str(&error), want);
    free(copy);
    buf_close(&out);
    buf_close(&error);
}

static void test_set_replaces_a_value_and_keeps_every_other_byte(void **state)
{
    (void)state;
    check("{ \"a\" : 1.0 , \"b\":[1, 2 ,3] }", "/a", "2", "{ \"a\" : 2 , \"b\":[1, 2 ,3] }");
    check("{ \"a\" : 1.0 , \"b\":[1, 2 ,3] }", "/b/1", "\"x\"",
          "{ \"a\" : 1.0 , \"b\":[1, \"x\" ,3] }");
    check(" {\"a\":1} ", "", "{}", "{}");
    check("{\"a/b\":{\"~\":1}}", "/a~1b/~0", "2", "{\"a/b\":{\"~\":2}}");
    check("{\"\\u0061\":1}", "/a", "2", "{\"\\u0061\":2}");
    check("{\"\":1}", "/", "2", "{\"\":2}");
    check("{\"a\":1,\"a\":2}", "/a", "3", "{\"a\":1,\"a\":3}");
}

static void test_set_adds_what_is_missing(void **state)
{
    (void)state;
    check("{}", "/a", "1", "{\"a\":1}");
    check("{\"a\":1}", "/b", "2", "{\"a\":1,\"b\":2}");
    check("{\"a\":1 }", "/b/c/0", "2", "{\"a\":1 ,\"b\":{\"c\":{\"0\":2}}}");
    check("{\"a\":null}", "/a/b", "2", "{\"a\":{\"b\":2}}");
    check("null", "/a", "2", "{\"a\":2}");
    check("{\"a\":[]}", "/a/0", "1", "{\"a\":[1]}");
    check("{\"a\":[1]}", "/a/-", "2", "{\"a\":[1,2]}");
    check("{\"a\":[1]}", "/a/1/b", "2", "{\"a\":[1,{\"b\":2}]}");
}

static void test_set_impossible_places_are_refused_with_the_reason(void **state)
{
    (void)state;
    check("{\"a\":\"x\"}", "/a/b", "1", "!is inside of a string");
    check("{\"a\":1}", "/a/b", "1", "!is inside of a number");
    check("{\"a\":true}", "/a/b", "1", "!is inside of true or false");
    check("{\"a\":[1]}", "/a/3", "1", "!is beyond the end of an array of length 1");
    check("{\"a\":[1]}", "/a/01", "1", "!names a member of an array");
    check("{\"a\":[1]}", "/a/b", "1", "!names a member of an array");
    check("{\"a\":1}", "a", "1", "!is not a JSON pointer");
    check("{\"a\":1}", "/~2", "1", "!is not a JSON pointer");
    check("{\"a\":1}", "/b/~2", "1", "!is not a JSON pointer");
}

static void test_set_json_at_finds_the_value_at_a_place(void **state)
{
    (void)state;
    struct json_value v = {JSON_OBJECT, slice_of("{\"a\":[1,{\"b\":\"c\"}]}")};
    assert_true(slice_is(json_find_at_pointer(v, slice_of("/a/1/b")).text, "\"c\""));
    assert_true(slice_is(json_find_at_pointer(v, slice_of("")).text, "{\"a\":[1,{\"b\":\"c\"}]}"));
    assert_int_equal(json_find_at_pointer(v, slice_of("/a/2")).type, JSON_NONE);
    assert_int_equal(json_find_at_pointer(v, slice_of("/a/x")).type, JSON_NONE);
    assert_int_equal(json_find_at_pointer(v, slice_of("/a/1/b/c")).type, JSON_NONE);
    assert_int_equal(json_find_at_pointer(v, slice_of("a")).type, JSON_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_replaces_a_value_and_keeps_every_other_byte),
        cmocka_unit_test(test_set_adds_what_is_missing),
        cmocka_unit_test(test_set_impossible_places_are_refused_with_the_reason),
        cmocka_unit_test(test_set_json_at_finds_the_value_at_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
