/* Parsing of points in time. */
#include "base/time_point.h"

#include "tests/support/unit.h"

#include <time.h>

#define NOW ((int64_t)1795256137 * 1000000) /* 2026-11-21 10:15:37 UTC, 11:15:37 in Berlin */

static int set_up(void **state)
{
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1); /* Berlin, without a database of time zones */
    tzset();
    return 0;
}

static void test_time_point_time_of_each_form_is_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t s; /* since the epoch */
    } rows[] = {
        {"now", 1795256137},
        {"2h", 1795256137 - 7200},
        {"7d", 1795256137 - 7 * 86400},
        {"90s", 1795256137 - 90},
        {"today", 1795215600},
        {"yesterday", 1795215600 - 86400},
        {"2026-11-21", 1795215600},
        {"2026-11-21T00:00Z", 1795219200},
        {"2026-11-21 10:15:37Z", 1795256137},
        {"2026-11-21T11:15:37", 1795256137},
        {"2026-11-21 11:15", 1795256100},
        {"2026-07-01 12:00", 1782900000}, /* summer time */
        {"2028-02-29Z", 1835395200},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        int64_t us = -1;
        if (time_point_parse_text(rows[i].text, NOW, &us) != 0)
            fail_msg("refused: %s", rows[i].text);
        if (us != rows[i].s * 1000000)
            fail_msg("%s: %lld", rows[i].text, (long long)(us / 1000000));
    }
}

static void test_time_point_fraction_of_a_second_is_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us; /* since 10:15:37 UTC */
    } rows[] = {
        {"2026-11-21T10:15:37.25Z", 250000},
        {"2026-11-21T10:15:37.000001Z", 1},
        {"2026-11-21T10:15:37.123456789Z", 123456},
        {"2026-11-21 11:15:37.5", 500000},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        int64_t us = -1;
        assert_int_equal(time_point_parse_text(rows[i].text, NOW, &us), 0);
        assert_int_equal(us, NOW + rows[i].us);
    }
}

static void test_time_point_invalid_time_is_rejected(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "tomorrow",
        "2026",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "2026-06-31",
        "2027-02-29",
        "2026-1-1",
        "2026-11-21T10:15:37.Z",
        "2026-11-21T10:15:37.1234567890Z",
        "2026-11-21T10:15.5Z",
        "26-01-01",
        "2026-01-01x",
        "2026-01-01 ",
        "2026-01-01T",
        "2026-01-01 24:00",
        "2026-01-01 12:60",
        "2026-01-01 12",
        "2026-01-01 12:00:60",
        "2026-01-01 12:00ZZ",
        "-1h",
        "1y",
        "1969-12-31",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        int64_t us = -1;
        if (time_point_parse_text(rows[i], NOW, &us) != MI_EINVAL)
            fail_msg("taken: '%s'", rows[i]);
        assert_int_equal(us, -1);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_point_time_of_each_form_is_parsed),
        cmocka_unit_test(test_time_point_fraction_of_a_second_is_parsed),
        cmocka_unit_test(test_time_point_invalid_time_is_rejected),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
