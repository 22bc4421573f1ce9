/* Comparing answers: differences are reported with their places; ignored values are not. */
#include "replay/compare/compare.h"

#include "tests/support/unit.h"

struct told {
    struct buf b; /* "pointer: recorded / live[ schema][ entry]\n" */
};

static bool on_difference(void *ctx, const struct compare_difference *d)
{
    struct told *t = ctx;
    buf_slice_add(&t->b, d->pointer);
    buf_adds(&t->b, ": ");
    buf_slice_add(&t->b, d->recorded.p != NULL ? d->recorded : slice_of("-"));
    buf_adds(&t->b, " / ");
    buf_slice_add(&t->b, d->live.p != NULL ? d->live : slice_of("-"));
    buf_adds(&t->b, d->in_schema ? " schema" : "");
    buf_adds(&t->b, d->is_entry ? " entry\n" : "\n");
    return true;
}

static struct json_value value(const char *text)
{
    struct json_scan scan;
    assert_int_equal(json_scan(slice_of(text), NULL, NULL, &scan), 0);
    return (struct json_value){scan.type, scan.root};
}

static void check(const char *recorded, const char *live, const char *ignore, const char *want)
{
    struct told t = {{0}};
    struct pointers p = {0};
    struct buf error = {0};
    struct compare_rules rules = {.ignore = &p};
    if (ignore != NULL)
        assert_int_equal(pointers_add(&p, "", slice_of(ignore), &error), 0);
    assert_int_equal(compare_values(value(recorded), value(live), &rules, on_difference, &t), 0);
    if (strcmp(buf_str(&t.b), want) != 0)
        fail_msg("%s against %s: got '%s', wanted '%s'", recorded, live, buf_str(&t.b), want);
    buf_close(&t.b);
    pointers_close(&p);
    buf_close(&error);
}

static void test_compare_spelling_is_ignored(void **state)
{
    (void)state;
    check("{\"a\":1,\"b\":[\"\\u0061\",1.0]}", "{ \"b\" : [\"a\", 1], \"a\":1e0 }", NULL, "");
    check("null", "null", NULL, "");
}

static void test_compare_each_difference_is_reported_with_its_place(void **state)
{
    (void)state;
    check("{\"a\":{\"b/c\":[1,2]},\"x\":1}", "{\"a\":{\"b/c\":[1,3,4]},\"y\":2}", NULL,
          "/a/b~1c/1: 2 / 3\n/a/b~1c/2: - / 4\n/x: 1 / -\n/y: - / 2\n");
    check("{\"a\":{}}", "{\"a\":[]}", NULL, "/a: {} / []\n");
    check("1", "2", NULL, ": 1 / 2\n");
}

static void test_compare_ignored_places_are_left_out(void **state)
{
    (void)state;
    check("{\"a\":[{\"t\":1},{\"t\":2,\"u\":1}]}", "{\"a\":[{\"t\":3},{\"t\":4,\"u\":2}]}",
          "/a/*/t", "/a/1/u: 1 / 2\n");
    check("{\"a\":1}", "{\"a\":2}", "/a", "");
    check("{\"a\":1}", "{}", "/a", "");
}

static void test_compare_generated_values_are_ignored(void **state)
{
    (void)state;
    check("{\"_meta\":{\"x\":1},\"nextCursor\":\"a\",\"serverInfo\":{\"name\":\"s\",\"version\":"
          "\"1\"}}",
          "{\"_meta\":{\"x\":2},\"nextCursor\":\"b\",\"serverInfo\":{\"name\":\"s\",\"version\":"
          "\"2\"}}",
          NULL, "");
    check("{\"task\":{\"taskId\":\"1\",\"status\":\"working\",\"createdAt\":\"x\"}}",
          "{\"task\":{\"taskId\":\"2\",\"status\":\"failed\",\"createdAt\":\"y\"}}", NULL,
          "/task/status: \"working\" / \"failed\"\n");
    check("{\"nextCursor\":\"a\"}", "{}", NULL,
          "/nextCursor: \"a\" / -\n"); /* only its presence is compared */
    check("{\"a\":{\"nextCursor\":\"a\",\"_meta\":1}}",
          "{\"a\":{\"nextCursor\":\"b\",\"_meta\":2}}", NULL,
          "/a/nextCursor: \"a\" / \"b\"\n/a/_meta: 1 / 2\n"); /* elsewhere it is data */
}

static void test_compare_lists_are_paired_by_name(void **state)
{
    (void)state;
    check("{\"tools\":[{\"name\":\"a\",\"x\":1},{\"name\":\"b\"}]}",
          "{\"tools\":[{\"name\":\"b\"},{\"name\":\"a\",\"x\":1}]}", NULL, "");
    check("{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"b\"}]}",
          "{\"tools\":[{\"name\":\"c\"},{\"name\":\"a\",\"inputSchema\":{\"type\":\"array\"}}]}",
          NULL,
          "/tools/0/inputSchema/type: \"object\" / \"array\" schema\n"
          "/tools/1: {\"name\":\"b\"} / - entry\n/tools/0: - / {\"name\":\"c\"} entry\n");
    check("{\"resources\":[{\"uri\":\"u\",\"name\":\"1\"}]}",
          "{\"resources\":[{\"uri\":\"u\",\"name\":\"2\"}]}", NULL,
          "/resources/0/name: \"1\" / \"2\"\n");
    check("{\"tools\":[{\"name\":\"a\"}]}",
          "{\"tools\":[{\"name\":\"a\"},{\"name\":\"\\u0061\",\"x\":1}]}", NULL,
          "/tools/1: - / {\"name\":\"\\u0061\",\"x\":1} entry\n"); /* a second one of this name */
    check("{\"tools\":[{\"name\":\"a\",\"x\":1},{\"name\":\"a\",\"x\":2}]}",
          "{\"tools\":[{\"name\":\"a\",\"x\":1},{\"name\":\"a\",\"x\":3}]}", NULL,
          "/tools/1/x: 2 / 3\n");
    check("{\"tools\":[{\"x\":1},{\"name\":\"a\"}]}", "{\"tools\":[{\"x\":1}]}", NULL,
          "/tools/1: {\"name\":\"a\"} / - entry\n"); /* entries without a name */
    check("{\"content\":[1,2]}", "{\"content\":[2,1]}", NULL,
          "/content/0: 1 / 2\n/content/1: 2 / 1\n"); /* other lists have an order */
}

static void test_compare_sanitized_text_matches_the_original(void **state)
{
    (void)state;
    check("{\"a\":\"[redacted:key]\"}", "{\"a\":{\"any\":1}}", NULL, "");
    check("{\"a\":\"x [redacted:jwt] y [redacted:k] z\"}", "{\"a\":\"x 123 y 45 z\"}", NULL, "");
    check("{\"a\":\"x [redacted:jwt] y\"}", "{\"a\":\"w 123 y\"}", NULL,
          "/a: \"x [redacted:jwt] y\" / \"w 123 y\"\n");
    check("{\"a\":\"x [redacted:jwt] y\"}", "{\"a\":\"x 123 yy\"}", NULL,
          "/a: \"x [redacted:jwt] y\" / \"x 123 yy\"\n");
    check("{\"a\":\"head\xe2\x80\xa6 [+5 chars]\"}", "{\"a\":\"head and tail\"}", NULL, "");
    check("{\"a\":\"head\xe2\x80\xa6 [+5 chars]\"}", "{\"a\":\"other\"}", NULL,
          "/a: \"head\xe2\x80\xa6 [+5 chars]\" / \"other\"\n");
    check("{\"a\":\"[redacted:jwt]\"}", "{}", NULL, "/a: \"[redacted:jwt]\" / -\n");
}

static void test_compare_either_of_two_recordings_may_be_sanitized(void **state)
{
    (void)state;
    struct json_value redacted = value("\"x [redacted:jwt] y\""), plain = value("\"x 123 y\"");
    assert_true(compare_equal_or_sanitized(redacted, plain));
    assert_true(compare_equal_or_sanitized(plain, redacted));
    assert_false(compare_equal_or_sanitized(redacted, value("\"w 123 y\"")));
    assert_false(compare_equal_or_sanitized(plain, (struct json_value){0}));
    check("{\"a\":\"123\"}", "{\"a\":\"[redacted:jwt]\"}", NULL,
          "/a: \"123\" / \"[redacted:jwt]\"\n"); /* unless both are recordings */
}

static bool on_entry(void *ctx, const struct compare_difference *d)
{
    struct told *t = ctx;
    buf_slice_add(&t->b, d->entry.p != NULL ? d->entry : slice_of("-"));
    buf_addc(&t->b, ' ');
    buf_slice_add(&t->b, d->below);
    buf_addc(&t->b, '\n');
    return true;
}

static void test_compare_differences_in_lists_name_the_entry(void **state)
{
    (void)state;
    struct told t = {{0}};
    const struct pointers none = {0};
    struct compare_rules rules = {.ignore = &none, .both_recorded = true};
    assert_int_equal(
        compare_values(
            value("{\"tools\":[{\"name\":\"a\",\"x\":{\"y\":1}},{\"name\":\"b\"}],\"z\":1}"),
            value("{\"tools\":[{\"name\":\"c\"},{\"name\":\"a\",\"x\":{\"y\":2}}],\"z\":2}"),
            &rules, on_entry, &t),
        0);
    assert_string_equal(buf_str(&t.b), "\"a\" /x/y\n\"b\" \n\"c\" \n- /z\n");
    buf_close(&t.b);
}

/* Each member is looked up in the other object: an object with very many is compared as a whole. */
static void test_compare_objects_with_very_many_keys_are_compared_as_a_whole(void **state)
{
    (void)state;
    struct told t = {{0}};
    const struct pointers none = {0};
    struct compare_rules rules = {.ignore = &none};
    struct buf a = {0};
    buf_adds(&a, "{\"first\":1");
    for (int i = 0; i < 5000; i++)
        buf_printf(&a, ",\"k%d\":%d", i, i);
    buf_addc(&a, '}');
    assert_int_equal(
        compare_values(value(buf_str(&a)), value("{\"first\":2}"), &rules, on_entry, &t), 0);
    assert_string_equal(buf_str(&t.b), "- \n");
    buf_close(&a);
    buf_close(&t.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare_spelling_is_ignored),
        cmocka_unit_test(test_compare_each_difference_is_reported_with_its_place),
        cmocka_unit_test(test_compare_ignored_places_are_left_out),
        cmocka_unit_test(test_compare_generated_values_are_ignored),
        cmocka_unit_test(test_compare_lists_are_paired_by_name),
        cmocka_unit_test(test_compare_sanitized_text_matches_the_original),
        cmocka_unit_test(test_compare_either_of_two_recordings_may_be_sanitized),
        cmocka_unit_test(test_compare_differences_in_lists_name_the_entry),
        cmocka_unit_test(test_compare_objects_with_very_many_keys_are_compared_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
