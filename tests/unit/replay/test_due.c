/* The heap and the hash map, compared with simple implementations. */
#include "tests/support/unit.h"

#include "replay/mock/due_heap.h"
#include "replay/plan/map.h"

#define N 300

static void test_due_is_sorted_by_time_and_then_by_order(void **state)
{
    (void)state;
    struct due_heap h = {0};
    static struct due d[N];
    struct unit_random r = {7};
    memset(d, 0, sizeof d);
    for (size_t round = 0; round < 20000; round++) {
        struct due *one = &d[unit_random(&r, N)];
        if (unit_random(&r, 3) == 0)
            due_heap_remove(&h, one);
        else
            assert_int_equal(due_heap_set_time(&h, one, (int64_t)unit_random(&r, 50)), 0);
        const struct due *first = NULL;
        for (size_t i = 0; round % 64 == 0 && i < N; i++)
            if (d[i].place != 0 && (first == NULL || d[i].at_us < first->at_us ||
                                    (d[i].at_us == first->at_us && d[i].order < first->order)))
                first = &d[i];
        if (round % 64 == 0)
            assert_ptr_equal(due_heap_get_earliest(&h), first);
    }
    int64_t last = -1;
    for (struct due *one; (one = due_heap_get_earliest(&h)) != NULL; due_heap_remove(&h, one)) {
        assert_true(one->at_us >= last);
        last = one->at_us;
    }
    due_heap_close(&h);
}

static void test_map_keeps_the_last_value(void **state)
{
    (void)state;
    struct map m = {0};
    static uint32_t want[5000];
    struct unit_random r = {9};
    assert_null(map_get(&m, 5));
    for (size_t i = 0; i < 40000; i++) {
        size_t k = unit_random(&r, MI_COUNT(want));
        want[k] = (uint32_t)i + 1;
        assert_int_equal(map_put(&m, (uint64_t)k * 0x100000000u + 1, want[k]), 0);
    }
    for (size_t k = 0; k < MI_COUNT(want); k++) {
        const uint32_t *v = map_get(&m, (uint64_t)k * 0x100000000u + 1);
        assert_int_equal(v != NULL ? *v : 0, want[k]);
        assert_null(map_get(&m, (uint64_t)k * 0x100000000u + 2));
    }
    map_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_is_sorted_by_time_and_then_by_order),
        cmocka_unit_test(test_map_keeps_the_last_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
