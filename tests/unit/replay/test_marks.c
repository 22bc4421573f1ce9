/* What the sanitizer left in recorded texts. */
#include "replay/source/marks.h"

#include "tests/support/unit.h"

static void test_marks_tell_secrets_from_truncated_content(void **state)
{
    (void)state;
    assert_int_equal(marks_find_in_text(slice_of("{\"a\":1}")), MARKS_NONE);
    assert_int_equal(marks_find_in_text((struct slice){0}), MARKS_NONE);
    assert_int_equal(marks_find_in_text(slice_of("{\"a\":\"[redacted:key]\"}")), MARKS_SECRET);
    assert_int_equal(marks_find_in_text(slice_of("\"a\xe2\x80\xa6 [+5 chars]\"")), MARKS_CUT);
    assert_int_equal(marks_find_in_text(slice_of("\"a\\u2026 [+5 chars]\"")), MARKS_CUT);
    assert_int_equal(marks_find_in_text(slice_of("\"a\xe2\x80\xa6 [+5\"")), MARKS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_tell_secrets_from_truncated_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
