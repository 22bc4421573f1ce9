#include "cli/ui/text/find.h"

#include "tests/support/unit.h"

#include <strings.h>

static void test_find_regardless_of_case(void **state)
{
    (void)state;
    struct slice text = slice_of("An aNt and AN ant");
    size_t at = 0;
    static const size_t places[] = {0, 3, 7, 11, 14};
    for (size_t i = 0; i < MI_COUNT(places); i++) {
        at = find_next_match(text, at, slice_of("an"));
        assert_int_equal(at, places[i]);
        at++;
    }
    assert_int_equal(find_next_match(text, at, slice_of("AN")), FIND_NONE);
    for (size_t i = MI_COUNT(places); i-- > 0;) {
        at = find_last_match(text, i + 1 < MI_COUNT(places) ? places[i + 1] : SIZE_MAX,
                             slice_of("AN"));
        assert_int_equal(at, places[i]);
    }
    assert_int_equal(find_last_match(text, 0, slice_of("an")), FIND_NONE);
    assert_int_equal(find_next_match(text, 0, slice_of("")), FIND_NONE);
    assert_int_equal(find_last_match(text, SIZE_MAX, slice_of("")), FIND_NONE);
    assert_int_equal(find_next_match(text, SIZE_MAX, slice_of("an")), FIND_NONE);
    assert_int_equal(find_next_match(slice_of("an"), 0, slice_of("ant")), FIND_NONE);
    assert_int_equal(find_last_match(slice_of("an"), 2, slice_of("ant")), FIND_NONE);
}

/* Against a search that compares at each place. */
static void test_find_agrees_with_a_slow_search(void **state)
{
    (void)state;
    struct unit_random r = {5};
    for (int round = 0; round < 3000; round++) {
        char text[24], needle[4];
        size_t n = unit_random(&r, sizeof text), k = 1 + unit_random(&r, sizeof needle - 1);
        for (size_t i = 0; i < n; i++)
            text[i] = "aAbB\xc3"[unit_random(&r, 5)];
        for (size_t i = 0; i < k; i++)
            needle[i] = "aAbB\xc3"[unit_random(&r, 5)];
        char *copy = unit_copy(text, n);
        size_t first = FIND_NONE, last = FIND_NONE, from = unit_random(&r, sizeof text);
        for (size_t i = 0; i + k <= n; i++)
            if (strncasecmp(text + i, needle, k) == 0) {
                if (first == FIND_NONE && i >= from)
                    first = i;
                if (i < from)
                    last = i;
            }
        assert_int_equal(find_next_match((struct slice){copy, n}, from, (struct slice){needle, k}),
                         first);
        assert_int_equal(find_last_match((struct slice){copy, n}, from, (struct slice){needle, k}),
                         last);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_regardless_of_case),
        cmocka_unit_test(test_find_agrees_with_a_slow_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
