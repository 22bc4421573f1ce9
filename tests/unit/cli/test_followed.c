/* followed: the sessions and pending calls of `tail`; answer_diff_sessions: changes of a tool. */
#include "cli/look/follow/followed.h"
#include "cli/look/tool_diff.h"

#include "tests/support/unit.h"

static struct query_session session(int64_t id, const char *name)
{
    return (struct query_session){.id = id, .name = slice_of(name), .started_at_us = 1000 * id};
}

static void add(struct followed *l, int64_t id, const char *name)
{
    struct query_session s = session(id, name);
    assert_int_equal(followed_add_session(l, &s, NULL), 0);
}

static void test_followed_sessions_are_copied_and_sorted_by_id(void **state)
{
    (void)state;
    struct followed l = {0};
    char name[] = "files";
    struct query_session s = session(7, name);
    s.host = slice_of("here");
    assert_int_equal(followed_add_session(&l, &s, NULL), 0);
    memset(name, '#', sizeof name - 1);
    add(&l, 9, "nine");
    add(&l, 3, "three");
    add(&l, 8, "eight");
    assert_int_equal(l.n, 4);
    static const int64_t ids[] = {3, 7, 8, 9};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(l.session[i]->s.id, ids[i]);
    assert_true(slice_is(l.session[1]->s.name, "files"));
    assert_true(slice_is(l.session[1]->s.host, "here"));
    assert_null(l.session[1]->s.client_name.p);
    s = session(7, "renamed");
    s.client_name = slice_of("cli");
    assert_int_equal(followed_update_session(l.session[1], &s), 0);
    assert_true(slice_is(l.session[1]->s.name, "renamed"));
    assert_true(slice_is(l.session[1]->s.client_name, "cli"));
    followed_close(&l);
    assert_int_equal(l.n, 0);
}

static void test_followed_oldest_session_is_dropped_at_the_limit(void **state)
{
    (void)state;
    struct followed l = {0};
    for (int64_t id = 1; id <= FOLLOWED_MAX + 3; id++)
        add(&l, id, "x");
    assert_int_equal(l.n, FOLLOWED_MAX);
    assert_int_equal(l.session[0]->s.id, 4);
    assert_int_equal(l.session[FOLLOWED_MAX - 1]->s.id, FOLLOWED_MAX + 3);
    followed_close(&l);
}

/* A vault is read from its newest session to its oldest. */
static void test_followed_older_session_is_not_added_at_the_limit(void **state)
{
    (void)state;
    struct followed l = {0};
    struct followed_session *added;
    for (int64_t id = FOLLOWED_MAX + 3; id > 3; id--)
        add(&l, id, "x");
    assert_false(l.left_out);
    struct query_session s = session(3, "x");
    assert_int_equal(followed_add_session(&l, &s, &added), 0);
    assert_null(added);
    assert_true(l.left_out);
    assert_int_equal(l.n, FOLLOWED_MAX);
    assert_int_equal(l.session[0]->s.id, 4);
    assert_int_equal(l.session[FOLLOWED_MAX - 1]->s.id, FOLLOWED_MAX + 3);
    followed_close(&l);
}

static void test_followed_call_ends_with_its_answer_or_its_session(void **state)
{
    (void)state;
    struct followed l = {0};
    add(&l, 1, "one");
    add(&l, 2, "two");
    struct query_session one = session(1, "one"), two = session(2, "two");
    followed_add_open_call(&l, &one, 5, 10, slice_of("tools/call"), slice_of("echo"));
    followed_add_open_call(&l, &two, 5, 20, slice_of("tools/list"), (struct slice){0});
    followed_add_open_call(&l, &one, 6, 30, (struct slice){0}, (struct slice){0});
    assert_int_equal(l.open_n, 3);
    assert_string_equal(l.open[0].what, "one echo");
    assert_int_equal(l.open[0].at_us, 1010);
    assert_string_equal(l.open[1].what, "two tools/list");
    assert_string_equal(l.open[2].what, "one ");
    followed_remove_open_call(&l, 1, 7); /* not known */
    followed_remove_open_call(&l, 3, 5);
    assert_int_equal(l.open_n, 3);
    followed_remove_open_call(&l, 1, 5);
    assert_int_equal(l.open_n, 2);
    assert_int_equal(l.open[0].session_id, 2); /* the order is kept */
    followed_remove_session(&l, 0);
    assert_int_equal(l.open_n, 1);
    assert_int_equal(l.open[0].session_id, 2);
    followed_close(&l);
}

static void test_followed_call_with_long_names_is_truncated(void **state)
{
    (void)state;
    struct followed l = {0};
    char name[300], target[300];
    memset(name, 'n', sizeof name - 1);
    memset(target, 't', sizeof target - 1);
    name[299] = target[299] = '\0';
    struct query_session s = session(1, name);
    for (int64_t i = 0; i < FOLLOWED_OPEN_MAX + 5; i++)
        followed_add_open_call(&l, &s, i, 0, slice_of("tools/call"), slice_of(target));
    assert_int_equal(l.open_n, FOLLOWED_OPEN_MAX);
    assert_int_equal(strlen(l.open[0].what), FOLLOWED_WHAT_MAX - 1);
    assert_int_equal(strspn(l.open[0].what, "n"), 40);
    followed_close(&l);
}

/* ---- answer_diff_sessions ---- */

static void on_difference(void *ctx, struct slice pointer, struct slice before, struct slice now)
{
    buf_printf(ctx, "%.*s %.*s %.*s\n", (int)pointer.n, pointer.p, (int)before.n,
               before.p != NULL ? before.p : "", (int)now.n, now.p != NULL ? now.p : "");
}

static void test_tool_diff_reports_the_pointer_of_each_difference(void **state)
{
    (void)state;
    static const struct {
        const char *before, *now, *differences;
    } rows[] = {
        {"{\"a\":1}", "{\"a\":1}", ""},
        {"{\"a\":1,\"b\":2}", "{ \"b\": 2, \"a\" : 1 }", ""},
        {"{\"a\":1}", "{\"a\":2}", "/a 1 2\n"},
        {"{\"a\":1}", "{}", "/a 1 \n"},
        {"{}", "{\"b\":[1]}", "/b  [1]\n"},
        {"{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":3,\"d\":2}},\"x\":null}",
         "/a/b/c 1 3\n/x  null\n"},
        {"{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}", "/a~1b/~0 1 2\n"},
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}", "/a [1,2] [2,1]\n"}, /* arrays as a whole */
        {"{\"a\":{}}", "{\"a\":[]}", "/a {} []\n"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        tool_diff_compare(slice_of(rows[i].before), slice_of(rows[i].now), on_difference, &b);
        assert_string_equal(buf_str(&b), rows[i].differences);
        buf_close(&b);
    }
}

static void test_tool_diff_depth_is_limited(void **state)
{
    (void)state;
    struct buf a = {0}, c = {0}, b = {0};
    for (int i = 0; i < 100; i++) {
        buf_adds(&a, "{\"a\":");
        buf_adds(&c, "{\"a\":");
    }
    buf_addc(&a, '1');
    buf_addc(&c, '2');
    for (int i = 0; i < 100; i++) {
        buf_addc(&a, '}');
        buf_addc(&c, '}');
    }
    tool_diff_compare(buf_slice(&a), buf_slice(&c), on_difference, &b);
    size_t lines = 0, depth = 0;
    for (const char *p = buf_str(&b); *p != '\0'; p++)
        lines += *p == '\n';
    for (const char *p = buf_str(&b); *p == '/'; p += 2)
        depth++;
    assert_int_equal(lines, 1);
    assert_int_equal(depth, 32);
    buf_close(&a);
    buf_close(&b);
    buf_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_followed_sessions_are_copied_and_sorted_by_id),
        cmocka_unit_test(test_followed_oldest_session_is_dropped_at_the_limit),
        cmocka_unit_test(test_followed_older_session_is_not_added_at_the_limit),
        cmocka_unit_test(test_followed_call_ends_with_its_answer_or_its_session),
        cmocka_unit_test(test_followed_call_with_long_names_is_truncated),
        cmocka_unit_test(test_tool_diff_reports_the_pointer_of_each_difference),
        cmocka_unit_test(test_tool_diff_depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
