/* The log directory: one valid JSON line for each finished invocation, in the file of the day. */
#include "record/process/log_directory.h"

#include "tests/support/vault_unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "vault/store/dir.h"
#include "wire/json/text.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#define SESSION "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define DAY INT64_C(86400000000)
#define NOON (INT64_C(1785499200) * 1000000) /* 2026-07-31T12:00:00Z */

/* The wall clock is set by the tests. */
static int64_t now_us;
int64_t __wrap_clock_wall_us(void);
int64_t __wrap_clock_wall_us(void)
{
    return now_us;
}

/* The N-th allocation fails. */
static int fail_after = -1;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fail_after >= 0 && fail_after-- == 0 ? NULL : __real_realloc(p, n);
}

struct fixture {
    struct temp t;
    struct vault_dir d;
    struct log_directory a;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct buf error = {0};
    now_us = NOON;
    temp_make(&f.t);
    signal(SIGXFSZ, SIG_IGN);
    *state = &f;
    log_directory_open(&f.a, SESSION, "files");
    said_begin();
    return vault_dir_open(&f.d, f.t.vault, true, &error);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    log_directory_close(&f->a);
    log_directory_close(&f->a);
    vault_dir_close(&f->d);
    temp_remove(&f->t);
    said_end();
    return 0;
}

static const char *day_path(const struct fixture *f, const char *day)
{
    char name[100];
    snprintf(name, sizeof name, "vault/Logs/MCP_Actions/%s.jsonl", day);
    return temp_path(&f->t, name);
}

static struct invocation an_action(void)
{
    return (struct invocation){
        .wall_us = now_us, .seq = 1, .status = CALL_OK, .method = slice_of("ping")};
}

/* The only line of the log; free() it. Checks that it is one line of valid JSON without control characters. */
static char *only_line(struct fixture *f)
{
    size_t n;
    struct json_scan scan;
    log_directory_flush(&f->a, f->d.fd);
    char *text = slurp(day_path(f, "2026-07-31"), &n);
    assert_true(n > 0 && text[n - 1] == '\n');
    for (size_t i = 0; i + 1 < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            fail_msg("byte %02x in: %s", (unsigned char)text[i], text);
    struct slice line = {text, n - 1};
    if (json_scan(line, NULL, NULL, &scan) != 0)
        fail_msg("no JSON at %zu: %s", scan.fault.at, text);
    assert_false(scan.duplicate_key);
    for (size_t i = 0; i < line.n;) {
        size_t len = text_utf8_len(line.p + i, line.n - i);
        uint32_t c = text_utf8_code(line.p + i, len);
        assert_false((c >= 0x80 && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
                     (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069));
        i += len;
    }
    assert_int_equal(unlink(day_path(f, "2026-07-31")), 0);
    now_us += 2000000; /* so that the file is checked again */
    text[n - 1] = '\0';
    return text;
}

/* A member of the line, unescaped if it is a string. */
static void assert_member(const char *line, const char *name, const char *want)
{
    struct buf b = {0};
    struct json_value v = json_get((struct json_value){JSON_OBJECT, slice_of(line)}, name);
    if (want == NULL) {
        if (v.type != JSON_NONE)
            fail_msg("%s is there: %s", name, line);
        return;
    }
    if (v.type == JSON_STRING)
        json_unescape(&b, json_string_raw(v));
    else
        buf_slice_add(&b, v.text);
    if (strcmp(buf_str(&b), want) != 0)
        fail_msg("%s is %s, wanted %s", name, buf_str(&b), want);
    buf_close(&b);
}

static void test_log_directory_line_has_every_field_as_documented(void **state)
{
    struct fixture *f = *state;
    struct invocation x = {
        .wall_us = NOON + 43999,
        .seq = 12,
        .status = CALL_OK,
        .method = slice_of("tools/call"),
        .target = slice_of("list_directory"),
        .arguments = slice_of("{\"path\":\"/home\"}"),
        .arguments_n = 16,
        .duration_us = 1234567,
        .request_bytes = 157,
        .response_bytes = 1160,
        .result = slice_of("[DIR] a\n"),
    };
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_string_equal(
        line, "{\"time\":\"2026-07-31T12:00:00.043Z\",\"session\":\"" SESSION
              "\",\"server\":\"files\",\"seq\":12,\"method\":\"tools/call\",\"tool\":"
              "\"list_directory\",\"arguments\":{\"path\":\"/home\"},\"status\":\"ok\","
              "\"duration_ms\":1234.567,\"request_bytes\":157,\"response_bytes\":1160,\"result\":"
              "\"[DIR] a\\n\"}");
    free(line);
}

static void test_log_directory_line_omits_missing_fields(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    x.status = CALL_CANCELLED;
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_string_equal(
        line, "{\"time\":\"2026-07-31T12:00:00.000Z\",\"session\":\"" SESSION
              "\",\"server\":\"files\",\"seq\":1,\"method\":\"ping\",\"status\":\"cancelled\","
              "\"duration_ms\":0.000,\"request_bytes\":0,\"response_bytes\":0}");
    free(line);
}

static void test_log_directory_target_is_named_tool_only_for_tools_call(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *method, *member;
    } rows[] = {{"tools/call", "tool"},
                {"tools\\/c\\u0061ll", "tool"},
                {"resources/read", "target"},
                {"tools/calls", "target"},
                {"", "target"}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct invocation x = an_action();
        x.method = slice_of(rows[i].method);
        x.target = slice_of("it");
        log_directory_add_call(&f->a, &x);
        char *line = only_line(f);
        assert_member(line, rows[i].member, "it");
        assert_member(line, strcmp(rows[i].member, "tool") == 0 ? "target" : "tool", NULL);
        free(line);
    }
}

static void test_log_directory_error_is_an_object_with_code_and_message(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    x.status = CALL_ERROR;
    x.error_code = slice_of("-32602");
    x.error_message = slice_of("\"no \\\"such\\\" tool\\n\"");
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_member(line, "error", "{\"code\":-32602,\"message\":\"no \\\"such\\\" tool\\n\"}");
    free(line);
}

/* Names come from messages: valid JSON text, but hostile. */
static void test_log_directory_hostile_names_are_escaped_and_read_back(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *raw, *text;
    } names[] = {
        {"a\\nb\\r\\tc", "a\nb\r\tc"},
        {"\\\"},{\\\"forged\\\":1}", "\"},{\"forged\":1}"},
        {"\\u001b[31mred\\u0007", "\x1b[31mred\a"},
        {"../../etc/passwd", "../../etc/passwd"},
        {"\xe2\x80\xa8 \xe2\x80\xa9 \xc2\x85 \xe2\x80\xae",
         "\xe2\x80\xa8 \xe2\x80\xa9 \xc2\x85 \xe2\x80\xae"},
        {"\x7f", "\x7f"},
        {"\\\\", "\\"},
        {"\\ud83d\\ude00\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\xc2\x9b"
         "31m"},
    };
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct invocation x = an_action();
        char quoted[100];
        snprintf(quoted, sizeof quoted, "{\"k\":\"%s\"}", names[i].raw);
        x.method = x.target = slice_of(names[i].raw);
        x.arguments = slice_of(quoted);
        x.arguments_n = x.arguments.n;
        x.result = slice_of(names[i].text);
        log_directory_add_call(&f->a, &x);
        char *line = only_line(f);
        assert_member(line, "method", names[i].text);
        assert_member(line, "target", names[i].text);
        assert_member(line, "result", names[i].text);
        struct json_value args =
            json_get((struct json_value){JSON_OBJECT, slice_of(line)}, "arguments");
        struct buf b = {0};
        json_unescape(&b, json_string_raw(json_get(args, "k")));
        assert_string_equal(buf_str(&b), names[i].text);
        buf_close(&b);
        free(line);
    }
}

static void test_log_directory_hostile_server_name_is_escaped(void **state)
{
    struct fixture *f = *state;
    log_directory_close(&f->a);
    char name[] = "a\"b\\c\n\x1b[0m\xff/..";
    log_directory_open(&f->a, SESSION, name);
    memset(name, '#', sizeof name - 1); /* it was copied */
    struct invocation x = an_action();
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_member(line, "server", "a\"b\\c\n\x1b[0m\xef\xbf\xbd/..");
    free(line);
}

/* Arguments may contain white space that some readers treat as the end of a line. */
static void test_log_directory_arguments_with_line_ends_between_tokens_stay_one_line(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    x.arguments = slice_of("{\r\"a\" :\t[1,\r2]\r}");
    x.arguments_n = x.arguments.n;
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_member(line, "arguments", "{ \"a\" : [1, 2] }");
    free(line);
}

static void test_log_directory_long_result_is_truncated_to_50_characters(void **state)
{
    struct fixture *f = *state;
    static const char *const pieces[] = {"x",  "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                         "\"", "\n",       "\xff"};
    for (size_t i = 0; i < MI_COUNT(pieces); i++)
        for (size_t n = 49; n <= 52; n++) {
            struct buf text = {0}, want = {0};
            for (size_t k = 0; k < n; k++)
                buf_adds(&text, pieces[i]);
            for (size_t k = 0; k < n && k < 50; k++)
                buf_adds(&want, pieces[i][0] == '\xff' ? "\xef\xbf\xbd" : pieces[i]);
            if (n > 50)
                buf_adds(&want, "\xe2\x80\xa6");
            struct invocation x = an_action();
            char *copy = unit_copy(text.p, text.n);
            x.result = (struct slice){copy, text.n};
            log_directory_add_call(&f->a, &x);
            char *line = only_line(f);
            assert_member(line, "result", buf_str(&want));
            free(line);
            free(copy);
            buf_close(&text);
            buf_close(&want);
        }
}

static void test_log_directory_empty_result_is_logged(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    x.result = slice_of("");
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_member(line, "result", "");
    free(line);
}

/* The head of long arguments is not valid JSON, so it is logged as a string. */
static void
test_log_directory_long_arguments_are_truncated_to_a_string_of_50_characters(void **state)
{
    struct fixture *f = *state;
    static const char *const pieces[] = {"x",   "\xc3\xa9", "\xf0\x9f\x98\x80",
                                         "\\n", "\\\"",     "\\u00e9"};
    for (size_t i = 0; i < MI_COUNT(pieces); i++)
        for (size_t skip = 0; skip < 6; skip++) {
            struct buf text = {0}, want = {0};
            buf_adds(&text, "{\"k\":\"");
            for (size_t k = 0; k < skip; k++)
                buf_addc(&text, '_');
            for (size_t k = 0; k < 100; k++)
                buf_adds(&text, pieces[i]);
            size_t at = 0;
            for (size_t k = 0; k < 50; k++)
                at += text_utf8_len(text.p + at, text.n - at);
            buf_add(&want, text.p, at);
            buf_printf(&want, "\xe2\x80\xa6 [+%zu bytes]", 100000 - at);
            struct invocation x = an_action();
            char *copy = unit_copy(text.p, text.n);
            x.arguments = (struct slice){copy, text.n};
            x.arguments_n = 100000;
            log_directory_add_call(&f->a, &x);
            char *line = only_line(f);
            assert_member(line, "arguments", buf_str(&want));
            free(line);
            free(copy);
            buf_close(&text);
            buf_close(&want);
        }
}

/* Adds invocations 1 to n, and writes them as a process does that was killed after `written` bytes. */
static void write_part(struct fixture *f, uint64_t n, size_t written)
{
    for (uint64_t i = 1; i <= n; i++) {
        struct invocation x = an_action();
        x.wall_us = NOON; /* when they finished */
        x.seq = i;
        log_directory_add_call(&f->a, &x);
    }
    struct buf all = {0};
    buf_slice_add(&all, buf_slice(&f->a.lines));
    assert_true(written <= all.n);
    f->a.lines.n = written;
    log_directory_flush(&f->a, f->d.fd);
    log_directory_close(&f->a);
    log_directory_open(&f->a, SESSION, "files");
    buf_slice_add(&f->a.lines, buf_slice(&all));
    buf_close(&all);
}

static void test_log_directory_lines_of_a_killed_process_are_not_repeated(void **state)
{
    struct fixture *f = *state;
    char *want = NULL;
    size_t n = 0;
    for (size_t written = SIZE_MAX; written == SIZE_MAX || written <= n; written += 7) {
        bool first = written == SIZE_MAX;
        write_part(f, 3, first ? (written = 0) : written);
        log_directory_resume(&f->a, f->d.fd);
        assert_int_equal(f->a.lines.n, first ? f->a.lines.n : n - written);
        log_directory_flush(&f->a, f->d.fd);
        char *text = slurp(day_path(f, "2026-07-31"), &n);
        if (first)
            want = text;
        else
            assert_string_equal(text, want);
        if (!first)
            free(text);
        assert_int_equal(unlink(day_path(f, "2026-07-31")), 0);
        now_us += 2000000; /* so that the file is checked again */
    }
    free(want);
}

static void test_log_directory_lines_of_the_day_before_are_found(void **state)
{
    struct fixture *f = *state;
    size_t n;
    write_part(f, 3, 0);
    n = f->a.lines.n;
    log_directory_flush(&f->a, f->d.fd);
    write_part(f, 4, 0);
    now_us += 3 * DAY; /* another process stores it, days later */
    log_directory_resume(&f->a, f->d.fd);
    assert_int_equal(f->a.lines.n, n / 3);
    log_directory_flush(&f->a, f->d.fd);
    char *text = slurp(day_path(f, "2026-08-03"), NULL);
    assert_non_null(strstr(text, "\"seq\":4"));
    assert_null(strstr(text, "\"seq\":3"));
    free(text);
}

static void test_log_directory_lines_are_buffered_until_flushed(void **state)
{
    struct fixture *f = *state;
    log_directory_flush(&f->a, f->d.fd);
    assert_false(exists(temp_path(&f->t, "vault/Logs"))); /* not created before the first line */
    size_t n = 0;
    while (n < 200) {
        struct invocation x = an_action();
        x.seq = ++n;
        log_directory_add_call(&f->a, &x);
        assert_false(exists(temp_path(&f->t, "vault/Logs")));
    }
    log_directory_flush(&f->a, f->d.fd);
    assert_int_equal(f->a.lines.n, 0);
    char *text = slurp(day_path(f, "2026-07-31"), NULL);
    char *line = strtok(text, "\n");
    for (size_t i = 1; i <= n; i++, line = strtok(NULL, "\n")) {
        char seq[32];
        snprintf(seq, sizeof seq, "%zu", i);
        assert_non_null(line);
        assert_member(line, "seq", seq);
    }
    assert_null(line);
    free(text);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Logs")), 0700);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Logs/MCP_Actions")), 0700);
    assert_int_equal(mode_of(day_path(f, "2026-07-31")), 0600);
}

static void test_log_directory_new_day_gets_a_new_file(void **state)
{
    struct fixture *f = *state;
    static const char *const days[] = {"2026-07-30", "2026-07-31", "2026-08-01", "2026-07-31"};
    static const int64_t at[] = {NOON - DAY, NOON, NOON + DAY / 2, NOON + DAY / 2 - 1};
    for (size_t i = 0; i < MI_COUNT(days); i++) {
        now_us = at[i];
        struct invocation x = an_action();
        log_directory_add_call(&f->a, &x);
        log_directory_flush(&f->a, f->d.fd);
        assert_true(exists(day_path(f, days[i])));
    }
    size_t n;
    char *text = slurp(day_path(f, "2026-07-31"), &n);
    /* the clock was set back: appended to the earlier file */
    assert_non_null(strstr(text, "2026-07-31T23:59:59.999Z"));
    assert_non_null(strstr(text, "2026-07-31T12:00:00.000Z"));
    free(text);
    text = slurp(day_path(f, "2026-08-01"), &n);
    assert_non_null(strstr(text, "2026-08-01T00:00:00.000Z"));
    assert_true(n < 300);
    free(text);
}

static void test_log_directory_removed_file_is_created_again(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    log_directory_add_call(&f->a, &x);
    log_directory_flush(&f->a, f->d.fd);
    assert_int_equal(unlink(day_path(f, "2026-07-31")), 0);
    now_us += 1000000; /* within a second */
    log_directory_add_call(&f->a, &x);
    log_directory_flush(&f->a, f->d.fd);
    assert_true(exists(day_path(f, "2026-07-31")));
    assert_int_equal(unlink(day_path(f, "2026-07-31")), 0);
    assert_int_equal(rmdir(temp_path(&f->t, "vault/Logs/MCP_Actions")), 0);
    assert_int_equal(rmdir(temp_path(&f->t, "vault/Logs")), 0);
    now_us += 1000000;
    log_directory_add_call(&f->a, &x);
    log_directory_flush(&f->a, f->d.fd);
    assert_true(exists(day_path(f, "2026-07-31")));
    assert_int_equal(said_lines(), 0);
}

static void test_log_directory_lines_are_appended_to_an_existing_file(void **state)
{
    struct fixture *f = *state;
    struct log_directory other;
    log_directory_open(&other, "OTHER", "o");
    for (int i = 0; i < 3; i++) {
        struct invocation x = an_action();
        log_directory_add_call(&f->a, &x);
        log_directory_add_call(&other, &x);
        log_directory_flush(&f->a, f->d.fd);
        log_directory_flush(&other, f->d.fd);
    }
    char *text = slurp(day_path(f, "2026-07-31"), NULL);
    size_t n = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), n++)
        assert_member(line, "session", n % 2 == 0 ? SESSION : "OTHER");
    assert_int_equal(n, 6);
    free(text);
    log_directory_close(&other);
}

static void test_log_directory_links_are_not_followed(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *made, *link, *target;
    } rows[] = {
        {NULL, "vault/Logs", "../outside"},
        {"vault/Logs", "vault/Logs/MCP_Actions", "../../outside"},
        {"vault/Logs/MCP_Actions", "vault/Logs/MCP_Actions/2026-07-31.jsonl",
         "../../../outside/file"},
    };
    struct invocation x = an_action();
    assert_int_equal(mkdir(temp_path(&f->t, "outside"), 0700), 0);
    log_directory_close(&f->a);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        if (rows[i].made != NULL)
            assert_int_equal(mkdir(temp_path(&f->t, rows[i].made), 0700), 0);
        assert_int_equal(symlink(rows[i].target, temp_path(&f->t, rows[i].link)), 0);
        log_directory_open(&f->a, SESSION, "files");
        for (int k = 0; k < 3; k++) {
            log_directory_add_call(&f->a, &x);
            log_directory_flush(&f->a, f->d.fd);
            assert_int_equal(f->a.lines.n, 0); /* dropped */
        }
        assert_int_equal(said_lines(), i + 1); /* one warning */
        assert_true(said_holds("cannot write the log directory"));
        log_directory_close(&f->a);
        assert_int_equal(unlink(temp_path(&f->t, rows[i].link)), 0);
    }
    assert_int_equal(rmdir(temp_path(&f->t, "outside")), 0); /* empty */
    log_directory_open(&f->a, SESSION, "files");
}

static void test_log_directory_without_a_vault_drops_lines_and_warns_once(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    for (int i = 0; i < 5; i++) {
        log_directory_add_call(&f->a, &x);
        log_directory_flush(&f->a, -1);
        assert_int_equal(f->a.lines.n, 0);
    }
    assert_int_equal(said_lines(), 1);
    assert_true(said_holds("the vault is not open"));
    log_directory_add_call(&f->a, &x);
    log_directory_flush(&f->a, f->d.fd);
    assert_true(exists(day_path(f, "2026-07-31")));
    log_directory_add_call(&f->a, &x);
    log_directory_flush(&f->a, -1);
    assert_int_equal(said_lines(), 2); /* a new warning, because writing succeeded in between */
}

/* A full disk truncates a line. The next one starts on a new line. */
static void test_log_directory_torn_line_is_ended_before_the_next(void **state)
{
    struct fixture *f = *state;
    struct rlimit l;
    struct invocation x = an_action();
    log_directory_add_call(&f->a, &x);
    size_t line_n = f->a.lines.n;
    log_directory_flush(&f->a, f->d.fd);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    for (size_t room = 1; room <= 2 * line_n; room += 37) {
        struct stat st;
        assert_int_equal(stat(day_path(f, "2026-07-31"), &st), 0);
        log_directory_add_call(&f->a, &x);
        log_directory_add_call(&f->a, &x);
        l.rlim_cur = (rlim_t)st.st_size + room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
        log_directory_flush(&f->a, f->d.fd);
        l.rlim_cur = RLIM_INFINITY;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
        assert_int_equal(f->a.lines.n, 0);
        x.seq++;
        log_directory_add_call(&f->a, &x);
        log_directory_flush(&f->a, f->d.fd);
    }
    char *text = slurp(day_path(f, "2026-07-31"), NULL);
    uint64_t whole = 0, last = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct json_scan scan;
        if (json_scan(slice_of(line), NULL, NULL, &scan) != 0) {
            assert_true(scan.fault.kind == JSON_CUT); /* the head of a truncated line */
            continue;
        }
        int64_t seq = 0;
        assert_true(
            json_int(json_get((struct json_value){JSON_OBJECT, slice_of(line)}, "seq"), &seq));
        assert_true((uint64_t)seq >= last);
        last = (uint64_t)seq;
        whole++;
    }
    assert_int_equal(last, x.seq);
    assert_true(whole >= x.seq); /* all lines written while there was space */
    free(text);
    assert_true(said_holds("cannot write the log directory"));
}

static void test_log_directory_without_memory_drops_only_the_affected_line(void **state)
{
    struct fixture *f = *state;
    char args[5000];
    memset(args, 'x', sizeof args);
    memcpy(args, "{\"k\":\"", 6);
    memcpy(args + sizeof args - 2, "\"}", 2);
    unsigned dropped = 0;
    for (uint64_t i = 1; i <= 40; i++) {
        struct invocation x = an_action();
        x.seq = i;
        x.arguments = (struct slice){args, sizeof args};
        x.arguments_n = i % 2 == 0 ? sizeof args : 99999;
        size_t before = f->a.lines.n;
        fail_after = (int)(i % 3);
        log_directory_add_call(&f->a, &x);
        fail_after = -1;
        dropped += f->a.lines.n == before;
    }
    assert_true(dropped >= 2 && dropped < 35);
    assert_int_equal(said_lines(), dropped);
    log_directory_flush(&f->a, f->d.fd);
    char *text = slurp(day_path(f, "2026-07-31"), NULL);
    unsigned n = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
        struct json_scan scan;
        assert_int_equal(json_scan(slice_of(line), NULL, NULL, &scan), 0);
    }
    assert_int_equal(n, 40 - dropped);
    free(text);
}

static void test_log_directory_result_with_escapes_is_unescaped_and_sanitized(void **state)
{
    struct fixture *f = *state;
    struct invocation x = an_action();
    x.result = slice_of("a\\nb \\u00e9 AKIAZ7Q3XK5LMN2PRT4V");
    x.result_escaped = true;
    log_directory_add_call(&f->a, &x);
    char *line = only_line(f);
    assert_member(line, "result", "a\nb \xc3\xa9 [redacted:aws-access-key-id]");
    free(line);
    x.result_escaped = false;
    log_directory_add_call(&f->a, &x);
    line = only_line(f);
    assert_member(line, "result", "a\\nb \\u00e9 [redacted:aws-access-key-id]");
    free(line);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_log_directory_line_has_every_field_as_documented),
        T(test_log_directory_line_omits_missing_fields),
        T(test_log_directory_target_is_named_tool_only_for_tools_call),
        T(test_log_directory_error_is_an_object_with_code_and_message),
        T(test_log_directory_hostile_names_are_escaped_and_read_back),
        T(test_log_directory_hostile_server_name_is_escaped),
        T(test_log_directory_arguments_with_line_ends_between_tokens_stay_one_line),
        T(test_log_directory_long_result_is_truncated_to_50_characters),
        T(test_log_directory_empty_result_is_logged),
        T(test_log_directory_result_with_escapes_is_unescaped_and_sanitized),
        T(test_log_directory_long_arguments_are_truncated_to_a_string_of_50_characters),
        T(test_log_directory_lines_of_a_killed_process_are_not_repeated),
        T(test_log_directory_lines_of_the_day_before_are_found),
        T(test_log_directory_lines_are_buffered_until_flushed),
        T(test_log_directory_new_day_gets_a_new_file),
        T(test_log_directory_removed_file_is_created_again),
        T(test_log_directory_lines_are_appended_to_an_existing_file),
        T(test_log_directory_links_are_not_followed),
        T(test_log_directory_without_a_vault_drops_lines_and_warns_once),
        T(test_log_directory_torn_line_is_ended_before_the_next),
        T(test_log_directory_without_memory_drops_only_the_affected_line),
    };
    return cmocka_run_group_tests_name("actions", tests, NULL, NULL);
}
