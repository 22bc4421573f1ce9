/* The words of a text, and their keys. */
#include "vault/search/words.h"

#include "tests/support/unit.h"

#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void write_list(const struct search_list *l, struct buf *b)
{
    buf_clear(b);
    for (size_t i = 0; i < l->n; i++) {
        buf_adds(b, i > 0 ? " " : "");
        buf_slice_add(b, search_list_get_word(l, i));
    }
}

static void test_search_words_and_keys_of_a_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words, *keys;
    } rows[] = {
        {"", "", ""},
        {" -> ", "", ""},
        {"The INVOICE, paid", "the invoice paid", "invoice paid the"},
        {"b a b ab a", "b a b ab a", "a ab b"}, /* a prefix comes first */
        {"{\"send_email\":2.5}", "send email 2 5", "2 5 email send"},
        {"\xC3\x9C"
         "ber e\xCC\x81tude",
         "uber etude", "etude uber"},
        {"\xC3\x89 \xE6\x97\xA5\xE6\x9C\xAC z", "e \xE6\x97\xA5\xE6\x9C\xAC z",
         "e z \xE6\x97\xA5\xE6\x9C\xAC"},
        {"a\xF0\x9F\x98\x80"
         "b",
         "a b", "a b"},                                /* an emoji is not a letter */
        {"\xC8\xBA", "\xE2\xB1\xA5", "\xE2\xB1\xA5"},  /* lower case may be longer */
        {"a\\nb \\u0041", "a nb u0041", "a nb u0041"}, /* escapes are resolved before */
        {SIXTY "abcd", SIXTY "abcd", SIXTY "abcd"},
        {SIXTY "abcde " SIXTY "abcdf", SIXTY "abcde " SIXTY "abcdf", SIXTY "abcd"},
        {SIXTY "abc\xE6\x97\xA5", SIXTY "abc\xE6\x97\xA5",
         SIXTY "abc"}, /* not within a character */
    };
    struct search_words *w = NULL;
    struct search_list l = {0};
    struct buf b = {0};
    assert_int_equal(search_words_open(&w), 0);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_int_equal(search_list_split_text(&l, w, slice_of(rows[i].text)), 0);
        write_list(&l, &b);
        assert_string_equal(buf_str(&b), rows[i].words);
        search_list_convert_to_keys(&l);
        write_list(&l, &b);
        assert_string_equal(buf_str(&b), rows[i].keys);
    }
    assert_int_equal(search_list_split_text(&l, w, (struct slice){"a\0b", 3}), 0);
    assert_int_equal(l.n, 2);
    buf_close(&b);
    search_list_close(&l);
    search_words_close(w);
}

static void test_search_words_keys_of_many_words_are_distinct_and_sorted(void **state)
{
    (void)state;
    struct search_words *w = NULL;
    struct search_list l = {0};
    struct buf text = {0};
    for (unsigned i = 0; i < 60000; i++)
        buf_printf(&text, "%x ", i * 2654435761u % 30011);
    assert_int_equal(search_words_open(&w), 0);
    assert_int_equal(search_list_split_text(&l, w, buf_slice(&text)), 0);
    assert_int_equal(l.n, 60000);
    search_list_convert_to_keys(&l);
    assert_in_range(l.n, 20000, 30011);
    for (size_t i = 1; i < l.n; i++) {
        struct slice a = search_list_get_word(&l, i - 1), b = search_list_get_word(&l, i);
        int d = memcmp(a.p, b.p, size_min(a.n, b.n));
        assert_true(d < 0 || (d == 0 && a.n < b.n));
    }
    buf_close(&text);
    search_list_close(&l);
    search_words_close(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_words_and_keys_of_a_text),
        cmocka_unit_test(test_search_words_keys_of_many_words_are_distinct_and_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
