/* Durations as a distribution, and the figures of tools. */
#include "cli/ui/model/figures.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void test_latency_percentile_is_within_four_percent(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    static int64_t us[MANY];
    static struct latency l;
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < MANY; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        us[i] = (int64_t)(seed >> (24 + seed % 38));
        latency_add(&l, us[i]);
    }
    qsort(us, MANY, sizeof us[0], by_value);
    for (int p = 1; p <= 100; p++) {
        int64_t exact = us[(MANY * p + 99) / 100 - 1], got = latency_percentile(&l, p);
        int64_t apart = got > exact ? got - exact : exact - got;
        if (apart > 1 + exact / 25)
            fail_msg("p%d is %lld, got %lld", p, (long long)exact, (long long)got);
    }
    assert_int_equal(latency_percentile(&l, 100), us[MANY - 1]);
}

static void test_latency_extremes(void **state)
{
    (void)state;
    static struct latency l;
    assert_int_equal(latency_percentile(&l, 50), -1);
    latency_add(&l, -5);
    assert_int_equal(latency_percentile(&l, 50), 0);
    latency_add(&l, INT64_MAX);
    assert_int_equal(latency_percentile(&l, 100), INT64_MAX);
}

static void ended(struct figures *f, const char *tool, enum call_status status, int64_t us,
                  enum figures_order order)
{
    struct slice method = slice_of("tools/call"), target = slice_of(tool);
    assert_int_equal(figures_count_request(f, method, target), 0);
    assert_int_equal(figures_count_answer(f, method, target, status, us, order), 0);
}

static void test_figures_recent_is_newest_first_from_both_sides(void **state)
{
    (void)state;
    struct figures f = {0};
    ended(&f, "a", CALL_OK, 3, FIGURES_OLDER);
    ended(&f, "a", CALL_OK, 2, FIGURES_OLDER);
    ended(&f, "a", CALL_ERROR, 4, FIGURES_NEWER);
    for (int64_t i = 5; i < 100; i++)
        ended(&f, "b", CALL_OK, i, FIGURES_NEWER);
    assert_int_equal(f.tools, 2);
    assert_int_equal(f.tool[0].recent_n, 3);
    assert_int_equal(f.tool[0].recent_us[0], -1 - 4);
    assert_int_equal(f.tool[0].recent_us[1], 3);
    assert_int_equal(f.tool[0].recent_us[2], 2);
    assert_int_equal(f.tool[1].recent_n, FIGURES_RECENT);
    assert_int_equal(f.tool[1].recent_us[0], 99);
    assert_int_equal(f.tool[1].recent_us[FIGURES_RECENT - 1], 100 - FIGURES_RECENT);
    assert_int_equal(f.tool[0].failed, 1);
    figures_close(&f);
}

static void test_figures_sorted_by_calls_and_limited(void **state)
{
    (void)state;
    struct figures f = {0};
    uint32_t order[3];
    char name[16];
    for (int i = 0; i < FIGURES_TOOLS + 40; i++) {
        snprintf(name, sizeof name, "tool%d", i);
        for (int n = 0; n <= i % 50; n++)
            ended(&f, name, CALL_OK, 1, FIGURES_OLDER);
    }
    assert_int_equal(f.tools, FIGURES_TOOLS);
    assert_int_equal(figures_sort_tools(&f, order, MI_COUNT(order)), 3);
    assert_int_equal(order[0], 49);
    assert_int_equal(order[1], 99);
    assert_int_equal(order[2], 149);
    figures_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency_percentile_is_within_four_percent),
        cmocka_unit_test(test_latency_extremes),
        cmocka_unit_test(test_figures_recent_is_newest_first_from_both_sides),
        cmocka_unit_test(test_figures_sorted_by_calls_and_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
