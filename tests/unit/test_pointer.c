#include "tests/unit/unit.h"

#include "replay/pointer.h"

static struct pointers list;

static int teardown(void **state)
{
    (void)state;
    pointers_close(&list);
    return 0;
}

static void add(const char *text)
{
    struct buf error = {0};
    assert_int_equal(pointers_add(&list, text, &error), 0);
    buf_close(&error);
}

static void refuse(const char *text, int status, const char *words)
{
    struct buf error = {0};
    assert_int_equal(pointers_add(&list, text, &error), status);
    if (strstr(buf_str(&error), words) == NULL)
        fail_msg("'%s' is not in: %s", words, buf_str(&error));
    buf_close(&error);
}

/* Does one of the pointers end at this place? Tokens by blanks. */
static bool ends_at(const char *tokens)
{
    pointer_set set = pointers_root(&list);
    size_t depth = 0;
    for (const char *p = tokens; p != NULL && *tokens != '\0'; depth++) {
        const char *blank = strchr(p, ' ');
        size_t n = blank != NULL ? (size_t)(blank - p) : strlen(p);
        set = pointers_down(&list, set, depth, (struct slice){p, n});
        p = blank != NULL ? blank + 1 : NULL;
    }
    return pointers_end(&list, set, depth);
}

static void test_pointer_tokens_match_level_by_level(void **state)
{
    (void)state;
    add("/a/b");
    add("/c/*/d");
    add("/x~1y~0/");
    assert_true(ends_at("a b"));
    assert_false(ends_at("a"));
    assert_false(ends_at("a b c"));
    assert_false(ends_at("b"));
    assert_true(ends_at("c 0 d"));
    assert_true(ends_at("c anything d"));
    assert_false(ends_at("c d"));
    assert_true(ends_at("x/y~ "));
    assert_false(ends_at(""));
}

static void test_pointer_wrong_text_is_refused_with_the_reason(void **state)
{
    (void)state;
    refuse("a/b", MI_EINVAL, "write it like /arguments/path");
    refuse("", MI_EINVAL, "is no JSON pointer");
    refuse("/a~2", MI_EINVAL, "a ~ is written ~0");
    refuse("/a~", MI_EINVAL, "a ~ is written ~0");
    refuse("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/"
           "32/33",
           MI_EINVAL, "deeper than 32 levels");
}

static void test_pointer_too_many_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < POINTERS_MAX; i++)
        add("/last");
    assert_true(ends_at("last"));
    refuse("/one", MI_EFULL, "more than 64");
}

static void test_pointer_printed_is_what_is_read(void **state)
{
    (void)state;
    struct buf b = {0};
    pointer_print(&b, slice_of("a/b~c"));
    pointer_print(&b, slice_of(""));
    assert_string_equal(buf_str(&b), "/a~1b~0c/");
    add(buf_str(&b));
    assert_true(ends_at("a/b~c "));
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pointer_tokens_match_level_by_level, teardown),
        cmocka_unit_test_teardown(test_pointer_wrong_text_is_refused_with_the_reason, teardown),
        cmocka_unit_test_teardown(test_pointer_too_many_are_refused, teardown),
        cmocka_unit_test_teardown(test_pointer_printed_is_what_is_read, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
