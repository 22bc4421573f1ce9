#include "base/grow.h"

#include "tests/support/unit.h"

static bool fail;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fail ? NULL : __real_realloc(p, n);
}

static void test_grow_array_keeps_its_elements(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    size_t n = 0, cap = 0, grown = 0;
    while (n < 5000) {
        size_t before = cap;
        assert_true(GROW(list, n, cap));
        assert_true(cap > n);
        grown += cap != before;
        list[n] = (uint32_t)n;
        n++;
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i], i);
    assert_true(grown < 12);
    free(list);
}

static void test_grow_out_of_memory_changes_nothing(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    size_t n = 0, cap = 0;
    while (n < cap || n == 0) {
        assert_true(GROW(list, n, cap));
        list[n++] = 7;
    }
    uint32_t *old = list;
    size_t old_cap = cap;
    fail = true;
    assert_false(GROW(list, n, cap));
    fail = false;
    assert_ptr_equal(list, old);
    assert_int_equal(cap, old_cap);
    assert_int_equal(list[n - 1], 7);
    free(list);
}

static void test_grow_size_overflow_is_rejected(void **state)
{
    (void)state;
    void *huge = NULL;
    size_t cap = 0;
    assert_true(grow_array(&huge, &cap, 1));
    void *before = huge;
    cap = 16;
    assert_false(grow_array(&huge, &cap, SIZE_MAX / 32 + 1)); /* 32 times that is 0 */
    assert_int_equal(cap, 16);
    cap = SIZE_MAX / 2 + 1; /* twice that is 0 */
    assert_false(grow_array(&huge, &cap, 1));
    assert_ptr_equal(huge, before);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grow_array_keeps_its_elements),
        cmocka_unit_test(test_grow_out_of_memory_changes_nothing),
        cmocka_unit_test(test_grow_size_overflow_is_rejected),
    };
    return cmocka_run_group_tests_name("grow", tests, NULL, NULL);
}
