/* Estimated numbers of tokens. tests/context compares them with real tokenizers. */
#include "base/tokens.h"

#include "base/clock.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define LARGE ((size_t)64 << 20)

static void test_tokens_of_fixed_texts_are_exact(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* 0: strlen() */
        int64_t tokens;
    } rows[] = {
        {"a", 0, 1},
        {"Hello, world!", 0, 4},
        {"The quick brown fox jumps over the lazy dog.", 0, 9},
        {"{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"Path of the file\"}},\"required\":[\"path\"]}", 0, 25},
        {"getUserByEmailAddress", 0, 6},
        {"XMLHttpRequest", 0, 4},
        {"HTTP", 0, 1},
        {"1234567", 0, 4},
        {"3.14159", 0, 4},
        {"a  b", 0, 3},
        {"a\n\n    b", 0, 3},
        {"src/main/index_file.c:42", 0, 9},
        {"====================", 0, 4},
        {"\xC3\xA9t\xC3\xA9", 0, 2},
        {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82", 0, 2},
        {"\xE6\xBC\xA2\xE5\xAD\x97", 0, 1},
        {"\xE3\x81\x8B\xE3\x81\xAA", 0, 2},
        {"\xED\x95\x9C\xEA\xB8\x80", 0, 2},
        {"\xF0\x9F\x98\x80", 0, 2},
        {"aGVsbG8gd29ybGQhIFRoaXMgaXM=", 0, 19},
        {"d41d8cd98f00b204e9800998ecf8427e", 0, 21},
        {"pneumonoultramicroscopic", 0, 3},
        {"drwxr-xr-x 2 ada users 4096 docs", 0, 11},
        {"\xE2\x86\x92 \xE2\x80\xA2", 0, 2},
        {"\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", 0, 2},
        {"\xE0\xA4\xA8\xE0\xA4\xAE", 0, 2},
        {"a\0b\0\0", 5, 5},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = rows[i].n > 0 ? rows[i].n : strlen(rows[i].text);
        int64_t is = tokens_estimate(rows[i].text, n);
        if (is != rows[i].tokens)
            fail_msg("%s: %lld tokens, not %lld", rows[i].text, (long long)is,
                     (long long)rows[i].tokens);
    }
}

/* `o200k` is what js-tiktoken 1.0.21 says of the same text, with an "a" behind it that has one token or is part of the last. */
static void test_tokens_of_white_space_grow_with_its_length(void **state)
{
    static const struct {
        const char *text;
        int times;
        int64_t tokens, o200k;
    } rows[] = {
        {" ", 2, 1, 1},       {" ", 64, 1, 1},     {" ", 2000, 16, 16},       {"\n", 2, 1, 1},
        {"\n", 2000, 126, 125}, {"\t", 2000, 126, 125}, {"\r\n", 2, 1, 1},      {"\r\n", 1000, 251, 250},
        {"\r", 1000, 188, 501}, {" \t", 50, 29, 50},  {" \n", 50, 29, 25},      {"\n ", 50, 29, 25},
        {"\n    ", 50, 30, 14}, {"\n\n    ", 50, 33, 51},
        {"\n                                        ", 50, 44, 51},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct tokens t = {0};
        for (int k = 0; k < rows[i].times; k++)
            tokens_add(&t, rows[i].text, strlen(rows[i].text));
        int64_t is = tokens_count(&t);
        if (is != rows[i].tokens)
            fail_msg("row %zu: %lld tokens, not %lld", i, (long long)is, (long long)rows[i].tokens);
        assert_true(3 * is >= rows[i].o200k && is <= 3 * rows[i].o200k);
    }
}

static void test_tokens_are_the_same_wherever_the_text_is_split(void **state)
{
    static const char text[] = "{\"name\":\"HTTPServer\",\"n\":12345}\r\n  \xD0\xBF\xD1\x80\xD0\xB8 "
                               "\xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x98\x80 \xFF\xE6\xBC ====== a\0b\r\n\n\t\t\t "
                               "\t\t\t\t\t\t\t\t\t word";
    size_t n = sizeof text - 1;
    int64_t want = tokens_estimate(text, n);
    (void)state;
    for (size_t first = 0; first <= n; first++)
        for (size_t second = first; second <= n; second++) {
            struct tokens t = {0};
            tokens_add(&t, text, first);
            (void)tokens_count(&t); /* changes nothing */
            tokens_add(&t, text + first, second - first);
            tokens_add(&t, text + second, n - second);
            assert_int_equal(tokens_count(&t), want);
        }
}

static void test_tokens_invalid_utf8_counts_like_control_characters(void **state)
{
    static const struct {
        const char *text;
        int64_t n;
    } rows[] = {{"\x80", 1},     {"\xC1\xBF", 2},         {"\xE0\x80", 2}, {"\xED\xA0\x80", 3},
                {"\xF8", 1},     {"\xF4\x90\x80\x80", 4}, {"\xE6\xBC", 1}, {"\xFF\xFE", 2},
                {"\x01\x7F", 2}};
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct tokens t = {0};
        tokens_add(&t, rows[i].text, strlen(rows[i].text));
        tokens_add(&t, " word", 5); /* what follows is read as usual */
        assert_int_equal(t.n[TOKENS_CONTROL], rows[i].n);
        assert_int_equal(tokens_count(&t), rows[i].n + 1);
    }
}

/* Of one byte each, and of alternating ones: 64 MiB take a few seconds at most, also with sanitizers or on a busy machine. */
static void test_tokens_of_hostile_text_need_linear_time(void **state)
{
    static const char *const patterns[] = {"a", "A", "{", " ", "\n", "\x80", "\xE6\xBC", "aA1{ \n"};
    static const size_t size = LARGE / MI_COUNT(patterns);
    char *text = malloc(size);
    int64_t sum = 0, start_us = clock_thread_us();
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < MI_COUNT(patterns); i++) {
        size_t n = strlen(patterns[i]);
        for (size_t k = 0; k < size; k++)
            text[k] = patterns[i][k % n];
        int64_t one = tokens_estimate(text, size);
        assert_true(one >= 1);
        assert_true(one <= 4 * (int64_t)size);
        sum += one;
    }
    free(text);
    assert_true(sum > 0);
    assert_true(clock_thread_us() - start_us < 20 * INT64_C(1000000));
}

/* Words in blocks of 64 bytes are counted without looking at each byte: single bytes are not. */
static void test_tokens_of_words_are_the_same_in_blocks_and_in_bytes(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", others[] = "   A.9\n-\xC3\xA9";
    struct unit_random r = {7};
    char text[400];
    (void)state;
    for (size_t k = 0; k < 20000; k += unit_sample(10)) {
        size_t n = unit_random(&r, sizeof text), longest = 1 + unit_random(&r, 90), left = 0;
        for (size_t i = 0; i < n; i++) {
            bool ends = left == 0 && unit_random(&r, 12) != 0;
            text[i] = ends ? (unit_random(&r, 9) != 0 ? ' ' : others[unit_random(&r, 9)])
                           : letters[unit_random(&r, 26)];
            left = ends ? 1 + unit_random(&r, longest) : left - (left > 0);
        }
        struct tokens whole = {0}, bytes = {0};
        tokens_add(&whole, text, n);
        for (size_t i = 0; i < n; i++)
            tokens_add(&bytes, text + i, 1);
        assert_memory_equal(whole.n, bytes.n, sizeof whole.n);
        assert_int_equal(tokens_count(&whole), tokens_count(&bytes));
    }
}

static void test_tokens_of_nothing_are_none(void **state)
{
    struct tokens t = {0};
    (void)state;
    assert_int_equal(tokens_count(&t), 0);
    assert_int_equal(tokens_estimate("", 0), 0);
    assert_int_equal(tokens_estimate("=", 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_of_fixed_texts_are_exact),
        cmocka_unit_test(test_tokens_of_white_space_grow_with_its_length),
        cmocka_unit_test(test_tokens_are_the_same_wherever_the_text_is_split),
        cmocka_unit_test(test_tokens_invalid_utf8_counts_like_control_characters),
        cmocka_unit_test(test_tokens_of_hostile_text_need_linear_time),
        cmocka_unit_test(test_tokens_of_words_are_the_same_in_blocks_and_in_bytes),
        cmocka_unit_test(test_tokens_of_nothing_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
