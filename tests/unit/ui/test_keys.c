/* The table of keys, the line that is typed, and its words. */
#include "cli/ui/keys.h"
#include "cli/ui/prompt.h"
#include "cli/ui/quoted_words.h"

#include "tests/support/unit.h"

static void test_keys_each_action_has_a_key_and_each_key_one_action(void **state)
{
    (void)state;
    bool has[ACTIONS] = {false};
    const struct keys_row *r, *other;
    for (size_t i = 0; (r = keys_get_row(i)) != NULL; i++) {
        assert_non_null(r->names);
        if (r->action == ACTION_NONE)
            continue;
        assert_false(has[r->action]);
        has[r->action] = true;
        assert_non_null(r->what);
        for (size_t k = 0; k < KEYS_EACH && r->key[k] != 0; k++) {
            assert_int_equal(keys_find_action(r->key[k]), r->action);
            for (size_t j = 0; (other = keys_get_row(j)) != NULL; j++)
                for (size_t m = 0; m < KEYS_EACH; m++)
                    if ((i != j || k != m) && other->key[m] == r->key[k])
                        fail_msg("'%s' and '%s' have the same key", r->names, other->names);
        }
    }
    for (int a = ACTION_NONE + 1; a < ACTIONS; a++)
        if (!has[a])
            fail_msg("action %d has no key", a);
}

/* The help page has 60 columns on a small screen, and 17 of them are for the keys. */
static void test_keys_help_fits_into_60_columns(void **state)
{
    (void)state;
    const struct keys_row *r;
    for (size_t i = 0; (r = keys_get_row(i)) != NULL; i++)
        if (r->action != ACTION_NONE && (strlen(r->names) > 14 || strlen(r->what) > 60 - 17))
            fail_msg("too long: %s  %s", r->names, r->what);
}

static void test_keys_unknown_key_does_nothing(void **state)
{
    (void)state;
    assert_int_equal(keys_find_action(0), ACTION_NONE);
    assert_int_equal(keys_find_action(PRESS_OTHER), ACTION_NONE);
    assert_int_equal(keys_find_action(0x1F600), ACTION_NONE);
}

static void type(struct prompt *p, const char *text)
{
    for (; *text != '\0'; text++)
        assert_int_equal(prompt_handle_key(p, *text), PROMPT_EDITED);
}

static void test_prompt_edits_characters_not_bytes(void **state)
{
    (void)state;
    struct prompt p;
    prompt_set_text(&p, "a\xC3\xA9z");
    (void)prompt_handle_key(&p, PRESS_LEFT);
    (void)prompt_handle_key(&p, PRESS_BACKSPACE);
    assert_string_equal(p.text, "az");
    (void)prompt_handle_key(&p, 0x1F600);
    assert_string_equal(p.text, "a\xF0\x9F\x98\x80z");
    (void)prompt_handle_key(&p, PRESS_HOME);
    (void)prompt_handle_key(&p, PRESS_RIGHT);
    (void)prompt_handle_key(&p, PRESS_DELETE);
    assert_string_equal(p.text, "az");
    (void)prompt_handle_key(&p, PRESS_END);
    (void)prompt_handle_key(&p, PRESS_DELETE);
    assert_string_equal(p.text, "az");
}

static void test_prompt_cuts_words_and_lines(void **state)
{
    (void)state;
    struct prompt p;
    prompt_set_text(&p, "tool:a  status:b ");
    (void)prompt_handle_key(&p, PRESS_CTRL('w'));
    assert_string_equal(p.text, "tool:a  ");
    (void)prompt_handle_key(&p, PRESS_LEFT);
    (void)prompt_handle_key(&p, PRESS_CTRL('k'));
    assert_string_equal(p.text, "tool:a ");
    (void)prompt_handle_key(&p, PRESS_CTRL('u'));
    assert_string_equal(p.text, "");
    assert_int_equal(prompt_handle_key(&p, PRESS_BACKSPACE), PROMPT_CANCELLED);
    assert_int_equal(prompt_handle_key(&p, PRESS_ESCAPE), PROMPT_CANCELLED);
    assert_int_equal(prompt_handle_key(&p, PRESS_ENTER), PROMPT_DONE);
}

static void test_prompt_takes_no_control_character_and_no_more_than_its_room(void **state)
{
    (void)state;
    struct prompt p;
    prompt_set_text(&p, "");
    (void)prompt_handle_key(&p, 0x07);
    (void)prompt_handle_key(&p, PRESS_UP);
    assert_int_equal(p.n, 0);
    for (int i = 0; i < PROMPT_MAX; i++)
        type(&p, "x");
    (void)prompt_handle_key(&p, 'y');
    (void)prompt_handle_key(&p, 0xE9);
    assert_int_equal(p.n, PROMPT_MAX);
    assert_int_equal(strlen(p.text), PROMPT_MAX);
}

static void test_prompt_proposal_is_replaced_by_typing_and_kept_by_editing(void **state)
{
    (void)state;
    struct prompt p;
    prompt_set_text(&p, "files-1.jsonl");
    assert_int_equal(prompt_handle_key(&p, PRESS_ENTER), PROMPT_DONE);
    assert_string_equal(p.text, "files-1.jsonl");
    prompt_set_text(&p, "files-1.jsonl");
    type(&p, "x");
    assert_string_equal(p.text, "x");
    type(&p, "y");
    assert_string_equal(p.text, "xy");
    prompt_set_text(&p, "ab");
    (void)prompt_handle_key(&p, PRESS_LEFT);
    type(&p, "x");
    assert_string_equal(p.text, "axb");
    prompt_set_text(&p, "ab");
    (void)prompt_handle_key(&p, PRESS_BACKSPACE);
    type(&p, "x");
    assert_string_equal(p.text, "ax");
}

static void test_prompt_recalls_lines_and_what_was_typed(void **state)
{
    (void)state;
    struct prompt p;
    struct prompt_history h = {0};
    prompt_set_text(&p, "typed");
    prompt_show_history_line(&p, &h, true); /* nothing is kept yet */
    assert_string_equal(p.text, "typed");
    prompt_add_to_history(&h, "one");
    prompt_add_to_history(&h, "");
    prompt_add_to_history(&h, "two");
    prompt_add_to_history(&h, "one"); /* moves it to the front */
    assert_int_equal(h.n, 2);
    static const struct {
        bool older;
        const char *text;
    } steps[] = {{true, "one"},  {true, "two"},    {true, "two"},
                 {false, "one"}, {false, "typed"}, {false, "typed"}};
    for (size_t i = 0; i < MI_COUNT(steps); i++) {
        prompt_show_history_line(&p, &h, steps[i].older);
        assert_string_equal(p.text, steps[i].text);
        assert_int_equal(p.at, strlen(steps[i].text));
    }
    prompt_set_text(&p, "one"); /* the last line is proposed: the one before it comes */
    prompt_show_history_line(&p, &h, true);
    assert_string_equal(p.text, "two");
    char line[16];
    for (int i = 0; i < 2 * PROMPT_KEPT; i++) {
        snprintf(line, sizeof line, "%d", i);
        prompt_add_to_history(&h, line);
    }
    assert_int_equal(h.n, PROMPT_KEPT);
    assert_string_equal(h.line[0], "63");
    assert_string_equal(h.line[PROMPT_KEPT - 1], "32");
    prompt_history_clear(&h);
}

static void test_keys_name_is_the_first_key_of_an_action(void **state)
{
    (void)state;
    assert_true(slice_is(keys_get_name_of_action(ACTION_UP), "Up"));
    assert_true(slice_is(keys_get_name_of_action(ACTION_LEAVE), "q"));
    assert_true(slice_is(keys_get_name_of_action(ACTION_BACK), "Esc"));
}

static void test_words_are_cut_at_blanks_outside_of_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *word[4];
    } rows[] = {
        {"", {NULL}},
        {"   ", {NULL}},
        {" tool:echo  invoice ", {"tool:echo", "invoice"}},
        {"'not found' x", {"not found", "x"}},
        {"\"it's\" don't", {"it's", "don't"}},
        {"'open end", {"open end"}},
        {"'' a", {"", "a"}},
    };
    char out[64], *words[4];
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_true(split_quoted_words(rows[i].line, out, words, MI_COUNT(words)));
        size_t n = 0;
        for (; rows[i].word[n] != NULL; n++)
            assert_string_equal(words[n], rows[i].word[n]);
        assert_null(words[n]);
    }
    assert_true(split_quoted_words("a b c", out, words, MI_COUNT(words)));
    assert_false(split_quoted_words("a b c d", out, words, MI_COUNT(words)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_each_action_has_a_key_and_each_key_one_action),
        cmocka_unit_test(test_keys_help_fits_into_60_columns),
        cmocka_unit_test(test_keys_unknown_key_does_nothing),
        cmocka_unit_test(test_prompt_edits_characters_not_bytes),
        cmocka_unit_test(test_prompt_cuts_words_and_lines),
        cmocka_unit_test(test_prompt_takes_no_control_character_and_no_more_than_its_room),
        cmocka_unit_test(test_prompt_proposal_is_replaced_by_typing_and_kept_by_editing),
        cmocka_unit_test(test_prompt_recalls_lines_and_what_was_typed),
        cmocka_unit_test(test_keys_name_is_the_first_key_of_an_action),
        cmocka_unit_test(test_words_are_cut_at_blanks_outside_of_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
