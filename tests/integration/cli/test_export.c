/* Exported formats: recorded text cannot inject markup or formulas. */
#include "cli/export/formats.h"

#include "tests/support/vault_unit.h"
#include "wire/json/scan.h"

#define UID "01M7ZE6PHPV26K0X8P3N0A82D5"
#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct temp temp;
static sqlite3 *db;

static int set_up(void **state)
{
    (void)state;
    temp_make(&temp);
    db = sql_vault(&temp);
    sql_run(db,
            "INSERT INTO sessions (id, uid, name, command, client_name, started_at_us, ended_at_us,"
            " end_reason, exit_status, pid, host, record_level, interposer_version)"
            " VALUES (1, '" UID "', 'files', '[\"x\"]', 'cli', 1795256137000000, 1795256138000000,"
            " 'client-closed', 0, 1, 'here', 'full', '0.1.0')");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    temp_remove(&temp);
    return 0;
}

/* A request with an answer. */
static void call(int seq, const char *target, const char *body)
{
    sqlite3_stmt *q;
    static const char *const rows[] = {
        "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, rpc_id, method,"
        " target, body, size, redactions, action)"
        " VALUES ((1 << 36) + ?1, 1, ?1, ?1 * 1000, 'c2s', 'peer', 'request', ?1, 'tools/call', ?2,"
        " ?3, 10, 0, 'forwarded')",
        "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, rpc_id, body,"
        " size, redactions, action, request_seq)"
        " VALUES ((1 << 36) + ?1 + 1, 1, ?1 + 1, ?1 * 1000 + 250, 's2c', 'peer', 'result', ?1,"
        " '{\"result\":{}}', 20, 0, 'forwarded', ?1)",
    };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sqlite3_prepare_v2(db, rows[i], -1, &q, NULL), SQLITE_OK);
        sqlite3_bind_int(q, 1, seq);
        if (i == 0) {
            sqlite3_bind_text(q, 2, target, -1, SQLITE_STATIC);
            sqlite3_bind_text(q, 3, body, -1, SQLITE_STATIC);
        }
        assert_int_equal(sqlite3_step(q), SQLITE_DONE);
        sqlite3_finalize(q);
    }
}

/* The whole file; the caller frees it. */
static char *written(int (*format)(struct export *x))
{
    struct query *q;
    struct query_session s;
    struct buf error = {0};
    struct save file;
    struct export x;
    const struct filter all = {.since_us = INT64_MIN, .until_us = INT64_MAX};
    const char *path = temp_path(&temp, "out");
    if (query_open(&q, temp.vault, &error) < 0)
        fail_msg("%s", buf_str(&error));
    assert_int_equal(query_session(q, "1", &s), 0);
    save_open(&file, path, SAVE_PRIVATE);
    assert_int_equal(export_open(&x, q, &s, &file, &all, false), 0);
    assert_int_equal(format(&x), 0);
    export_close(&x);
    assert_int_equal(save_close(&file, true), EXIT_FINE);
    query_close(q);
    buf_close(&error);
    size_t n;
    char *text = slurp(path, &n);
    text = realloc(text, n + 1);
    assert_non_null(text);
    text[n] = '\0';
    return text;
}

static void holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text);
}

static void test_export_csv_quotes_cells_and_disarms_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *target, *cell;
    } rows[] = {
        {"plain", "plain"},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"=1+1", "'=1+1"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@x", "'@x"},
        {" x", "\" x\""},
        {"x ", "\"x \""},
        {"a\nb", "a\\nb"},
        {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
        {"a=b", "a=b"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        call((int)(2 * i + 1), rows[i].target, "{}");
    char *text = written(export_csv);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char line[200];
        snprintf(line, sizeof line, "\r\n" UID ",files,cli,%zu,%zu,tools/call,%s,ok,,", 2 * i + 1,
                 2 * i + 2, rows[i].cell);
        holds(text, line);
    }
    size_t lines = 0;
    for (const char *p = text; (p = strstr(p, "\r\n")) != NULL; p += 2)
        lines++;
    assert_int_equal(lines, 1 + MI_COUNT(rows));
    holds(text, ",250,10,20,,,,,,\r\n"); /* duration and sizes; no operation */
    free(text);
}

static void test_export_markdown_has_no_markup_of_recorded_text(void **state)
{
    (void)state;
    call(1, "[[x]] <b>*_`|#", "{\"a\":\"```` ```\"}");
    char *text = written(export_markdown);
    holds(text, "\\[\\[x\\]\\] \\<b\\>\\*\\_\\`\\|\\#");
    assert_null(strstr(text, "<b>"));
    holds(text, "`````json\n"); /* longer than any fence in the body */
    holds(text, "\nserver: \"files\"\n");
    assert_int_equal(strncmp(text, "---\ntype: mcp-session\n", 22), 0);
    free(text);
}

static void test_export_markdown_truncates_long_bodies_between_characters(void **state)
{
    (void)state;
    static char body[20000];
    size_t n = 0;
    body[n++] = '"';
    for (; n < sizeof body - 4; n += 3)
        memcpy(body + n, "\xe2\x82\xac", 3);
    body[n++] = '"';
    body[n] = '\0';
    size_t chars = (n - 2) / 3 + 2 + 1; /* quotes, and the newline of an indented value */
    call(1, "x", body);
    char *text = written(export_markdown), more[64];
    snprintf(more, sizeof more, "\xe2\x82\xac\xe2\x80\xa6 [+%zu chars]\n```\n", chars - 4000);
    holds(text, more);
    free(text);
}

static void test_export_otlp_ids_are_the_session_or_the_trace_of_the_client(void **state)
{
    (void)state;
    call(1, "x", "{\"params\":{}}");
    call(3, "x",
         "{\"params\":{\"_meta\":{\"traceparent\":\"" PARENT "\",\"tracestate\":\"a=b\"}}}");
    call(5, "x",
         "{\"params\":{\"_meta\":{\"traceparent\":\"00-00000000000000000000000000000000-"
         "b7ad6b7169203331-01\"}}}");
    call(7, "x", "{\"params\":{\"_meta\":{\"traceparent\":\"" PARENT "-more\"}}}");
    char *text = written(export_otlp);
    struct json_scan scan;
    char *end = strrchr(text, '}');
    assert_non_null(end);
    assert_int_equal(json_scan((struct slice){text, (size_t)(end - text) + 1}, NULL, NULL, &scan),
                     0);
    size_t own = 0, theirs = 0, spans = 0;
    char trace[33] = "";
    const char *ids[8];
    for (const char *p = text; (p = strstr(p, "\"traceId\":\"")) != NULL; p++) {
        p += 11;
        assert_int_equal(strspn(p, "0123456789abcdef"), 32);
        if (strncmp(p, PARENT + 3, 32) == 0) {
            theirs++;
            continue;
        }
        if (trace[0] == '\0')
            memcpy(trace, p, 32);
        own += strncmp(p, trace, 32) == 0;
    }
    for (const char *p = text; (p = strstr(p, "\"spanId\":\"")) != NULL; p++) {
        p += 10;
        assert_int_equal(strspn(p, "0123456789abcdef"), 16);
        for (size_t i = 0; i < spans; i++)
            assert_true(strncmp(ids[i], p, 16) != 0);
        assert_in_range(spans, 0, 7);
        ids[spans++] = p;
    }
    assert_int_equal(theirs, 1); /* not: an id of zeros, and version 00 with more behind it */
    assert_int_equal(own, spans - 1);
    holds(text, "\"parentSpanId\":\"b7ad6b7169203331\"");
    holds(text, "\"traceState\":\"a=b\"");
    char *again = written(export_otlp);
    assert_string_equal(again, text);
    free(again);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_export_csv_quotes_cells_and_disarms_formulas, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_export_markdown_has_no_markup_of_recorded_text, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_export_markdown_truncates_long_bodies_between_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_export_otlp_ids_are_the_session_or_the_trace_of_the_client, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
