#include "cli/ui/detail/token.h"

#include "tests/support/unit.h"

/* Byte by byte. */
static size_t slow_end(struct slice s, size_t at)
{
    for (at++; at < s.n && s.p[at] != '"'; at++)
        if (s.p[at] == '\\')
            at++;
    return size_min(at + 1, s.n);
}

/* Long strings of quotes and backslashes, at each place in a block. */
static void test_token_end_of_strings_with_many_escapes(void **state)
{
    (void)state;
    struct unit_random r = {41};
    for (int round = 0; round < (unit_slow() ? 300 : 20000); round++) {
        char text[600];
        size_t n = 1 + unit_random(&r, sizeof text - 1), from = unit_random(&r, size_min(n, 70));
        size_t odds = 1 + unit_random(&r, 60);
        for (size_t i = 0; i < n; i++)
            text[i] = unit_random(&r, odds) > 0 ? 'a' : '\\';
        for (size_t i = 1; i < n; i++) /* most quotes are escaped */
            if (text[i - 1] == '\\' && unit_random(&r, 2) == 0)
                text[i] = '"';
        text[from] = '"';
        char *copy = unit_copy(text, n);
        size_t want = slow_end((struct slice){copy, n}, from);
        assert_int_equal(token_find_end((struct slice){copy, n}, from), want);
        free(copy);
    }
}

static void test_token_skip_counts_children(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t end, children;
    } samples[] = {
        {"[]x", 2, 0},         {"[ ]", 3, 0},       {"{}", 2, 0},
        {"[1]", 3, 1},         {"[1,2 ,3]x", 8, 3}, {"{\"a\":[1,2],\"b\":{}}", 18, 2},
        {"[\"],[\",1]", 9, 2}, {"12,3", 2, 0},      {"\"a\\\"b\",", 6, 0},
        {"[1,[2,3", 7, 2},     {"[", 1, 0},         {"{\"", 2, 1},
    };
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        size_t children = 99, n = strlen(samples[i].text);
        char *copy = unit_copy(samples[i].text, n);
        size_t end = token_skip_value((struct slice){copy, n}, 0, &children);
        if (end != samples[i].end || children != samples[i].children)
            fail_msg("%s: %zu, %zu", samples[i].text, end, children);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_end_of_strings_with_many_escapes),
        cmocka_unit_test(test_token_skip_counts_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
