#include "tests/support/unit.h"

#include "replay/mock/fault.h"

static struct faults list;

static int teardown(void **state)
{
    (void)state;
    faults_close(&list);
    return 0;
}

static void add(const char *text)
{
    struct buf error = {0};
    if (faults_add(&list, text, &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
}

static void refuse(const char *text, const char *words)
{
    struct buf error = {0};
    assert_int_equal(faults_add(&list, text, &error), MI_EINVAL);
    if (strstr(buf_str(&error), words) == NULL)
        fail_msg("'%s' is not in: %s", words, buf_str(&error));
    buf_close(&error);
}

static const char *find(const char *method, const char *target)
{
    const struct fault *f = faults_find_for_request(&list, slice_of(method), slice_of(target));
    return f != NULL ? fault_name(f->kind) : "none";
}

static void test_fault_each_form_is_read(void **state)
{
    (void)state;
    add("hang@own/method");
    add("delay=250ms@tools/call:echo");
    add("error=-32001@tools/call:file:///x#frag#12");
    assert_int_equal(list.n, 3);
    assert_int_equal(list.list[0].kind, FAULT_HANG);
    assert_string_equal(list.list[0].method, "own/method");
    assert_null(list.list[0].target);
    assert_int_equal(list.list[1].delay_us, 250000);
    assert_string_equal(list.list[1].target, "echo");
    assert_int_equal(list.list[2].code, -32001);
    assert_string_equal(list.list[2].target, "file:///x#frag");
    assert_int_equal(list.list[2].nth, 12);
    add("close@ping:b#x"); /* no number: part of the target */
    assert_string_equal(list.list[3].target, "b#x");
    assert_int_equal(list.list[3].nth, 0);
}

static void test_fault_invalid_text_is_rejected_with_the_reason(void **state)
{
    (void)state;
    refuse("hang", "use KIND@METHOD");
    refuse("hang@", "use KIND@METHOD");
    refuse("sulk@tools/call", "unknown fault 'sulk'; use one of: hang delay=… error=…");
    refuse("delay@tools/call", "use delay=VALUE, where VALUE is a duration");
    refuse("delay=soon@tools/call", "a duration");
    refuse("error=bad@tools/call", "a code");
    refuse("hang=1s@tools/call", "hang takes no value");
    refuse("hang@tools/cal", "did you mean 'tools/call'? Use KIND@METHOD[:TARGET][#N]");
    refuse("hang@tool:echo", "'tool' is not a method that a client requests; did you mean 'tools/");
    refuse("hang@echo#2", "'echo' is not a method that a client requests");
    assert_int_equal(list.n, 0);
}

static void test_fault_matches_method_and_target(void **state)
{
    (void)state;
    add("hang@tools/call:echo");
    add("close@resources/*:demo://*");
    add("crash@prompts/get");
    assert_string_equal(find("tools/call", "echo"), "hang");
    assert_string_equal(find("tools/call", "echo2"), "none");
    assert_string_equal(find("tools/list", "echo"), "none");
    assert_string_equal(find("resources/read", "demo://1"), "close");
    assert_string_equal(find("resources/templates/list", ""), "none");
    assert_string_equal(find("prompts/get", "anything"), "crash");
    assert_string_equal(find("prompts/get", ""), "crash");
}

static void test_fault_number_counts_matching_requests(void **state)
{
    (void)state;
    add("hang@tools/call:echo#2");
    add("close@tools/call#3");
    assert_string_equal(find("tools/call", "echo"), "none");
    assert_string_equal(find("tools/call", "other"), "none");
    assert_string_equal(find("tools/call", "echo"),
                        "hang"); /* the third call as well: the first fits */
    assert_string_equal(find("tools/call", "echo"), "none");
}

static void test_fault_that_no_request_got_is_listed(void **state)
{
    (void)state;
    add("hang@tools/call:echo#2");
    add("close@tools/*:ech");
    add("crash@prompts/get");
    struct buf b = {0};
    size_t at = 0;
    (void)find("tools/call", "echo");
    (void)find("prompts/get", "x");
    assert_true(faults_append_next_unused_fault(&list, &at, &b));
    assert_string_equal(buf_str(&b), "hang@tools/call:echo#2");
    buf_clear(&b);
    assert_true(faults_append_next_unused_fault(&list, &at, &b));
    assert_string_equal(buf_str(&b), "close@tools/*:ech");
    assert_false(faults_append_next_unused_fault(&list, &at, &b));
    (void)find("tools/call", "echo");
    at = 0;
    buf_clear(&b);
    assert_true(faults_append_next_unused_fault(&list, &at, &b));
    assert_string_equal(buf_str(&b), "close@tools/*:ech");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fault_each_form_is_read, teardown),
        cmocka_unit_test_teardown(test_fault_invalid_text_is_rejected_with_the_reason, teardown),
        cmocka_unit_test_teardown(test_fault_matches_method_and_target, teardown),
        cmocka_unit_test_teardown(test_fault_that_no_request_got_is_listed, teardown),
        cmocka_unit_test_teardown(test_fault_number_counts_matching_requests, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
