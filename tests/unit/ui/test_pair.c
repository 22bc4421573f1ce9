#include "cli/ui/detail/pair.h"

#include "base/clock.h"
#include "tests/support/unit.h"

static void add_side(struct pair *p, size_t row, enum pair_side side, struct buf *b)
{
    struct cells c = {0};
    pair_draw_line(p, row, side, 0, 80, true, &c);
    assert_false(c.failed);
    size_t n = c.text.n;
    while (n > 0 && c.text.p[n - 1] == ' ')
        n--;
    buf_add(b, c.text.p, n);
    cells_close(&c);
}

/* Each row as "left | right". */
static void expect(struct pair *p, const char *want)
{
    struct buf b = {0};
    for (size_t i = 0; i < pair_count_shown_rows(p); i++) {
        add_side(p, i, PAIR_LEFT, &b);
        buf_adds(&b, " |");
        add_side(p, i, PAIR_RIGHT, &b);
        buf_addc(&b, '\n');
    }
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
}

static void test_pair_aligns_members_and_elements(void **state)
{
    (void)state;
    struct pair *p;
    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_add_section_of_values(p, "params", slice_of("{\"a\":1,\"b\":\"x\",\"e\":{}}"),
                                         slice_of("{ \"b\":\"\\u0078\", \"e\":{},\"a\":1.0 }")),
                     0);
    assert_int_equal(pair_count_differences(p), 0);
    assert_int_equal(pair_choose_shown_rows(p, true), 0);
    expect(p, "params |params\n"
              "    { |    {\n"
              "      \"a\": 1, |      \"a\": 1.0\n"
              "      \"b\": \"x\", |      \"b\": \"\\u0078\",\n"
              "      \"e\": {} |      \"e\": {},\n"
              "    } |    }\n");
    pair_close(p);

    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_choose_shown_rows(p, true), 0);
    assert_int_equal(
        pair_add_section_of_values(
            p, "r", slice_of("{\"a\":1,\"gone\":[1],\"c\":{\"k\":true},\"t\":[1,2,3],\"m\":[7]}"),
            slice_of("{\"a\":2,\"c\":{\"k\":true,\"new\":{}},\"t\":[1,4],\"m\":\"x\"}")),
        0);
    expect(p, "r |r\n"
              "    { |    {\n"
              "~     \"a\": 1, |~     \"a\": 2,\n"
              "-     \"gone\": [ |\n"
              "-       1 |\n"
              "-     ], |\n"
              "      \"c\": { |      \"c\": {\n"
              "        \"k\": true |        \"k\": true,\n"
              " |+       \"new\": {}\n"
              "      }, |      },\n"
              "      \"t\": [ |      \"t\": [\n"
              "        1, |        1,\n"
              "~       2, |~       4\n"
              "-       3 |\n"
              "      ], |      ],\n"
              "~     \"m\": [ |~     \"m\": \"x\"\n"
              "~       7 |\n"
              "~     ] |\n"
              "    } |    }\n");
    assert_int_equal(pair_count_differences(p), 4);
    static const size_t places[] = {2, 8, 12, 15, 15};
    for (size_t i = 0; i + 1 < MI_COUNT(places); i++) {
        assert_int_equal(pair_find_next_difference(p, places[i], true), places[i + 1]);
        assert_int_equal(pair_find_next_difference(p, places[i + 1], false),
                         i + 2 < MI_COUNT(places) ? places[i] : 12);
    }
    assert_int_equal(pair_find_next_difference(p, 0, true), 2);
    assert_int_equal(pair_find_next_difference(p, 0, false), 0);
    pair_close(p);
}

static void test_pair_hides_equal_lines(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    struct pair *p;
    buf_adds(&a, "[");
    buf_adds(&b, "[");
    for (int i = 0; i < 30; i++) {
        buf_printf(&a, "%s%d", i > 0 ? "," : "", i);
        buf_printf(&b, "%s%d", i > 0 ? "," : "", i == 15 ? -1 : i);
    }
    buf_adds(&a, "]");
    buf_adds(&b, "]");
    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_add_section_of_values(p, "one", buf_slice(&a), buf_slice(&b)), 0);
    assert_int_equal(pair_add_section_of_values(p, "same", buf_slice(&a), buf_slice(&a)), 0);
    assert_int_equal(pair_add_section_of_values(p, "left", slice_of("3"), (struct slice){0}), 0);
    expect(p, "one |one\n"
              "  ... 13 equal lines |  ... 13 equal lines\n"
              "      12, |      12,\n"
              "      13, |      13,\n"
              "      14, |      14,\n"
              "~     15, |~     -1,\n"
              "      16, |      16,\n"
              "      17, |      17,\n"
              "      18, |      18,\n"
              "  ... 12 equal lines |  ... 12 equal lines\n"
              "same |same\n"
              "  ... 32 equal lines |  ... 32 equal lines\n"
              "left |left\n"
              "-   3 |\n");
    assert_int_equal(pair_choose_shown_rows(p, true), 0);
    assert_int_equal(pair_count_shown_rows(p), 3 + 32 + 32 + 1);
    assert_int_equal(pair_count_differences(p), 2);
    pair_close(p);
    buf_close(&a);
    buf_close(&b);
}

/* Pairs of JSON that differ at random places: each line of both sides appears once. */
static void make(struct unit_random *r, struct buf *b, int depth)
{
    size_t kind = unit_random(r, depth > 3 ? 2 : 4), n = unit_random(r, 4);
    if (kind < 2) {
        buf_printf(b, "%s", kind == 0 ? "1" : "\"s\"");
        return;
    }
    buf_adds(b, kind == 2 ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        buf_adds(b, i > 0 ? "," : "");
        if (kind == 2)
            buf_printf(b, "\"%c\":", "abc"[unit_random(r, 3)]);
        make(r, b, depth + 1);
    }
    buf_adds(b, kind == 2 ? "}" : "]");
}

static size_t lines_of(struct pair *p, enum pair_side side)
{
    struct cells c = {0};
    size_t n = 0;
    for (size_t i = 0; i < pair_count_shown_rows(p); i++) {
        pair_draw_line(p, i, side, 0, 200, true, &c);
        n += c.n > 0 && c.span[0].style != CELLS_TITLE;
    }
    cells_close(&c);
    return n;
}

static void test_pair_shows_each_line_once(void **state)
{
    (void)state;
    struct unit_random r = {23};
    for (int round = 0; round < (unit_slow() ? 100 : 2000); round++) {
        struct buf a = {0}, b = {0};
        struct pair *p, *alone;
        make(&r, &a, 0);
        make(&r, &b, 0);
        assert_int_equal(pair_open(&p), 0);
        assert_int_equal(pair_choose_shown_rows(p, true), 0);
        assert_int_equal(pair_add_section_of_values(p, "x", buf_slice(&a), buf_slice(&b)), 0);
        assert_int_equal(pair_open(&alone), 0);
        assert_int_equal(pair_choose_shown_rows(alone, true), 0);
        assert_int_equal(pair_add_section_of_values(alone, "x", buf_slice(&a), (struct slice){0}), 0);
        assert_int_equal(pair_add_section_of_values(alone, "y", (struct slice){0}, buf_slice(&b)), 0);
        assert_int_equal(lines_of(p, PAIR_LEFT), lines_of(alone, PAIR_LEFT));
        assert_int_equal(lines_of(p, PAIR_RIGHT), lines_of(alone, PAIR_RIGHT));
        pair_close(p);
        pair_close(alone);
        buf_close(&a);
        buf_close(&b);
    }
}

static void test_pair_too_large_values_show_their_sizes(void **state)
{
    (void)state;
    struct pair *p;
    struct buf a = {0}, b = {0}, want = {0};
    buf_adds(&a, "[");
    for (int i = 0; i < 140000; i++)
        buf_adds(&a, "1,");
    buf_adds(&a, "1]");
    buf_adds(&b, "\"");
    for (size_t i = 0; i < PAIR_TEXT_MAX; i++)
        buf_addc(&b, 'x');
    buf_adds(&b, "\"");
    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_add_section_of_values(p, "values", buf_slice(&a), slice_of("1")), 0);
    assert_int_equal(pair_add_section_of_values(p, "bytes", slice_of("1"), buf_slice(&b)), 0);
    assert_int_equal(pair_add_section_of_sizes(p, "sizes", (size_t[]){7, 8}), 0);
    assert_int_equal(pair_add_section_of_values(p, "small", slice_of("1"), slice_of("2")), 0);
    buf_printf(&want,
               "values |values\n"
               "  not compared: %zu bytes |  not compared: 1 bytes\n"
               "bytes |bytes\n"
               "  not compared: 1 bytes |  not compared: %zu bytes\n"
               "sizes |sizes\n"
               "  not compared: 7 bytes |  not compared: 8 bytes\n"
               "small |small\n"
               "~   1 |~   2\n",
               a.n, b.n);
    expect(p, buf_str(&want));
    assert_int_equal(pair_count_differences(p), 1);
    assert_int_equal(pair_add_section_of_values(p, "one too many", slice_of("1"), slice_of("2")),
                     MI_EFULL);
    pair_close(p);
    buf_close(&a);
    buf_close(&b);
    buf_close(&want);
}

static void test_pair_refuses_what_is_not_json(void **state)
{
    (void)state;
    struct pair *p;
    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_add_section_of_values(p, "x", slice_of("{"), slice_of("1")), MI_EINVAL);
    assert_int_equal(pair_add_section_of_values(p, "x", slice_of("1"), slice_of("")), MI_EINVAL);
    assert_int_equal(pair_count_shown_rows(p), 0);
    pair_close(p);
    pair_close(NULL);
}

/* Names in the opposite order: a search of all names for each of them would take seconds. */
static void test_pair_aligns_many_members_in_another_order(void **state)
{
    (void)state;
    struct pair *p;
    struct buf a = {0}, b = {0};
    for (int i = 0; i < 30000; i++) {
        buf_printf(&a, "%s\"k%d\":1", i > 0 ? "," : "{", i);
        buf_printf(&b, "%s\"k%d\":%d", i > 0 ? "," : "{", 29999 - i, i == 7 ? 2 : 1);
    }
    buf_adds(&a, "}");
    buf_adds(&b, "}");
    int64_t begin_us = clock_thread_us();
    assert_int_equal(pair_open(&p), 0);
    assert_int_equal(pair_add_section_of_values(p, "x", buf_slice(&a), buf_slice(&b)), 0);
    int64_t took_us = clock_thread_us() - begin_us;
    print_message("30,000 members: %lld us\n", (long long)took_us);
    assert_true(unit_slow() || took_us < 500000);
    assert_int_equal(pair_count_differences(p), 1);
    pair_close(p);
    buf_close(&a);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair_aligns_members_and_elements),
        cmocka_unit_test(test_pair_hides_equal_lines),
        cmocka_unit_test(test_pair_shows_each_line_once),
        cmocka_unit_test(test_pair_too_large_values_show_their_sizes),
        cmocka_unit_test(test_pair_refuses_what_is_not_json),
        cmocka_unit_test(test_pair_aligns_many_members_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
