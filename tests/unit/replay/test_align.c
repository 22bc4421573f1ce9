/* Aligning the calls of two sessions: which belong together, which were moved, which only one side has. */
#include "replay/compare/align.h"

#include "base/buf.h"
#include "replay/compare/lcs.h"

#include "tests/support/unit.h"

#include <stdlib.h>

/* A session as words: `a1` is a call of topic `a` with argument 1. */
struct calls {
    struct align_call call[256];
    uint32_t n;
};

static void read_calls(struct calls *c, const char *text)
{
    *c = (struct calls){0};
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == ' ')
            continue;
        uint32_t topic = (uint32_t)(*p - 'a');
        uint64_t argument = p[1] >= '0' && p[1] <= '9' ? (uint64_t)(*++p - '0') : 0;
        c->call[c->n++] = (struct align_call){1 + topic * 10 + argument, topic};
    }
}

static void add_word(struct buf *b, const struct calls *c, uint32_t i)
{
    buf_printf(b, "%c", (char)('a' + c->call[i].topic));
    if ((c->call[i].key - 1) % 10 != 0)
        buf_printf(b, "%d", (int)((c->call[i].key - 1) % 10));
}

/* The difference of the arguments. */
static int distance(void *ctx, uint32_t a, uint32_t b)
{
    struct calls *const *both = ctx;
    return abs((int)(both[0]->call[a].key % 10) - (int)(both[1]->call[b].key % 10));
}

/* Each row as a word: `a` equal, `-a` missing, `+a` added, `a1/a2` changed; `>` before it: moved. */
static void check(const char *a, const char *b, const char *want)
{
    struct calls x, y;
    struct align_row *rows = NULL;
    struct buf got = {0};
    uint32_t n = 0;
    read_calls(&x, a);
    read_calls(&y, b);
    struct calls *both[2] = {&x, &y};
    const struct align_sides sides = {.a = x.call,
                                      .b = y.call,
                                      .n = x.n,
                                      .m = y.n,
                                      .topics = 26,
                                      .distance = distance,
                                      .ctx = both};
    assert_int_equal(align_calls(&sides, &rows, &n), 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct align_row *r = &rows[i];
        static const char *const marks[] = {"", "", "-", "+"};
        buf_adds(&got, i > 0 ? " " : "");
        buf_adds(&got, r->moved ? ">" : "");
        buf_adds(&got, marks[r->kind]);
        if (r->a != ALIGN_NONE)
            add_word(&got, &x, r->a);
        if (r->kind == ALIGN_CHANGED)
            buf_addc(&got, '/');
        if (r->kind == ALIGN_CHANGED || r->kind == ALIGN_ADDED)
            add_word(&got, &y, r->b);
    }
    if (strcmp(buf_str(&got), want) != 0)
        fail_msg("'%s' and '%s': got '%s', wanted '%s'", a, b, buf_str(&got), want);
    buf_close(&got);
    free(rows);
}

static void test_align_equal_sessions_have_equal_rows(void **state)
{
    (void)state;
    check("", "", "");
    check("a", "a", "a");
    check("i l a1 b2 a1", "i l a1 b2 a1", "i l a1 b2 a1");
}

static void test_align_an_empty_side_has_nothing_in_common(void **state)
{
    (void)state;
    check("a1 b", "", "-a1 -b");
    check("", "a1 b", "+a1 +b");
}

static void test_align_missing_and_added_calls_keep_their_places(void **state)
{
    (void)state;
    check("i a b c", "i b c d", "i -a b c +d");
    check("i a b", "i c d b", "i -a +c +d b");
    check("i a", "b i a c", "+b i a +c");
}

static void test_align_other_arguments_are_a_changed_call(void **state)
{
    (void)state;
    check("i a1 b", "i a2 b", "i a1/a2 b");
    check("i a1 a2 b", "i a3 a4 b", "i a1/a3 a2/a4 b");
    check("i a1 b a2", "i b a3 a4", "i b a2/a3 >a1/a4");
    check("a1 i a2 a3", "a1 i a4 a3", "a1 i a2/a4 a3");
}

static void test_align_changed_calls_are_sought_nearby_first(void **state)
{
    (void)state;
    check("a1 i a2 j", "i a3 j", "-a1 i a2/a3 j");
    check("a1 i j", "i j a2", "i j >a1/a2");
    check("i a1 b1 j", "i b2 a2 j", "i b1/b2 >a1/a2 j");
}

static void test_align_changed_calls_are_the_nearest_if_one_side_has_more(void **state)
{
    (void)state;
    check("i a1 a2 b", "i a3 a4 a5 b", "i a1/a3 a2/a4 +a5 b");
    check("i a5 a7 b", "i a1 a4 a8 b", "i +a1 a5/a4 a7/a8 b");
    check("i a1 a4 a8 b", "i a5 b", "i -a1 a4/a5 -a8 b");
    check("i a4 c1 a1 c5 b", "i c4 a3 b", "i -c1 -a1 c5/c4 >a4/a3 b");
}

static int fail_distance(void *ctx, uint32_t a, uint32_t b)
{
    (void)ctx, (void)a, (void)b;
    return MI_EIO;
}

static void test_align_error_of_a_distance_is_returned(void **state)
{
    (void)state;
    struct calls x, y;
    struct align_row *rows = NULL;
    uint32_t n = 0;
    read_calls(&x, "a1");
    read_calls(&y, "a2 a3");
    const struct align_sides sides = {
        .a = x.call, .b = y.call, .n = 1, .m = 2, .topics = 26, .distance = fail_distance};
    assert_int_equal(align_calls(&sides, &rows, &n), MI_EIO);
}

static void test_align_equal_calls_in_another_order_are_moved(void **state)
{
    (void)state;
    check("i a b c d", "i b c d a", "i b c d >a");
    check("i a b c d", "i d a b c", "i >d a b c");
    check("a1 b1", "b2 a1", ">b1/b2 a1");
}

static void test_align_repeated_calls_are_paired_in_order(void **state)
{
    (void)state;
    check("s s s a s b", "s s a s b", "s s -s a s b");
    check("s a s a s", "s a s a s s", "s a s a s +s");
    check("a a a", "a", "a -a -a");
    check("p a p", "p p p a p", "p +p +p a p");
}

/* ---- large sessions ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint32_t common(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint32_t *partner = calloc(n, sizeof *partner);
    uint32_t pairs = 0, last = 0;
    assert_non_null(partner);
    assert_int_equal(lcs_pair_elements(a, n, b, m, partner), 0);
    for (uint32_t i = 0; i < n; i++) {
        if (partner[i] == LCS_NONE)
            continue;
        assert_true(partner[i] < m && a[i] == b[partner[i]]);
        assert_true(pairs == 0 || partner[i] > last);
        last = partner[i];
        pairs++;
    }
    free(partner);
    return pairs;
}

/* The length of the longest common order, by the textbook. */
static uint32_t longest(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint32_t row[64] = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0, diagonal = 0; j < m; j++) {
            uint32_t above = row[j + 1];
            uint32_t best = above > row[j] ? above : row[j];
            row[j + 1] = a[i] == b[j] ? diagonal + 1 : best;
            diagonal = above;
        }
    return row[m];
}

static void test_lcs_finds_the_longest_common_order(void **state)
{
    (void)state;
    uint32_t seed = 1, a[60], b[60];
    for (int round = 0; round < 2000; round++) {
        uint32_t n = next_random(&seed) % 60, m = next_random(&seed) % 60;
        uint32_t letters = 1 + next_random(&seed) % 20;
        for (uint32_t i = 0; i < n; i++)
            a[i] = next_random(&seed) % letters;
        for (uint32_t i = 0; i < m; i++)
            b[i] = next_random(&seed) % letters;
        assert_int_equal(common(a, n, b, m), longest(a, n, b, m));
    }
}

#define LARGE (100000 / (uint32_t)unit_sample(4))

/* Nothing in common except one number in ten: more than LCS_EXACT differences. */
static void test_lcs_of_large_sequences_is_a_common_order(void **state)
{
    (void)state;
    uint32_t *a = calloc(LARGE, sizeof *a), *b = calloc(LARGE, sizeof *b), seed = 7;
    assert_true(a != NULL && b != NULL);
    for (uint32_t i = 0; i < LARGE; i++) {
        a[i] = i % 10 == 0 ? i : 1000000 + next_random(&seed) % 5000;
        b[i] = i % 10 == 0 ? i : 2000000 + next_random(&seed) % 5000;
    }
    assert_true(common(a, LARGE, b, LARGE) > LARGE / 10 - LARGE / 500);
    for (uint32_t i = 0; i < LARGE; i++)
        b[i] = a[LARGE - 1 - i];
    assert_true(common(a, LARGE, b, LARGE) > 0);
    for (uint32_t i = 0; i < LARGE; i++) {
        a[i] = next_random(&seed) % 10;
        b[i] = next_random(&seed) % 10;
    }
    assert_true(common(a, LARGE, b, LARGE) > LARGE * 2 / 5);
    free(a);
    free(b);
}

static void test_lcs_ascending_is_the_longest(void **state)
{
    (void)state;
    const uint32_t values[] = {5, 1, 2, 9, 3, 4, 8};
    bool in_order[7];
    const bool want[] = {false, true, true, false, true, true, true};
    assert_int_equal(lcs_mark_ascending_values(values, 7, in_order), 0);
    assert_memory_equal(in_order, want, sizeof want);
    assert_int_equal(lcs_mark_ascending_values(values, 0, in_order), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_align_equal_sessions_have_equal_rows),
        cmocka_unit_test(test_align_an_empty_side_has_nothing_in_common),
        cmocka_unit_test(test_align_missing_and_added_calls_keep_their_places),
        cmocka_unit_test(test_align_other_arguments_are_a_changed_call),
        cmocka_unit_test(test_align_changed_calls_are_sought_nearby_first),
        cmocka_unit_test(test_align_changed_calls_are_the_nearest_if_one_side_has_more),
        cmocka_unit_test(test_align_error_of_a_distance_is_returned),
        cmocka_unit_test(test_align_equal_calls_in_another_order_are_moved),
        cmocka_unit_test(test_align_repeated_calls_are_paired_in_order),
        cmocka_unit_test(test_lcs_finds_the_longest_common_order),
        cmocka_unit_test(test_lcs_of_large_sequences_is_a_common_order),
        cmocka_unit_test(test_lcs_ascending_is_the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
