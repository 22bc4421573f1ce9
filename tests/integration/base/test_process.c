/* Processes: names that look like fields, processes that have exited, orphans, signals. */
#include "base/os/process.h"

#include "base/clock.h"
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
        assert_int_equal(process_read_children(none[i], &pid, 1), 0);
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
    assert_int_equal(process_read_children(getpid(), got, 4), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(got[i], pid[i]);
    assert_int_equal(process_read_children(getpid(), got, 2), 2);
    for (int i = 0; i < 3; i++)
        end(pid[i]);
}

/* The kernel's list of them is longer than one read. */
static void test_process_many_children_are_all_listed(void **state)
{
    (void)state;
    enum { MANY = 900 };
    static pid_t pid[MANY], got[MANY + 1];
    for (int i = 0; i < MANY; i++)
        pid[i] = unit_sleeper();
    size_t n = process_read_children(getpid(), got, MI_COUNT(got));
    for (int i = 0; i < MANY; i++)
        end(pid[i]);
    assert_int_equal(n, MANY);
    assert_memory_equal(got, pid, sizeof pid);
}

static void test_process_group_lists_running_members(void **state)
{
    (void)state;
    struct process p[4];
    pid_t leader = unit_sleeper(), member = unit_sleeper();
    assert_int_equal(setpgid(leader, leader), 0);
    assert_int_equal(setpgid(member, leader), 0);
    assert_int_equal(process_list_group_members(leader, p, 4), 2);
    assert_int_equal(p[0].pid + p[1].pid, leader + member);
    assert_int_equal(process_list_group_members(leader, p, 1), 1);
    siginfo_t si;
    kill(leader, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)leader, &si, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_list_group_members(leader, p, 4), 1);
    assert_int_equal(p[0].pid, member);
    end(leader);
    end(member);
    assert_int_equal(process_list_group_members(leader, p, 4), 0);
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

static void test_process_began_when_the_wall_clock_says(void **state)
{
    (void)state;
    int64_t before = clock_wall_us();
    pid_t pid = unit_sleeper();
    int64_t began = process_start_time_us(pid);
    end(pid);
    assert_true(began > before - 5000000); /* the kernel counts in steps of 10 ms */
    assert_true(began < clock_wall_us() + 5000000);
    assert_true(process_start_time_us(pid) == 0);
}

static void test_process_signal_needs_the_right_start_time(void **state)
{
    (void)state;
    int status;
    pid_t pid = unit_sleeper();
    uint64_t start = process_start(pid);
    assert_int_equal(process_send_signal(pid, start + 1, SIGKILL), MI_ENOENT);
    assert_int_equal(process_send_signal(pid, 0, SIGKILL), MI_ENOENT);
    assert_int_equal(process_send_signal(pid, start, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(process_send_signal(pid, start, SIGTERM), MI_ENOENT);
}

static void test_process_wait_ends_with_the_process_or_its_time(void **state)
{
    (void)state;
    pid_t pid = unit_sleeper();
    uint64_t start = process_start(pid);
    assert_false(process_wait_for_exit(pid, start, 1));
    assert_true(process_wait_for_exit(pid, start + 1, 60000000)); /* another one has its number */
    pid_t killer = fork();
    if (killer == 0) {
        while (process_start_time_us(pid) != 0 && kill(pid, SIGKILL) != 0)
            continue;
        _exit(0);
    }
    assert_true(process_wait_for_exit(pid, start, 60000000));
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_true(process_wait_for_exit(pid, start, 60000000)); /* a zombie */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(process_wait_for_exit(pid, start, 60000000));
}

/* Starts a child that starts a grandchild and exits. *ret: the grandchild's parent from then on. */
static pid_t orphan(pid_t *ret)
{
    int fd[2];
    pid_t grandchild;
    struct process p;
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    if (child == 0) {
        if ((grandchild = fork()) == 0)
            for (;;)
                pause();
        _exit(write(fd[1], &grandchild, sizeof grandchild) != (ssize_t)sizeof grandchild);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(fd[0], &grandchild, sizeof grandchild), sizeof grandchild);
    close(fd[0]);
    close(fd[1]);
    assert_int_equal(process_read(grandchild, &p), 0);
    *ret = p.parent;
    return grandchild;
}

static void test_process_orphans_are_adopted_on_request(void **state)
{
    (void)state;
    pid_t parent;
    kill(orphan(&parent), SIGKILL);
    assert_int_not_equal(parent, getpid());
    assert_true(process_adopt_orphans());
    end(orphan(&parent));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(parent, getpid());
}

static void test_process_dies_with_its_parent(void **state)
{
    (void)state;
    int fd[2];
    char byte;
    assert_int_equal(pipe(fd), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t self = getpid();
        if (fork() == 0) {
            if (process_die_with_parent(self + 1) || !process_die_with_parent(self) ||
                write(fd[1], "r", 1) != 1)
                _exit(1);
            pause();
        }
        pause();
    }
    close(fd[1]);
    assert_int_equal(read(fd[0], &byte, 1), 1);
    end(parent);
    assert_int_equal(read(fd[0], &byte, 1), 0); /* no process has the other end */
    close(fd[0]);
}

static void test_process_program_is_this_file(void **state)
{
    (void)state;
    char *path = process_program_path();
    assert_non_null(path);
    assert_string_equal(strrchr(path, '/'), "/test_process");
    free(path);
    assert_true(process_pid_namespace() > 0);
}

static void test_process_boot_is_one_word(void **state)
{
    (void)state;
    char boot[PROCESS_BOOT_MAX], again[PROCESS_BOOT_MAX];
    process_read_boot_id(boot);
    process_read_boot_id(again);
    assert_int_equal(strlen(boot), 36);
    assert_string_equal(boot, again);
    assert_int_equal(strcspn(boot, " \n"), 36);
}

static void test_process_ticks_are_converted_to_microseconds(void **state)
{
    (void)state;
    assert_true(process_ticks_to_us(sysconf(_SC_CLK_TCK)) == 1000000);
    assert_true(process_ticks_to_us(0) == 0);
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
        T(test_process_many_children_are_all_listed),
        T(test_process_group_lists_running_members),
        T(test_process_started_later_has_a_later_start),
        T(test_process_began_when_the_wall_clock_says),
        T(test_process_signal_needs_the_right_start_time),
        T(test_process_wait_ends_with_the_process_or_its_time),
        T(test_process_orphans_are_adopted_on_request),
        T(test_process_dies_with_its_parent),
        T(test_process_program_is_this_file),
        T(test_process_boot_is_one_word),
        T(test_process_ticks_are_converted_to_microseconds),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
