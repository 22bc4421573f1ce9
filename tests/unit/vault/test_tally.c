/* Calls counted by a key. */
#include "vault/query/tally.h"

#include "tests/support/unit.h"

static void add(struct tally *t, const char *key, enum call_status status, int64_t took_us,
                int64_t at_us)
{
    struct query_call c = {
        .status = status, .duration_us = took_us, .request_size = 10, .response_size = 100};
    assert_int_equal(tally_add_call(t, slice_of(key), &c, at_us), 0);
}

static void test_tally_counts_each_status(void **state)
{
    (void)state;
    struct tally t = {0};
    for (int s = 0; s < CALL_UNKNOWN; s++)
        add(&t, "k", (enum call_status)s, s == CALL_OPEN ? -1 : 5000, 50 - s);
    assert_int_equal(tally_sort_durations(&t), 0);
    const struct tally_group *g = &t.group[0];
    assert_int_equal(t.n, 1);
    assert_int_equal(g->calls, CALL_UNKNOWN);
    assert_int_equal(g->errors, 5); /* tool-error, error, refused, server-gone, timeout */
    assert_int_equal(g->timeouts, 1);
    assert_int_equal(g->cancelled, 1);
    assert_int_equal(g->interrupted, 1);
    assert_int_equal(g->open, 1);
    assert_int_equal(g->took_n, 5); /* all but refused, cancelled, interrupted, open */
    assert_int_equal(g->bucket[2], 5);
    assert_int_equal(g->request_bytes, 10 * CALL_UNKNOWN);
    assert_int_equal(g->first_at_us, 50 - CALL_UNKNOWN + 1);
    assert_int_equal(g->last_at_us, 50);
    tally_close(&t);
}

static void test_tally_percentile_is_the_nearest_rank(void **state)
{
    (void)state;
    struct tally t = {0};
    struct tally_group none = {0};
    assert_int_equal(tally_compute_percentile(&none, 50), -1);
    for (int i = 200; i >= 1; i--)
        add(&t, "k", CALL_OK, i, 0);
    add(&t, "one", CALL_OK, 7, 0);
    assert_int_equal(tally_sort_durations(&t), 0);
    static const struct {
        int percent;
        int64_t us;
    } rows[] = {{0, 1}, {1, 2}, {50, 100}, {95, 190}, {99, 198}, {100, 200}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_int_equal(tally_compute_percentile(&t.group[0], rows[i].percent), rows[i].us);
        assert_int_equal(tally_compute_percentile(&t.group[1], rows[i].percent), 7);
    }
    tally_close(&t);
}

static void test_tally_bucket_includes_its_upper_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < TALLY_BUCKETS; i++) {
        struct tally t = {0};
        add(&t, "k", CALL_OK, tally_get_bucket_limit_us(i), 0);
        add(&t, "k", CALL_OK, tally_get_bucket_limit_us(i) + 1, 0);
        assert_int_equal(t.group[0].bucket[i], 1);
        assert_int_equal(t.group[0].bucket[i + 1], 1);
        tally_close(&t);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally_counts_each_status),
        cmocka_unit_test(test_tally_percentile_is_the_nearest_rank),
        cmocka_unit_test(test_tally_bucket_includes_its_upper_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
