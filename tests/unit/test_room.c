#include "base/room.h"

#include "tests/unit/unit.h"

static bool fail;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fail ? NULL : __real_realloc(p, n);
}

static void test_room_array_keeps_what_it_has_when_it_grows(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    size_t n = 0, cap = 0, grown = 0;
    while (n < 5000) {
        size_t before = cap;
        assert_true(ROOM(list, n, cap));
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

static void test_room_without_memory_changes_nothing(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    size_t n = 0, cap = 0;
    while (n < cap || n == 0) {
        assert_true(ROOM(list, n, cap));
        list[n++] = 7;
    }
    uint32_t *old = list;
    size_t old_cap = cap;
    fail = true;
    assert_false(ROOM(list, n, cap));
    fail = false;
    assert_ptr_equal(list, old);
    assert_int_equal(cap, old_cap);
    assert_int_equal(list[n - 1], 7);
    free(list);
}

static void test_room_more_bytes_than_can_be_counted_are_refused(void **state)
{
    (void)state;
    void *huge = NULL;
    size_t cap = 0;
    assert_true(room_make(&huge, &cap, 1));
    void *before = huge;
    cap = 16;
    assert_false(room_make(&huge, &cap, SIZE_MAX / 32 + 1)); /* 32 times that is 0 */
    assert_int_equal(cap, 16);
    cap = SIZE_MAX / 2 + 1; /* twice that is 0 */
    assert_false(room_make(&huge, &cap, 1));
    assert_ptr_equal(huge, before);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_array_keeps_what_it_has_when_it_grows),
        cmocka_unit_test(test_room_without_memory_changes_nothing),
        cmocka_unit_test(test_room_more_bytes_than_can_be_counted_are_refused),
    };
    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
