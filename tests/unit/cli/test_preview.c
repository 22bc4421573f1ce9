/* Previews of messages, and how values are printed. */
#include "cli/frame/preview.h"

#include "cli/frame/pretty.h"
#include "cli/frame/record_json.h"
#include "cli/frame/table.h"

#include "tests/support/unit.h"

struct row {
    const char *kind, *method, *body, *want;
};

static void shows(const struct row *r, size_t max)
{
    struct query_message m = {.kind = value_find_by_word(&row_kinds, slice_of(r->kind))};
    if (r->method != NULL)
        m.method = slice_of(r->method);
    size_t n = strlen(r->body);
    char *copy = unit_copy(r->body, n);
    struct buf b = {0};
    preview_add_message(&b, &m, (struct slice){copy, n}, max);
    if (strcmp(buf_str(&b), r->want) != 0)
        fail_msg("%s: '%s', wanted '%s'", r->body, buf_str(&b), r->want);
    buf_close(&b);
    free(copy);
}

static void test_preview_shows_the_useful_part_of_a_message(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"request", "tools/call", "{\"id\":1,\"params\":{\"name\":\"x\",\"arguments\":{\"a\":1}}}",
         "{\"a\":1}"},
        {"request", "tools/call", "{\"id\":1,\"params\":{\"name\":\"x\"}}", ""},
        {"request", "tools/call", "{\"id\":1,\"params\":[1]}", "[1]"},
        {"request", "prompts/get", "{\"id\":1,\"params\":{\"arguments\":{\"a\":1}}}", "{\"a\":1}"},
        {"request", "resources/read", "{\"id\":1,\"params\":{\"uri\":\"a:b\"}}",
         "{\"uri\":\"a:b\"}"},
        {"request", "tools/list", "{\"id\":1,\"method\":\"tools/list\"}", ""},
        {"result", NULL,
         "{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"}]}}", "a b"},
        {"result", NULL,
         "{\"result\":{\"content\":[{\"text\":\"[\\n  {\\n\\t\\\"a\\\":  1\\r\\n  }\\n]\"}]}}",
         "[ { \"a\": 1 } ]"},
        {"request", "tools/call", "{\"params\":{\"arguments\": {\n  \"a\": 1\n}}}", "{ \"a\": 1 }"},
        {"request", "initialize",
         "{\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":"
         "{\"name\":\"claude\",\"version\":\"1.2\"}}}",
         "claude 1.2, 2025-11-25"},
        {"request", "initialize", "{\"params\":{\"clientInfo\":{\"name\":7}}}",
         "{\"clientInfo\":{\"name\":7}}"},
        {"result", NULL,
         "{\"result\":{\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"files\"}}}",
         "files, 2025-11-25"},
        {"result", NULL, "{\"id\":1,\"result\":{\"content\":[{\"type\":\"image\"}]}}",
         "{\"content\":[{\"type\":\"image\"}]}"},
        {"result", NULL, "{\"id\":1,\"result\":{\"content\":[]}}", "{\"content\":[]}"},
        {"result", NULL, "{\"id\":1,\"result\":{\"contents\":[{\"text\":\"file\"}]}}", "file"},
        {"result", NULL, "{\"result\":{\"messages\":[{\"content\":{\"text\":\"hi\"}}]}}", "hi"},
        {"result", NULL, "{\"result\":{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
         "2 tools: a, b"},
        {"result", NULL, "{\"result\":{\"prompts\":[]}}", "0 prompts"},
        {"result", NULL, "{\"result\":{\"resources\":[7]}}", "1 resources: 7"},
        {"result", NULL, "{\"result\":null}", "null"},
        {"result", NULL, "{\"result\":{},\"error\":null}", "{}"},
        {"error", NULL, "{\"error\":{\"code\":-32601,\"message\":\"no \\\"x\\\"\"}}",
         "-32601 no \"x\""},
        {"error", NULL, "{\"error\":{\"message\":\"no\"}}", "no"},
        {"error", NULL, "{\"error\":\"no\"}", "\"no\""},
        {"notification", "notifications/message",
         "{\"params\":{\"level\":\"info\",\"data\":\"said\"}}", "said"},
        {"notification", "notifications/message", "{\"params\":{\"data\":{\"a\":1}}}", "{\"a\":1}"},
        {"notification", "notifications/progress", "{\"params\":{\"progress\":1,\"total\":4}}",
         "1 of 4"},
        {"notification", "notifications/progress",
         "{\"params\":{\"progress\":0.5,\"message\":\"m\"}}", "0.5: m"},
        {"notification", "notifications/progress", "{\"params\":{\"progress\":\"x\"}}",
         "{\"progress\":\"x\"}"},
        {"batch", NULL, "[{\"id\":1}]", "[{\"id\":1}]"},
        {"noise", NULL, "not JSON at all", "not JSON at all"},
        {"noise", NULL, "{\"a\":1}", "{\"a\":1}"},
        {"noise", NULL, "", ""},
        {"stderr", NULL, "{\"error\":\"a line of a log\"}", "{\"error\":\"a line of a log\"}"},
        {"stderr", NULL, "with \"text\": \"x\"", "with \"text\": \"x\""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        shows(&rows[i], 200);
}

static void test_preview_of_a_truncated_message_starts_at_its_content(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"request", "tools/call", "{\"params\":{\"name\":\"x\",\"arguments\" : {\"a\":\"xx",
         "{\"a\":\"xx"},
        {"request", "other", "{\"params\":{\"x\":\"xx", "{\"x\":\"xx"},
        {"result", NULL, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"abc", "\"abc"},
        {"result", NULL, "{\"result\":{\"x\":\"\\\"text\\\":1", "{\"x\":\"\\\"text\\\":1"},
        {"result", NULL, "{\"resul", "{\"resul"},
        {"result", NULL, "text", "text"},
        {"result", NULL, "\"text\"", "\"text\""},
        {"result", NULL, "\"text\":", ""},
        {"result", NULL, "{\"text\":\"abc", "\"abc"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        shows(&rows[i], 200);
}

static void test_preview_truncated_at_any_width_splits_no_character(void **state)
{
    (void)state;
    static const char body[] =
        "{\"result\":{\"content\":[{\"text\":\"\\u00e9\\ud83d\\ude00é😀\\n\\\\\\\"end\"}]}}";
    static const char whole[] = "é😀é😀 \\\"end";
    struct query_message m = {.kind = KIND_RESULT};
    struct buf all = {0};
    for (size_t max = 0; max < 50; max++) {
        struct buf b = {0};
        preview_add_message(&b, &m, slice_of(body), max);
        const char *text = buf_str(&b);
        assert_memory_equal(text, whole, strlen(text));
        assert_true(b.n >= all.n);
        buf_clear(&all);
        buf_adds(&all, text);
        buf_close(&b);
    }
    assert_string_equal(buf_str(&all), whole);
    buf_close(&all);
}

/* ---- pretty ---- */

static struct out plain_out(void)
{
    return (struct out){.utf8 = true, .columns = 80};
}

static void prints(struct out *o, const char *want)
{
    if (strcmp(buf_str(&o->b), want) != 0)
        fail_msg("printed '%s', wanted '%s'", buf_str(&o->b), want);
    buf_close(&o->b);
    buf_close(&o->text);
}

static void test_pretty_indents_and_keeps_all_tokens(void **state)
{
    (void)state;
    struct out o = plain_out();
    pretty_print(
        &o, slice_of("{\"a\" : [1,{ },[ ], -0.5e3] ,\t\"b:,{\":\"}\\\"]\",\"c\":{\"d\":null}}"), 2);
    prints(&o, "  {\n    \"a\": [\n      1,\n      {},\n      [],\n      -0.5e3\n    ],\n"
               "    \"b:,{\": \"}\\\"]\",\n    \"c\": {\n      \"d\": null\n    }\n  }\n");
    o = plain_out();
    pretty_print(&o, slice_of(" \"x\\\\\" "), 0);
    prints(&o, "\"x\\\\\"\n");
    o = plain_out();
    pretty_print(&o, slice_of("[\"\x7f\xE2\x80\xAE\"]"), 0);
    prints(&o, "[\n  \"\\x7f\\u{202e}\"\n]\n");
}

/* ---- cells ---- */

static void cell(bool utf8, const char *text, size_t width, bool right, const char *want)
{
    struct out o = {.utf8 = utf8};
    out_add_fixed_cell(&o, OUT_PLAIN, slice_of(text), width, right);
    prints(&o, want);
}

static void test_out_cell_fills_exactly_its_columns(void **state)
{
    (void)state;
    cell(true, "abc", 5, false, "abc  ");
    cell(true, "abc", 5, true, "  abc");
    cell(true, "abcde", 5, false, "abcde");
    cell(true, "abcdef", 5, false, "abcd…");
    cell(false, "abcdef", 5, false, "ab...");
    cell(false, "abcdef", 2, false, "ab"); /* too narrow for an ellipsis */
    cell(true, "", 3, false, "   ");
    cell(true, "日本語", 6, false, "日本語");
    cell(true, "日本語", 5, false, "日本…");
    cell(true, "日本語", 4, false, "日… "); /* a wide character is not split */
    cell(true, "e\xCC\x81tude", 5, false, "e\xCC\x81tude");
    cell(true, "a\nb", 4, false, "a\\nb");
    cell(true, "\x1b[2J", 7, false, "\\x1b[2J");
    cell(true, "\x1b[2J", 6, false, "\\x1b[…");
}

static void test_out_cell_reads_only_the_head_of_a_long_text(void **state)
{
    (void)state;
    size_t n = (size_t)64 << 20;
    char *text = calloc(n, 1); /* untouched zero pages take no memory */
    assert_non_null(text);
    memset(text, 'a', 1000);
    struct out o = {.utf8 = true};
    out_add_fitting_text(&o, OUT_PLAIN, (struct slice){text, n}, 10);
    assert_true(o.text.cap < 100000);
    prints(&o, "aaaaaaaaa…");
    free(text);
}

/* ---- table ---- */

static void test_table_aligns_and_drops_spare_columns(void **state)
{
    (void)state;
    static const struct table_column columns[] = {
        {"N", true, 9, 0}, {"SPARE", false, 9, 2}, {"OTHER", false, 9, 1}, {"LAST", false, 4, 0}};
    static const char *const wants[] = {
        " N  SPARE  OTHER  LAST\n10  aa     日本   last\n 9                tool\n",
        " N  OTHER  LAST\n10  日本   last\n 9         tool\n",
        " N  LAST\n10  last\n 9  tool\n",
    };
    static const size_t widths[] = {22, 21, 5};
    for (size_t i = 0; i < MI_COUNT(wants); i++) {
        struct out o = {.utf8 = true, .columns = widths[i]};
        struct table t;
        table_open(&t, columns, MI_COUNT(columns));
        static const char *const cells[] = {"10", "aa", "日本", "last", "9", "", "", "tool"};
        for (size_t k = 0; k < MI_COUNT(cells); k++)
            table_add_cell(&t, slice_of(cells[k]), OUT_PLAIN);
        assert_true(table_print(&t, &o));
        table_close(&t);
        prints(&o, wants[i]);
    }
}

/* ---- JSON ---- */

static void test_record_json_message_is_one_line_without_control_characters(void **state)
{
    (void)state;
    struct query_session s = {.id = 7, .number = 3, .started_at_us = 1000};
    struct query_message m = {.seq = 2,
                              .t_us = 50,
                              .direction = ROW_S2C,
                              .origin = ROW_PEER,
                              .kind = KIND_RESULT,
                              .action = ROW_FORWARDED,
                              .rpc_id = slice_of("\"a\""),
                              .size = 9,
                              .request_seq = 1,
                              .has_error_code = true,
                              .error_code = -5,
                              .has_request = true,
                              .request_t_us = 20,
                              .request_method = slice_of("x\x1b\xE2\x80\xAE"),
                              .finding = slice_of("tool-error")};
    struct buf b = {0};
    record_json_append_message(&b, &s, &m, NULL,
                               slice_of("{\r\"a\":\t\"\x7f\xC2\x9B\xE2\x80\xAE\"}"), NULL);
    assert_string_equal(
        buf_str(&b),
        "{\"type\":\"message\",\"session_id\":3,\"seq\":2,\"t_us\":50,\"at_us\":1050,\"direction\":"
        "\"s2c\","
        "\"origin\":\"peer\",\"kind\":\"result\",\"rpc_id\":\"a\",\"method\":null,\"target\":null,"
        "\"size\":9,"
        "\"redactions\":0,\"action\":\"forwarded\",\"request_seq\":1,\"error_code\":-5,\"batch_"
        "seq\":null,"
        "\"finding\":\"tool-error\",\"revision\":null,\"request_method\":\"x\\u001b\\u202e\","
        "\"request_target\":null,"
        "\"status\":\"tool-error\",\"duration_us\":30,\"body_offset\":null,\"body_length\":null,"
        "\"body\":{ \"a\": \"\\u007f\\u009b\\u202e\"}}");
    buf_clear(&b);
    record_json_append_message(&b, &s, &m, NULL, slice_of("not {JSON\n"), NULL);
    assert_non_null(strstr(buf_str(&b), "\"body\":\"not {JSON\\n\"}"));
    buf_clear(&b);
    record_json_append_message(&b, &s, &m, NULL, (struct slice){0}, "it is \"gone\"");
    assert_non_null(strstr(buf_str(&b), "\"body_error\":\"it is \\\"gone\\\"\",\"body\":null}"));
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preview_shows_the_useful_part_of_a_message),
        cmocka_unit_test(test_preview_of_a_truncated_message_starts_at_its_content),
        cmocka_unit_test(test_preview_truncated_at_any_width_splits_no_character),
        cmocka_unit_test(test_pretty_indents_and_keeps_all_tokens),
        cmocka_unit_test(test_out_cell_fills_exactly_its_columns),
        cmocka_unit_test(test_out_cell_reads_only_the_head_of_a_long_text),
        cmocka_unit_test(test_table_aligns_and_drops_spare_columns),
        cmocka_unit_test(test_record_json_message_is_one_line_without_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
