#include "tests/support/unit.h"

#include "replay/mock/pace.h"

static const struct pace_mark mark = {1000, 500};

static void test_pace_speed_zero_is_at_once(void **state)
{
    (void)state;
    const struct pace p = {0};
    assert_int_equal(pace_compute_send_time(&p, mark, 900500, 0, false), 1000);
    assert_int_equal(pace_compute_send_time(&p, mark, 900500, 1500, false), 1500);
}

static void test_pace_notification_is_followed_by_a_gap_at_any_speed(void **state)
{
    (void)state;
    const struct pace p = {0}, fast = {1e6};
    assert_int_equal(pace_compute_send_time(&p, mark, 900500, 2000, true), 2000 + PACE_GAP_US);
    assert_int_equal(pace_compute_send_time(&fast, mark, 501, 2000, true), 2000 + PACE_GAP_US);
}

static void test_pace_speed_divides_the_recorded_distance(void **state)
{
    (void)state;
    const struct pace one = {1}, two = {2}, half = {0.5};
    assert_int_equal(pace_compute_send_time(&one, mark, 10500, 0, false), 11000);
    assert_int_equal(pace_compute_send_time(&two, mark, 10500, 0, false), 6000);
    assert_int_equal(pace_compute_send_time(&half, mark, 10500, 0, false), 21000);
    assert_int_equal(pace_compute_send_time(&one, mark, 400, 0, false),
                     1000); /* recorded before the mark: due at once */
}

static void test_pace_far_future_does_not_overflow(void **state)
{
    (void)state;
    const struct pace slow = {1e-3};
    assert_true(pace_compute_send_time(&slow, mark, INT64_MAX / 2, 0, false) > 0);
}

static void test_pace_patience_exceeds_the_recorded_clients(void **state)
{
    (void)state;
    assert_int_equal(pace_get_wait_before_error_us(60000000, true), 60000000 + PACE_SLACK_US);
    assert_int_equal(pace_get_wait_before_error_us(60000000, false),
                     PACE_OPEN_MAX_US + PACE_SLACK_US);
    assert_int_equal(pace_get_wait_before_error_us(-5, true), PACE_SLACK_US);
}

static void test_pace_factor_is_read_strictly(void **state)
{
    (void)state;
    struct pace p;
    static const char *const good[] = {"0", "1", "0.5", "10", "1000000", ".5", "2."};
    static const char *const bad[] = {"",       ".",  "-1",  "1e3",   "1000001",
                                      "0.0001", "1x", "nan", "1.2.3", " 1"};
    for (size_t i = 0; i < MI_COUNT(good); i++)
        assert_int_equal(pace_parse_speed(good[i], &p), 0);
    for (size_t i = 0; i < MI_COUNT(bad); i++)
        assert_int_equal(pace_parse_speed(bad[i], &p), MI_EINVAL);
    assert_int_equal(pace_parse_speed("0.5", &p), 0);
    assert_true(p.speed > 0.49 && p.speed < 0.51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_speed_zero_is_at_once),
        cmocka_unit_test(test_pace_notification_is_followed_by_a_gap_at_any_speed),
        cmocka_unit_test(test_pace_speed_divides_the_recorded_distance),
        cmocka_unit_test(test_pace_far_future_does_not_overflow),
        cmocka_unit_test(test_pace_patience_exceeds_the_recorded_clients),
        cmocka_unit_test(test_pace_factor_is_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
