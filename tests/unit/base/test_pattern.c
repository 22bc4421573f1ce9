#include "base/pattern.h"

#include "tests/support/unit.h"

static const struct pattern_rules ecma = {
    .ecma = true, .steps = 100000, .depth = 1000, .heap_kib = 1024};
static const struct pattern_rules own = {.jit = true, .steps = 2000, .depth = 200, .heap_kib = 256};

static void test_pattern_ecma_accepts_ecmascript_syntax(void **state)
{
    (void)state;
    static const struct {
        const char *regex, *text;
        enum pattern_result result;
    } rows[] = {
        {"b", "abc", PATTERN_YES},
        {"^b", "abc", PATTERN_NO},
        {"^a$", "a\n", PATTERN_NO},
        {"^\\u00e9$", "\xC3\xA9", PATTERN_YES},
        {"^\\d$", "\xD9\xA3", PATTERN_NO},
        {"^.$", "\xF0\x9F\x92\xA9", PATTERN_YES},
        {"^\\p{L}+$", "\xC3\xA9t", PATTERN_YES},
        {"^[]$", "", PATTERN_NO},
        {"", "", PATTERN_YES},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct pattern *p;
        struct work w = work_begin_with_limits(1000, 0);
        assert_int_equal(pattern_open(&p, &ecma, slice_of(rows[i].regex), NULL), 0);
        assert_int_equal(pattern_search(p, slice_of(rows[i].text), &w), rows[i].result);
        pattern_close(p);
    }
    pattern_close(NULL);
}

static void test_pattern_invalid_is_rejected_with_a_reason(void **state)
{
    (void)state;
    struct pattern *p;
    struct buf error = {0};
    char too_long[PATTERN_MAX + 1];
    memset(too_long, 'a', sizeof too_long);
    assert_int_equal(pattern_open(&p, &ecma, slice_of("("), NULL), MI_EINVAL);
    assert_int_equal(pattern_open(&p, &own, slice_of("a["), &error), MI_EINVAL);
    assert_string_equal(buf_str(&error),
                        "missing terminating ] for character class, at character 3 "
                        "of the expression");
    buf_clear(&error);
    assert_int_equal(pattern_open(&p, &own, (struct slice){too_long, sizeof too_long}, &error),
                     MI_EINVAL);
    assert_true(error.n > 0);
    assert_int_equal(pattern_open(&p, &own, (struct slice){too_long, PATTERN_MAX}, &error), 0);
    pattern_close(p);
    buf_close(&error);
}

static void test_pattern_match_stops_after_too_many_steps(void **state)
{
    (void)state;
    struct pattern *p;
    char text[4096];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '!';
    struct slice all = {text, sizeof text};
    struct pattern_piece piece = {.text = all, .limit = all.n};
    struct slice hit;
    struct work w = work_begin_with_limits(1000000, 0);
    assert_int_equal(pattern_open(&p, &ecma, slice_of("(a+)+$"), NULL), 0);
    assert_int_equal(pattern_search(p, all, &w), PATTERN_GAVE_UP);
    pattern_close(p);
    assert_int_equal(pattern_open(&p, &own, slice_of("(a+)+$"), NULL), 0);
    assert_int_equal(pattern_find_match(p, &piece, &hit), PATTERN_GAVE_UP);
    pattern_close(p);
}

/* `hit` is the expected match; "": no match. */
static void test_pattern_find_stays_within_the_limits(void **state)
{
    (void)state;
    static const struct {
        const char *regex, *text;
        size_t from, limit;
        bool more_front, more_end;
        const char *hit;
    } rows[] = {
        {"[a-z]+", "12 abc", 0, 6, false, false, "abc"},
        {"no ([0-9]+)", "no 12", 0, 5, false, false, "12"},
        {"no ([0-9]*)", "no x", 0, 4, false, false, "no "}, /* group 1 is empty */
        {"no|([0-9]+)", "no", 0, 2, false, false, "no"},    /* group 1 did not take part */
        {"x*", "aaa", 0, 3, false, false, ""},              /* never an empty match */
        {"b+", "abab", 2, 4, false, false, "b"},
        {"b", "aab", 0, 2, false, false, ""}, /* begins at the limit */
        {"ab", "aab", 0, 2, false, false, "ab"},
        {"^a", "a", 0, 1, false, false, "a"},
        {"^a", "a", 0, 1, true, false, ""},
        {"a$", "a", 0, 1, false, false, "a"},
        {"a$", "a", 0, 1, false, true, ""},
        {"(?<=x)a", "xa", 1, 2, true, false, "a"},    /* looks behind, before `from` */
        {"(?<=(x))a", "xa", 1, 2, true, false, ""},   /* its group is before `from` */
        {"a", "\xff\xc3 a", 0, 4, false, false, "a"}, /* not valid UTF-8 */
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct pattern *p;
        struct slice hit = {NULL, 0};
        struct pattern_piece piece = {.text = slice_of(rows[i].text),
                                      .from = rows[i].from,
                                      .limit = rows[i].limit,
                                      .more_front = rows[i].more_front,
                                      .more_end = rows[i].more_end};
        assert_int_equal(pattern_open(&p, &own, slice_of(rows[i].regex), NULL), 0);
        enum pattern_result r = pattern_find_match(p, &piece, &hit);
        if (r != (*rows[i].hit != '\0' ? PATTERN_YES : PATTERN_NO) ||
            !slice_eq(hit, slice_of(rows[i].hit)))
            fail_msg("row %zu: %d, '%.*s'", i, r, (int)hit.n, hit.p);
        assert_true(hit.n == 0 || (hit.p >= piece.text.p && hit.p < piece.text.p + piece.text.n));
        pattern_close(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern_ecma_accepts_ecmascript_syntax),
        cmocka_unit_test(test_pattern_invalid_is_rejected_with_a_reason),
        cmocka_unit_test(test_pattern_match_stops_after_too_many_steps),
        cmocka_unit_test(test_pattern_find_stays_within_the_limits),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
