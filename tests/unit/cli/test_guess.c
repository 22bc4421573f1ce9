/* guess: each row has a hint that names commands of this program, and no word is a command. */
#include "cli/settings/guess.h"

#include "tests/support/unit.h"

#include <stdio.h>

static void test_guess_each_word_of_each_row_finds_its_hint(void **state)
{
    (void)state;
    const struct guess *g;
    size_t rows = 0;
    for (; (g = guess_get_row(rows)) != NULL; rows++) {
        char word[64];
        for (const char *at = g->words; *at != '\0'; at += *at == '|') {
            size_t n = strcspn(at, "|");
            assert_in_range(n, 1, sizeof word - 1);
            snprintf(word, sizeof word, "%.*s", (int)n, at);
            if (guess_hint_for_word(word) != g->hint)
                fail_msg("%s is in two rows", word);
            at += n;
        }
        assert_non_null(strchr(g->hint, '`'));
    }
    assert_true(rows > 10);
}

static void test_guess_other_words_have_no_hint(void **state)
{
    (void)state;
    static const char *const words[] = {"", "|", "sessions", "list|ls", "lis", "lists", "list "};
    for (size_t i = 0; i < MI_COUNT(words); i++)
        if (guess_hint_for_word(words[i]) != NULL)
            fail_msg("'%s' has a hint", words[i]);
}

static void test_guess_option_with_or_without_a_value_has_a_hint(void **state)
{
    (void)state;
    static const char *const with[] = {"--status",   "--status=timeout", "--kind",
                                       "--no-color", "--from",           "--from=postgresql://x",
                                       "--errors="};
    static const char *const without[] = {
        "--", "-", "--=", "--stat", "--status|kind", "--a-very-long-option-of-another"};
    for (size_t i = 0; i < MI_COUNT(with); i++)
        if (guess_hint_for_option(with[i]) == NULL)
            fail_msg("%s has no hint", with[i]);
    for (size_t i = 0; i < MI_COUNT(without); i++)
        if (guess_hint_for_option(without[i]) != NULL)
            fail_msg("%s has a hint", without[i]);
    assert_non_null(strstr(guess_hint_for_option("--status"), "search status:timeout"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guess_each_word_of_each_row_finds_its_hint),
        cmocka_unit_test(test_guess_option_with_or_without_a_value_has_a_hint),
        cmocka_unit_test(test_guess_other_words_have_no_hint),
    };
    return cmocka_run_group_tests_name("guess", tests, NULL, NULL);
}
