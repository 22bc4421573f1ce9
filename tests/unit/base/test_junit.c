/* JUnit XML: counts, outcomes, escapes. */
#include "base/junit.h"

#include "tests/support/unit.h"

static void expect(struct buf *b, const char *want)
{
    assert_false(b->failed);
    assert_string_equal(buf_str(b), want);
    buf_close(b);
}

static void test_junit_file_has_suites_with_counts(void **state)
{
    (void)state;
    struct buf b = {0};
    struct junit_suite s = {
        .name = slice_of("a<b"), .tests = 3, .failures = 1, .skipped = 2, .time = "0.5"};
    junit_begin(&b, &s);
    junit_begin_suite(&b, &s);
    junit_end_suite(&b, &s);
    junit_end(&b);
    expect(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<testsuites tests=\"3\" failures=\"1\" errors=\"0\" time=\"0.5\">\n"
               "  <testsuite name=\"a&lt;b\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"2\" "
               "time=\"0.5\">\n"
               "  </testsuite>\n"
               "</testsuites>\n");
}

static void test_junit_suite_with_timestamp_satisfies_the_schema(void **state)
{
    (void)state;
    struct buf b = {0};
    struct junit_suite s = {.name = slice_of("s"), .timestamp = "2026-01-31T23:59:59"};
    junit_begin(&b, NULL);
    junit_begin_suite(&b, &s);
    junit_end_suite(&b, &s);
    junit_end(&b);
    expect(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<testsuites>\n"
               "  <testsuite name=\"s\" package=\"mcp-interposer\" id=\"0\" hostname=\"localhost\" "
               "timestamp=\"2026-01-31T23:59:59\" tests=\"0\" failures=\"0\" errors=\"0\" "
               "skipped=\"0\">\n"
               "    <properties/>\n"
               "    <system-out/>\n"
               "    <system-err/>\n"
               "  </testsuite>\n"
               "</testsuites>\n");
}

static void test_junit_case_is_written_for_each_outcome(void **state)
{
    (void)state;
    static const struct {
        struct junit_case c;
        const char *want;
    } rows[] = {
        {{.outcome = JUNIT_PASSED}, "/>\n"},
        {{.outcome = JUNIT_PASSED, .time = "0"}, " time=\"0\"/>\n"},
        {{.outcome = JUNIT_SKIPPED}, ">\n      <skipped/>\n    </testcase>\n"},
        {{.outcome = JUNIT_SKIPPED, .message = {"no", 2}},
         ">\n      <skipped message=\"no\"/>\n    </testcase>\n"},
        {{.outcome = JUNIT_FAILED, .type = "t", .message = {"\"&", 2}},
         ">\n      <failure type=\"t\" message=\"&quot;&amp;\"/>\n    </testcase>\n"},
        {{.outcome = JUNIT_FAILED, .type = "t", .xml = {"&lt;", 4}},
         ">\n      <failure type=\"t\">&lt;</failure>\n    </testcase>\n"},
        {{.outcome = JUNIT_NOTED, .type = "t", .xml = {"x", 1}},
         ">\n      <system-out>x</system-out>\n    </testcase>\n"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0}, want = {0};
        struct junit_case c = rows[i].c;
        c.classname = slice_of("c");
        c.name = slice_of("n\n");
        junit_case(&b, &c);
        buf_printf(&want, "    <testcase classname=\"c\" name=\"n\\n\"%s", rows[i].want);
        expect(&b, buf_str(&want));
        buf_close(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_junit_file_has_suites_with_counts),
        cmocka_unit_test(test_junit_suite_with_timestamp_satisfies_the_schema),
        cmocka_unit_test(test_junit_case_is_written_for_each_outcome),
    };
    return cmocka_run_group_tests_name("junit", tests, NULL, NULL);
}
