/* Candidates for anchors: both methods compared with a simple search, at every offset and length. */
#include "redact/shape/anchor_scan.h"

#include "tests/support/unit.h"

#define RULES 24
#define ROUNDS 4000
#define LONGEST 160

static struct shape_set rules[RULES][3];

static unsigned draw(void)
{
    static uint32_t x = 2463534242U;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void put(struct shape_set *set, unsigned char c)
{
    set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* Few different letters, so that triples are frequent, and some arbitrary bytes. */
static unsigned char letter(void)
{
    static const char few[] = "abcdABC01-_$";
    return draw() % 16 == 0 ? (unsigned char)draw() : (unsigned char)few[draw() % (sizeof few - 1)];
}

static int add_rules(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RULES; r++) {
        for (unsigned i = 0; i < 3; i++)
            for (unsigned n = r % 6 == i ? 4 : 1; n > 0; n--)
                put(&rules[r][i], letter());
        shape_scan_add_anchor(rules[r]);
    }
    return 0;
}

static bool is_anchor(const char *p)
{
    for (unsigned r = 0; r < RULES; r++)
        if (shape_set_has_char(&rules[r][0], p[0]) && shape_set_has_char(&rules[r][1], p[1]) &&
            shape_set_has_char(&rules[r][2], p[2]))
            return true;
    return false;
}

static size_t find(struct slice text, size_t at, bool plain)
{
    struct shape_scan s;
    shape_scan_begin(&s, text, at);
    s.plain = plain;
    return shape_scan_next(&s);
}

/* The number of places found; fails if one is missed or found twice. */
static size_t check_none_missed(struct slice text, bool plain)
{
    struct shape_scan s;
    bool found[LONGEST] = {false};
    size_t n = 0, last = 1;
    shape_scan_begin(&s, text, 2);
    s.plain = plain;
    for (size_t at; (at = shape_scan_next(&s)) < text.n; n++) {
        assert_true(at > last);
        found[at] = true;
        last = at;
    }
    for (size_t i = 2; i < text.n; i++)
        if (is_anchor(text.p + i - 2)) {
            assert_true(found[i]);
            assert_int_equal(find(text, i, plain), i);
        }
    return n;
}

static void test_shape_scan_misses_no_anchor_at_any_offset_and_length(void **state)
{
    (void)state;
    char bytes[LONGEST + 16];
    size_t anchors = 0, fast = 0, plain = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t from = draw() % 16, n = draw() % LONGEST;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)letter();
        struct slice text = {bytes + from, n};
        for (size_t i = 2; i < n; i++)
            anchors += is_anchor(text.p + i - 2);
        fast += check_none_missed(text, false);
        plain += check_none_missed(text, true);
    }
    assert_true(anchors > ROUNDS / 4);
    assert_true(fast >= anchors && plain >= fast);
}

static void test_shape_scan_starts_at_the_given_offset(void **state)
{
    (void)state;
    char bytes[64];
    memset(bytes, '~', sizeof bytes);
    struct shape_set xyz[3] = {{{0}}, {{0}}, {{0}}};
    put(&xyz[0], 'x'), put(&xyz[1], 'y'), put(&xyz[2], 'z');
    shape_scan_add_anchor(xyz);
    struct slice text = {bytes, sizeof bytes};
    for (size_t at = 2; at < sizeof bytes; at++) {
        memcpy(bytes + at - 2, "xyz", 3);
        for (size_t from = 2; from <= sizeof bytes; from++) {
            assert_int_equal(find(text, from, false), from <= at ? at : sizeof bytes);
            assert_int_equal(find(text, from, true), from <= at ? at : sizeof bytes);
        }
        memset(bytes + at - 2, '~', 3);
    }
}

static void test_shape_scan_finds_nothing_in_short_texts(void **state)
{
    (void)state;
    for (size_t n = 0; n < 3; n++) {
        struct slice text = {"xyz", n};
        assert_int_equal(find(text, 2, false), n);
        assert_int_equal(find(text, 2, true), n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_scan_misses_no_anchor_at_any_offset_and_length),
        cmocka_unit_test(test_shape_scan_starts_at_the_given_offset),
        cmocka_unit_test(test_shape_scan_finds_nothing_in_short_texts),
    };
    return cmocka_run_group_tests(tests, add_rules, NULL);
}
