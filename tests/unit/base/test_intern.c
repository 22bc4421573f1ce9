/* Interned texts and their numbers. */
#include "base/intern.h"

#include "tests/support/unit.h"

#include <stdio.h>

static void test_intern_equal_texts_get_equal_numbers_in_order(void **state)
{
    (void)state;
    struct intern t = {0};
    uint32_t n;
    static const char *const texts[] = {"b", "a", "", "a b", "b"};
    static const uint32_t numbers[] = {0, 1, 2, 3, 0};
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        assert_int_equal(intern_add(&t, slice_of(texts[i]), &n), 0);
        assert_int_equal(n, numbers[i]);
        assert_true(slice_is(intern_get_text(&t, n), texts[i]));
    }
    assert_int_equal(t.n, 4);
    intern_close(&t);
    assert_int_equal(t.n, 0);
    assert_int_equal(intern_add(&t, (struct slice){NULL, 0}, &n), 0);
    assert_int_equal(n, 0);
    intern_close(&t);
}

static void test_intern_many_texts_keep_their_numbers(void **state)
{
    (void)state;
    struct intern t = {0};
    char text[32];
    uint32_t n;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 20000; i++) {
            int len = snprintf(text, sizeof text, "text %u", (unsigned)i * 7919u);
            assert_int_equal(intern_add(&t, (struct slice){text, (size_t)len}, &n), 0);
            assert_int_equal(n, i);
        }
    }
    assert_int_equal(t.n, 20000);
    intern_close(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern_equal_texts_get_equal_numbers_in_order),
        cmocka_unit_test(test_intern_many_texts_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
