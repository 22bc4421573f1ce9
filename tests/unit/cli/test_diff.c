/* diff: edits of a file, as a unified diff. */
#include "cli/wrap/edit_diff.h"

#include "tests/support/unit.h"

static struct out o;
static struct edits e;

static void edit(size_t at, size_t del, const char *put)
{
    e.edit[e.n++] = (struct edit){at, del, e.text.n, strlen(put)};
    buf_adds(&e.text, put);
}

static size_t place(const char *text, const char *what)
{
    const char *p = strstr(text, what);
    assert_non_null(p);
    return (size_t)(p - text);
}

static void diff_is(const char *old, const char *want)
{
    static const char head[] = "--- a.json\n+++ a.json\n";
    o = (struct out){.held = true};
    edit_diff_print(&o, "a.json", slice_of(old), &e);
    const char *text = buf_str(&o.b);
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_string_equal(text + strlen(head), want);
    buf_close(&o.b);
    buf_close(&o.text);
    edits_close(&e);
    e = (struct edits){0};
}

static void test_diff_of_one_line_has_three_lines_of_context(void **state)
{
    (void)state;
    const char *old = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    edit(place(old, "five"), 4, "FIVE");
    diff_is(old, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-five\n+FIVE\n 6\n 7\n 8\n");
}

static void test_diff_of_edits_in_one_line_is_one_change(void **state)
{
    (void)state;
    const char *old = "a b\nc\n";
    edit(0, 1, "A");
    edit(2, 1, "B");
    diff_is(old, "@@ -1,2 +1,2 @@\n-a b\n+A B\n c\n");
}

static void test_diff_of_near_edits_is_one_hunk_and_of_far_ones_two(void **state)
{
    (void)state;
    const char *old = "a\n1\n2\n3\n4\n5\n6\nb\n7\n";
    edit(0, 1, "A");
    edit(place(old, "b"), 1, "B");
    diff_is(old, "@@ -1,9 +1,9 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n 7\n");
    old = "a\n1\n2\n3\n4\n5\n6\n7\nb\n";
    edit(0, 1, "A\nAA");
    edit(place(old, "b"), 1, "B");
    diff_is(old, "@@ -1,4 +1,5 @@\n-a\n+A\n+AA\n 1\n 2\n 3\n"
                 "@@ -6,4 +7,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

static void test_diff_of_removed_lines_counts_them(void **state)
{
    (void)state;
    const char *old = "a\nb\nc\n";
    edit(2, 2, "");
    diff_is(old, "@@ -1,3 +1,2 @@\n a\n-b\n-c\n+c\n");
}

static void test_diff_reports_a_missing_newline_at_the_end(void **state)
{
    (void)state;
    const char *old = "a\nb";
    edit(2, 1, "c");
    diff_is(old, "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n"
                 "+c\n\\ No newline at end of file\n");
}

static void test_diff_escapes_control_characters_only_on_a_terminal(void **state)
{
    (void)state;
    const char *old = "\ta\x1b\r\n";
    edit(1, 1, "b");
    diff_is(old, "@@ -1,1 +1,1 @@\n-\ta\x1b\r\n+\tb\x1b\r\n");
    edit(1, 1, "b");
    o = (struct out){.held = true, .is_terminal = true};
    edit_diff_print(&o, "\x1bx", slice_of(old), &e);
    assert_string_equal(buf_str(&o.b), "--- \\x1bx\n+++ \\x1bx\n@@ -1,1 +1,1 @@\n"
                                       "-\ta\\x1b\n+\tb\\x1b\n");
    buf_close(&o.b);
    buf_close(&o.text);
    edits_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff_of_one_line_has_three_lines_of_context),
        cmocka_unit_test(test_diff_of_edits_in_one_line_is_one_change),
        cmocka_unit_test(test_diff_of_near_edits_is_one_hunk_and_of_far_ones_two),
        cmocka_unit_test(test_diff_of_removed_lines_counts_them),
        cmocka_unit_test(test_diff_reports_a_missing_newline_at_the_end),
        cmocka_unit_test(test_diff_escapes_control_characters_only_on_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
