/* Values that differ, cut around the first place that differs. */
#include "cli/diff/excerpt.h"

#include "base/buf.h"

#include "tests/support/unit.h"

static struct slice filled(struct buf *b, const char *head, size_t n, const char *tail)
{
    buf_adds(b, head);
    for (size_t i = 0; i < n; i++)
        buf_addc(b, 'x');
    buf_adds(b, tail);
    return buf_slice(b);
}

static void is_text(struct slice got, const char *want)
{
    if (!slice_is(got, want))
        fail_msg("got '%.*s', wanted '%s'", (int)got.n, got.p, want);
}

static void test_excerpt_of_short_values_is_all_of_them(void **state)
{
    (void)state;
    struct excerpt e = excerpt_cut_around_difference(slice_of("\"one\""), slice_of("\"two\""));
    is_text(e.text[0], "\"one\"");
    is_text(e.text[1], "\"two\"");
    assert_true(e.at == 0 && !e.cut[0] && !e.cut[1]);
    e = excerpt_cut_around_difference((struct slice){0}, slice_of("1"));
    assert_null(e.text[0].p);
    is_text(e.text[1], "1");
}

static void test_excerpt_begins_shortly_before_the_difference(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    struct excerpt e = excerpt_cut_around_difference(filled(&a, "\"", 100000, "one\""),
                                                     filled(&b, "\"", 100000, "two\""));
    assert_int_equal(e.at, 100001 - 20);
    is_text(e.text[0], "xxxxxxxxxxxxxxxxxxxxone\"");
    is_text(e.text[1], "xxxxxxxxxxxxxxxxxxxxtwo\"");
    buf_clear(&a);
    e = excerpt_cut_around_difference(slice_of("\"y\""), filled(&a, "\"", 100000, "\""));
    assert_int_equal(e.at, 0);
    assert_int_equal(e.text[1].n, EXCERPT_MAX);
    assert_true(!e.cut[0] && e.cut[1]);
    buf_close(&a);
    buf_close(&b);
}

static void test_excerpt_of_a_value_that_ends_where_the_other_goes_on(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    struct excerpt e =
        excerpt_cut_around_difference(filled(&a, "", 60, ""), filled(&b, "", 60, "more"));
    assert_int_equal(e.at, 40);
    is_text(e.text[0], "xxxxxxxxxxxxxxxxxxxx");
    is_text(e.text[1], "xxxxxxxxxxxxxxxxxxxxmore");
    e = excerpt_cut_around_difference(buf_slice(&a),
                                      buf_slice(&a)); /* the sanitizer made them equal */
    assert_int_equal(e.at, 0);
    buf_close(&a);
    buf_close(&b);
}

/* The excerpt would begin `back` bytes before the end of `middle`. */
static void check_boundary(const char *middle, size_t back, size_t wanted_back)
{
    struct buf a = {0}, b = {0};
    size_t x = 20 - back;
    (void)filled(&a, "", 50, middle);
    buf_slice_add(&b, buf_slice(&a));
    for (size_t i = 0; i < x; i++) {
        buf_addc(&a, 'z');
        buf_addc(&b, 'z');
    }
    struct excerpt e =
        excerpt_cut_around_difference(filled(&a, "", 0, "1"), filled(&b, "", 0, "2"));
    assert_int_equal(50 + strlen(middle) - e.at, wanted_back);
    buf_close(&a);
    buf_close(&b);
}

static void test_excerpt_splits_neither_characters_nor_escapes(void **state)
{
    (void)state;
    check_boundary("\xe2\x82\xac", 1, 3);
    check_boundary("\xf0\x9f\x98\x80", 2, 4);
    check_boundary("\\n", 1, 2);
    check_boundary("\\u00e4", 1, 6);
    check_boundary("\\u00e4", 5, 6);
    check_boundary("\\u00e4", 6, 6);
    check_boundary("\\\\n", 1, 1); /* an escaped backslash, and an n */
    check_boundary("\\\\u00e4", 4, 4);
    check_boundary("\\nabcd", 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_excerpt_of_short_values_is_all_of_them),
        cmocka_unit_test(test_excerpt_begins_shortly_before_the_difference),
        cmocka_unit_test(test_excerpt_of_a_value_that_ends_where_the_other_goes_on),
        cmocka_unit_test(test_excerpt_splits_neither_characters_nor_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
