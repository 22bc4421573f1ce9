#include "cli/ui/text/cells.h"

#include "base/text.h"
#include "base/width.h"
#include "tests/support/unit.h"

/* The line as "text" with escapes in <>, found text in (). */
static void flat(const struct cells *c, struct buf *b)
{
    buf_clear(b);
    for (size_t i = 0; i < c->n; i++) {
        bool escape = c->span[i].style == CELLS_ESCAPE, found = c->span[i].found;
        buf_adds(b, found ? "(" : "");
        buf_adds(b, escape ? "<" : "");
        buf_slice_add(b, cells_get_styled_text(c, i));
        buf_adds(b, escape ? ">" : "");
        buf_adds(b, found ? ")" : "");
    }
}

/* What holds for each line: the spans follow each other, their columns are right and in the window. */
static void check_line(const struct cells *c)
{
    size_t at = 0, columns = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct slice text = cells_get_styled_text(c, i);
        assert_int_equal(c->span[i].at, at);
        assert_int_equal(c->span[i].columns, text_count_columns(text));
        at += text.n;
        columns += c->span[i].columns;
        for (size_t k = 0; k < text.n;) {
            size_t len = text_utf8_len(text.p + k, text.n - k);
            assert_true(len > 0);
            assert_true(width_char_is_printable(text_utf8_code(text.p + k, len)));
            if (c->ascii)
                assert_int_equal(len, 1);
            k += len;
        }
    }
    assert_int_equal(at, c->text.n);
    assert_true(columns <= c->width);
    assert_false(c->failed);
}

struct sample {
    const char *text, *shown;
};

static void check_samples(const struct sample *s, size_t n, bool ascii)
{
    struct cells c = {0};
    struct buf b = {0};
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(s[i].text);
        char *copy = unit_copy(s[i].text, len);
        cells_begin_line(&c, 0, 200, ascii);
        cells_add_text(&c, CELLS_PLAIN, (struct slice){copy, len});
        check_line(&c);
        flat(&c, &b);
        assert_string_equal(buf_str(&b), s[i].shown);
        free(copy);
    }
    cells_close(&c);
    buf_close(&b);
}

static void test_cells_show_what_is_visible_and_escape_the_rest(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"plain text ~", "plain text ~"},
        {"a\nb\tc\rd", "a<\\n>b<\\t>c<\\r>d"},
        {"\x1b[31mred", "<\\x1b>[31mred"},
        {"\x7f", "<\\x7f>"},
        {"\xc2\x9b"
         "31m",
         "<\\u{9b}>31m"}, /* C1 */
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"e\xcc\x81", "e\xcc\x81"},   /* combining */
        {"\xcc\x81x", "<\\u{301}>x"}, /* with nothing to combine with */
        {"a\xe2\x80\xae"
         "b",
         "a<\\u{202e}>b"}, /* right to left */
        {"a\xe2\x81\xa6\xe2\x80\x8b", "a<\\u{2066}\\u{200b}>"},
        {"\xef\xb8\x8f", "<\\u{fe0f}>"}, /* a variation selector */
        {"\xe3\x85\xa4", "<\\u{3164}>"}, /* a letter that is invisible */
        {"\xc2\xad", "<\\u{ad}>"},
        {"\xee\x80\x80", "<\\u{e000}>"},      /* private */
        {"\xf3\xa0\x81\x81", "<\\u{e0041}>"}, /* a tag */
        {"\xcd\xb8", "<\\u{378}>"},           /* not assigned */
        {"\xff\xfe", "<\\xff\\xfe>"},
        {"\xc3(", "<\\xc3>("},
        {"\xed\xa0\x80", "<\\xed\\xa0\\x80>"}, /* a surrogate */
        {"\xf0\x9f\x98", "<\\xf0\\x9f\\x98>"}, /* truncated */
        {"\x1b\xcc\x81", "<\\x1b\\u{301}>"},   /* nothing combines with an escape */
        {"o\xcc\x81\xcc\x82\xcc\x83\xcc\x84", "o\xcc\x81\xcc\x82\xcc\x83<\\u{304}>"},
    };
    check_samples(samples, MI_COUNT(samples), false);
}

static void test_cells_ascii_escapes_every_other_character(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"plain", "plain"},
        {"caf\xc3\xa9!", "caf<\\u{e9}>!"},
        {"\xe4\xb8\xad", "<\\u{4e2d}>"},
        {"e\xcc\x81", "e<\\u{301}>"},
        {"\xff", "<\\xff>"},
    };
    check_samples(samples, MI_COUNT(samples), true);
}

/* Each window of a line shows what the same columns of the whole line show. */
static void test_cells_window_is_a_part_of_the_line(void **state)
{
    (void)state;
    static const char line[] = "ab\xe4\xb8\xad"
                               "c\xcc\x81\x1b\xe2\x80\xae\xf0\x9f\x98\x80\xff end of the line";
    static const char columns[] = "ab##c\\x1b\\u{202e}##\\xff end of the line"; /* # : wide */
    struct cells c = {0};
    size_t all = strlen(columns);
    for (size_t from = 0; from <= all + 1; from++)
        for (size_t width = 0; width <= all + 2; width++) {
            cells_begin_line(&c, from, width, false);
            cells_add_text(&c, CELLS_PLAIN, slice_of(line));
            check_line(&c);
            size_t shown = 0;
            for (size_t i = 0; i < c.n; i++)
                shown += c.span[i].columns;
            assert_int_equal(shown, from < all ? size_min(width, all - from) : 0);
            assert_int_equal(c.more, from + width < all);
            struct slice text = buf_slice(&c.text);
            size_t at = from;
            for (size_t i = 0; i < text.n; at++) { /* column `at` begins at byte i */
                size_t len = text_utf8_len(text.p + i, text.n - i);
                size_t wide = text_columns_of_char(text.p + i, len);
                if (columns[at] != '#')
                    assert_int_equal(text.p[i], columns[at]);
                else if (wide == 1)
                    assert_int_equal(text.p[i], ' '); /* half of it */
                i += len;
                at += wide == 2;
                if (i < text.n && (unsigned char)text.p[i] == 0xCC)
                    i += 2;
            }
        }
    cells_close(&c);
}

/* An escape is cut like any text. */
static void test_cells_cut_escape_has_more(void **state)
{
    (void)state;
    struct cells c = {0};
    for (size_t width = 0; width < 6; width++) {
        cells_begin_line(&c, 0, width, false);
        cells_add_str(&c, CELLS_PLAIN, "\x1b");
        assert_int_equal(c.more, width < 4);
        assert_int_equal(c.text.n, size_min(width, 4));
    }
    cells_close(&c);
}

/* Any bytes, split anywhere into two texts: nothing unsafe, and as many columns as cells_count_text_columns() says. */
static void test_cells_random_bytes_are_safe(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",  "\xe4\xb8\xad", "\xcc\x81",         "\x1b", "\xff", "\xe2\x80\xae",
        "\t", "\n",           "\xf0\x9f\x98\x80", "\xe4", "\xb8", "bcd"};
    struct unit_random r = {77};
    struct cells c = {0};
    for (int round = 0; round < (unit_slow() ? 200 : 5000); round++) {
        struct buf b = {0};
        for (size_t n = unit_random(&r, 12); n > 0; n--)
            buf_adds(&b, pieces[unit_random(&r, MI_COUNT(pieces))]);
        char *copy = unit_copy(buf_slice(&b).p, b.n);
        bool ascii = unit_random(&r, 2) == 0;
        for (size_t split = 0; split <= b.n; split++) {
            cells_begin_line(&c, 0, SIZE_MAX, ascii);
            cells_add_text(&c, CELLS_PLAIN, (struct slice){copy, split});
            cells_add_text(&c, CELLS_STRING, (struct slice){copy + split, b.n - split});
            check_line(&c);
        }
        size_t columns = c.column; /* split at the end: all in one piece */
        assert_int_equal(cells_count_text_columns((struct slice){copy, b.n}, ascii, SIZE_MAX),
                         columns);
        size_t most = unit_random(&r, 10);
        assert_int_equal(cells_count_text_columns((struct slice){copy, b.n}, ascii, most),
                         size_min(columns, most));
        free(copy);
        buf_close(&b);
    }
    cells_close(&c);
}

static void test_cells_fit_ends_before_newline_and_width(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns, fits;
    } samples[] = {
        {"abc", 10, 3},
        {"abc", 3, 3},
        {"abcd", 3, 3},
        {"ab\ncd", 10, 2},
        {"\ncd", 10, 0},
        {"\xe4\xb8\xad\xe6\x96\x87", 3, 3},
        {"\xe4\xb8\xad\xe6\x96\x87", 4, 6},
        {"\xe4\xb8\xad", 1, 3}, /* at least one character */
        {"a\tb", 8, 2},
        {"a\tb", 9, 3},
        {"a\xcc\x81"
         "bc",
         2, 4},
        {"ab\x1b", 5, 2},
        {"ab\x1b", 6, 3},
        {"\x1b\x1b", 1, 1},
    };
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        size_t n = strlen(samples[i].text);
        char *copy = unit_copy(samples[i].text, n);
        size_t fits = cells_count_fitting_bytes((struct slice){copy, n}, false, samples[i].columns);
        if (fits != samples[i].fits)
            fail_msg("sample %zu: %zu", i, fits);
        free(copy);
    }
}

static void test_cells_tabs_are_blanks_from_the_origin(void **state)
{
    (void)state;
    struct cells c = {0};
    cells_begin_line(&c, 0, 40, false);
    cells_add_blanks(&c, 3);
    c.tabs = true;
    c.origin = c.column;
    cells_add_str(&c, CELLS_PLAIN, "ab\tc\t\td");
    assert_string_equal(buf_str(&c.text), "   ab      c               d");
    check_line(&c);
    cells_close(&c);
}

static void test_cells_mark_splits_spans(void **state)
{
    (void)state;
    struct cells c = {0};
    struct buf b = {0};
    cells_begin_line(&c, 0, 80, false);
    cells_add_str(&c, CELLS_KEY, "key");
    cells_add_str(&c, CELLS_DIM, ": ");
    cells_add_str(&c, CELLS_STRING, "v\xe4\xb8\xadKEy\x1b.");
    cells_mark_matches(&c, slice_of("kEY"));
    check_line(&c);
    flat(&c, &b);
    assert_string_equal(buf_str(&b), "(key): v\xe4\xb8\xad(KEy)<\\x1b>.");
    cells_mark_matches(&c, slice_of("y: V"));
    check_line(&c);
    flat(&c, &b);
    assert_string_equal(buf_str(&b), "(ke)(y)(: )(v)\xe4\xb8\xad(KEy)<\\x1b>.");
    cells_mark_matches(&c, slice_of("\xb8")); /* a part of a character: all of it */
    check_line(&c);
    flat(&c, &b);
    assert_string_equal(buf_str(&b), "(ke)(y)(: )(v)(\xe4\xb8\xad)(KEy)<\\x1b>.");
    cells_mark_matches(&c, slice_of("missing"));
    cells_mark_matches(&c, slice_of(""));
    check_line(&c);
    cells_close(&c);
    buf_close(&b);
}

/* Time for the window, not for the text: a text that is mostly not there would crash. */
static void test_cells_do_not_read_beyond_the_window(void **state)
{
    (void)state;
    struct cells c = {0};
    static const char *const texts[] = {
        "0123456789", "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad"};
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        size_t n = strlen(texts[i]);
        char *copy = unit_copy(texts[i], n);
        cells_begin_line(&c, 2, 5, false);
        cells_add_text(&c, CELLS_PLAIN, (struct slice){copy, n + (i == 0 ? 1000000 : 0)});
        assert_true(cells_are_full(&c) && c.more);
        free(copy);
    }
    cells_close(&c);
}

static void test_cells_line_ends_between_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines; /* lines: separated by | */
        size_t columns;
    } rows[] = {
        {"one two three", "one two |three", 8},
        {"one two three", "one two|three", 7},
        {"one two three", "one|two|three", 5},
        {"abcdefgh ij", "abc|def|gh |ij", 3},
        {"a\nb c", "a|b c", 10},
        {" x", " x", 10},
        {"\xe4\xb8\xad\xe6\x96\x87 a", "\xe4\xb8\xad|\xe6\x96\x87|a", 2},
        {"one  two", "one |two", 4},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        size_t next;
        for (struct slice rest = slice_of(rows[i].text); rest.n > 0;
             rest = (struct slice){rest.p + next, rest.n - next}) {
            size_t n = cells_line_len(rest, false, rows[i].columns, &next);
            assert_true(next > 0 && next <= rest.n);
            if (b.n > 0)
                buf_addc(&b, '|');
            buf_add(&b, rest.p, n);
        }
        assert_string_equal(buf_str(&b), rows[i].lines);
        buf_close(&b);
    }
}

static void test_cells_ellipsis_takes_the_last_column_of_a_cut_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
        bool ascii;
        const char *shown;
    } samples[] = {
        {"abc", 3, false, "abc"},
        {"abcd", 3, false, "ab\xE2\x80\xA6"},
        {"abcd", 3, true, "ab."},
        {"abcd", 1, false, "\xE2\x80\xA6"},
        {"abcd", 0, false, ""},
        {"", 0, false, ""},
        {"a\xE6\x97\xA5\xE6\x9C\xAC", 3, false, "a \xE2\x80\xA6"}, /* a wide character is removed */
        {"ae\xCC\x81z", 2, false, "a\xE2\x80\xA6"},                /* with its accent */
    };
    struct cells c = {0};
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        cells_begin_line(&c, 0, samples[i].width, samples[i].ascii);
        cells_add_str(&c, CELLS_PLAIN, samples[i].text);
        cells_cut_with_ellipsis(&c);
        check_line(&c);
        flat(&c, &b);
        assert_string_equal(buf_str(&b), samples[i].shown);
        cells_cut_with_ellipsis(&c); /* only once */
        flat(&c, &b);
        assert_string_equal(buf_str(&b), samples[i].shown);
    }
    buf_close(&b);
    cells_close(&c);
}

static void test_cells_without_memory_have_failed_in_later_lines_too(void **state)
{
    (void)state;
    struct cells c = {.text = {.max = 4}};
    cells_begin_line(&c, 0, 80, false);
    cells_add_str(&c, CELLS_PLAIN, "more than 4 bytes");
    assert_true(c.failed);
    cells_begin_line(&c, 0, 80, false);
    cells_add_str(&c, CELLS_PLAIN, "x");
    assert_true(c.failed);
    cells_close(&c);
    cells_begin_line(&c, 0, 80, false);
    assert_false(c.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_show_what_is_visible_and_escape_the_rest),
        cmocka_unit_test(test_cells_ascii_escapes_every_other_character),
        cmocka_unit_test(test_cells_window_is_a_part_of_the_line),
        cmocka_unit_test(test_cells_cut_escape_has_more),
        cmocka_unit_test(test_cells_random_bytes_are_safe),
        cmocka_unit_test(test_cells_fit_ends_before_newline_and_width),
        cmocka_unit_test(test_cells_line_ends_between_words),
        cmocka_unit_test(test_cells_tabs_are_blanks_from_the_origin),
        cmocka_unit_test(test_cells_mark_splits_spans),
        cmocka_unit_test(test_cells_do_not_read_beyond_the_window),
        cmocka_unit_test(test_cells_ellipsis_takes_the_last_column_of_a_cut_line),
        cmocka_unit_test(test_cells_without_memory_have_failed_in_later_lines_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
