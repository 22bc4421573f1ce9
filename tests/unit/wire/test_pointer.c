#include "tests/support/unit.h"

#include "wire/json/pointer.h"

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
    assert_int_equal(pointers_add(&list, "", slice_of(text), &error), 0);
    buf_close(&error);
}

static void reject(const char *text, int status, const char *words)
{
    struct buf error = {0};
    assert_int_equal(pointers_add(&list, "", slice_of(text), &error), status);
    if (strstr(buf_str(&error), words) == NULL)
        fail_msg("'%s' is not in: %s", words, buf_str(&error));
    buf_close(&error);
}

/* Does one of the pointers end at this place? Tokens are separated by blanks. */
static bool ends_at(const char *tokens)
{
    pointer_set set = pointers_select_at_root(&list);
    size_t depth = 0;
    for (const char *p = tokens; p != NULL && *tokens != '\0'; depth++) {
        const char *blank = strchr(p, ' ');
        size_t n = blank != NULL ? (size_t)(blank - p) : strlen(p);
        set = pointers_select_below_member(&list, set, depth, (struct slice){p, n});
        p = blank != NULL ? blank + 1 : NULL;
    }
    return pointers_any_ends_at_depth(&list, set, depth);
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

static void test_pointer_invalid_is_rejected_with_a_reason(void **state)
{
    (void)state;
    reject("a/b", MI_EINVAL, "use the form /arguments/path");
    reject("", MI_EINVAL, "is not a JSON pointer");
    reject("/a~2", MI_EINVAL, "write ~0 for ~");
    reject("/a~", MI_EINVAL, "write ~0 for ~");
    reject("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/"
           "32/33",
           MI_EINVAL, "more than 32 levels");
}

static void test_pointer_limit_is_enforced(void **state)
{
    (void)state;
    for (int i = 0; i < POINTERS_MAX; i++)
        add("/last");
    assert_true(ends_at("last"));
    reject("/one", MI_EFULL, "the limit of 64");
}

static void test_pointer_is_read_back_as_written(void **state)
{
    (void)state;
    struct buf b = {0};
    pointer_add(&b, slice_of("a/b~c"));
    pointer_add(&b, slice_of(""));
    assert_string_equal(buf_str(&b), "/a~1b~0c/");
    add(buf_str(&b));
    assert_true(ends_at("a/b~c "));
    buf_close(&b);
}

static void test_pointer_index_matches_only_its_number(void **state)
{
    (void)state;
    add("/a/12");
    add("/a/012");
    add("/a/*");
    pointer_set a =
        pointers_select_below_member(&list, pointers_select_at_root(&list), 0, slice_of("a"));
    assert_int_equal(a, 7);
    assert_int_equal(pointers_select_below_index(&list, a, 1, 12), 5);
    assert_int_equal(pointers_select_below_index(&list, a, 1, 1), 4);
    assert_int_equal(pointers_select_below_index(&list, 0, 1, 12), 0);
}

static void test_pointer_with_a_prefix_starts_at_the_prefix(void **state)
{
    (void)state;
    struct buf error = {0};
    assert_int_equal(pointers_add(&list, "/params", slice_of("/x"), &error), 0);
    assert_true(ends_at("params x"));
    assert_int_equal(pointers_add(&list, "/params", slice_of("x"), &error), MI_EINVAL);
    assert_string_equal(buf_str(&error), "'x' is not a JSON pointer: use the form /arguments/path");
    buf_close(&error);
}

static void test_pointer_next_returns_the_tokens_in_order(void **state)
{
    (void)state;
    struct slice token, rest = slice_of("/a~1b//c");
    struct buf b = {0};
    assert_true(pointer_read_next_token(&rest, &token) && slice_is(token, "a~1b"));
    assert_true(pointer_unescape(&b, token));
    assert_string_equal(buf_str(&b), "a/b");
    assert_true(pointer_read_next_token(&rest, &token) && token.n == 0);
    assert_true(pointer_read_next_token(&rest, &token) && slice_is(token, "c"));
    assert_false(pointer_read_next_token(&rest, &token));
    buf_clear(&b);
    pointer_add_index(&b, 10);
    assert_string_equal(buf_str(&b), "/10");
    buf_clear(&b);
    assert_false(pointer_unescape(&b, slice_of("a~2~")));
    assert_string_equal(buf_str(&b), "a~2~");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pointer_tokens_match_level_by_level, teardown),
        cmocka_unit_test_teardown(test_pointer_invalid_is_rejected_with_a_reason, teardown),
        cmocka_unit_test_teardown(test_pointer_limit_is_enforced, teardown),
        cmocka_unit_test_teardown(test_pointer_is_read_back_as_written, teardown),
        cmocka_unit_test_teardown(test_pointer_index_matches_only_its_number, teardown),
        cmocka_unit_test_teardown(test_pointer_with_a_prefix_starts_at_the_prefix, teardown),
        cmocka_unit_test(test_pointer_next_returns_the_tokens_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
