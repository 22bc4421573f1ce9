/* A live server: lines go both ways without a deadlock, deadlines are kept, and the server is stopped. */
#include "peer/live.h"

#include "base/clock.h"

#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

static struct live *begin(const char *script)
{
    char sh[] = "sh", c[] = "-c";
    char *text = strdup(script);
    char *argv[] = {sh, c, text, NULL};
    struct live *l;
    struct buf error = {0};
    assert_int_equal(live_open(&l, argv, NULL, &error), 0);
    free(text);
    return l;
}

static int64_t in_s(int64_t s)
{
    return clock_mono_us() + s * SECOND;
}

static void test_live_lines_go_both_ways_and_the_last_needs_no_newline(void **state)
{
    (void)state;
    struct live *l = begin("read x; echo \"got $x\"; printf end");
    struct slice line;
    assert_int_equal(live_send_line(l, slice_of("one")), 0);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(slice_is(line, "got one"));
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(slice_is(line, "end"));
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_ENDED);
    assert_int_equal(live_send_line(l, slice_of("too late")), 0);
    assert_int_equal(live_close(l, 20 * SECOND), 0);
}

/* How the server ended is the same whether the line is sent before or after the end can be noticed. */
static void check_end(const char *script, const char *text, bool unread)
{
    for (int late = 0; late <= 1; late++) {
        struct live *l = begin(script);
        struct slice line;
        struct buf said = {0};
        assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE); /* "ready" */
        for (int i = 0; late && i < 20; i++)
            (void)!live_receive_line(l, clock_mono_us() + 5000, &line);
        assert_int_equal(live_send_line(l, slice_of("one")), 0);
        assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_ENDED);
        live_append_server_end_reason(l, &said);
        assert_string_equal(buf_str(&said), text);
        assert_int_equal(live_read_output(l), unread ? 0 : live_count_sent_bytes(l));
        assert_int_equal(live_get_us_until_next_receive(l), -1);
        buf_close(&said);
        (void)live_close(l, 200000);
    }
}

static void test_live_end_is_how_the_server_ended_not_what_is_noticed_first(void **state)
{
    (void)state;
    check_end("echo ready; exit 3", "exited with status 3", true);
    check_end("echo ready; read x; exit 0", "exited with status 0", false);
    check_end("echo ready; exec >&-; read x; exit 4", "exited with status 4", false);
    check_end("echo ready; exec <&- >&-; exit 5", "exited with status 5", true);
    check_end("echo ready; kill -9 $$", "was killed by signal 9", true);
    check_end("echo ready; exec >&-; sleep 1000", "closed its output", true);
    check_end("echo ready; exec >&-; read x; sleep 1000", "closed its output", false);
    check_end("echo ready; exec <&-; sleep 1000", "closed its stdin", true);
}

/* It stores the end of its session between the two. */
static void test_live_proxy_that_exits_a_while_after_its_output_ended_has_exited(void **state)
{
    (void)state;
    struct live *l = begin("echo ready; exec >&-; sleep 1.5; exit 6");
    struct slice line;
    struct buf said = {0};
    live_wait_longer_for_proxy_exit(l);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_ENDED);
    live_append_server_end_reason(l, &said);
    assert_string_equal(buf_str(&said), "exited with status 6");
    buf_close(&said);
    (void)live_close(l, 200000);
}

/* It may answer what it has read. */
static void test_live_answer_of_a_server_that_closed_its_stdin_is_received(void **state)
{
    (void)state;
    struct live *l = begin("read x; exec <&-; sleep 1.2; echo got $x; sleep 1000");
    struct slice line;
    assert_int_equal(live_send_line(l, slice_of("one")), 0);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(slice_is(line, "got one"));
    assert_int_equal(live_send_line(l, slice_of("two")), 0);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_ENDED);
    (void)live_close(l, 200000);
}

/* More than the pipes hold, in both directions: must not deadlock. */
static void test_live_large_lines_do_not_deadlock(void **state)
{
    (void)state;
    struct live *l = begin("cat");
    struct buf big = {0};
    struct slice line;
    for (int i = 0; i < 3000000; i++)
        buf_addc(&big, 'x');
    for (int i = 0; i < 3; i++)
        assert_int_equal(live_send_line(l, buf_slice(&big)), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(live_receive_line(l, in_s(60), &line), LIVE_LINE);
        assert_int_equal(line.n, big.n);
    }
    assert_int_equal(live_close(l, 20 * SECOND), 0);
    buf_close(&big);
}

static void test_live_deadline_passes_and_the_line_may_still_come(void **state)
{
    (void)state;
    struct live *l = begin("read x; echo late");
    struct slice line;
    assert_int_equal(live_receive_line(l, clock_mono_us() + 20000, &line), LIVE_TIMEOUT);
    assert_int_equal(live_receive_line(l, clock_mono_us() - 1, &line), LIVE_TIMEOUT);
    assert_int_equal(live_send_line(l, slice_of("")), 0);
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(slice_is(line, "late"));
    assert_int_equal(live_close(l, 20 * SECOND), 0);
}

/* With an event loop: nothing is ready when the error for an answer that nobody can read is due. */
static void test_live_error_for_an_unreadable_answer_has_a_time(void **state)
{
    (void)state;
    struct live *l = begin("echo 'log'; echo '{\"id\":1,\"result\":{},}'; sleep 1000");
    struct slice line;
    int fd, in;
    bool waits;
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(slice_is(line, "log"));
    live_get_watched_fds(l, &fd, &in, &waits);
    while (live_get_us_until_next_receive(l) < 0) { /* until the second line is read */
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_true(poll(&p, 1, 20000) >= 0);
        (void)!live_receive_line(l, 0, &line);
    }
    while (live_receive_line(l, 0, &line) == LIVE_TIMEOUT) {
        int64_t us = live_get_us_until_next_receive(l);
        assert_in_range(us, 0, 100000);
        usleep((unsigned)us);
    }
    assert_non_null(memmem(line.p, line.n, "malformed-answer", 16));
    assert_int_equal(live_get_us_until_next_receive(l), -1);
    (void)live_close(l, 100000);
}

static void test_live_stubborn_server_is_killed_with_its_children(void **state)
{
    (void)state;
    struct live *l = begin("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done");
    struct slice line;
    char text[32];
    assert_int_equal(live_receive_line(l, in_s(20), &line), LIVE_LINE);
    assert_true(line.n < sizeof text);
    snprintf(text, sizeof text, "%.*s", (int)line.n, line.p);
    pid_t child = atoi(text);
    assert_int_equal(live_close(l, 100000), 128 + SIGKILL);
    /* another process reaps it: it is gone or a zombie */
    for (int i = 0; i < 30000 && kill(child, 0) == 0; i++) {
        char path[64], stat[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *f = fopen(path, "re");
        if (f == NULL)
            break;
        size_t n = fread(stat, 1, sizeof stat - 1, f);
        fclose(f);
        stat[n] = '\0';
        if (strstr(stat, ") Z") != NULL || strstr(stat, ") X") != NULL)
            return;
        usleep(1000);
    }
    if (kill(child, 0) == 0)
        fail_msg("the server's child %d still runs", (int)child);
}

static void test_live_exit_status_is_the_servers(void **state)
{
    (void)state;
    assert_int_equal(live_close(begin("exit 7"), 20 * SECOND), 7);
    assert_int_equal(live_close(begin("kill -9 $$"), 20 * SECOND), 128 + SIGKILL);
    assert_int_equal(live_close(NULL, 0), 0);
}

static void test_live_missing_command_is_reported(void **state)
{
    (void)state;
    char name[] = "/nonexistent/server";
    char *argv[] = {name, NULL};
    struct live *l;
    struct buf error = {0};
    if (unit_slow())
        skip(); /* valgrind turns vfork into fork, and the errno of exec is lost */
    assert_int_equal(live_open(&l, argv, NULL, &error), MI_EIO);
    assert_string_equal(buf_str(&error), "cannot start /nonexistent/server: No such file or "
                                         "directory; name the server's command after --");
    buf_close(&error);
}

static void test_live_line_over_the_limit_is_not_a_lack_of_memory(void **state)
{
    (void)state;
    if (unit_slow())
        skip();
    struct live *l = begin("head -c 134300000 /dev/zero | tr '\\0' x; read x");
    struct slice line;
    assert_int_equal(live_receive_line(l, in_s(60), &line), LIVE_TOO_LONG);
    (void)live_close(l, 20 * SECOND);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_lines_go_both_ways_and_the_last_needs_no_newline),
        cmocka_unit_test(test_live_end_is_how_the_server_ended_not_what_is_noticed_first),
        cmocka_unit_test(test_live_proxy_that_exits_a_while_after_its_output_ended_has_exited),
        cmocka_unit_test(test_live_answer_of_a_server_that_closed_its_stdin_is_received),
        cmocka_unit_test(test_live_large_lines_do_not_deadlock),
        cmocka_unit_test(test_live_deadline_passes_and_the_line_may_still_come),
        cmocka_unit_test(test_live_error_for_an_unreadable_answer_has_a_time),
        cmocka_unit_test(test_live_stubborn_server_is_killed_with_its_children),
        cmocka_unit_test(test_live_exit_status_is_the_servers),
        cmocka_unit_test(test_live_line_over_the_limit_is_not_a_lack_of_memory),
        cmocka_unit_test(test_live_missing_command_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
