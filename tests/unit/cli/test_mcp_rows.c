/* Pages of lists, and recorded text in them. */
#include "cli/mcp/body.h"
#include "cli/mcp/tool_rows.h"

#include "base/clock.h"
#include "tests/support/unit.h"

static struct tool_call begin(const char *arguments)
{
    struct tool_call c = {.arguments = {JSON_OBJECT, slice_of(arguments)},
                          .late_us = clock_mono_us() + TOOL_PATIENCE_US};
    assert_true(buf_reserve(&c.values, 200));
    return c;
}

/* Not in begin(): the writer keeps the address of the buffer. */
static void begin_json(struct tool_call *c)
{
    c->j = json_out_to(&c->json);
    json_out_object(&c->j, NULL);
}

/* Adds n rows with these bytes of text, of which some may only be counted. */
static void add_rows(struct rows *r, int n, const char *text)
{
    for (int i = 1; i <= n; i++) {
        if (rows_begin_row(r, 7, i)) {
            json_out_int(&r->c->j, "n", i);
            buf_adds(&r->c->text, text);
        }
        assert_true(rows_end_row(r));
    }
}

static void test_rows_page_ends_at_the_limit_and_names_the_next_row(void **state)
{
    (void)state;
    struct tool_call c = begin("{\"limit\":2}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    assert_false(rows_page_is_full(&r));
    add_rows(&r, 9, "row");
    assert_true(rows_page_is_full(&r));
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.json), "{\"rows\":[{\"n\":1},{\"n\":2}],\"total\":9,\"first\":1,"
                                          "\"next_cursor\":\"7.3.2\"");
    assert_string_equal(buf_str(&c.text), "row\nrow\nThese are rows 1 to 2 of 9.\n"
                                          "There is more: call again with cursor \"7.3.2\".\n");
    tool_close(&c);
}

static void test_rows_later_page_counts_on_from_its_cursor(void **state)
{
    (void)state;
    struct tool_call c = begin("{\"limit\":2,\"cursor\":\"7.3.2\"}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    add_rows(&r, 2, "row");
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.text), "row\nrow\nThese are rows 3 to 4 of 4.\n");
    tool_close(&c);
}

static void test_rows_counting_ends_when_it_takes_long(void **state)
{
    (void)state;
    struct tool_call c = begin("{\"limit\":1}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    add_rows(&r, 3, "row");
    r.count_until_us = clock_mono_us() - 1;
    assert_false(rows_begin_row(&r, 7, 4));
    assert_false(rows_end_row(&r));
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.text), "row\nThese are rows 1 to 1 of at least 4.\n"
                                          "There is more: call again with cursor \"7.2.1\".\n");
    assert_non_null(strstr(buf_str(&c.json), "\"total_at_least\":4,"));
    tool_close(&c);
}

static void test_rows_page_with_all_rows_has_no_cursor(void **state)
{
    (void)state;
    struct tool_call c = begin("{}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 2), 0);
    add_rows(&r, 2, "row");
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.json),
                        "{\"rows\":[{\"n\":1},{\"n\":2}],\"total\":2,\"first\":1");
    tool_close(&c);
}

static void test_rows_row_that_does_not_fit_is_removed(void **state)
{
    (void)state;
    static char text[ROWS_BYTES / 3];
    memset(text, 'x', sizeof text - 1);
    struct tool_call c = begin("{}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    add_rows(&r, 9, text);
    assert_true(c.json.n + c.text.n <= ROWS_BYTES);
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.json), "{\"rows\":[{\"n\":1},{\"n\":2}],\"total\":9,\"first\":1,"
                                          "\"next_cursor\":\"7.3.2\"");
    tool_close(&c);
}

static void test_rows_first_row_is_kept_whatever_its_size(void **state)
{
    (void)state;
    static char text[2 * ROWS_BYTES];
    memset(text, 'x', sizeof text - 1);
    struct tool_call c = begin("{}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    add_rows(&r, 9, text);
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.json), "{\"rows\":[{\"n\":1}],\"total\":9,\"first\":1,"
                                          "\"next_cursor\":\"7.2.1\"");
    tool_close(&c);
}

static void test_rows_late_page_still_does_some_work(void **state)
{
    (void)state;
    struct tool_call c = begin("{}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    c.late_us = clock_mono_us() - 1;
    assert_false(rows_should_end_page(&r, 9, 0));
    assert_true(rows_should_end_page(&r, 8, 5));
    rows_close(&r, "none");
    assert_string_equal(buf_str(&c.json),
                        "{\"rows\":[],\"total_at_least\":0,\"next_cursor\":\"8.5.0\"");
    tool_close(&c);
}

static void test_rows_cursor_is_read_or_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "7",      "7.3",   "7.3.", ".3.2",  "7.3.2x",
                                      "-7.3.2", "7.-3.2", "0.3.2", "x",    "7.3.2 "};
    struct tool_call c = begin("{\"cursor\":\"7.3.2\"}");
    struct rows r;
    begin_json(&c);
    assert_int_equal(rows_open(&r, &c, "rows", 20), 0);
    assert_int_equal(r.first.session, 7);
    assert_int_equal(r.first.n, 3);
    tool_close(&c);
    for (size_t i = 0; i < MI_COUNT(bad); i++) {
        struct buf arguments = {0};
        buf_printf(&arguments, "{\"cursor\":\"%s\"}", bad[i]);
        c = begin(buf_str(&arguments));
        begin_json(&c);
        if (rows_open(&r, &c, "rows", 20) != MI_EINVAL)
            fail_msg("taken: '%s'", bad[i]);
        tool_close(&c);
        buf_close(&arguments);
    }
}

static void test_shown_text_has_no_hidden_characters(void **state)
{
    (void)state;
    struct buf b = {0};
    append_lines_with_prefix(&b, slice_of("a\x07\n\n| b"), "| ");
    assert_string_equal(buf_str(&b), "| a\\x07\n| \n| | b");
    buf_clear(&b);
    append_quoted_text_or_dash(&b, slice_of("a\"\n"), 9);
    append_quoted_text_or_dash(&b, (struct slice){0}, 9);
    assert_string_equal(buf_str(&b), "\"a\\\"\\n\"-");
    buf_close(&b);
}

/* The text of the part, and next_offset, -1: none. */
static int64_t part(const char *body, const char *pointer, int64_t offset, int64_t max,
                    struct buf *ret)
{
    struct tool_call c = begin("{}");
    struct body_view v = {"answer", pointer, offset, max};
    struct json_scan scan;
    int64_t next = -1;
    begin_json(&c);
    assert_int_equal(body_add_members(&c, &v, slice_of(body)), 0);
    assert_int_equal(tool_end_result(&c), 0);
    assert_int_equal(json_scan(buf_slice(&c.json), NULL, NULL, &scan), 0);
    struct json_value root = {scan.type, scan.root};
    json_unescape(ret, json_string_raw(json_get(root, "text")));
    (void)json_int(json_get(root, "next_offset"), &next);
    tool_close(&c);
    return next;
}

static void test_body_parts_join_to_the_whole_for_every_size(void **state)
{
    (void)state;
    static const char body[] = "{\"a\":{\"b\":[1,\"€uro\\n\\\"x\\\" ünd\"]}}";
    for (int64_t max = 4; max < 40; max++) {
        struct buf text = {0}, json = {0};
        for (int64_t at = 0; at >= 0;)
            at = part(body, "/a/b/1", at, max, &text);
        assert_string_equal(buf_str(&text), "€uro\n\"x\" ünd");
        for (int64_t at = 0; at >= 0;)
            at = part(body, "", at, max, &json);
        assert_string_equal(buf_str(&json), body);
        buf_close(&text);
        buf_close(&json);
    }
}

static void test_body_that_is_not_json_is_shown_as_text(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_int_equal(part("no json \x01", "", 0, 100, &text), -1);
    assert_string_equal(buf_str(&text), "no json \\x01");
    buf_clear(&text);
    for (int64_t at = 0; at >= 0;)
        at = part("\x80\x80\x80\x80\x80\x80\x80\x80\x80", "", at, 8, &text);
    assert_int_equal(text.n, 9 * strlen("\\x80"));
    buf_close(&text);
}

static void test_body_base64_is_shown_by_its_pointer_only(void **state)
{
    (void)state;
    char data[201] = "", body[1000], want[1000];
    struct buf text = {0};
    memset(data, 'A', 200);
    memcpy(data, "a\\/+_-", 6);
    snprintf(
        body, sizeof body,
        "{\"a\":[{\"data\":\"%s\",\"mimeType\":\"image/png\"},{\"blob\":\"%s==\"}],\"text\":\"%s\","
        "\"data\":\"short\"}",
        data, data + 10, data);
    snprintf(want, sizeof want,
             "{\"a\":[{\"data\":\"[base64 of 149 bytes: pass a pointer to this string to read "
             "it]\",\"mimeType\":\"image/png\"},{\"blob\":\"[base64 of 142 bytes: pass a pointer "
             "to this string to read it]\"}],\"text\":\"%s\",\"data\":\"short\"}",
             data);
    assert_int_equal(part(body, "", 0, 5000, &text), -1);
    assert_string_equal(buf_str(&text), want);
    buf_clear(&text);
    assert_int_equal(part(body, "/a/1/blob", 0, 5000, &text), -1);
    assert_int_equal(text.n, 192);
    buf_close(&text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_page_ends_at_the_limit_and_names_the_next_row),
        cmocka_unit_test(test_rows_later_page_counts_on_from_its_cursor),
        cmocka_unit_test(test_rows_counting_ends_when_it_takes_long),
        cmocka_unit_test(test_rows_page_with_all_rows_has_no_cursor),
        cmocka_unit_test(test_rows_row_that_does_not_fit_is_removed),
        cmocka_unit_test(test_rows_first_row_is_kept_whatever_its_size),
        cmocka_unit_test(test_rows_late_page_still_does_some_work),
        cmocka_unit_test(test_rows_cursor_is_read_or_rejected),
        cmocka_unit_test(test_shown_text_has_no_hidden_characters),
        cmocka_unit_test(test_body_parts_join_to_the_whole_for_every_size),
        cmocka_unit_test(test_body_that_is_not_json_is_shown_as_text),
        cmocka_unit_test(test_body_base64_is_shown_by_its_pointer_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
