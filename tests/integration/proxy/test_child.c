/* The server process: started in a process group of its own, stopped, and ended with everything it started. */
#include "proxy/child.h"

#include "tests/support/unit.h"

#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    struct ev_loop *loop;
    struct child c;
    struct process_pipes pipes;
    struct buf log; /* calls that were made: x exit, T and K signals, f finished */
};

static void on_exit_call(struct child *c)
{
    struct fixture *f = c->data;
    assert_true(c->reaped);
    assert_int_equal(c->pid, 0);
    buf_addc(&f->log, 'x');
}

static void on_kill_call(struct child *c, int sig)
{
    struct fixture *f = c->data;
    buf_addc(&f->log, sig == SIGTERM ? 'T' : sig == SIGKILL ? 'K' : '?');
}

static bool on_last_output_call(struct child *c)
{
    struct fixture *f = c->data;
    buf_addc(&f->log, 'o');
    return false;
}

static void on_finished_call(struct child *c)
{
    struct fixture *f = c->data;
    assert_int_equal(c->state, CHILD_FINISHED);
    assert_true(c->reaped && c->output_ended);
    buf_addc(&f->log, 'f');
}

static int set_up(void **state)
{
    static struct fixture f;
    sigset_t none;
    f = (struct fixture){.pipes = {-1, -1, -1}};
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    f.loop = ev_default_loop(EVFLAG_AUTO);
    sigemptyset(&none);
    child_open(&f.c, f.loop, 300000, &none);
    f.c.data = &f;
    f.c.on_exit = on_exit_call;
    f.c.on_kill = on_kill_call;
    f.c.on_finished = on_finished_call;
    *state = &f;
    return f.loop != NULL ? 0 : -1;
}

static void close_pipes(struct fixture *f)
{
    int *const all[] = {&f->pipes.in, &f->pipes.out, &f->pipes.err};
    for (size_t i = 0; i < MI_COUNT(all); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close_pipes(f);
    if (f->c.state != CHILD_IDLE && f->c.state != CHILD_FINISHED)
        kill(-f->c.group, SIGKILL);
    child_kill_descendants(&f->c, 2000000, 0);
    ev_timer_stop(f->loop, &f->c.kill_timer);
    ev_child_stop(f->loop, &f->c.exit_watch);
    buf_close(&f->log);
    return 0;
}

static int start(struct fixture *f, const char *script)
{
    char sh[] = "sh", c[] = "-c", text[500];
    char *argv[] = {sh, c, text, NULL};
    snprintf(text, sizeof text, "%s", script);
    return child_start(&f->c, argv, &f->pipes);
}

/* Reads until the child closes its end, or up to a number of bytes. */
static const char *read_all(int fd, size_t most)
{
    static char text[4096];
    size_t n = 0;
    int64_t until = clock_mono_us() + 30000000;
    while (n < most && n < sizeof text - 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_true(clock_mono_us() < until);
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(fd, text + n, size_min(most, sizeof text - 1) - n);
        if (got == 0)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    text[n] = '\0';
    return text;
}

static const char *read_line(int fd)
{
    static char line[200];
    size_t n = 0;
    do {
        const char *text = read_all(fd, 1);
        assert_int_equal(strlen(text), 1);
        line[n++] = text[0];
    } while (line[n - 1] != '\n' && n < sizeof line - 1);
    line[n] = '\0';
    return line;
}

static void run_until(struct fixture *f, const char *log)
{
    int64_t until = clock_mono_us() + 30000000;
    while (strcmp(buf_str(&f->log), log) != 0) {
        ev_run(f->loop, EVRUN_NOWAIT);
        usleep(1000);
        if (clock_mono_us() > until)
            fail_msg("the calls were %s, wanted %s", buf_str(&f->log), log);
    }
}

static bool alive(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool there = fgets(line, sizeof line, file) != NULL && strstr(line, ") Z ") == NULL;
    fclose(file);
    return there;
}

static void test_child_pipes_are_nonblocking_here(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "read x; echo out $x; echo err $x >&2; cat >/dev/null"), 0);
    assert_int_equal(f->c.state, CHILD_RUNNING);
    assert_true(f->c.pid > 0);
    const int fds[] = {f->pipes.in, f->pipes.out, f->pipes.err};
    for (size_t i = 0; i < 3; i++) {
        assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(write(f->pipes.in, "hello\n", 6), 6);
    assert_string_equal(read_all(f->pipes.out, 10), "out hello\n");
    assert_string_equal(read_all(f->pipes.err, 10), "err hello\n");
    close_pipes(f);
    run_until(f, "x");
    child_set_output_ended(&f->c);
    assert_string_equal(buf_str(&f->log), "xf");
}

/* It inherits only the descriptors that any child of this process inherits. */
static void test_child_pipes_block_there_and_no_other_descriptor_is_inherited(void **state)
{
    struct fixture *f = *state;
    static const char list[] = "set -- /proc/self/fd/*; echo $*";
    char usual[1000] = "";
    int mine[2];
    FILE *p = popen(list, "re");
    assert_non_null(p);
    assert_non_null(fgets(usual, sizeof usual, p));
    pclose(p);
    assert_int_equal(pipe2(mine, O_CLOEXEC), 0);
    assert_int_equal(start(f, list), 0);
    assert_string_equal(read_all(f->pipes.out, 1000), usual);
    run_until(f, "x");
    close(mine[0]);
    close(mine[1]);
    child_set_output_ended(&f->c);
    close_pipes(f);
    buf_clear(&f->log);
    assert_int_equal(start(f, "cat /proc/self/fdinfo/0 /proc/self/fdinfo/1 | grep flags"), 0);
    unsigned in = 0, out = 0;
    assert_int_equal(sscanf(read_all(f->pipes.out, 100), "flags: %o flags: %o", &in, &out), 2);
    assert_int_equal((in | out) & O_NONBLOCK, 0);
    run_until(f, "x");
}

static void test_child_has_its_own_process_group(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "read x"), 0);
    int64_t until = clock_mono_us() + 30000000;
    while (getpgid(f->c.pid) != f->c.pid)
        assert_true(clock_mono_us() < until);
    assert_int_equal(f->c.group, f->c.pid);
    assert_int_not_equal(getpgid(0), f->c.group);
}

static void test_child_exit_status_is_that_of_the_process(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *script;
        int status;
    } rows[] = {{"exit 0", 0},
                {"exit 7", 7},
                {"exit 255", 255},
                {"kill -TERM $$", 143},
                {"kill -KILL $$", 137}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&f->log);
        assert_int_equal(start(f, rows[i].script), 0);
        child_set_output_ended(&f->c);
        run_until(f, "xf");
        assert_int_equal(child_exit_status(&f->c), rows[i].status);
        assert_int_equal(f->c.state, CHILD_FINISHED);
        close_pipes(f); /* and the next process may start */
    }
}

static void test_child_start_failure_keeps_errno_and_no_descriptor(void **state)
{
    struct fixture *f = *state;
    if (unit_slow())
        skip(); /* valgrind turns vfork into fork, and the errno of exec is lost */
    char none[] = "/no/such/program", bare[] = "no-such-program-anywhere", dir[] = "/";
    char *const names[] = {none, bare, dir};
    static const int errors[] = {ENOENT, ENOENT, EACCES};
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        char *argv[] = {names[i], NULL};
        errno = 0;
        assert_int_equal(child_start(&f->c, argv, &f->pipes), MI_EIO);
        assert_int_equal(errno, errors[i]);
        assert_int_equal(f->c.state, CHILD_IDLE);
        assert_int_equal(f->pipes.in, -1);
    }
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(after, before);
    close(after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left to reap */
    assert_int_equal(errno, ECHILD);
}

/* The N-th of the six descriptors of its pipes cannot be opened. */
static void test_child_without_descriptors_is_not_started(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, few = {64, 64};
    int taken[64];
    size_t n = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < MI_COUNT(taken) && (taken[n] = dup(0)) >= 0)
        n++;
    for (size_t spare = 0; spare < 6; spare++) {
        for (size_t i = 0; i < spare; i++)
            close(taken[n - 1 - i]);
        errno = 0;
        int st = start(f, "true"), e = errno;
        for (size_t i = 0; i < spare; i++)
            taken[n - 1 - i] = dup(0);
        assert_int_equal(st, MI_EIO);
        assert_int_equal(e, EMFILE);
        for (size_t i = 0; i < spare; i++)
            assert_true(taken[n - 1 - i] >= 0); /* none was left open */
    }
    while (n > 0)
        close(taken[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(f->c.state, CHILD_IDLE);
}

/* After the exit its last output is still in the pipe. */
static void test_child_finishes_only_after_its_output_ended(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "echo last words; exit 0"), 0);
    run_until(f, "x");
    for (int i = 0; i < 20; i++)
        ev_run(f->loop, EVRUN_NOWAIT);
    assert_string_equal(buf_str(&f->log), "x");
    assert_int_equal(f->c.state, CHILD_RUNNING);
    assert_string_equal(read_all(f->pipes.out, 100), "last words\n");
    child_set_output_ended(&f->c);
    assert_string_equal(buf_str(&f->log), "xf");
    child_set_output_ended(&f->c);
    assert_string_equal(buf_str(&f->log), "xf"); /* once */
}

static void test_child_with_ended_output_finishes_when_it_exits(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "read x; exit 3"), 0);
    child_set_output_ended(&f->c);
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_string_equal(buf_str(&f->log), "");
    assert_int_equal(write(f->pipes.in, "\n", 1), 1);
    run_until(f, "xf");
    assert_int_equal(child_exit_status(&f->c), 3);
}

static void test_child_stop_sends_no_signal_for_half_the_grace(void **state)
{
    struct fixture *f = *state;
    f->c.grace_us = 60000000;
    assert_int_equal(start(f, "cat >/dev/null; exit 5"), 0);
    child_stop(&f->c);
    assert_int_equal(f->c.state, CHILD_STOPPING);
    child_stop(&f->c);
    close(f->pipes.in); /* it exits */
    f->pipes.in = -1;
    child_set_output_ended(&f->c);
    run_until(f, "xf");
    assert_int_equal(child_exit_status(&f->c), 5);
    assert_false(ev_is_active(&f->c.kill_timer));
}

static void test_child_stop_sends_sigterm_after_half_the_grace(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "echo up; exec sleep 60"), 0);
    read_line(f->pipes.out);
    f->c.grace_us = 10000000; /* SIGKILL is far away */
    int64_t start_us = clock_mono_us();
    child_stop(&f->c);
    child_set_output_ended(&f->c);
    run_until(f, "Txf");
    assert_true(clock_mono_us() - start_us >= f->c.grace_us / 2 - 20000);
    assert_int_equal(child_exit_status(&f->c), 128 + SIGTERM);
}

static void test_child_ignoring_sigterm_gets_sigkill_at_the_grace(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "trap '' TERM; echo up; while :; do sleep 1; done"), 0);
    read_line(f->pipes.out);
    int64_t start_us = clock_mono_us();
    child_stop(&f->c);
    child_set_output_ended(&f->c);
    run_until(f, "TKxf");
    assert_true(clock_mono_us() - start_us >= f->c.grace_us - 20000);
    assert_int_equal(child_exit_status(&f->c), 128 + SIGKILL);
}

/* A launcher exits, and its child holds the output open: the child gets the signals. */
static void test_child_signals_reach_its_group(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "sleep 60 & echo $!; wait"), 0);
    pid_t grandchild = atoi(read_line(f->pipes.out));
    assert_true(alive(grandchild));
    f->c.grace_us = 10000000;
    child_stop(&f->c);
    child_set_output_ended(&f->c);
    run_until(f, "Txf");
    int64_t until = clock_mono_us() + 30000000;
    while (alive(grandchild) && clock_mono_us() < until)
        usleep(1000);
    assert_false(alive(grandchild));
}

/* It crashed, and its child holds the output open: the child is ended. */
static void test_child_crash_ends_processes_that_hold_its_output(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "sleep 60 & exit 9"), 0);
    run_until(f, "xT");
    assert_string_equal(read_all(f->pipes.out, 100), ""); /* the signal ended it */
    child_set_output_ended(&f->c);
    assert_string_equal(buf_str(&f->log), "xTf");
    assert_int_equal(child_exit_status(&f->c), 9);
}

/* After a clean exit its child may be the real server: it gets no signal until child_stop(). */
/* However long that takes, no other signal is sent; without a grace it takes no processor time either. */
static void test_child_whose_last_output_is_not_read_waits(void **state)
{
    struct fixture *f = *state;
    f->c.grace_us = 0;
    f->c.on_last_output = on_last_output_call;
    assert_int_equal(start(f, "setsid sleep 300 & exit 7"), 0);
    int64_t start_us = clock_mono_us();
    run_until(f, "xTKooo");
    assert_true(clock_mono_us() - start_us >= 500000);
    assert_int_equal(f->c.state, CHILD_SIGKILL);
    f->c.grace_us = 60000000;
    child_extend_grace_period(&f->c, 30000000, 1000000); /* the grace is over */
    assert_true(ev_timer_remaining(f->loop, &f->c.kill_timer) <= 0.5);
    child_set_output_ended(&f->c);
    assert_string_equal(buf_str(&f->log), "xTKooof");
    assert_false(ev_is_active(&f->c.kill_timer));
}

static void test_child_clean_exit_sends_no_signal_to_its_group(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "sleep 60 & exit 0"), 0);
    run_until(f, "x");
    int64_t until = clock_mono_us() + 2 * f->c.grace_us;
    while (clock_mono_us() < until) {
        ev_run(f->loop, EVRUN_NOWAIT);
        usleep(1000);
    }
    assert_string_equal(buf_str(&f->log), "x");
    assert_int_equal(kill(-f->c.group, 0), 0);
    child_stop(&f->c);
    run_until(f, "xT");
    assert_string_equal(read_all(f->pipes.out, 100), "");
}

static void test_child_sweep_ends_every_process_but_the_spare(void **state)
{
    struct fixture *f = *state;
    pid_t spare = fork();
    if (spare == 0) {
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    /* one in its group, one that left it, one that ignores SIGTERM */
    assert_int_equal(
        start(f,
              "sleep 61 & setsid sleep 62 & (trap '' TERM; sleep 63; sleep 64) & echo up; exit 0"),
        0);
    read_line(f->pipes.out);
    run_until(f, "x");
    int64_t start_us = clock_mono_us();
    child_kill_descendants(&f->c, 1000000, spare);
    assert_true(clock_mono_us() - start_us < 20000000); /* the processes sleep for a minute */
    assert_int_equal(kill(-f->c.group, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_true(alive(spare));
    /* no other process is left */
    kill(spare, SIGKILL);
    assert_int_equal(waitpid(-1, NULL, 0), spare);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_child_sweep_without_processes_is_quick(void **state)
{
    struct fixture *f = *state;
    int64_t start_us = clock_mono_us();
    child_kill_descendants(&f->c, 60000000, 0);
    assert_true(clock_mono_us() - start_us < 20000000);
}

static void test_child_gets_the_inherited_signal_mask_and_actions(void **state)
{
    struct fixture *f = *state;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    child_open(&f->c, f->loop, 300000, &mask);
    f->c.data = f;
    f->c.on_exit = on_exit_call;
    signal(SIGHUP, SIG_IGN); /* nohup */
    assert_int_equal(start(f, "exec grep -E '^Sig(Blk|Ign)' /proc/self/status"), 0);
    signal(SIGHUP, SIG_DFL);
    unsigned long long blocked = 0, ignored = 0;
    assert_int_equal(
        sscanf(read_all(f->pipes.out, 200), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 1ull << (SIGUSR1 - 1));
    assert_true(ignored & 1ull << (SIGHUP - 1));
    assert_false(ignored & 1ull << (SIGPIPE - 1)); /* ignored by us only */
    run_until(f, "x");
}

static void test_child_arguments_are_unchanged(void **state)
{
    struct fixture *f = *state;
    char prog[] = "printf", fmt[] = "[%s]", a[] = "", b[] = "two words", c[] = "$(id);`x` *",
         d[] = "--", e[] = "\xff\n";
    char *argv[] = {prog, fmt, a, b, c, d, e, NULL};
    assert_int_equal(child_start(&f->c, argv, &f->pipes), 0);
    assert_string_equal(read_all(f->pipes.out, 200), "[][two words][$(id);`x` *][--][\xff\n]");
    run_until(f, "x");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_child_pipes_are_nonblocking_here),
        T(test_child_pipes_block_there_and_no_other_descriptor_is_inherited),
        T(test_child_has_its_own_process_group),
        T(test_child_exit_status_is_that_of_the_process),
        T(test_child_start_failure_keeps_errno_and_no_descriptor),
        T(test_child_without_descriptors_is_not_started),
        T(test_child_finishes_only_after_its_output_ended),
        T(test_child_with_ended_output_finishes_when_it_exits),
        T(test_child_stop_sends_no_signal_for_half_the_grace),
        T(test_child_stop_sends_sigterm_after_half_the_grace),
        T(test_child_ignoring_sigterm_gets_sigkill_at_the_grace),
        T(test_child_signals_reach_its_group),
        T(test_child_crash_ends_processes_that_hold_its_output),
        T(test_child_whose_last_output_is_not_read_waits),
        T(test_child_clean_exit_sends_no_signal_to_its_group),
        T(test_child_sweep_ends_every_process_but_the_spare),
        T(test_child_sweep_without_processes_is_quick),
        T(test_child_gets_the_inherited_signal_mask_and_actions),
        T(test_child_arguments_are_unchanged),
    };
    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
