/* findings: which findings of recordings are listed, counted and failing; their reports. */
#include "cli/check/findings.h"
#include "cli/check/forms.h"
#include "wire/json/scan.h"

#include "tests/support/unit.h"

static void detail(void *ctx, const struct finding_info *info, struct buf *b)
{
    if (ctx != NULL && strcmp(info->name, ctx) == 0)
        buf_adds(b, "<\"here\">");
}

static void add(struct check_report *r, bool from_client, const char *names, breaches broken,
                const char *with_detail)
{
    struct query_message m = {.seq = 7,
                              .direction = from_client ? ROW_C2S : ROW_S2C,
                              .kind = KIND_REQUEST,
                              .method = slice_of("tools/call"),
                              .target = slice_of("a\nb"),
                              .finding = names != NULL ? slice_of(names) : (struct slice){0}};
    assert_true(check_report_add_message(r, &m, broken, detail, (void *)(uintptr_t)with_detail));
}

static void open_with(struct check_report *r, const char *fail_on, const char *ignore)
{
    struct buf error = {0};
    check_report_open(r);
    assert_true(check_set_failing_findings(r, fail_on, &error));
    assert_true(check_set_ignored_findings(r, ignore, &error));
    check_report_add_recording(r, slice_of("uid"), 12, 3);
    check_report_set_server(r, slice_of("files"));
    buf_close(&error);
}

/* What is printed on a terminal of that width; 0: into a file. */
static void text_of(const struct check_report *r, size_t columns, struct buf *ret)
{
    struct out o = {.columns = columns > 0 ? columns : OUT_UNLIMITED, .held = true};
    check_print_text(r, &o);
    *ret = o.b;
    buf_close(&o.text);
}

static void json_of(const struct check_report *r, struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    check_report_print_json(r, &j);
    json_out_end(&j);
}

static void test_findings_list_accepts_findings_rules_and_severities(void **state)
{
    (void)state;
    static const struct {
        const char *fail_on;
        int lowest;   /* severity that fails; SEVERITY_ERROR + 1: none does */
        size_t named; /* findings that fail by name */
    } rows[] = {
        {"none", SEVERITY_ERROR + 1, 0},
        {"", SEVERITY_ERROR + 1, 0},
        {"error", SEVERITY_ERROR, 0},
        {"warning", SEVERITY_WARNING, 0},
        {"note", SEVERITY_NOTE, 0},
        {"crlf", SEVERITY_ERROR + 1, 1},
        {", crlf, bom", SEVERITY_ERROR + 1, 2},
        {" crlf , bom\t,\tnone ", SEVERITY_ERROR + 1, 2},
        {"crlf,error", SEVERITY_ERROR, 1},
        {"unknown-method", SEVERITY_ERROR + 1, 1},
    };
    assert_int_not_equal(finding_severity(FIND_CRLF), SEVERITY_ERROR);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct check_report r;
        size_t want = rows[i].named;
        open_with(&r, rows[i].fail_on, "");
        add(&r, true, "crlf", 0, NULL);
        add(&r, true, "bom,not-json", RULE(RULE_UNKNOWN_METHOD), NULL);
        assert_int_equal(r.recordings[0].n, 4);
        assert_true(r.recordings[0].count[SEVERITY_ERROR] > 0);
        for (int s = rows[i].lowest; s <= SEVERITY_ERROR; s++)
            want += r.recordings[0].count[s];
        assert_int_equal(r.failing, want);
        check_report_close(&r);
    }
}

static void test_findings_unknown_name_in_a_list_is_an_error(void **state)
{
    (void)state;
    struct check_report r;
    struct buf error = {0};
    check_report_open(&r);
    assert_false(check_set_failing_findings(&r, "error,crfl", &error));
    assert_non_null(strstr(buf_str(&error), "'crfl'"));
    buf_clear(&error);
    assert_false(
        check_set_ignored_findings(&r, "error", &error)); /* a severity cannot be ignored */
    assert_non_null(strstr(buf_str(&error), "'error'"));
    buf_close(&error);
    check_report_close(&r);
}

static void test_findings_ignored_ones_are_not_counted(void **state)
{
    (void)state;
    struct check_report r;
    open_with(&r, "note", "crlf,unknown-method");
    add(&r, true, "crlf,own-request", RULE(RULE_UNKNOWN_METHOD), NULL);
    add(&r, true, "from-a-newer-version", 0, NULL);
    assert_int_equal(r.recordings[0].n, 0);
    assert_int_equal(r.failing, 0);
    assert_int_equal(r.recordings[0].messages, 2);
    check_report_close(&r);
}

static void test_findings_of_the_other_side_are_omitted(void **state)
{
    (void)state;
    struct check_report r;
    open_with(&r, "note", "");
    r.of_server = false;
    add(&r, false, "crlf", 0, NULL);
    assert_int_equal(r.recordings[0].n, 0);
    add(&r, true, "crlf", 0, NULL);
    assert_int_equal(r.recordings[0].n, 1);
    assert_string_equal(finding_sender_name(&r.recordings[0].findings[0]), "client");
    check_report_close(&r);
}

static void test_findings_already_recorded_violation_is_listed_once(void **state)
{
    (void)state;
    struct check_report r;
    open_with(&r, "none", "");
    add(&r, true, "unknown-method", RULE(RULE_UNKNOWN_METHOD), NULL);
    assert_int_equal(r.recordings[0].n, 1);
    check_report_close(&r);
}

static void test_findings_line_that_is_not_json_has_the_most_specific_only(void **state)
{
    (void)state;
    static const struct {
        const char *names, *listed, *fail_on;
        size_t failing;
    } rows[] = {
        {"not-json,cut-json,malformed-answer", "cut-json", "not-json", 1},
        {"not-json,malformed-answer", "not-json", "malformed-answer", 1},
        {"not-json", "not-json", "malformed-answer", 0},
        {"malformed-answer", "malformed-answer", "not-json", 0},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct check_report r;
        open_with(&r, rows[i].fail_on, "");
        add(&r, false, rows[i].names, 0, NULL);
        assert_int_equal(r.recordings[0].n, 1);
        assert_string_equal(r.recordings[0].findings[0].name, rows[i].listed);
        assert_int_equal(r.failing, rows[i].failing);
        check_report_close(&r);
    }
}

static void test_findings_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    struct check_report r;
    open_with(&r, "note", "");
    for (size_t i = 0; i < CHECK_MAX + 3; i++)
        add(&r, true, "crlf", 0, NULL);
    assert_int_equal(r.recordings[0].n, CHECK_MAX);
    assert_int_equal(r.recordings[0].not_listed, 3);
    assert_int_equal(r.failing, CHECK_MAX + 3);
    struct buf b;
    text_of(&r, 0, &b);
    assert_non_null(strstr(buf_str(&b), "and 3 more\n"));
    buf_close(&b);
    check_report_close(&r);
}

static void test_findings_text_has_place_subject_and_detail(void **state)
{
    (void)state;
    struct check_report r;
    struct buf b;
    open_with(&r, "none", "");
    add(&r, false, "crlf", 0, "crlf");
    text_of(&r, 0, &b);
    assert_non_null(strstr(buf_str(&b), "session 12 (files): 1 message, 0 errors, "));
    assert_non_null(strstr(buf_str(&b), "      7  server  "));
    assert_non_null(strstr(buf_str(&b), "tools/call a\\nb: "));
    assert_non_null(strstr(buf_str(&b), ": <\"here\">\n"));
    buf_close(&b);
    check_report_close(&r);
}

static void test_findings_text_is_broken_between_words_on_a_terminal(void **state)
{
    (void)state;
    static const size_t columns[] = {60, 80, 100, 140};
    for (size_t i = 0; i < MI_COUNT(columns); i++) {
        struct check_report r;
        struct buf b;
        open_with(&r, "none", "");
        for (int k = 0; k < 3; k++)
            add(&r, false, "crlf,request-before-initialize", 0, NULL);
        r.recordings[0].messages = 1234567890123456;
        text_of(&r, columns[i], &b);
        size_t width = 0;
        for (const char *at = buf_str(&b); *at != '\0'; at += width + 1) {
            width = strcspn(at, "\n");
            assert_in_range(width, 1, columns[i]);
        }
        buf_close(&b);
        check_report_close(&r);
    }
}

static void test_findings_json_and_sarif_reports_are_valid_json(void **state)
{
    (void)state;
    struct check_report r;
    struct buf b = {0};
    struct json_scan scan;
    open_with(&r, "error", "");
    add(&r, true, "crlf,not-json", RULE(RULE_UNKNOWN_METHOD), "crlf");
    check_report_add_recording(&r, slice_of("a b#\xc3\xa9/c.jsonl"), 0, 0);
    add(&r, true, "bom", 0, NULL);
    json_of(&r, &b);
    assert_int_equal(json_scan(buf_slice(&b), NULL, NULL, &scan), 0);
    buf_clear(&b);
    struct report report = {.sarif = true};
    check_add_findings_to_report(&r, &report);
    report_write_sarif(&report, &b);
    report_close(&report);
    assert_int_equal(json_scan(buf_slice(&b), NULL, NULL, &scan), 0);
    assert_non_null(strstr(buf_str(&b), "\"a%20b%23%C3%A9/c.jsonl\""));
    assert_non_null(strstr(buf_str(&b), "\"startLine\":8")); /* behind the header */
    buf_close(&b);
    check_report_close(&r);
}

static void test_findings_junit_report_groups_by_name(void **state)
{
    (void)state;
    struct check_report r;
    struct buf b = {0};
    open_with(&r, "crlf", "");
    add(&r, true, "crlf", 0, "crlf");
    add(&r, true, "crlf", 0, NULL);
    add(&r, true, "bom", 0, NULL);
    check_report_add_recording(&r, slice_of("quiet"), 13, 5);
    struct report report = {.junit = true};
    check_add_findings_to_report(&r, &report);
    report_write_junit(&report, &b);
    report_close(&report);
    const char *text = buf_str(&b);
    assert_non_null(strstr(text, "<testsuite name=\"uid\""));
    assert_non_null(strstr(text, "tests=\"2\" failures=\"1\""));
    assert_non_null(strstr(text, "<testsuite name=\"quiet\""));
    assert_non_null(strstr(text, "tests=\"1\" failures=\"0\""));
    assert_non_null(strstr(text, "name=\"no finding\""));
    assert_non_null(strstr(text, "&lt;&quot;here&quot;&gt;"));
    assert_null(strstr(text, "<\"here"));
    buf_close(&b);
    check_report_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings_list_accepts_findings_rules_and_severities),
        cmocka_unit_test(test_findings_unknown_name_in_a_list_is_an_error),
        cmocka_unit_test(test_findings_ignored_ones_are_not_counted),
        cmocka_unit_test(test_findings_of_the_other_side_are_omitted),
        cmocka_unit_test(test_findings_already_recorded_violation_is_listed_once),
        cmocka_unit_test(test_findings_line_that_is_not_json_has_the_most_specific_only),
        cmocka_unit_test(test_findings_beyond_the_limit_are_counted),
        cmocka_unit_test(test_findings_text_has_place_subject_and_detail),
        cmocka_unit_test(test_findings_text_is_broken_between_words_on_a_terminal),
        cmocka_unit_test(test_findings_json_and_sarif_reports_are_valid_json),
        cmocka_unit_test(test_findings_junit_report_groups_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
