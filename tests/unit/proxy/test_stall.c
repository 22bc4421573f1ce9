/* Whether a loop turn came in time. */
#include "proxy/stall.h"

#include "tests/support/unit.h"

#define MS INT64_C(1000)

/* A turn that began at 10 s, with the next timer due after wait_ms, and ended after turn_ms. */
struct turn {
    int64_t wait_ms, turn_ms;
    int64_t stalled_ms;
};

static const struct turn turns[] = {
    {1000, 1000, 0},
    {1000, 1099, 0},
    {1000, 1100, 100},
    {1000, 3, 0},
    {1000, 12000, 11000},
    {0, 99, 0},
    {0, 5000, 5000},               /* stopped in the turn itself */
    {-1, 3600 * INT64_C(1000), 0}, /* no timer: it may have waited */
};

static void test_stall_is_time_beyond_the_next_timer(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(turns); i++) {
        struct stall s;
        stall_open(&s, 10000 * MS);
        stall_set_expected_wait(&s, turns[i].wait_ms < 0 ? -1 : turns[i].wait_ms * MS);
        int64_t end_us = 10000 * MS + turns[i].turn_ms * MS;
        assert_int_equal(stall_measure_turn_delay(&s, end_us), turns[i].stalled_ms * MS);
        stall_set_expected_wait(&s, 50 * MS);
        assert_int_equal(stall_measure_turn_delay(&s, end_us + 50 * MS), 0); /* reported once */
    }
}

static void test_stall_before_any_timer_is_none(void **state)
{
    (void)state;
    struct stall s;
    stall_open(&s, 0);
    assert_int_equal(stall_measure_turn_delay(&s, 60000 * MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall_is_time_beyond_the_next_timer),
        cmocka_unit_test(test_stall_before_any_timer_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
