/* Pairing two short lists of different lengths. */
#include "replay/compare/pair_lists.h"

#include "tests/support/unit.h"

static uint32_t table[8][16];

static int distance(void *ctx, uint32_t of_short, uint32_t of_long)
{
    (void)ctx;
    return (int)table[of_short][of_long];
}

/* The smallest sum for members i... of the short list and j... of the long one, by trying everything. */
static uint32_t smallest(uint32_t n, uint32_t m, uint32_t i, uint32_t j)
{
    if (i == n)
        return 0;
    uint32_t best = UINT32_MAX;
    for (; m - j >= n - i; j++) {
        uint32_t sum = table[i][j] + smallest(n, m, i + 1, j + 1);
        best = sum < best ? sum : best;
        if (j + 1 > m)
            break;
    }
    return best;
}

static void test_pair_lists_pairs_differ_as_little_as_possible_in_order(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        uint32_t partner[NEAR_LIST], sum = 0;
        uint32_t m = 1 + (seed = seed * 1664525u + 1013904223u) / 65536 % 9;
        uint32_t n = 1 + (seed = seed * 1664525u + 1013904223u) / 65536 % (m < 8 ? m : 8);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < m; j++)
                table[i][j] = (seed = seed * 1664525u + 1013904223u) / 65536 % 6;
        assert_int_equal(pair_members_by_distance(n, m, distance, NULL, partner), 0);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(partner[i] < m && (i == 0 || partner[i] > partner[i - 1]));
            sum += table[i][partner[i]];
        }
        assert_int_equal(sum, smallest(n, m, 0, 0));
    }
}

static void test_pair_lists_of_equal_distances_takes_the_first(void **state)
{
    (void)state;
    uint32_t partner[NEAR_LIST];
    memset(table, 0, sizeof table);
    assert_int_equal(pair_members_by_distance(2, 5, distance, NULL, partner), 0);
    assert_true(partner[0] == 0 && partner[1] == 1);
}

static int failing(void *ctx, uint32_t of_short, uint32_t of_long)
{
    (void)ctx, (void)of_short, (void)of_long;
    return MI_ENOMEM;
}

static void test_pair_lists_returns_the_error_of_the_distance(void **state)
{
    (void)state;
    uint32_t partner[NEAR_LIST];
    assert_int_equal(pair_members_by_distance(1, 2, failing, NULL, partner), MI_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair_lists_pairs_differ_as_little_as_possible_in_order),
        cmocka_unit_test(test_pair_lists_of_equal_distances_takes_the_first),
        cmocka_unit_test(test_pair_lists_returns_the_error_of_the_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
