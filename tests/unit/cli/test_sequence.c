/* sequence: answers of a terminal are skipped to their end, and the key behind them is not. */
#include "cli/ui/screen/sequence.h"

#include "tests/support/unit.h"

/* What is left of the text, a character every `each_us`. */
static void keys_of(const char *text, int64_t each_us, char *ret)
{
    struct sequence s = {0};
    bool after_esc = false;
    int64_t now_us = 1000000;
    size_t n = 0;
    for (const char *p = text; *p != '\0'; p++, now_us += each_us) {
        uint32_t c = (unsigned char)*p;
        if (sequence_add_char(&s, c, now_us))
            continue;
        if (after_esc && sequence_begin(&s, c, now_us)) {
            n--; /* the Esc was no key */
            after_esc = false;
            continue;
        }
        after_esc = c == 0x1B;
        ret[n++] = (char)c;
    }
    ret[n] = '\0';
}

static void test_sequence_is_skipped_and_the_key_behind_it_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keys;
    } rows[] = {
        {"f", "f"},
        {"\033f", "\033f"},
        {"\033[?64;1;2cf", "f"},
        {"\033[1;5Xf", "f"},
        {"\033[Zf", "f"},
        {"\033Oqf", "f"},
        {"\033]11;rgb:ff/ff/ff\033\\f", "f"},
        {"\033]11;rgb:ff/ff/ff\af", "f"},
        {"\033P1+r\033\\f", "f"},
        {"\033_a\033\\\033^b\033\\\033Xc\033\\f", "f"},
        {"\033[?64;1;2c\033]11;rgb:ff/ff/ff\033\\\033P1+r\033\\f/", "f/"},
        {"\033]0;a\033[?1cf", "f"},    /* another sequence ends the string */
        {"\033]0;a\033f", "f"},        /* so does Esc */
        {"\033[1\033[2cf", "f"},       /* one that has no end of its own */
        {"a\033[1cb\033]x\ac", "abc"}, /* between keys */
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char keys[64];
        keys_of(rows[i].text, 0, keys);
        assert_string_equal(keys, rows[i].keys);
        keys_of(rows[i].text, SEQUENCE_PAUSE_US, keys); /* in parts */
        assert_string_equal(keys, rows[i].keys);
    }
}

static void test_sequence_ends_after_a_pause(void **state)
{
    (void)state;
    char keys[64];
    keys_of("\033[f", SEQUENCE_PAUSE_US + 1, keys); /* Esc, [ and f were typed */
    assert_string_equal(keys, "f");
    keys_of("\033]ab", SEQUENCE_PAUSE_US + 1, keys);
    assert_string_equal(keys, "ab");
}

static void test_sequence_without_an_end_is_bounded(void **state)
{
    (void)state;
    struct sequence s = {0};
    size_t n = 0;
    assert_true(sequence_begin(&s, ']', 0));
    while (sequence_add_char(&s, 'x', 0))
        n++;
    assert_int_equal(n, SEQUENCE_MAX);
    assert_false(sequence_add_char(&s, 'x', 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence_is_skipped_and_the_key_behind_it_is_not),
        cmocka_unit_test(test_sequence_ends_after_a_pause),
        cmocka_unit_test(test_sequence_without_an_end_is_bounded),
    };
    return cmocka_run_group_tests_name("sequence", tests, NULL, NULL);
}
