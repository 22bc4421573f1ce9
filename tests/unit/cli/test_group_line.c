/* Calls that were counted together, as lines in an order. */
#include "cli/frame/group_line.h"

#include "tests/support/unit.h"

#include <stdlib.h>

static void add(struct count *c, const char *name, enum call_status status, int64_t took_us,
                int64_t at_us)
{
    struct query_call call = {
        .status = status, .duration_us = took_us, .request_size = 10, .response_size = took_us};
    struct buf key = {0};
    buf_printf(&key, "%s\xFF", name);
    assert_int_equal(tally_add_call(&c->tally, buf_slice(&key), &call, at_us), 0);
    buf_close(&key);
}

static void lines_begin(struct count *c, const char *sort, const char *first, const char *second)
{
    struct group_line *l;
    assert_int_equal(make_group_lines(c, c, sort, &l), 0);
    assert_true(slice_is(c->by == COUNT_DAY ? l[0].day : l[0].server, first));
    assert_true(slice_is(c->by == COUNT_DAY ? l[1].day : l[1].server, second));
    free(l);
}

static void test_group_lines_are_sorted_by_calls_or_by_day(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a", "ab", "c", "c"};
    struct count c = {.by = COUNT_SERVER};
    for (size_t i = 0; i < MI_COUNT(names); i++)
        add(&c, names[i], CALL_OK, 1, 0);
    assert_int_equal(c.tally.n, 4);
    lines_begin(&c, NULL, "c", "ab"); /* what they have in common ends with 0xFF */
    c.by = COUNT_DAY;
    lines_begin(&c, NULL, "c", "b");
    lines_begin(&c, "calls", "c", "ab");
    tally_close(&c.tally);
}

static void test_group_lines_are_sorted_by_each_figure_in_descending_order(void **state)
{
    (void)state;
    static const struct {
        const char *sort, *first, *second;
    } rows[] = {{"calls", "often", "bad"}, {"errors", "bad", "late"}, {"timeouts", "late", "often"},
                {"p50", "slow", "late"},   {"p95", "slow", "late"},   {"p99", "slow", "late"},
                {"max", "slow", "late"},   {"last", "slow", "often"}, {"bytes", "slow", "late"}};
    struct count c = {.by = COUNT_SERVER};
    for (int i = 0; i < 4; i++)
        add(&c, "often", CALL_OK, 1, 0);
    add(&c, "late", CALL_TIMEOUT, 30, 0);
    add(&c, "late", CALL_OK, 30, 0);
    for (int i = 0; i < 2; i++)
        add(&c, "bad", CALL_ERROR, 20, 0);
    add(&c, "slow", CALL_OK, 99, 1000);
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        lines_begin(&c, rows[i].sort, rows[i].first, rows[i].second);
    tally_close(&c.tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_lines_are_sorted_by_calls_or_by_day),
        cmocka_unit_test(test_group_lines_are_sorted_by_each_figure_in_descending_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
