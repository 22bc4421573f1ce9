/* Waiting: for writes to the files of a directory, and for signals. */
#include "base/os/changes.h"

#include "base/clock.h"
#include "base/os/signals.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LONG_MS 20000

static char dir[] = "/tmp/test-changes-XXXXXX", file[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(file, sizeof file, "%s/file", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(dir);
}

static bool is_reported(int fd, int ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, ms) == 1;
}

static void test_changes_are_reported_until_they_are_forgotten(void **state)
{
    (void)state;
    int fd = changes_watch_dir(dir);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_false(is_reported(fd, 0));
    int to = open(file, O_WRONLY | O_CREAT, 0600);
    assert_true(is_reported(fd, LONG_MS));
    changes_discard_events(fd);
    assert_false(is_reported(fd, 0));
    assert_int_equal(write(to, "x", 1), 1);
    assert_true(is_reported(fd, LONG_MS));
    changes_discard_events(fd);
    assert_false(is_reported(fd, 0));
    close(to);
    close(fd);
}

static void test_changes_of_what_is_no_directory_are_not_watched(void **state)
{
    (void)state;
    close(open(file, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(changes_watch_dir(file), -1);
    assert_int_equal(changes_watch_dir("/no/such/directory"), -1);
}

static volatile sig_atomic_t signals_n;

static void on_signal(int number)
{
    (void)number;
    signals_n++;
}

static void test_signals_that_arrived_before_the_wait_end_it(void **state)
{
    (void)state;
    sigset_t usr, before;
    const struct sigaction count = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &count, NULL);
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, &before);
    raise(SIGUSR1);
    assert_int_equal(signals_n, 0);
    int64_t began = clock_mono_us();
    assert_int_equal(signals_poll(NULL, 0, LONG_MS, &before), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(signals_n, 1);
    assert_true(clock_mono_us() - began < (int64_t)LONG_MS * 1000 / 2);
    raise(SIGUSR1);
    assert_int_equal(signals_poll(NULL, 0, 10, &usr), 0); /* it is blocked here, too */
    assert_int_equal(signals_n, 1);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_signals_poll_reports_descriptors(void **state)
{
    (void)state;
    int fd[2];
    sigset_t none;
    sigemptyset(&none);
    assert_int_equal(pipe(fd), 0);
    struct pollfd p = {fd[0], POLLIN, 0};
    assert_int_equal(signals_poll(&p, 1, 0, &none), 0);
    assert_int_equal(write(fd[1], "x", 1), 1);
    assert_int_equal(signals_poll(&p, 1, -1, &none), 1);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
    const struct CMUnitTest tests[] = {
        T(test_changes_are_reported_until_they_are_forgotten),
        T(test_changes_of_what_is_no_directory_are_not_watched),
        T(test_signals_that_arrived_before_the_wait_end_it),
        T(test_signals_poll_reports_descriptors),
    };
    return cmocka_run_group_tests_name("changes", tests, set_up, tear_down);
}
