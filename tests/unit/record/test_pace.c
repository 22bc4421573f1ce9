/* How long the client is not read, by what is not stored. */
#include "record/pace.h"

#include "tests/support/unit.h"

#define MIB ((uint64_t)1 << 20)

static const struct {
    uint64_t unstored, limit;
    int64_t us;
} paces[] = {
    {0, 64 * MIB, 0},
    {28 * MIB, 64 * MIB, 0}, /* a burst of 20,000 calls */
    {32 * MIB - 1, 64 * MIB, 0},
    {32 * MIB, 64 * MIB, PACE_US},
    {48 * MIB, 64 * MIB, 2 * PACE_US},
    {56 * MIB, 64 * MIB, 4 * PACE_US},
    {60 * MIB, 64 * MIB, 8 * PACE_US},
    {63 * MIB, 64 * MIB, 32 * PACE_US},
    {64 * MIB - 1, 64 * MIB, PACE_MAX_US},
    {64 * MIB, 64 * MIB, PACE_MAX_US},
    {65 * MIB, 64 * MIB, PACE_MAX_US}, /* a single message may be longer than the limit */
    {UINT64_MAX, 64 * MIB, PACE_MAX_US},
    {(uint64_t)3 << 38, (uint64_t)1 << 40, 2 * PACE_US},
};

static void test_pace_grows_from_half_of_the_journal_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(paces); i++)
        assert_int_equal(pace_compute_delay_us(paces[i].unstored, paces[i].limit), paces[i].us);
}

static void test_pace_never_shrinks_as_the_journal_fills_up(void **state)
{
    (void)state;
    int64_t last = 0;
    for (uint64_t n = 0; n <= 65 * MIB; n += 4096) {
        int64_t us = pace_compute_delay_us(n, 64 * MIB);
        assert_true(us >= last && us <= PACE_MAX_US);
        last = us;
    }
    assert_int_equal(last, PACE_MAX_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_grows_from_half_of_the_journal_on),
        cmocka_unit_test(test_pace_never_shrinks_as_the_journal_fills_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
