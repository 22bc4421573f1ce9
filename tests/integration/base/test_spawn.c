/* Programs in child processes: errors of every step, signals, descriptors. */
#include "base/os/spawn.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int fine(const void *ctx)
{
    (void)ctx;
    return 0;
}

static int failing(const void *ctx)
{
    return *(const int *)ctx;
}

/* The exit status of `sh -c SCRIPT`, started with these signals blocked. */
static int shell(const char *script, const sigset_t *mask)
{
    pid_t pid;
    int status;
    char name[] = "sh", option[] = "-c", text[64];
    char *argv[] = {name, option, text, NULL};
    snprintf(text, sizeof text, "%s", script);
    assert_int_equal(spawn(argv, mask, fine, NULL, &pid), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_spawn_starts_a_program_of_the_path(void **state)
{
    (void)state;
    assert_int_equal(shell("exit 5", NULL), 5);
}

static void test_spawn_reports_the_failed_step_and_leaves_no_process(void **state)
{
    (void)state;
    pid_t pid = 77;
    const int error = EXDEV;
    char name[] = "/no/such/program";
    char *argv[] = {name, NULL};
    if (unit_slow())
        skip(); /* valgrind turns vfork into fork, and the errno is lost */
    assert_int_equal(spawn(argv, NULL, fine, NULL, &pid), MI_EIO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(spawn(argv, NULL, failing, &error, &pid), MI_EIO);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(pid, 77);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_spawn_blocks_the_given_signals_in_the_program_only(void **state)
{
    (void)state;
    sigset_t term, now;
    static const char dies_unless_blocked[] = "kill -TERM $$; exit 3";
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    assert_int_equal(shell(dies_unless_blocked, &term), 3);
    sigprocmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGTERM));
    sigprocmask(SIG_BLOCK, &term, NULL);
    assert_int_equal(shell(dies_unless_blocked, NULL), 3); /* as in the caller */
    sigprocmask(SIG_SETMASK, &now, NULL);
}

static void test_spawn_close_from_closes_the_rest(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int kept = dup2(STDERR_FILENO, 100), first = dup2(STDERR_FILENO, 101);
        int last = dup2(STDERR_FILENO, 900);
        close_fds_from_number(101);
        bool good =
            fcntl(kept, F_GETFD) >= 0 && fcntl(first, F_GETFD) < 0 && fcntl(last, F_GETFD) < 0;
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
    const struct CMUnitTest tests[] = {
        T(test_spawn_starts_a_program_of_the_path),
        T(test_spawn_reports_the_failed_step_and_leaves_no_process),
        T(test_spawn_blocks_the_given_signals_in_the_program_only),
        T(test_spawn_close_from_closes_the_rest),
    };
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
