/* A buffer grows, keeps its limit, and remembers that an add was dropped. */
#include "base/buf.h"

#include "tests/support/unit.h"

static int fail_after = -1; /* allocations that still succeed; -1: all */
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return fail_after >= 0 && fail_after-- == 0 ? NULL : __real_realloc(p, n);
}

static void test_buf_adds_are_appended_in_order(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_add(&b, "a\0b", 3);
    buf_addc(&b, 'c');
    buf_adds(&b, "dd");
    buf_slice_add(&b, (struct slice){"eeXX", 2});
    buf_int(&b, -12);
    buf_printf(&b, "<%s %d>", "f", 7);
    assert_false(b.failed);
    assert_int_equal(b.n, 16);
    assert_memory_equal(b.p, "a\0bcddee-12<f 7>", 16);
    assert_int_equal(buf_slice(&b).n, b.n);
    assert_ptr_equal(buf_slice(&b).p, b.p);
    buf_close(&b);
}

static void test_buf_empty_is_an_empty_string(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_non_null(buf_slice(&b).p);
    assert_int_equal(buf_slice(&b).n, 0);
    assert_string_equal(buf_str(&b), "");
    buf_add(&b, NULL, 0);
    buf_adds(&b, "");
    buf_slice_add(&b, (struct slice){0});
    buf_printf(&b, "%s", "");
    assert_false(b.failed);
    assert_int_equal(b.n, 0);
    assert_string_equal(buf_str(&b), "");
    buf_close(&b);
    buf_close(&b); /* safe to call twice */
}

static void test_buf_str_ends_with_nul_which_is_not_counted(void **state)
{
    (void)state;
    struct buf b = {0};
    for (size_t n = 1; n < 300; n++) {
        buf_addc(&b, 'x');
        assert_int_equal(strlen(buf_str(&b)), n);
        assert_int_equal(b.n, n);
    }
    buf_close(&b);
}

static void test_buf_clear_keeps_the_memory_and_resets_failed(void **state)
{
    (void)state;
    struct buf b = {.max = 100};
    buf_adds(&b, "0123456789");
    char *p = b.p;
    assert_false(buf_reserve(&b, 1000));
    assert_true(b.failed);
    buf_clear(&b);
    assert_false(b.failed);
    assert_int_equal(b.n, 0);
    assert_ptr_equal(b.p, p);
    assert_int_equal(b.max, 100);
    buf_adds(&b, "again");
    assert_string_equal(buf_str(&b), "again");
    buf_close(&b);
    assert_null(b.p);
    assert_int_equal(b.cap, 0);
    assert_int_equal(b.max, 100); /* closing keeps the limit */
}

static void test_buf_printf_appends_a_text_of_any_length(void **state)
{
    struct buf b = {0};
    char text[301], want[700];
    (void)state;
    memset(text, 'x', sizeof text);
    for (int n = 0; n < 300; n++) {
        /* one of these lengths leaves as many bytes as the text has: no room for the NUL */
        int before[] = {0, n, n + 1};
        for (size_t i = 0; i < MI_COUNT(before); i++) {
            buf_close(&b);
            buf_add(&b, text, (size_t)before[i]);
            buf_printf(&b, "%.*s%d", n, text, n % 10);
            snprintf(want, sizeof want, "%.*s%.*s%d", before[i], text, n, text, n % 10);
            assert_string_equal(buf_str(&b), want);
        }
    }
    buf_close(&b);
}

static void test_buf_int_is_decimal(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *text;
    } rows[] = {
        {0, "0"},
        {7, "7"},
        {10, "10"},
        {-1, "-1"},
        {-10, "-10"},
        {1234567890123, "1234567890123"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&b);
        buf_int(&b, rows[i].v);
        assert_string_equal(buf_str(&b), rows[i].text);
    }
    buf_close(&b);
}

/* Exactly `max` bytes fit, whatever function adds them and in whatever sizes. */
static void test_buf_limit_is_exact(void **state)
{
    (void)state;
    static const size_t limits[] = {1, 2, 8, 63, 64, 65, 100, 1000};
    for (size_t i = 0; i < MI_COUNT(limits); i++)
        for (size_t step = 1; step < 70; step++) {
            struct buf b = {.max = limits[i]};
            char piece[70];
            memset(piece, 'x', sizeof piece);
            size_t added = 0;
            while (!b.failed) {
                buf_add(&b, piece, step);
                added += b.failed ? 0 : step;
                assert_true(b.n <= limits[i]);
            }
            assert_int_equal(b.n, added);
            assert_true(added + step > limits[i]); /* the dropped add would have exceeded it */
            buf_close(&b);
        }
    struct buf b = {.max = 5};
    buf_adds(&b, "12345");
    assert_false(b.failed);
    assert_string_equal(buf_str(&b), "12345"); /* the NUL is not counted */
    assert_false(b.failed);
    buf_close(&b);
    b.max = 5;
    buf_printf(&b, "%d", 12345);
    assert_false(b.failed);
    assert_string_equal(buf_str(&b), "12345");
    buf_addc(&b, '6');
    assert_true(b.failed);
    assert_string_equal(buf_str(&b), "");
    buf_close(&b);
    b.max = 5;
    buf_printf(&b, "%d", 123456);
    assert_true(b.failed);
    assert_int_equal(b.n, 0);
    buf_close(&b);
}

static void test_buf_failure_is_sticky_and_keeps_the_content(void **state)
{
    (void)state;
    struct buf b = {.max = 4};
    buf_adds(&b, "abc");
    buf_adds(&b, "de");
    assert_true(b.failed);
    buf_addc(&b, 'f'); /* would fit, but the content is already incomplete */
    buf_int(&b, 1);
    buf_printf(&b, "g");
    assert_false(buf_reserve(&b, 1));
    assert_int_equal(b.n, 3);
    assert_memory_equal(b.p, "abc", 3);
    buf_close(&b);
}

static void test_buf_reserve_of_a_huge_size_fails(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_adds(&b, "abc");
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    buf_clear(&b);
    assert_false(buf_reserve(&b, SIZE_MAX / 2 + 1));
    buf_close(&b);
}

static void test_buf_reserved_memory_does_not_move(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_true(buf_reserve(&b, 5000));
    char *p = b.p;
    for (int i = 0; i < 5000; i++)
        buf_addc(&b, 'x');
    assert_ptr_equal(b.p, p);
    assert_int_equal(b.n, 5000);
    buf_close(&b);
}

static void test_buf_failed_allocation_drops_the_add_and_keeps_the_rest(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 0; n < 8; n++) {
        struct buf b = {0};
        fail_after = n;
        for (int i = 0; i < 1000; i++)
            buf_addc(&b, 'x');
        fail_after = -1;
        failures += b.failed;
        assert_true(b.failed ? b.n < 1000 : b.n == 1000);
        for (size_t i = 0; i < b.n; i++)
            assert_int_equal(b.p[i], 'x');
        assert_int_equal(strlen(buf_str(&b)), b.failed ? 0 : 1000);
        buf_close(&b);
    }
    assert_true(failures >= 3 && failures < 8);
    struct buf b = {0};
    fail_after = 0;
    buf_printf(&b, "%d", 7);
    assert_true(b.failed);
    fail_after = -1;
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_adds_are_appended_in_order),
        cmocka_unit_test(test_buf_empty_is_an_empty_string),
        cmocka_unit_test(test_buf_str_ends_with_nul_which_is_not_counted),
        cmocka_unit_test(test_buf_clear_keeps_the_memory_and_resets_failed),
        cmocka_unit_test(test_buf_printf_appends_a_text_of_any_length),
        cmocka_unit_test(test_buf_int_is_decimal),
        cmocka_unit_test(test_buf_limit_is_exact),
        cmocka_unit_test(test_buf_failure_is_sticky_and_keeps_the_content),
        cmocka_unit_test(test_buf_reserve_of_a_huge_size_fails),
        cmocka_unit_test(test_buf_reserved_memory_does_not_move),
        cmocka_unit_test(test_buf_failed_allocation_drops_the_add_and_keeps_the_rest),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
