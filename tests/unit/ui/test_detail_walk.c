/* Documents of any bytes, after any actions. */
#include "tests/support/unit.h"

#define WALK_MUST(condition) assert_true(condition)
#include "tests/support/detail_walk.h"
#include "tests/unit/ui/detail_unit.h"

static const char whole[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
    "\"one\\ntwo "
    "\\u001b[2J \\ud83d\\ude00 \\t "
    "x\"},{\"type\":\"text\",\"text\":\"{\\\"a\\\":[1,{\\\"b\\\":\\\"c\\\\nd\\\"}]}\"}],"
    "\"structuredContent\":{\"caf\xc3\xa9\":[true,null,-1.5e3,[],{}],\"\xe4\xb8\xad\":"
    "\"\xe2\x80\xae\"}}}";

static void walk(struct unit_doc *u, struct unit_random *r, int steps)
{
    struct slice body = u->m.body;
    walk_lines(u->d, 0, 80);
    for (int i = 0; i < steps; i++) {
        walk_step(u->d, body, (uint32_t)unit_random(r, UINT32_MAX));
        walk_lines(u->d, unit_random(r, 30), unit_random(r, 60));
        walk_again(u->d, 70, false);
    }
    unit_doc_close(u);
}

/* Cut at each byte. */
static void test_detail_every_prefix_of_json(void **state)
{
    (void)state;
    struct unit_random r = {11};
    struct unit_doc u;
    for (size_t n = 0; n < sizeof whole; n += unit_slow() ? 7 : 1) {
        unit_doc_bytes(&u, KIND_RESULT, whole, n);
        walk(&u, &r, 12);
    }
}

static void test_detail_damaged_json(void **state)
{
    (void)state;
    static const char bytes[] = "{}[]\",:\\ \n0at\x1b\xff\xe2";
    struct unit_random r = {13};
    struct unit_doc u;
    for (int round = 0; round < (unit_slow() ? 20 : 400); round++) {
        char copy[sizeof whole];
        memcpy(copy, whole, sizeof whole);
        for (size_t k = unit_random(&r, 6); k > 0; k--)
            copy[unit_random(&r, sizeof copy)] = bytes[unit_random(&r, sizeof bytes)];
        unit_doc_bytes(&u, round % 4 == 0 ? KIND_NOISE : KIND_RESULT, copy, sizeof copy - 1);
        walk(&u, &r, 12);
    }
}

static void test_detail_random_tokens(void **state)
{
    (void)state;
    static const char *const tokens[] = {"{",      "}",       "[",        "]", ",",           ":",
                                         "\"",     "\"a\"",   "\"b\\n\"", "1", "true",        " ",
                                         "\"c\":", "\"[1]\"", "\\",       "x", "\xe4\xb8\xad"};
    struct unit_random r = {17};
    struct unit_doc u;
    for (int round = 0; round < (unit_slow() ? 20 : 500); round++) {
        struct buf b = {0};
        buf_adds(&b, round % 2 == 0 ? "{" : "[");
        for (size_t n = unit_random(&r, 40); n > 0; n--)
            buf_adds(&b, tokens[unit_random(&r, MI_COUNT(tokens))]);
        unit_doc_bytes(&u, KIND_REQUEST, b.p, b.n);
        buf_close(&b);
        walk(&u, &r, 12);
    }
}

/* More lines than the index remembers places. */
static void test_detail_long_body_is_found_from_any_side(void **state)
{
    (void)state;
    struct unit_doc u;
    struct buf b = {0};
    struct cells c = {0};
    bool exact;
    const size_t rows = 20000;
    buf_adds(&b, "{\"rows\":[");
    for (size_t i = 0; i < rows; i++)
        buf_printf(&b, "%s{\"n\":%zu,\"t\":\"row %zu\\nof %zu\"}", i > 0 ? "," : "", i, i, rows);
    buf_adds(&b, "],\"end\":\"here\"}");
    unit_doc_bytes(&u, KIND_REQUEST, b.p, b.n);
    size_t f = u.first + 1;
    detail_fold_from_depth(u.d, SIZE_MAX);
    assert_true(detail_draw_line(u.d, f + 5, 0, 80, &c));
    size_t estimate = detail_count_lines(u.d, &exact);
    assert_false(exact);
    size_t lines = detail_count_exact_lines(u.d);
    assert_int_equal(lines, f + 4 * rows + 5);
    assert_true(estimate > lines / 3 && estimate < lines * 3);
    assert_string_equal(unit_line(u.d, lines - 2, &c), "      \"end\": \"here\"");
    struct unit_random r = {3};
    for (int i = 0; i < 2000; i++) {
        char want[64];
        size_t row = unit_random(&r, rows);
        snprintf(want, sizeof want, "          \"n\": %zu,", row);
        assert_string_equal(unit_line(u.d, f + 2 + 4 * row + 1, &c), want);
    }
    size_t line;
    assert_int_equal(detail_fold_line(u.d, f + 2 + 4 * 10000, DETAIL_FOLD, &line), 0);
    assert_int_equal(detail_count_exact_lines(u.d), lines - 3);
    assert_string_equal(unit_line(u.d, f + 2 + 4 * 10000 + 2, &c), "          \"n\": 10001,");
    assert_int_equal(detail_fold_line(u.d, f + 2 + 4 * 500 + 2, DETAIL_UNFOLD, &line), 0); /* "t" */
    assert_int_equal(detail_count_exact_lines(u.d), lines - 3 + 2);
    assert_string_equal(unit_line(u.d, f + 2 + 4 * 500 + 4, &c), "          | of 20000");
    struct detail_hit hit;
    assert_int_equal(detail_search(u.d, slice_of("ROW 19999"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 2 + 4 * 19999 + 2 - 3 + 2);
    detail_fold_from_depth(u.d, 1);
    assert_string_equal(unit_line(u.d, f + 1, &c), "    + \"rows\": [...] 20000 items,");
    assert_int_equal(detail_search(u.d, slice_of("ROW 19998\\n"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 2 + 19998 + 2); /* the other rows are still folded */
    cells_close(&c);
    buf_close(&b);
    unit_doc_close(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detail_every_prefix_of_json),
        cmocka_unit_test(test_detail_damaged_json),
        cmocka_unit_test(test_detail_random_tokens),
        cmocka_unit_test(test_detail_long_body_is_found_from_any_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
