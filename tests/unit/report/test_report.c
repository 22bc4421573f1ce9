/* A report as JUnit XML and SARIF: suites, outcomes, places, rules, escapes. */
#include "report/report.h"
#include "wire/json/scan.h"
#include "wire/json/text.h"

#include "tests/support/unit.h"

static void find(const char *text, const char *want)
{
    if (strstr(text, want) == NULL)
        fail_msg("%s is not in: %s", want, text);
}

/* What a case has; NULL: nothing. */
struct some {
    enum report_outcome outcome;
    struct report_rule rule;
    const char *name, *message, *detail;
    struct report_place place;
    int64_t took_us;
};

static void add(struct report *r, const struct some *s)
{
    struct report_case *c = report_begin_case(r);
    c->outcome = s->outcome;
    c->rule = s->rule;
    c->place = s->place;
    c->took_us = s->took_us;
    buf_adds(&c->name, s->name != NULL ? s->name : "");
    buf_adds(&c->message, s->message != NULL ? s->message : "");
    buf_adds(&c->detail, s->detail != NULL ? s->detail : "");
    report_add_case(r);
}

static void test_report_junit_has_suites_with_their_own_counts(void **state)
{
    (void)state;
    struct report r = {.junit = true};
    struct buf b = {0};
    report_begin_suite(&r, slice_of("a<b"), slice_of("g"), 1);
    add(&r, &(struct some){.outcome = REPORT_FAILED, .rule.name = "t"});
    add(&r, &(struct some){.outcome = REPORT_SKIPPED});
    report_begin_suite(&r, slice_of("empty"), slice_of("g"), 1);
    report_write_junit(&r, &b);
    assert_false(b.failed);
    const char *text = buf_str(&b);
    find(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
               "  <testsuite name=\"a&lt;b\" ");
    find(text, " tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"");
    find(text, "  </testsuite>\n  <testsuite name=\"empty\" ");
    find(text, " tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"");
    find(text, ">\n    <properties/>\n    <system-out/>\n    <system-err/>\n  </testsuite>\n"
               "</testsuites>\n");
    buf_close(&b);
    report_close(&r);
}

static void test_report_junit_case_is_written_for_each_outcome(void **state)
{
    (void)state;
    static const struct {
        struct some c;
        const char *want;
    } rows[] = {
        {{.outcome = REPORT_PASSED, .took_us = 1500, .message = "m"}, " time=\"0.001500\"/>\n"},
        {{.outcome = REPORT_SKIPPED}, " time=\"0.000000\">\n      <skipped/>\n    </testcase>\n"},
        {{.outcome = REPORT_SKIPPED, .message = "no"},
         ">\n      <skipped message=\"no\"/>\n    </testcase>\n"},
        {{.outcome = REPORT_FAILED, .rule.name = "t", .message = "\"&"},
         ">\n      <failure type=\"t\" message=\"&quot;&amp;\"/>\n    </testcase>\n"},
        {{.outcome = REPORT_FAILED, .rule.name = "t", .detail = "<"},
         ">\n      <failure type=\"t\">&lt;</failure>\n    </testcase>\n"},
        {{.outcome = REPORT_NOTED, .rule.name = "t", .message = "m", .detail = "x"},
         ">\n      <system-out>x</system-out>\n    </testcase>\n"},
        {{.outcome = REPORT_NOTED, .rule.name = "t", .message = "m"},
         ">\n      <system-out>m</system-out>\n    </testcase>\n"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct report r = {.junit = true};
        struct some c = rows[i].c;
        struct buf b = {0};
        c.name = "n\n";
        report_begin_suite(&r, slice_of("s"), slice_of("g"), 1);
        add(&r, &c);
        report_write_junit(&r, &b);
        find(buf_str(&b), "    <testcase classname=\"g\" name=\"n\\n\" time=\"");
        find(buf_str(&b), rows[i].want);
        buf_close(&b);
        report_close(&r);
    }
}

static struct json_value result(struct slice sarif, size_t at)
{
    struct json_scan scan;
    struct json_value run, v = {0};
    struct slice key;
    assert_int_equal(json_scan(sarif, NULL, NULL, &scan), 0);
    struct json_walk w =
        json_walk_begin(json_get((struct json_value){JSON_OBJECT, scan.root}, "runs"));
    assert_true(json_walk_next(&w, &key, &run));
    w = json_walk_begin(json_get(run, "results"));
    for (size_t i = 0; i <= at; i++)
        if (!json_walk_next(&w, &key, &v))
            return (struct json_value){0};
    return v;
}

static void test_report_sarif_lists_what_was_found_with_its_place(void **state)
{
    (void)state;
    const struct report_rule gone = {"gone", "It is gone.", "Look.", REPORT_ERROR};
    const struct report_rule note = {"note", "a note", "Do nothing.", REPORT_NOTE};
    const struct some cases[] = {
        {.outcome = REPORT_PASSED, .rule = gone},
        {.outcome = REPORT_SKIPPED, .rule = gone},
        {.outcome = REPORT_FAILED,
         .rule = gone,
         .name = "one",
         .message = "a \"b\"",
         .detail = "more\n",
         .place = {.file = slice_of("a b#\xc3\xa9/c.jsonl"), .seq = 7}},
        {.outcome = REPORT_NOTED,
         .rule = note,
         .name = "two",
         .place = {.session = slice_of("UID"), .seq = 8}},
        {.outcome = REPORT_FAILED, .rule = gone, .name = "three"},
    };
    struct report r = {.sarif = true};
    struct buf b = {0};
    report_begin_suite(&r, slice_of("s"), slice_of("g"), 1);
    report_rule(&r, &note);
    for (size_t i = 0; i < MI_COUNT(cases); i++)
        add(&r, &cases[i]);
    report_write_sarif(&r, &b);
    assert_false(b.failed);
    static const char *const want[] = {
        "{\"ruleId\":\"gone\",\"level\":\"error\",\"message\":{\"text\":\"one: a "
        "\\\"b\\\"\\nmore\\n\"},"
        "\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"a%20b%23%C3%A9/"
        "c.jsonl\"},"
        "\"region\":{\"startLine\":8}},\"logicalLocations\":[{\"kind\":\"message\",\"name\":\"7\"}]"
        "}]}",
        "{\"ruleId\":\"note\",\"level\":\"note\",\"message\":{\"text\":\"two: a note\"},"
        "\"locations\":[{\"logicalLocations\":[{\"kind\":\"message\",\"name\":\"8\","
        "\"fullyQualifiedName\":\"UID/8\"}]}]}",
        "{\"ruleId\":\"gone\",\"level\":\"error\",\"message\":{\"text\":\"three: It is gone.\"},"
        "\"locations\":[{\"logicalLocations\":[{\"kind\":\"check\",\"name\":\"three\"}]}]}",
    };
    for (size_t i = 0; i < MI_COUNT(want); i++)
        assert_true(slice_is(result(buf_slice(&b), i).text, want[i]));
    assert_int_equal(result(buf_slice(&b), MI_COUNT(want)).type, JSON_NONE);
    const char *first = strstr(buf_str(&b), "\"id\":\"gone\"");
    find(buf_str(&b),
         "\"rules\":[\n{\"id\":\"note\",\"shortDescription\":{\"text\":\"A note.\"},"
         "\"fullDescription\":{\"text\":\"A note.\"},\"help\":{\"text\":\"Do nothing.\"},"
         "\"defaultConfiguration\":{\"level\":\"note\"}},\n");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"id\":\"gone\"")); /* each rule once */
    buf_close(&b);
    report_close(&r);
}

static void test_report_form_that_was_not_asked_for_is_not_kept(void **state)
{
    (void)state;
    struct report r = {0};
    report_begin_suite(&r, slice_of("s"), slice_of("g"), 1);
    add(&r, &(struct some){.outcome = REPORT_FAILED, .rule.name = "t"});
    assert_int_equal(r.cases.n + r.results.n, 0);
    report_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report_junit_has_suites_with_their_own_counts),
        cmocka_unit_test(test_report_junit_case_is_written_for_each_outcome),
        cmocka_unit_test(test_report_sarif_lists_what_was_found_with_its_place),
        cmocka_unit_test(test_report_form_that_was_not_asked_for_is_not_kept),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
