/* Which line of stderr is the reason: the samples in tests/stderr, and what they cannot show. */
#include "proxy/session/stderr_reason.h"

#include "tests/support/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES "tests/stderr"

static void feed(struct stderr_reason *r, const char *lines)
{
    for (const char *end; *lines != '\0'; lines = end + 1) {
        end = strchr(lines, '\n');
        assert_non_null(end);
        char *exact = unit_copy(lines, (size_t)(end - lines));
        stderr_reason_read_line(r, (struct slice){exact, (size_t)(end - lines)});
        free(exact);
    }
}

static void expect(const char *lines, const char *want)
{
    struct stderr_reason r = {0};
    struct buf got = {0};
    feed(&r, lines);
    (void)stderr_reason_append(&r, &got);
    assert_string_equal(buf_str(&got), want);
    buf_close(&got);
    stderr_reason_close(&r);
}

/* ---- samples ---- */

static char *read_whole(const char *path)
{
    FILE *f = fopen(path, "re");
    struct buf b = {0};
    char part[4096];
    size_t n;
    assert_non_null(f);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    char *text = unit_copy(buf_str(&b), b.n + 1);
    buf_close(&b);
    return text;
}

/* Cuts the text after its first line, which is returned; *at is the rest. */
static char *take_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    *at = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL)
        *end = '\0';
    return line;
}

/* The lines of one sample, up to the next `== TITLE` or the end. A line that begins with `# ` is a comment. */
static void feed_sample(struct stderr_reason *r, char **at)
{
    while (**at != '\0' && strncmp(*at, "== ", 3) != 0) {
        char *line = take_line(at);
        char *exact = unit_copy(line, strlen(line));
        if (strncmp(line, "# ", 2) != 0)
            stderr_reason_read_line(r, (struct slice){exact, strlen(line)});
        free(exact);
    }
}

/* The number of samples in the file that give another reason than their `=> REASON`. */
static size_t check_samples(const char *path, size_t *n)
{
    char *text = read_whole(path), *at = text;
    size_t wrong = 0;
    for (; *at != '\0'; (*n)++) {
        struct stderr_reason r = {0};
        struct buf got = {0};
        char *title = take_line(&at), *want = take_line(&at);
        assert_true(strncmp(title, "== ", 3) == 0 && strncmp(want, "=> ", 3) == 0);
        feed_sample(&r, &at);
        (void)stderr_reason_append(&r, &got);
        if (strcmp(buf_str(&got), want + 3) != 0 && ++wrong > 0)
            print_error("%s: %s\n  want %s\n  got  %s\n", path, title + 3, want + 3, buf_str(&got));
        buf_close(&got);
        stderr_reason_close(&r);
    }
    free(text);
    return wrong;
}

static void test_stderr_reason_samples(void **state)
{
    DIR *d = opendir(SAMPLES);
    size_t n = 0, wrong = 0;
    (void)state;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[sizeof SAMPLES + sizeof e->d_name];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, SAMPLES "/%s", e->d_name);
        wrong += check_samples(path, &n);
    }
    closedir(d);
    assert_int_equal(wrong, 0);
    assert_true(n >= 90);
}

/* ---- limits --------------------------------------------------------------------------------- */

static void test_stderr_reason_no_line_gives_no_text(void **state)
{
    (void)state;
    expect("", "");
    expect("\n \t\r\n", "");
}

/* A log line about an error that was survived is not the reason of an end much later. */
static void test_stderr_reason_is_forgotten_after_twenty_lines(void **state)
{
    struct buf lines = {0};
    (void)state;
    buf_adds(&lines, "ValueError: bad\n");
    for (int i = 0; i < STDERR_REASON_LINES; i++)
        buf_printf(&lines, "request %d\n", i);
    expect(buf_str(&lines), "ValueError: bad");
    buf_adds(&lines, "stopping\n");
    expect(buf_str(&lines), "stopping");
    buf_close(&lines);
}

static void test_stderr_reason_survives_long_stacks(void **state)
{
    struct buf java = {0}, go = {0};
    (void)state;
    buf_adds(&java, "Exception in thread \"main\" java.lang.StackOverflowError\n");
    buf_adds(&go, "panic: boom\n\n");
    for (int i = 0; i < 5000; i++)
        buf_adds(&java, "\tat T.f(T.java:1)\n");
    for (int i = 0; i < 300; i++) {
        buf_printf(&go, "goroutine %d [running]:\nmain.f()\n\t/srv/x.go:4 +0x25\nerror\n\n", i);
    }
    expect(buf_str(&java), "Exception in thread \"main\" java.lang.StackOverflowError");
    expect(buf_str(&go), "panic: boom");
    buf_close(&java);
    buf_close(&go);
}

static void test_stderr_reason_long_texts_are_truncated(void **state)
{
    struct buf line = {0}, got = {0};
    struct stderr_reason r = {0};
    (void)state;
    buf_adds(&line, "Error: ");
    for (int i = 0; i < 4000; i++)
        buf_adds(&line, "ä");
    stderr_reason_read_line(&r, buf_slice(&line));
    buf_clear(&line);
    buf_adds(&line, "  [cause]: ");
    for (int i = 0; i < 4000; i++)
        buf_adds(&line, "ö");
    stderr_reason_read_line(&r, buf_slice(&line));
    (void)stderr_reason_append(&r, &got);
    assert_true(got.n < 2 * STDERR_REASON_MAX + 32);
    assert_non_null(strstr(buf_str(&got), "ä…; caused by: ö"));
    assert_string_equal(buf_str(&got) + got.n - strlen("ö…"), "ö…");
    buf_close(&line);
    buf_close(&got);
    stderr_reason_close(&r);
}

static void test_stderr_reason_says_whether_it_is_an_error_message(void **state)
{
    struct stderr_reason r = {0};
    struct buf got = {0};
    (void)state;
    assert_false(stderr_reason_append(&r, &got));
    feed(&r, "listening\n");
    assert_false(stderr_reason_append(&r, &got));
    feed(&r, "2026-01-02 ERROR no database\n");
    assert_true(stderr_reason_append(&r, &got));
    stderr_reason_clear(&r);
    buf_clear(&got);
    assert_false(stderr_reason_append(&r, &got));
    assert_int_equal(got.n, 0);
    buf_close(&got);
    stderr_reason_close(&r);
}

static void test_stderr_reason_keeps_a_bounded_number_of_bytes(void **state)
{
    struct stderr_reason r = {0};
    struct buf line = {0}, got = {0};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        buf_clear(&line);
        buf_printf(&line, "%0*d", i, i);
        stderr_reason_read_line(&r, buf_slice(&line));
        assert_true(r.lines.n <= STDERR_REASON_KEPT);
    }
    (void)stderr_reason_append(&r, &got);
    assert_memory_equal(buf_slice(&got).p, "0000000000", 10);
    stderr_reason_clear(&r);
    buf_clear(&got);
    for (int i = 0; i < 20000; i++)
        feed(&r, "panic: first\n");
    feed(&r, "Error: last\n");
    assert_true(stderr_reason_append(&r, &got));
    assert_string_equal(buf_str(&got), "Error: last");
    buf_close(&line);
    buf_close(&got);
    stderr_reason_close(&r);
}

static void test_stderr_reason_is_final_if_the_next_process_would_have_it(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        bool final;
    } rows[] = {
        {"npm error code E404\nnpm error 404 Not Found - GET https://x\nnpm error 404\n", true},
        {"npm ERR! notarget No matching version found for x@9.\n", true},
        {"npm error network request to https://x failed, reason: connect ETIMEDOUT\n", false},
        {"npm error 404 Not Found\nError: API_KEY is not set\n", false},
        {"Error: 404\n", false},
        {"", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct stderr_reason r = {0};
        feed(&r, rows[i].lines);
        if (stderr_reason_will_recur(&r) != rows[i].final)
            fail_msg("%s", rows[i].lines);
        stderr_reason_close(&r);
    }
}

/* Whatever a server writes: no byte beyond a line is read, and nothing grows. */
static void test_stderr_reason_reads_any_bytes(void **state)
{
    static const char *const parts[] = {
        "Traceback (most recent call last):",
        "  ",
        "Error: ",
        ":",
        "[",
        "{",
        "code: 'X'",
        "Caused by:",
        "npm error ",
        "npm ERR!",
        "goroutine ",
        "\x1b[31",
        "m",
        "| ",
        "+ ",
        "\xff",
        "\xe2\x95",
        "'",
        "× ",
        "[cause]: ",
        "panic: ",
        "\t",
        "at ",
        "code: '",
    };
    uint32_t seed = 1;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct stderr_reason r = {0};
        struct buf got = {0};
        for (int k = 0; k < 30; k++) {
            struct buf line = {0};
            for (uint32_t n = (seed = seed * 1664525 + 1013904223) >> 29; n > 0; n--)
                buf_adds(&line,
                         parts[((seed = seed * 1664525 + 1013904223) >> 8) % MI_COUNT(parts)]);
            char *exact = unit_copy(buf_slice(&line).p, line.n);
            stderr_reason_read_line(&r, (struct slice){exact, line.n});
            free(exact);
            buf_close(&line);
        }
        (void)stderr_reason_append(&r, &got);
        assert_null(memchr(buf_slice(&got).p, '\x1b', got.n));
        assert_true(got.n <= 8 * STDERR_REASON_MAX);
        buf_close(&got);
        stderr_reason_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stderr_reason_samples),
        cmocka_unit_test(test_stderr_reason_is_final_if_the_next_process_would_have_it),
        cmocka_unit_test(test_stderr_reason_no_line_gives_no_text),
        cmocka_unit_test(test_stderr_reason_is_forgotten_after_twenty_lines),
        cmocka_unit_test(test_stderr_reason_survives_long_stacks),
        cmocka_unit_test(test_stderr_reason_long_texts_are_truncated),
        cmocka_unit_test(test_stderr_reason_says_whether_it_is_an_error_message),
        cmocka_unit_test(test_stderr_reason_keeps_a_bounded_number_of_bytes),
        cmocka_unit_test(test_stderr_reason_reads_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
