/* out: recorded text on a terminal; table: aligned columns; pretty: indented JSON. */
#include "cli/frame/out.h"
#include "cli/frame/pretty.h"
#include "cli/frame/table.h"

#include "tests/support/unit.h"

static struct out o;

static int set_up(void **state)
{
    (void)state;
    o = (struct out){.utf8 = true, .columns = 80, .held = true};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_close(&o.b);
    buf_close(&o.text);
    return 0;
}

static void printed(const char *want)
{
    assert_string_equal(buf_str(&o.b), want);
    buf_clear(&o.b);
}

static void cell(const char *text, size_t width, bool right, const char *want)
{
    out_add_fixed_cell(&o, OUT_PLAIN, slice_of(text), width, right);
    printed(want);
}

static void test_out_text_shows_control_characters(void **state)
{
    (void)state;
    out_add_text(&o, slice_of("a\x1b[31m\nb\x7f\xe2\x80\xae\xff"));
    printed("a\\x1b[31m\\nb\\x7f\\u{202e}\\xff");
    out_add_text(&o, (struct slice){0});
    printed("");
}

static void test_out_style_prints_nothing_without_colours(void **state)
{
    (void)state;
    out_print_styled_words(&o, OUT_RED, "x");
    printed("x");
    o.coloured = true;
    out_print_styled_words(&o, OUT_RED, "x");
    printed("\033[31mx\033[0m");
}

static void test_out_fill_line_breaks_between_words_on_a_terminal(void **state)
{
    (void)state;
    size_t columns = o.columns;
    o.columns = 20;
    out_add_raw(&o, "ok   ");
    size_t from = o.b.n;
    out_add_text(&o, slice_of("one two three four fifteen-columns x"));
    out_fill_line(&o, from, 5);
    printed("ok   one two three\n     four\n     fifteen-columns\n     x\n");
    out_fill_line(&o, 0, 5);
    printed("\n");
    o.columns = OUT_UNLIMITED;
    out_add_raw(&o, "ok   one two three four fifteen-columns x");
    out_fill_line(&o, 5, 5);
    printed("ok   one two three four fifteen-columns x\n");
    o.columns = columns;
}

static void test_out_fill_line_counts_columns_not_characters(void **state)
{
    (void)state;
    o.columns = 10;
    out_add_text(
        &o,
        slice_of(
            "\xe4\xb8\xad\xe6\x96\x87 \xe4\xb8\xad\xe6\x96\x87 \xe4\xb8\xad")); /* 4 + 1 + 4 + 1 + 2 */
    out_fill_line(&o, 0, 0);
    printed("\xe4\xb8\xad\xe6\x96\x87 \xe4\xb8\xad\xe6\x96\x87\n\xe4\xb8\xad\n");
    out_add_text(&o, slice_of("e\xcc\x81"
                          "e\xcc\x81"
                          "e\xcc\x81"
                          "e\xcc\x81 12345")); /* combining: 4 + 1 + 5 */
    out_fill_line(&o, 0, 0);
    printed("e\xcc\x81"
            "e\xcc\x81"
            "e\xcc\x81"
            "e\xcc\x81 12345\n");
}

static void test_out_cell_is_padded_or_truncated_to_its_width(void **state)
{
    (void)state;
    cell("abc", 5, false, "abc  ");
    cell("abc", 5, true, "  abc");
    cell("abcde", 5, false, "abcde");
    cell("abcdef", 5, false, "abcd\xe2\x80\xa6");
    cell("", 2, false, "  ");
    cell("abc", 1, false, "\xe2\x80\xa6");
    cell("abc", 0, false, "");
    out_add_fitting_text(&o, OUT_PLAIN, slice_of("abc"), 5);
    printed("abc");
    out_add_fixed_cell(&o, OUT_PLAIN, (struct slice){0}, 2, true);
    printed("  ");
}

static void test_out_cell_without_utf8_ends_with_three_dots(void **state)
{
    (void)state;
    o.utf8 = false;
    cell("abcdef", 5, false, "ab...");
    cell("abcdef", 3, false, "...");
    cell("abcdef", 2, false, "ab"); /* no room for dots */
    assert_string_equal(out_direction_arrow(&o, true), "->");
    assert_string_equal(out_direction_arrow(&o, false), "<-");
}

static void test_out_cell_width_is_in_columns_not_bytes(void **state)
{
    (void)state;
    cell("\xe2\x82\xac\xe2\x82\xac", 3, false, "\xe2\x82\xac\xe2\x82\xac "); /* two euros */
    cell("\xe4\xb8\xad\xe6\x96\x87", 5, false, "\xe4\xb8\xad\xe6\x96\x87 "); /* two wide ones */
    cell("\xe4\xb8\xad\xe6\x96\x87", 3, false, "\xe4\xb8\xad\xe2\x80\xa6");  /* 2 + 1 */
    cell("\xe4\xb8\xad\xe6\x96\x87", 2, false, "\xe2\x80\xa6 ");             /* 1 + padding */
    cell("e\xcc\x81", 2, false, "e\xcc\x81 ");                               /* combining */
    assert_int_equal(out_width(&o, slice_of("\xe4\xb8\xad"
                                            "a\n")),
                     5); /* \n is shown */
}

static void test_out_cell_reads_only_the_beginning_of_a_long_text(void **state)
{
    (void)state;
    static char text[1 << 20];
    memset(text, 'x', sizeof text);
    out_add_fixed_cell(&o, OUT_PLAIN, (struct slice){text, sizeof text}, 4, false);
    printed("xxx\xe2\x80\xa6");
    assert_in_range(o.text.n, 4, 1000);
}

/* ---- tables ---- */

static const struct table_column columns[] = {
    {.title = "ID", .right = true, .max = 6},
    {.title = "NAME", .max = 8, .spare = 1},
    {.title = "END", .max = 20, .spare = 2},
};

static void add(struct table *t, const char *text)
{
    table_add_cell(t, slice_of(text), OUT_PLAIN);
}

static void fill(struct table *t)
{
    table_open(t, columns, MI_COUNT(columns));
    add(t, "1"), add(t, "files"), add(t, "done");
    add(t, "12"), add(t, "a long name"), add(t, "x");
}

static void test_table_columns_are_as_wide_as_they_need(void **state)
{
    (void)state;
    struct table t;
    fill(&t);
    assert_true(table_print(&t, &o));
    printed("ID  NAME      END\n"
            " 1  files     done\n"
            "12  a long \xe2\x80\xa6  x\n");
    table_close(&t);
}

static void test_table_on_a_narrow_terminal_hides_columns(void **state)
{
    (void)state;
    struct table t;
    fill(&t);
    o.columns = 17; /* 2 + 2 + 8 + 2 + 4 = 18 */
    assert_true(table_print(&t, &o));
    printed("ID  NAME\n 1  files\n12  a long \xe2\x80\xa6\n");
    o.columns = 11;
    assert_true(table_print(&t, &o));
    printed("ID\n 1\n12\n");
    o.columns = 1; /* a column without `spare` is always shown */
    assert_true(table_print(&t, &o));
    printed("ID\n 1\n12\n");
    table_close(&t);
}

static void test_table_column_that_does_not_fit_is_printed_above_its_rows(void **state)
{
    (void)state;
    static const struct table_column above[] = {
        {.title = "NAME", .max = 8},
        {.title = "END", .max = 20, .spare = 1},
        {.title = "FILE", .max = OUT_UNLIMITED, .spare = TABLE_ABOVE},
    };
    struct table t;
    table_open(&t, above, MI_COUNT(above));
    add(&t, "a"), add(&t, "done"), add(&t, "/one");
    add(&t, "b"), add(&t, "done"), add(&t, "/one");
    add(&t, "c"), add(&t, "lost"), add(&t, "/two/\n");
    o.columns = 4 + 2 + 4 + 2 + 7;
    assert_true(table_print(&t, &o));
    printed("NAME  END   FILE\n"
            "a     done  /one\n"
            "b     done  /one\n"
            "c     lost  /two/\\n\n");
    o.columns--;
    assert_true(table_print(&t, &o));
    printed("  NAME  END\n/one\n  a     done\n  b     done\n/two/\\n\n  c     lost\n");
    o.columns = 2 + 4 + 2 + 3; /* the other columns have less room */
    assert_true(table_print(&t, &o));
    printed("  NAME\n/one\n  a\n  b\n/two/\\n\n  c\n");
    table_close(&t);
}

static void test_table_column_without_a_value_is_hidden_first(void **state)
{
    (void)state;
    struct table t;
    table_open(&t, columns, MI_COUNT(columns));
    add(&t, "1"), add(&t, "-"), add(&t, "done");
    add(&t, "12"), add(&t, "-"), add(&t, "x");
    o.columns = 2 + 2 + 4 + 2 + 4;
    assert_true(table_print(&t, &o));
    printed("ID  NAME  END\n 1  -     done\n12  -     x\n");
    o.columns--;
    assert_true(table_print(&t, &o));
    printed("ID  END\n 1  done\n12  x\n");
    table_close(&t);
}

static void test_table_columns_that_may_be_narrowed_are_narrowed_further_at_last(void **state)
{
    (void)state;
    static const struct table_column narrow[] = {
        {.title = "ID", .right = true, .max = 6},
        {.title = "NAME", .max = 20, .spare = -12},
        {.title = "END", .max = 20, .spare = 1},
    };
    struct table t;
    table_open(&t, narrow, MI_COUNT(narrow));
    add(&t, "1"), add(&t, "sixteen-columns-"), add(&t, "done");
    o.columns = 2 + 2 + 12 + 2 + 4;
    assert_true(table_print(&t, &o));
    printed("ID  NAME          END\n 1  sixteen-col\xe2\x80\xa6  done\n");
    o.columns -= 2; /* END is hidden, and NAME has its columns */
    assert_true(table_print(&t, &o));
    printed("ID  NAME\n 1  sixteen-columns-\n");
    o.columns = 2 + 2 + 9;
    assert_true(table_print(&t, &o));
    printed("ID  NAME\n 1  sixteen-\xe2\x80\xa6\n");
    table_close(&t);
}

static void test_table_cell_from_a_buffer_clears_the_buffer(void **state)
{
    (void)state;
    struct table t;
    struct buf b = {0};
    table_open(&t, columns, 1);
    buf_adds(&b, "7");
    table_add_buf(&t, &b, OUT_PLAIN);
    assert_int_equal(b.n, 0);
    assert_true(table_print(&t, &o));
    printed("ID\n 7\n");
    b.failed = true;
    table_add_buf(&t, &b, OUT_PLAIN);
    assert_false(table_print(&t, &o));
    printed("");
    table_close(&t);
    buf_close(&b);
}

/* ---- JSON ---- */

static void pretty(const char *json, const char *want)
{
    pretty_print(&o, slice_of(json), 2);
    printed(want);
}

static void test_pretty_indents_members_and_elements(void **state)
{
    (void)state;
    pretty("{\"a\":[1,{\"b\":null}],\"c\":\"x, y\"}", "  {\n"
                                                      "    \"a\": [\n"
                                                      "      1,\n"
                                                      "      {\n"
                                                      "        \"b\": null\n"
                                                      "      }\n"
                                                      "    ],\n"
                                                      "    \"c\": \"x, y\"\n"
                                                      "  }\n");
    pretty(" [ ] ", "  []\n");
    pretty("{\t\n}", "  {}\n");
    pretty("-1.5e3", "  -1.5e3\n");
    pretty("\"a\\\"]b\"", "  \"a\\\"]b\"\n");
    pretty("\"\x7f\xe2\x80\xae\"", "  \"\\x7f\\u{202e}\"\n");
}

static void test_pretty_colours_only_keys(void **state)
{
    (void)state;
    o.coloured = true;
    pretty("{\"a\" :\"b\"}", "  {\n    \033[36m\"a\"\033[0m: \"b\"\n  }\n");
}

static void test_pretty_indentation_is_limited(void **state)
{
    (void)state;
    char text[201];
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    text[200] = '\0';
    pretty_print(&o, slice_of(text), 0);
    size_t longest = 0;
    for (const char *p = buf_str(&o.b); *p != '\0'; p += strcspn(p, "\n") + 1)
        longest = strcspn(p, "\n") > longest ? strcspn(p, "\n") : longest;
    assert_int_equal(longest, 2 * 40 + 2); /* "[]" */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_out_text_shows_control_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_style_prints_nothing_without_colours, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_out_fill_line_counts_columns_not_characters, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_out_fill_line_breaks_between_words_on_a_terminal,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_cell_is_padded_or_truncated_to_its_width, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_out_cell_without_utf8_ends_with_three_dots, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_out_cell_width_is_in_columns_not_bytes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_out_cell_reads_only_the_beginning_of_a_long_text,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_table_columns_are_as_wide_as_they_need, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_table_column_that_does_not_fit_is_printed_above_its_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_table_on_a_narrow_terminal_hides_columns, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_table_column_without_a_value_is_hidden_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_table_columns_that_may_be_narrowed_are_narrowed_further_at_last, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_table_cell_from_a_buffer_clears_the_buffer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_pretty_indents_members_and_elements, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_pretty_colours_only_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pretty_indentation_is_limited, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
