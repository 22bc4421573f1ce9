#include "cli/ui/gauge/gauge.h"

#include "tests/support/unit.h"

static void test_gauge_bar_is_logarithmic(void **state)
{
    (void)state;
    static const struct {
        int64_t us, longest;
        size_t columns;
        bool ascii;
        const char *bar;
    } samples[] = {
        {-1, 1000000, 4, true, "    "},
        {0, 1000000, 4, true, "#   "},
        {1000, 1000000, 4, true, "#   "},
        {10000, 1000000, 4, true, "##  "},
        {100000, 1000000, 4, true, "### "},
        {1000000, 1000000, 4, true, "####"},
        {2000000, 1000000, 4, true, "####"},
        {5, 5, 4, true, "#   "}, /* nothing took 1 ms */
        {1000000, 1000000, 0, true, ""},
        {1000, 1000000, 2, false, "▏ "},
        {1000000, 1000000, 2, false, "██"},
        {31623, 1000000, 2, false, "█▏"}, /* half of the way from 1 ms to 1 s, in steps 1 to 16 */
        {15000, 1000000, 2, false, "▉ "},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        buf_clear(&b);
        gauge_append_bar(&b, samples[i].us, samples[i].longest, samples[i].columns,
                         samples[i].ascii);
        assert_string_equal(buf_str(&b), samples[i].bar);
    }
    buf_close(&b);
}

static void test_gauge_spark_shows_the_last_ones(void **state)
{
    (void)state;
    static const int64_t us[] = {1000000, -1, 1000, 100000, 5000000};
    struct buf b = {0};
    gauge_append_sparkline(&b, us, MI_COUNT(us), 4, true);
    assert_string_equal(buf_str(&b), "*_x#"); /* the longest of all is not shown */
    buf_clear(&b);
    gauge_append_sparkline(&b, us, 4, 6, false);
    assert_string_equal(buf_str(&b), "  ▆▁×█");
    buf_clear(&b);
    gauge_append_sparkline(&b, NULL, 0, 3, false);
    assert_string_equal(buf_str(&b), "   ");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gauge_bar_is_logarithmic),
        cmocka_unit_test(test_gauge_spark_shows_the_last_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
