/* Values in many levels: compared by meaning to JSON_TREE_DEPTH levels, by their text below, and in linear time. */
#include "tests/support/unit.h"

#include "cli/send/secrets.h"
#include "replay/compare/compare.h"
#include "wire/canon.h"
#include "wire/json/text.h"
#include "wire/json/tree.h"

/* `before` `levels` times, the text, and what closes them. */
static char *nested(const char *before, const char *text, size_t levels, const char *after)
{
    struct buf b = {0};
    for (size_t i = 0; i < levels; i++)
        buf_adds(&b, before);
    buf_adds(&b, text);
    for (size_t i = 0; i < levels; i++)
        buf_adds(&b, after);
    char *copy = strdup(buf_str(&b));
    buf_close(&b);
    return copy;
}

static struct json_value value(const char *text)
{
    struct json_scan scan;
    assert_int_equal(json_scan(slice_of(text), NULL, NULL, &scan), 0);
    return (struct json_value){scan.type, scan.root};
}

static bool canon_equal(const char *a, const char *b)
{
    struct buf ca = {0}, cb = {0};
    canon_write_value(&ca, value(a));
    canon_write_value(&cb, value(b));
    assert_false(ca.failed || cb.failed);
    bool equal = slice_eq(buf_slice(&ca), buf_slice(&cb));
    buf_close(&ca);
    buf_close(&cb);
    return equal;
}

static const struct {
    const char *before, *after;
} ways[] = {{"[", "]"}, {"{\"k\":", "}"}, {"[{\"a\":1,\"k\":", ",\"b\":[2]},3]"}};

static void test_canon_is_by_meaning_to_512_levels_and_by_text_below(void **state)
{
    (void)state;
    static const size_t levels[] = {1, 254, 255, 511, 512, 513, 4999};
    for (size_t k = 0; k < MI_COUNT(ways); k++)
        for (size_t i = 0; i < MI_COUNT(levels); i++) {
            size_t all = levels[i] * (k == 2 ? 2 : 1);
            char *a = nested(ways[k].before, "{\"x\":1,\"y\":\"a\"}", levels[i], ways[k].after);
            char *b =
                nested(ways[k].before, "{\"y\":\"\\u0061\",\"x\":1.0}", levels[i], ways[k].after);
            char *c = nested(ways[k].before, "{\"x\":1,\"y\":\"b\"}", levels[i], ways[k].after);
            assert_true(canon_equal(a, a));
            assert_int_equal(canon_equal(a, b), all < JSON_TREE_DEPTH);
            assert_false(canon_equal(a, c));
            free(a);
            free(b);
            free(c);
        }
}

static bool on_difference(void *ctx, const struct compare_difference *d)
{
    struct buf *b = ctx;
    size_t tokens = 0;
    for (size_t i = 0; i < d->pointer.n; i++)
        tokens += d->pointer.p[i] == '/';
    buf_printf(b, "%zu;", tokens);
    return true;
}

static void expect_differences(const char *a, const char *b, const char *want)
{
    static const struct pointers none;
    struct compare_rules rules = {.ignore = &none};
    struct buf got = {0};
    assert_int_equal(compare_values(value(a), value(b), &rules, on_difference, &got), 0);
    assert_string_equal(buf_str(&got), want);
    buf_close(&got);
}

static void test_compare_deep_difference_is_reported_at_the_last_level_that_is_read(void **state)
{
    (void)state;
    static const struct {
        size_t levels;
        const char *want;
    } rows[] = {{100, "100;"}, {512, "512;"}, {513, "512;"}, {9999, "512;"}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char *a = nested("[", "\"a [redacted:jwt] b\"", rows[i].levels, "]");
        char *b = nested("[", "\"a 123 b\"", rows[i].levels, "]");
        char *c = nested("[", "\"a 123 c\"", rows[i].levels, "]");
        expect_differences(a, a, "");
        expect_differences(a, b, "");
        expect_differences(a, c, rows[i].want);
        free(a);
        free(b);
        free(c);
    }
}

static bool on_canon_difference(void *ctx, const struct canon_difference *d)
{
    *(size_t *)ctx = d->pointer.n;
    return true;
}

static void test_canon_difference_of_deep_requests_has_a_pointer_of_512_levels(void **state)
{
    (void)state;
    static const struct canon_rules rules;
    size_t n = 0;
    struct rpc a, b;
    char *x = nested("[", "1", 9990, "]"), *y = nested("[", "2", 9990, "]");
    struct buf one = {0}, two = {0};
    buf_printf(&one, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":%s}}", x);
    buf_printf(&two, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":%s}}", y);
    assert_int_equal(rpc_read(buf_slice(&one), &a), 0);
    assert_int_equal(rpc_read(buf_slice(&two), &b), 0);
    assert_int_equal(canon_find_differences(&a, &a, &rules, on_canon_difference, &n), 0);
    assert_int_equal(canon_find_differences(&a, &b, &rules, on_canon_difference, &n), 1);
    assert_int_equal(n, 2 * JSON_TREE_DEPTH); /* /x/0/0… */
    buf_close(&one);
    buf_close(&two);
    free(x);
    free(y);
}

static void test_json_equal_deep_values_are_equal_if_their_text_is(void **state)
{
    (void)state;
    static const size_t levels[] = {511, 512, 6000};
    for (size_t i = 0; i < MI_COUNT(levels); i++) {
        char *a = nested("[", "1", levels[i], "]"), *b = nested("[", "1.0", levels[i], "]");
        assert_true(json_equal(value(a), value(a)));
        assert_int_equal(json_equal(value(a), value(b)), levels[i] < JSON_TREE_DEPTH);
        free(a);
        free(b);
    }
}

static void test_json_tree_has_at_most_512_levels(void **state)
{
    (void)state;
    for (size_t k = 0; k < MI_COUNT(ways); k++)
        for (size_t levels = 511; levels < 515; levels++) {
            struct json_tree t;
            char *a = nested(ways[k].before, "1", k == 2 ? levels / 2 : levels, ways[k].after);
            size_t all = k == 2 ? levels / 2 * 2 : levels;
            int st = json_tree_open(&t, slice_of(a));
            /* the third has [2] at the last level */
            assert_int_equal(st, all + (k == 2) <= JSON_TREE_DEPTH ? 0 : MI_EFULL);
            json_tree_close(&t);
            free(a);
        }
}

static void on_secret(void *ctx, struct slice pointer, enum marks marks, struct slice raw)
{
    (void)raw;
    assert_int_equal(marks, MARKS_SECRET);
    *(size_t *)ctx = pointer.n;
}

static void test_send_secret_at_each_depth_is_reported(void **state)
{
    (void)state;
    static const size_t levels[] = {1, 511, 512, 513, 9999};
    for (size_t i = 0; i < MI_COUNT(levels); i++) {
        size_t n = 0;
        char *a = nested("[", "\"[redacted:key]\"", levels[i], "]");
        assert_int_equal(secrets_for_each(value(a), on_secret, &n), 0);
        assert_int_equal(n, 2 * size_min(levels[i], JSON_TREE_DEPTH));
        free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canon_is_by_meaning_to_512_levels_and_by_text_below),
        cmocka_unit_test(test_compare_deep_difference_is_reported_at_the_last_level_that_is_read),
        cmocka_unit_test(test_canon_difference_of_deep_requests_has_a_pointer_of_512_levels),
        cmocka_unit_test(test_json_equal_deep_values_are_equal_if_their_text_is),
        cmocka_unit_test(test_json_tree_has_at_most_512_levels),
        cmocka_unit_test(test_send_secret_at_each_depth_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
