/* Errors that wait for valid answers. */
#include "wire/postponed.h"

#include "tests/support/unit.h"

static void expect_taken(struct postponed_errors *h, int64_t now_us, uint64_t seq)
{
    struct postponed_error e;
    if (!postponed_errors_take_overdue(h, now_us, &e)) {
        assert_int_equal(seq, 0);
        return;
    }
    assert_int_equal(e.seq, seq);
    buf_close(&e.why);
}

static void test_postponed_errors_are_taken_when_they_are_due(void **state)
{
    (void)state;
    struct postponed_errors h = {0};
    assert_int_equal(postponed_errors_next_due_us(&h), INT64_MAX);
    buf_adds(&postponed_errors_add(&h, 7, 100)->why, "first");
    buf_adds(&postponed_errors_add(&h, 8, 90)->why, "second");
    assert_int_equal(postponed_errors_next_due_us(&h), 90);
    expect_taken(&h, 89, 0);
    expect_taken(&h, 90, 8);
    expect_taken(&h, 90, 0);
    postponed_errors_postpone_until(&h, 200);
    expect_taken(&h, 199, 0);
    expect_taken(&h, 200, 7);
    postponed_errors_close(&h);
}

static void test_postponed_newer_error_of_a_request_replaces_the_older(void **state)
{
    (void)state;
    struct postponed_errors h = {0};
    struct postponed_error e;
    for (uint64_t seq = 1; seq <= POSTPONED_MAX; seq++)
        buf_adds(&postponed_errors_add(&h, seq, 100)->why, "old");
    assert_true(postponed_errors_are_full(&h));
    buf_adds(&postponed_errors_add(&h, 1, 300)->why, "new");
    assert_true(postponed_errors_are_full(&h));
    for (uint64_t seq = 2; seq <= POSTPONED_MAX; seq++)
        expect_taken(&h, INT64_MAX, seq);
    assert_true(postponed_errors_take_overdue(&h, INT64_MAX, &e));
    assert_string_equal(buf_str(&e.why), "new");
    buf_close(&e.why);
    buf_adds(&postponed_errors_add(&h, 9, 1)->why, "freed by postponed_errors_close()");
    postponed_errors_close(&h);
    postponed_errors_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_postponed_errors_are_taken_when_they_are_due),
        cmocka_unit_test(test_postponed_newer_error_of_a_request_replaces_the_older),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
