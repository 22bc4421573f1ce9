/* A message cannot forge a log line. */
#include "base/log.h"

#include "base/buf.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void gather(void *ctx, struct slice line)
{
    buf_slice_add(ctx, line);
}

static int to_buffer(void **state)
{
    struct buf *b = calloc(1, sizeof *b);
    assert_non_null(b);
    *state = b;
    log_set_sink(gather, b);
    log_set_level(LOG_WARN);
    return 0;
}

static int to_stderr_again(void **state)
{
    buf_close(*state);
    free(*state);
    log_set_sink(NULL, NULL);
    log_set_level(LOG_WARN);
    return 0;
}

static void test_log_line_has_program_level_and_text(void **state)
{
    struct buf *b = *state;
    log_set_level(LOG_DEBUG);
    log_error("cannot open file=%s", "x");
    log_warn("n=%d", 7);
    log_note("done");
    log_info("started");
    log_debug("%s", "");
    assert_string_equal(buf_str(b), "mcp-interposer: error: cannot open file=x\n"
                                    "mcp-interposer: warn: n=7\n"
                                    "mcp-interposer: note: done\n"
                                    "mcp-interposer: info: started\n"
                                    "mcp-interposer: debug: \n");
}

static void test_log_line_above_the_level_is_dropped(void **state)
{
    struct buf *b = *state;
    static const char *const words[] = {"error", "warn", "note", "info", "debug"};
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        buf_clear(b);
        log_set_level((enum log_level)level);
        for (int at = LOG_ERROR; at <= LOG_DEBUG; at++)
            log_line((enum log_level)at, "x");
        struct buf want = {0};
        for (int at = LOG_ERROR; at <= level; at++)
            buf_printf(&want, "mcp-interposer: %s: x\n", words[at]);
        assert_string_equal(buf_str(b), buf_str(&want));
        buf_close(&want);
    }
}

static void test_log_control_characters_become_visible_on_one_line(void **state)
{
    struct buf *b = *state;
    log_warn("tool=%s", "a\nmcp-interposer: error: forged\r\x1b[2J\xe2\x80\xa8\xff");
    assert_string_equal(
        buf_str(b),
        "mcp-interposer: warn: tool=a\\nmcp-interposer: error: forged\\r\\x1b[2J\\u{2028}\\xff\n");
}

static void test_log_long_line_is_truncated_and_ends_with_a_newline(void **state)
{
    struct buf *b = *state;
    char text[3 * LOG_LINE_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_warn("%s", text);
    assert_true(b->n > LOG_LINE_MAX / 2 && b->n <= LOG_LINE_MAX + 32);
    assert_int_equal(b->p[b->n - 1], '\n');
    size_t prefix = strlen("mcp-interposer: warn: ");
    for (size_t i = prefix; i + 1 < b->n; i++)
        assert_int_equal(b->p[i], 'x');
}

static void test_log_without_a_sink_writes_to_stderr(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0);
    log_set_sink(NULL, NULL);
    assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
    log_warn("to stderr");
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(fds[1]);
    char got[64] = "";
    assert_int_equal(read(fds[0], got, sizeof got - 1), 32);
    assert_string_equal(got, "mcp-interposer: warn: to stderr\n");
    close(fds[0]);
}

static void filled(void *ctx, struct slice line)
{
    (void)ctx;
    char place[LOG_FILLED_MAX];
    struct slice text = log_wrap_line(line, place);
    assert_int_equal(write(STDERR_FILENO, text.p, text.n), (ssize_t)text.n);
}

/* What log_warn() writes to a terminal of so many columns, without the CR that the terminal adds. */
static void to_terminal(log_sink_fn sink, unsigned short columns, const char *text, char *ret,
                        size_t room)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), kept = dup(STDERR_FILENO);
    assert_true(master >= 0 && kept >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    struct winsize w = {.ws_row = 24, .ws_col = columns};
    assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &w) == 0);
    assert_true(dup2(slave, STDERR_FILENO) >= 0);
    log_set_sink(sink, NULL);
    log_warn("%s", text);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    size_t n = 0;
    char c = '\0';
    do {
        assert_int_equal(read(master, &c, 1), 1);
        if (c != '\r')
            ret[n++] = c;
    } while (n < room - 1 && !(c == '\n' && n > 2 && ret[n - 2] == '.'));
    ret[n] = '\0';
    close(slave);
    close(master);
}

static void test_log_line_is_broken_between_words_on_a_terminal(void **state)
{
    (void)state;
    static const log_sink_fn sinks[] = {NULL, filled};
    char got[512];
    for (size_t i = 0; i < MI_COUNT(sinks); i++) {
        to_terminal(sinks[i], 40,
                    "one two three four five six, and /a/path/that/is/longer/than/a/line ends.",
                    got, sizeof got);
        assert_string_equal(got, "mcp-interposer: warn: one two three\n"
                                 "  four five six, and\n"
                                 "  /a/path/that/is/longer/than/a/line\n"
                                 "  ends.\n");
        to_terminal(sinks[i], 40, "exactly forty.....", got, sizeof got);
        assert_string_equal(got, "mcp-interposer: warn: exactly forty.....\n");
        to_terminal(sinks[i], 80, "one two three four five six seven eight nine ten.", got,
                    sizeof got);
        assert_string_equal(
            got, "mcp-interposer: warn: one two three four five six seven eight nine ten.\n");
    }
}

static void test_log_terminal_of_unknown_width_has_the_columns_of_the_environment(void **state)
{
    (void)state;
    char got[512];
    assert_int_equal(setenv("COLUMNS", "31", 1), 0);
    to_terminal(NULL, 0, "one two three four.", got, sizeof got);
    assert_string_equal(got, "mcp-interposer: warn: one two\n"
                             "  three four.\n");
    assert_int_equal(unsetenv("COLUMNS"), 0);
    to_terminal(NULL, 0, "one two three four five six seven eight nine ten eleven twelve.", got,
                sizeof got);
    assert_string_equal(
        got, "mcp-interposer: warn: one two three four five six seven eight nine ten eleven\n"
             "  twelve.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_log_line_has_program_level_and_text, to_buffer,
                                        to_stderr_again),
        cmocka_unit_test_setup_teardown(test_log_line_above_the_level_is_dropped, to_buffer,
                                        to_stderr_again),
        cmocka_unit_test_setup_teardown(test_log_control_characters_become_visible_on_one_line,
                                        to_buffer, to_stderr_again),
        cmocka_unit_test_setup_teardown(test_log_long_line_is_truncated_and_ends_with_a_newline,
                                        to_buffer, to_stderr_again),
        cmocka_unit_test_setup_teardown(test_log_without_a_sink_writes_to_stderr, to_buffer,
                                        to_stderr_again),
        cmocka_unit_test_setup_teardown(
            test_log_terminal_of_unknown_width_has_the_columns_of_the_environment, to_buffer,
            to_stderr_again),
        cmocka_unit_test_setup_teardown(test_log_line_is_broken_between_words_on_a_terminal,
                                        to_buffer, to_stderr_again),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
