/* newest: the newest rows of several sessions; history: runs of consecutive messages. */
#include "cli/look/follow/history.h"

#include "tests/support/unit.h"

static void add(struct newest *l, int64_t at_us, int64_t session, int64_t number, bool is_event)
{
    struct newest_row r = {at_us, session, number, is_event};
    assert_int_equal(newest_rows_add(l, &r), 0);
}

static void test_newest_keeps_the_newest_in_whatever_order_they_come(void **state)
{
    (void)state;
    for (int64_t step = 1; step < 101; step += 9) { /* 101 is prime: each step visits all */
        struct newest l;
        newest_rows_open(&l, 10);
        for (int64_t i = 0; i < 101; i++)
            add(&l, i * step % 101, 1, 1, false);
        newest_rows_sort(&l);
        assert_int_equal(l.n, 10);
        for (int64_t i = 0; i < 10; i++)
            assert_int_equal(l.row[i].at_us, 91 + i);
        newest_rows_close(&l);
    }
}

static void test_newest_wants_rows_until_it_is_full_of_newer_ones(void **state)
{
    (void)state;
    struct newest l;
    newest_rows_open(&l, 2);
    assert_true(newest_rows_would_keep_row(&l, INT64_MIN));
    add(&l, 5, 1, 1, false);
    assert_true(newest_rows_would_keep_row(&l, 1));
    add(&l, 7, 1, 2, false);
    assert_false(newest_rows_would_keep_row(&l, 4));
    assert_true(
        newest_rows_would_keep_row(&l, 5)); /* another session may have a row of the same moment */
    add(&l, 4, 1, 3, false);
    add(&l, 9, 1, 4, false);
    newest_rows_sort(&l);
    assert_int_equal(l.row[0].at_us, 7);
    assert_int_equal(l.row[1].at_us, 9);
    newest_rows_close(&l);
    newest_rows_open(&l, 0);
    assert_false(newest_rows_would_keep_row(&l, 9));
    add(&l, 9, 1, 1, false);
    assert_int_equal(l.n, 0);
    newest_rows_close(&l);
}

static void test_newest_sorts_a_moment_by_session_event_and_number(void **state)
{
    (void)state;
    static const struct newest_row rows[] = {
        {1, 9, 9, false}, {2, 1, 5, true}, {2, 1, 3, false}, {2, 1, 4, false}, {2, 2, 1, true}};
    struct newest l;
    newest_rows_open(&l, 5);
    for (size_t i = MI_COUNT(rows); i-- > 0;)
        assert_int_equal(newest_rows_add(&l, &rows[i]), 0);
    newest_rows_sort(&l);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_int_equal(l.row[i].session_id, rows[i].session_id);
        assert_int_equal(l.row[i].number, rows[i].number);
        assert_int_equal(l.row[i].is_event, rows[i].is_event);
    }
    newest_rows_close(&l);
}

static void test_history_run_ends_at_a_gap_an_event_or_another_session(void **state)
{
    (void)state;
    static struct newest_row rows[] = {{1, 1, 1, false}, {2, 1, 2, false}, {3, 1, 3, true},
                                       {4, 1, 3, false}, {5, 1, 5, false}, {6, 2, 6, false},
                                       {7, 2, 7, false}, {8, 2, 8, false}};
    static const size_t ends[] = {2, 2, 3, 4, 5, 7, 8, 8};
    struct newest l = {.row = rows, .n = MI_COUNT(rows)};
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_int_equal(history_find_end_of_sequence(&l, i, 2), ends[i]);
    assert_int_equal(history_find_end_of_sequence(&l, 5, 64), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_keeps_the_newest_in_whatever_order_they_come),
        cmocka_unit_test(test_newest_wants_rows_until_it_is_full_of_newer_ones),
        cmocka_unit_test(test_newest_sorts_a_moment_by_session_event_and_number),
        cmocka_unit_test(test_history_run_ends_at_a_gap_an_event_or_another_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
