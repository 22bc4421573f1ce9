/* The two clocks and their texts. */
#include "base/clock.h"

#include "tests/support/unit.h"

#include <time.h>

#define S INT64_C(1000000)

static void test_clock_utc_text_follows_rfc_3339(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *text, *day;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z", "1970-01-01"},
        {999, "1970-01-01T00:00:00.000Z", "1970-01-01"}, /* truncated, not rounded */
        {1000, "1970-01-01T00:00:00.001Z", "1970-01-01"},
        {S - 1, "1970-01-01T00:00:00.999Z", "1970-01-01"},
        {86400 * S - 1, "1970-01-01T23:59:59.999Z", "1970-01-01"},
        {86400 * S, "1970-01-02T00:00:00.000Z", "1970-01-02"},
        {951782400 * S, "2000-02-29T00:00:00.000Z", "2000-02-29"},
        {1769903999 * S + 123456, "2026-01-31T23:59:59.123Z", "2026-01-31"},
        {4102444800 * S, "2100-01-01T00:00:00.000Z", "2100-01-01"},
        {253402300799 * S, "9999-12-31T23:59:59.000Z", "9999-12-31"},
    };
    setenv("TZ", "XYZ-5:30", 1); /* the local time zone does not matter here */
    tzset();
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char text[CLOCK_TEXT_MAX];
        clock_utc_text(rows[i].us, text);
        assert_string_equal(text, rows[i].text);
        clock_utc_day(rows[i].us, text);
        assert_string_equal(text, rows[i].day);
    }
}

static void test_clock_local_text_is_in_the_local_time_zone(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *text;
    } rows[] = {
        {"UTC0", "2026-01-31 23:59:59"},
        {"XYZ-5:30", "2026-02-01 05:29:59"},
        {"XYZ8", "2026-01-31 15:59:59"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char text[CLOCK_TEXT_MAX];
        setenv("TZ", rows[i].zone, 1);
        tzset();
        clock_write_local_time(1769903999 * S, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_clock_mono_advances_and_never_goes_back(void **state)
{
    (void)state;
    int64_t start = clock_mono_us();
    int64_t last = start;
    int64_t wall = clock_wall_us();
    while (last == start) { /* a microsecond passes; the wall clock bounds the wait */
        int64_t now = clock_mono_us();
        assert_true(now >= last);
        last = now;
        assert_true(clock_wall_us() - wall < 10 * S);
    }
    assert_true(last > 0);
}

static void test_clock_wall_is_the_time_of_day(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL);
    int64_t us = clock_wall_us();
    int64_t after = (int64_t)time(NULL);
    assert_true(us / S >= before - 1 && us / S <= after + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_utc_text_follows_rfc_3339),
        cmocka_unit_test(test_clock_local_text_is_in_the_local_time_zone),
        cmocka_unit_test(test_clock_mono_advances_and_never_goes_back),
        cmocka_unit_test(test_clock_wall_is_the_time_of_day),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
