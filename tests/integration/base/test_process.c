/* Processes in /proc: names that look like fields, processes that have exited. */
#include "base/os/process.h"

#include "tests/support/unit.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_process_self_agrees_with_system_calls(void **state)
{
    (void)state;
    struct process p;
    assert_int_equal(process_read(getpid(), &p), 0);
    assert_int_equal(p.pid, getpid());
    assert_int_equal(p.parent, getppid());
    assert_int_equal(p.group, getpgrp());
    assert_int_equal(p.session, getsid(0));
    assert_int_equal(p.state, 'R');
    assert_true(p.threads >= 1);
    assert_true(p.rss_bytes > 100 * 1024);
    assert_true(p.start_ticks > 0);
    assert_true(process_start(getpid()) == p.start_ticks);
}

static void test_process_name_may_contain_parentheses_and_blanks(void **state)
{
    (void)state;
    struct process p;
    char before[16];
    prctl(PR_GET_NAME, before);
    prctl(PR_SET_NAME, "a) R 1 (b\n");
    int st = process_read(getpid(), &p);
    prctl(PR_SET_NAME, before);
    assert_int_equal(st, 0);
    assert_string_equal(p.name, "a) R 1 (b\n");
    assert_int_equal(p.parent, getppid());
}

static void test_process_missing_is_enoent(void **state)
{
    (void)state;
    struct process p;
    pid_t pid = unit_sleeper();
    end(pid);
    const pid_t none[] = {pid, 0, -1};
    for (size_t i = 0; i < MI_COUNT(none); i++) {
        assert_int_equal(process_read(none[i], &p), MI_ENOENT);
        assert_true(process_start(none[i]) == 0);
        assert_int_equal(process_children(none[i], &pid, 1), 0);
    }
}

static void test_process_zombie_has_no_start_time(void **state)
{
    (void)state;
    siginfo_t si;
    pid_t pid = unit_sleeper();
    assert_true(process_start(pid) > 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
    assert_true(process_start(pid) == 0);
    waitpid(pid, NULL, 0);
}

static void test_process_children_are_listed_up_to_a_limit(void **state)
{
    (void)state;
    pid_t pid[3] = {unit_sleeper(), unit_sleeper(), unit_sleeper()}, got[4];
    assert_int_equal(process_children(getpid(), got, 4), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(got[i], pid[i]);
    assert_int_equal(process_children(getpid(), got, 2), 2);
    for (int i = 0; i < 3; i++)
        end(pid[i]);
}

static void test_process_group_lists_running_members(void **state)
{
    (void)state;
    struct process p[4];
    pid_t leader = unit_sleeper(), member = unit_sleeper();
    assert_int_equal(setpgid(leader, leader), 0);
    assert_int_equal(setpgid(member, leader), 0);
    assert_int_equal(process_group(leader, p, 4), 2);
    assert_int_equal(p[0].pid + p[1].pid, leader + member);
    assert_int_equal(process_group(leader, p, 1), 1);
    siginfo_t si;
    kill(leader, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)leader, &si, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_group(leader, p, 4), 1);
    assert_int_equal(p[0].pid, member);
    end(leader);
    end(member);
    assert_int_equal(process_group(leader, p, 4), 0);
}

static void test_process_started_later_has_a_later_start(void **state)
{
    (void)state;
    pid_t a = unit_sleeper();
    pause_ms(30); /* start times count in steps of 10 ms */
    pid_t b = unit_sleeper();
    assert_true(process_start(b) > process_start(a));
    end(a);
    end(b);
}

static void test_process_boot_is_one_word(void **state)
{
    (void)state;
    char boot[PROCESS_BOOT_MAX], again[PROCESS_BOOT_MAX];
    process_boot(boot);
    process_boot(again);
    assert_int_equal(strlen(boot), 36);
    assert_string_equal(boot, again);
    assert_int_equal(strcspn(boot, " \n"), 36);
}

static void test_process_ticks_are_converted_to_microseconds(void **state)
{
    (void)state;
    assert_true(process_ticks_us(sysconf(_SC_CLK_TCK)) == 1000000);
    assert_true(process_ticks_us(0) == 0);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
    const struct CMUnitTest tests[] = {
        T(test_process_self_agrees_with_system_calls),
        T(test_process_name_may_contain_parentheses_and_blanks),
        T(test_process_missing_is_enoent),
        T(test_process_zombie_has_no_start_time),
        T(test_process_children_are_listed_up_to_a_limit),
        T(test_process_group_lists_running_members),
        T(test_process_started_later_has_a_later_start),
        T(test_process_boot_is_one_word),
        T(test_process_ticks_are_converted_to_microseconds),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
