/* Encodings of text: UTF-8, visible control characters, JSON strings, truncation. */
#include "base/text.h"

#include "tests/support/json_reference.h"
#include "tests/support/unit.h"

typedef void (*text_fn)(struct buf *b, struct slice s);

static void expect(text_fn fn, const char *in, size_t n, const char *want)
{
    char *copy = unit_copy(in, n);
    struct buf b = {0};
    fn(&b, (struct slice){copy, n});
    assert_false(b.failed);
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
    free(copy);
}

#define ROW(in, want)                                                                              \
    {                                                                                              \
        in, sizeof in - 1, want                                                                    \
    }

static void test_text_utf8_len_agrees_with_unicode_table_3_7(void **state)
{
    (void)state;
    static const unsigned char tails[][2] = {{0x80, 0x80}, {0xBF, 0xBF}, {'a', 'b'}, {0x80, 'a'}};
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t t = 0; t < MI_COUNT(tails); t++) {
                char c[4] = {(char)a, (char)b, (char)tails[t][0], (char)tails[t][1]};
                for (size_t n = 1; n <= 4; n++)
                    assert_int_equal(text_utf8_len(c, n), ref_utf8(c, n));
            }
}

static void test_text_utf8_code_of_each_length_is_the_code_point(void **state)
{
    (void)state;
    unsigned step = unit_slow() ? 97 : 1;
    for (unsigned c = 0; c < 0x110000; c += step) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        unsigned char p[4];
        size_t len = ref_put(p, c);
        char put[4];
        assert_int_equal(text_utf8_code((const char *)p, len), c);
        assert_int_equal(text_put_utf8_char(c, put), len);
        assert_memory_equal(put, p, len);
    }
}

static void test_text_utf8_replaces_invalid_bytes_and_nul(void **state)
{
    (void)state;
#define R "\xef\xbf\xbd"
    static const struct {
        const char *in;
        size_t n;
        const char *want;
    } rows[] = {
        ROW("", ""),
        ROW("plain", "plain"),
        ROW("\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80", "\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80"),
        ROW("a\0b", "a" R "b"),
        ROW("\0", R),
        ROW("\xff", R),
        ROW("a\xff\xfe"
            "b",
            "a" R R "b"),
        ROW("\xc3", R),
        ROW("\xe4\xbd", R R),
        ROW("\xe4\xbd\xa0\xe4", "\xe4\xbd\xa0" R),
        ROW("\xed\xa0\x80", R R R),
        ROW("\x1b[31m\n", "\x1b[31m\n"), /* control characters are UTF-8 */
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(text_append_valid_utf8, rows[i].in, rows[i].n, rows[i].want);
}

static void test_text_visible_escapes_control_characters(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t n;
        const char *want;
    } rows[] = {
        ROW("", ""),
        ROW("plain \\ text", "plain \\ text"),
        ROW("na\xc3\xafve \xe4\xbd\xa0\xf0\x9f\x98\x80",
            "na\xc3\xafve \xe4\xbd\xa0\xf0\x9f\x98\x80"),
        ROW("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ROW("\0\x01\x1f\x7f", "\\x00\\x01\\x1f\\x7f"),
        ROW("\x1b[2J", "\\x1b[2J"),
        ROW("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ROW("\xc2\x80\xc2\x85\xc2\x9b", "\\u{80}\\u{85}\\u{9b}"), /* C1: NEL, CSI */
        ROW("\xc2\xa0", "\xc2\xa0"),
        ROW("\xd8\x9c", "\\u{61c}"),
        ROW("\xe2\x80\x8b\xe2\x80\x8f", "\\u{200b}\\u{200f}"),
        ROW("\xe2\x80\x90", "\xe2\x80\x90"),
        ROW("\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}"), /* line ends for some programs */
        ROW("\xe2\x80\xaa\xe2\x80\xae", "\\u{202a}\\u{202e}"), /* bidirectional overrides */
        ROW("\xe2\x81\xa6\xe2\x81\xa9", "\\u{2066}\\u{2069}"),
        ROW("\xe2\x81\xa0\xe2\x81\xaf\xe2\x81\xb0", "\\u{2060}\\u{206f}\xe2\x81\xb0"),
        ROW("\xef\xbb\xbf", "\\u{feff}"),
        ROW("\xef\xbf\xb9", "\\u{fff9}"),
        ROW("\xef\xbf\xbd", "\xef\xbf\xbd"),
        ROW("\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\\u{e0001}\\u{e007f}"), /* tags, invisible */
        ROW("\xff\xc3", "\\xff\\xc3"),
        ROW("\xed\xa0\x80", "\\xed\\xa0\\x80"),
        ROW("x\xe4\xbd", "x\\xe4\\xbd"),
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(text_append_visible, rows[i].in, rows[i].n, rows[i].want);
}

static void test_text_json_is_a_json_string_on_one_visible_line(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t n;
        const char *want;
    } rows[] = {
        ROW("", "\"\""),
        ROW("plain", "\"plain\""),
        ROW("a\"b\\c/d", "\"a\\\"b\\\\c/d\""),
        ROW("a\nb", "\"a\\nb\""),
        ROW("\0\x1b\x1f\x7f", "\"\\u0000\\u001b\\u001f\\u007f\""),
        ROW("\t\r", "\"\\u0009\\u000d\""),
        ROW("\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80", "\"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80\""),
        ROW("\xc2\x85\xe2\x80\xa8\xe2\x80\xae", "\"\\u0085\\u2028\\u202e\""),
        ROW("\xf3\xa0\x80\x81", "\"\\udb40\\udc01\""),
        ROW("\xff", "\"" R "\""),
        ROW("a\xe4\xbd", "\"a" R R "\""),
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(text_append_json, rows[i].in, rows[i].n, rows[i].want);
}

/* Text can neither forge a line nor control a terminal. */
static bool acts(struct slice s)
{
    struct buf b = {0};
    text_append_visible(&b, s);
    bool same = slice_eq(buf_slice(&b), s);
    buf_close(&b);
    return !same;
}

static void test_text_of_random_bytes_is_valid_and_visible(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\x1b",
                                         "\xc3\xa9",
                                         "\xff",
                                         "\xe2\x80\xa8",
                                         "\xf0\x9f\x98\x80",
                                         "\xf3\xa0\x80\x81"};
    struct unit_random rnd = {31};
    int rounds = unit_slow() ? 1000 : 30000;
    for (int i = 0; i < rounds; i++) {
        char text[128];
        size_t n = 0;
        for (size_t k = unit_random(&rnd, 12); k > 0; k--) {
            const char *piece = pieces[unit_random(&rnd, MI_COUNT(pieces))];
            size_t len = strlen(piece) - unit_random(&rnd, 2) * (strlen(piece) > 1);
            memcpy(text + n, piece, len);
            n += len;
        }
        char *copy = unit_copy(text, n);
        struct slice s = {copy, n};
        struct buf json = {0}, utf8 = {0}, visible = {0};
        text_append_json(&json, s);
        text_append_valid_utf8(&utf8, s);
        text_append_visible(&visible, s);
        assert_false(acts(buf_slice(&visible)));
        assert_false(acts(buf_slice(&json)));
        /* The JSON string has the same value as the replaced text. */
        struct ref_json r;
        ref_open(&r, json.p, json.n);
        assert_int_equal(r.fault, JSON_OK);
        ref_close(&r);
        struct ref_text said = ref_unescape((struct slice){json.p + 1, json.n - 2});
        assert_true(slice_eq((struct slice){(char *)said.p, said.n}, buf_slice(&utf8)));
        free(said.p);
        buf_close(&json);
        buf_close(&utf8);
        buf_close(&visible);
        free(copy);
    }
}

static bool is_plain(char c, char a, char b)
{
    return c >= 0x20 && c < 0x7F && c != a && c != b;
}

/* Each byte, at each place of texts of each length. */
static void test_text_plain_run_ends_at_each_byte_that_is_not_plain(void **state)
{
    (void)state;
    static const char stops[][2] = {{0, 0}, {'"', '\\'}, {'[', 0}};
    char text[20];
    for (size_t n = 0; n <= sizeof text; n++)
        for (size_t at = 0; at < n; at++)
            for (int byte = 0; byte < 256; byte++)
                for (size_t i = 0; i < MI_COUNT(stops); i++) {
                    memset(text, byte & 1 ? ' ' : '~', sizeof text);
                    text[at] = (char)byte;
                    size_t want = is_plain((char)byte, stops[i][0], stops[i][1]) ? n : at;
                    assert_int_equal(
                        text_count_leading_plain_bytes((struct slice){text, n}, stops[i][0], stops[i][1]),
                        want);
                }
    assert_int_equal(text_count_leading_plain_bytes((struct slice){0}, 0, 0), 0);
}

static void test_text_json_truncated_counts_characters(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t max;
        const char *cut, *head;
    } rows[] = {
        {"", 0, "\"\"", "\"\""},
        {"", 5, "\"\"", "\"\""},
        {"abc", 3, "\"abc\"", "\"abc\""},
        {"abcd", 3, "\"abc… [+1 chars]\"", "\"abc…\""},
        {"abcdefghijklmn", 4, "\"abcd… [+10 chars]\"", "\"abcd…\""},
        {"abc", 0, "\"… [+3 chars]\"", "\"…\""},
        {"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80", 3, "\"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80\"",
         "\"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80\""},
        {"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80", 2, "\"\xc3\xa9\xe4\xbd\xa0… [+1 chars]\"",
         "\"\xc3\xa9\xe4\xbd\xa0…\""},
        {"\n\n\n", 1, "\"\\n… [+2 chars]\"", "\"\\n…\""},
        {"\xff\xff\xff", 2, "\"" R R "… [+1 chars]\"", "\"" R R "…\""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = strlen(rows[i].in);
        char *copy = unit_copy(rows[i].in, n);
        struct buf b = {0};
        text_append_json_truncated(&b, (struct slice){copy, n}, rows[i].max);
        assert_string_equal(buf_str(&b), rows[i].cut);
        buf_clear(&b);
        text_append_shortened_json(&b, (struct slice){copy, n}, rows[i].max);
        assert_string_equal(buf_str(&b), rows[i].head);
        buf_close(&b);
        free(copy);
    }
}

static void test_text_json_visible_keeps_the_value_and_fits_on_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t n;
        const char *want;
    } rows[] = {
        ROW("{\"a\":[1,\"b\\n\"]}", "{\"a\":[1,\"b\\n\"]}"),
        ROW("\"\xc3\xa9\xe4\xbd\xa0\"", "\"\xc3\xa9\xe4\xbd\xa0\""),
        ROW("\"\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xae\"", "\"\\u007f\\u0085\\u2028\\u202e\""),
        ROW("\"\xf3\xa0\x80\x81\"", "\"\\udb40\\udc01\""),
        /* white space that a reader may take for the end of a line becomes a blank */
        ROW("[1,\r2,\n3,\t4]", "[1, 2, 3, 4]"),
        ROW("{\r\n\"a\"\t:\r1}", "{  \"a\" : 1}"),
        ROW("\n[1]\r", " [1] "),
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        expect(text_append_visible_json, rows[i].in, rows[i].n, rows[i].want);
        assert_false(acts(slice_of(rows[i].want)));
    }
}

static void test_text_head_does_not_split_a_character(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t max, n;
    } rows[] = {
        {"", 0, 0},
        {"", 3, 0},
        {"abc", 3, 3},
        {"abc", 4, 3},
        {"abc", 2, 2},
        {"abc", 0, 0},
        {"\xc3\xa9", 1, 0},
        {"\xc3\xa9", 2, 2},
        {"a\xe4\xbd\xa0", 1, 1},
        {"a\xe4\xbd\xa0", 2, 1},
        {"a\xe4\xbd\xa0", 3, 1},
        {"a\xe4\xbd\xa0", 4, 4},
        {"\xf0\x9f\x98\x80x", 3, 0},
        {"\xf0\x9f\x98\x80x", 4, 4},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = strlen(rows[i].in);
        char *copy = unit_copy(rows[i].in, n);
        struct slice head = text_prefix((struct slice){copy, n}, rows[i].max);
        assert_int_equal(head.n, rows[i].n);
        assert_ptr_equal(head.p, copy);
        free(copy);
    }
}

static void test_text_chars_counts_bytes_that_start_a_character(void **state)
{
    static const char text[] = "aé€😀\x80\xBF\xC0\xFF\x7F\0 plain words, ééééééééé €€€€€€€€ end";
    (void)state;
    for (size_t from = 0; from < sizeof text; from++)
        for (size_t n = 0; from + n < sizeof text; n++) {
            size_t want = 0;
            for (size_t i = from; i < from + n; i++)
                want += !text_is_utf8_continuation(text + i);
            assert_int_equal(text_count_utf8_chars((struct slice){text + from, n}), want);
        }
    char many[5000];
    memset(many, 0x80, sizeof many);
    for (size_t n = 0; n < sizeof many; n++)
        assert_int_equal(text_count_utf8_chars((struct slice){many, n}), 0);
    many[2044] = many[4999] = 'a';
    assert_int_equal(text_count_utf8_chars((struct slice){many, sizeof many}), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_utf8_len_agrees_with_unicode_table_3_7),
        cmocka_unit_test(test_text_utf8_code_of_each_length_is_the_code_point),
        cmocka_unit_test(test_text_utf8_replaces_invalid_bytes_and_nul),
        cmocka_unit_test(test_text_visible_escapes_control_characters),
        cmocka_unit_test(test_text_json_is_a_json_string_on_one_visible_line),
        cmocka_unit_test(test_text_of_random_bytes_is_valid_and_visible),
        cmocka_unit_test(test_text_json_truncated_counts_characters),
        cmocka_unit_test(test_text_plain_run_ends_at_each_byte_that_is_not_plain),
        cmocka_unit_test(test_text_json_visible_keeps_the_value_and_fits_on_one_line),
        cmocka_unit_test(test_text_head_does_not_split_a_character),
        cmocka_unit_test(test_text_chars_counts_bytes_that_start_a_character),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
