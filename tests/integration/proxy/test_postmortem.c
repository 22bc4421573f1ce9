/* The report on a server that is about to be killed: the process that is chosen, what it waits for, and that a
 * hostile process name cannot forge text. */
#include "proxy/postmortem.h"

#include "tests/support/group_unit.h"

#include "base/clock.h"
#include "wire/json/scan.h"

#include <time.h>
#include <unistd.h>

struct fixture {
    struct group s;
    struct postmortem pm;
    struct buf text;
};

static bool tells_calls(void)
{
    return access("/proc/self/syscall", R_OK) == 0;
}

static void run_it(const void *ctx)
{
    (*(void (*const *)(void))ctx)();
}

static void start(struct group *g, void (*run)(void))
{
    group_start(g, run_it, &run);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    group_kill(&f->s);
    buf_close(&f->text);
    return 0;
}

/* Reads until `fact` is found or a minute has passed. */
static bool until(struct fixture *f, bool (*fact)(const struct postmortem *), int stdin_fd,
                  const struct process_sample *base)
{
    for (int64_t end = clock_mono_us() + 60000000; clock_mono_us() < end;) {
        postmortem_read_processes(&f->pm, f->s.pid, f->s.pid, stdin_fd, base);
        if (fact(&f->pm))
            return true;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return false;
}

static const char *sentence(struct fixture *f)
{
    buf_clear(&f->text);
    postmortem_append_sentence(&f->text, &f->pm);
    return buf_str(&f->text);
}

static void assert_says(struct fixture *f, const char *text)
{
    if (strstr(sentence(f), text) == NULL)
        fail_msg("not said: %s\nbut: %s", text, sentence(f));
}

static void assert_json(struct fixture *f, const char *text)
{
    struct json_scan scan;
    buf_clear(&f->text);
    postmortem_append_json(&f->text, &f->pm);
    assert_int_equal(json_scan(buf_slice(&f->text), NULL, NULL, &scan), 0);
    if (strstr(buf_str(&f->text), text) == NULL)
        fail_msg("not in the JSON: %s\nbut: %s", text, buf_str(&f->text));
}

static const struct postmortem_process *chosen(const struct postmortem *pm)
{
    return &pm->process[pm->chosen];
}

/* ---- one process ---------------------------------------------------------------------------- */

static void read_stdin(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1)
        continue;
}

static bool sleeps(const struct postmortem *pm)
{
    return pm->n > 0 && chosen(pm)->p.state == 'S' &&
           (!tells_calls() || strcmp(chosen(pm)->wait.call, "read") == 0);
}

static void test_postmortem_server_waiting_for_input(void **state)
{
    struct fixture *f = *state;
    start(&f->s, read_stdin);
    assert_true(until(f, sleeps, f->s.in, NULL));
    assert_int_equal(f->pm.n, 1);
    assert_int_equal(f->pm.unread_bytes, 0);
    assert_says(f, " was sleeping");
    assert_says(f, " and had no children");
    assert_json(f, "\"state\":\"sleeping\"");
    assert_json(f, "\"unread_bytes\":0");
    assert_null(strstr(buf_str(&f->text), "cpu_ms"));
    if (tells_calls()) {
        assert_says(f, " in read of its standard input");
        assert_json(f, "\"call\":\"read\",\"call_fd\":0,\"call_on\":\"pipe\"");
    }
}

static void fill_stdout(void)
{
    static const char many[4096] = {'x'};
    while (write(STDOUT_FILENO, many, sizeof many) > 0)
        continue;
}

static bool writes(const struct postmortem *pm)
{
    return pm->n > 0 && chosen(pm)->p.state == 'S' && strcmp(chosen(pm)->wait.call, "write") == 0;
}

static void test_postmortem_server_blocked_on_its_output(void **state)
{
    struct fixture *f = *state;
    if (!tells_calls())
        skip();
    start(&f->s, fill_stdout);
    assert_true(until(f, writes, f->s.in, NULL));
    assert_says(f, " was sleeping in write of its standard output");
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static bool is_there(const struct postmortem *pm)
{
    return pm->n > 0 && chosen(pm)->p.state == 'S';
}

static void test_postmortem_reports_unread_input(void **state)
{
    struct fixture *f = *state;
    start(&f->s, wait_for_ever);
    assert_int_equal(write(f->s.in, "0123456789", 10), 10);
    assert_true(until(f, is_there, f->s.in, NULL));
    assert_int_equal(f->pm.unread_bytes, 10);
    assert_says(f, ", had not read 10B of its input");
    assert_json(f, "\"unread_bytes\":10");
}

static void compute(void)
{
    for (volatile unsigned i = 0;; i++)
        continue;
}

static bool is_listed(const struct postmortem *pm)
{
    return pm->n == 1;
}

static bool burns(const struct postmortem *pm)
{
    return pm->n > 0 && pm->cpu_us >= 50000;
}

static void test_postmortem_reports_cpu_time_since_the_base(void **state)
{
    struct fixture *f = *state;
    struct process_sample base;
    start(&f->s, compute);
    assert_true(until(f, is_listed, -1, NULL));
    int64_t begin = clock_mono_us();
    process_tree_take_sample(&base, f->s.pid, f->s.pid);
    assert_true(until(f, burns, -1, &base));
    int64_t passed = clock_mono_us() - begin;
    assert_true(f->pm.cpu_us <= passed + 20000); /* nothing from before the base */
    assert_true(f->pm.since_us >= f->pm.cpu_us - 20000);
    assert_json(f, "\"cpu_ms\":");
    assert_says(f, " s of CPU in the last ");
}

static void compute_in_child(void)
{
    if (fork() == 0)
        compute();
    for (;;)
        pause();
}

static bool has_child(const struct postmortem *pm)
{
    return pm->n == 2;
}

static bool helper_burns(const struct postmortem *pm)
{
    return pm->n > 1 && pm->helpers_us > 0;
}

static void test_postmortem_tells_the_cpu_time_of_helpers(void **state)
{
    struct fixture *f = *state;
    struct process_sample base;
    start(&f->s, compute_in_child);
    assert_true(until(f, has_child, -1, NULL));
    process_tree_take_sample(&base, f->s.pid, f->s.pid);
    assert_true(until(f, helper_burns, -1, &base));
    assert_json(f, "\"helpers_cpu_ms\":");
    assert_says(f, " s of it in its child processes)");
}

static bool stopped(const struct postmortem *pm)
{
    return pm->n > 0 && chosen(pm)->p.state == 'T';
}

static void test_postmortem_stopped_server(void **state)
{
    struct fixture *f = *state;
    start(&f->s, read_stdin);
    kill(f->s.pid, SIGSTOP);
    assert_true(until(f, stopped, -1, NULL));
    assert_says(f, " was stopped");
    assert_json(f, "\"state\":\"stopped\"");
}

static void test_postmortem_without_a_process(void **state)
{
    struct fixture *f = *state;
    postmortem_read_processes(&f->pm, 0, 0, -1, NULL);
    assert_int_equal(f->pm.n, 0);
    assert_string_equal(sentence(f), "no process of the server was left");
    assert_json(f, "{\"processes\":[]}");
}

static void call_itself_names(void)
{
    prctl(PR_SET_NAME, "x\"\x1b[2J\n}");
    read_stdin();
}

static bool renamed(const struct postmortem *pm)
{
    return pm->n > 0 && chosen(pm)->p.name[0] == 'x';
}

static void test_postmortem_hostile_name_is_made_visible(void **state)
{
    struct fixture *f = *state;
    start(&f->s, call_itself_names);
    assert_true(until(f, renamed, -1, NULL));
    assert_says(f, "x\"\\x1b[2J\\n} (pid ");
    assert_null(strchr(sentence(f), '\x1b'));
    assert_json(f, "\"name\":\"x\\\"\\u001b[2J\\n}\"");
}

/* ---- a tree --------------------------------------------------------------------------------- */

static void launch_cat(void)
{
    execlp("sh", "sh", "-c", "cat; exit 0", (char *)NULL);
}

static bool runs_cat(const struct postmortem *pm)
{
    return pm->n == 2 && strcmp(pm->process[1].p.name, "cat") == 0 &&
           pm->process[0].p.state == 'S' && pm->process[1].p.state == 'S';
}

static void test_postmortem_chooses_the_server_behind_a_launcher(void **state)
{
    struct fixture *f = *state;
    start(&f->s, launch_cat);
    assert_true(until(f, runs_cat, -1, NULL));
    assert_int_equal(f->pm.chosen, 1);
    assert_says(f, "cat (pid ");
    assert_says(f, ", started by sh) was sleeping");
    assert_json(f, "\"name\":\"cat\"");
    assert_json(f, "\"processes\":[{");
    assert_null(strstr(strstr(buf_str(&f->text), "\"processes\""), "\"cat\"")); /* written once */
}

static void run_helper(void)
{
    int p[2];
    if (pipe(p) == 0 && fork() == 0) {
        dup2(p[0], STDIN_FILENO);
        dup2(p[1], STDOUT_FILENO);
        prctl(PR_SET_NAME, "helper");
        wait_for_ever();
    }
    prctl(PR_SET_NAME, "server");
    read_stdin();
}

static bool has_helper(const struct postmortem *pm)
{
    return pm->n == 2 && strcmp(pm->process[1].p.name, "helper") == 0 &&
           strcmp(pm->process[0].p.name, "server") == 0 && pm->process[0].p.state == 'S' &&
           pm->process[1].p.state == 'S';
}

static void test_postmortem_does_not_choose_a_helper(void **state)
{
    struct fixture *f = *state;
    start(&f->s, run_helper);
    assert_true(until(f, has_helper, -1, NULL));
    assert_int_equal(f->pm.chosen, 0);
    assert_says(f, "server (pid ");
    assert_says(f, " and had 1 child (helper)");
    assert_json(f, "\"processes\":[{");
}

static void run_stuck_helper(void)
{
    if (fork() == 0) {
        close(STDIN_FILENO);
        prctl(PR_SET_NAME, "helper");
        raise(SIGSTOP);
        wait_for_ever();
    }
    prctl(PR_SET_NAME, "server");
    read_stdin();
}

static bool has_stuck_helper(const struct postmortem *pm)
{
    return pm->n == 2 && strcmp(pm->process[0].p.name, "server") == 0 &&
           pm->process[0].p.state == 'S' && pm->process[1].p.state == 'T';
}

static void test_postmortem_prefers_a_stopped_process(void **state)
{
    struct fixture *f = *state;
    start(&f->s, run_stuck_helper);
    assert_true(until(f, has_stuck_helper, -1, NULL));
    assert_says(f, "helper (pid ");
    assert_says(f, ", started by server) was stopped");
}

static void run_many(void)
{
    for (int i = 0; i < PROCESS_TREE_MAX + 8; i++)
        if (fork() == 0)
            wait_for_ever();
    wait_for_ever();
}

static bool overflows(const struct postmortem *pm)
{
    return pm->more;
}

static void test_postmortem_many_processes_are_limited(void **state)
{
    struct fixture *f = *state;
    start(&f->s, run_many);
    assert_true(until(f, overflows, -1, NULL));
    assert_int_equal(f->pm.n, PROCESS_TREE_MAX);
    assert_json(f, ",\"more\":true}");
    assert_says(f, ", …)");
}

static void leave_child(void)
{
    if (fork() == 0) {
        prctl(PR_SET_NAME, "left");
        read_stdin();
        _exit(0);
    }
    _exit(0);
}

static bool only_left(const struct postmortem *pm)
{
    return pm->n == 1 && strcmp(pm->process[0].p.name, "left") == 0;
}

/* A launcher exited: its child was adopted by this process and is found by its group. */
static void test_postmortem_finds_the_child_of_an_exited_launcher(void **state)
{
    struct fixture *f = *state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start(&f->s, leave_child);
    assert_int_equal(waitpid(f->s.pid, NULL, 0), f->s.pid);
    bool found = until(f, only_left, -1, NULL);
    kill(-f->s.pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    f->s.pid = 0;
    assert_true(found);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_postmortem_server_waiting_for_input),
        T(test_postmortem_server_blocked_on_its_output),
        T(test_postmortem_reports_unread_input),
        T(test_postmortem_reports_cpu_time_since_the_base),
        T(test_postmortem_tells_the_cpu_time_of_helpers),
        T(test_postmortem_stopped_server),
        T(test_postmortem_without_a_process),
        T(test_postmortem_hostile_name_is_made_visible),
        T(test_postmortem_chooses_the_server_behind_a_launcher),
        T(test_postmortem_does_not_choose_a_helper),
        T(test_postmortem_prefers_a_stopped_process),
        T(test_postmortem_many_processes_are_limited),
        T(test_postmortem_finds_the_child_of_an_exited_launcher),
    };
    return cmocka_run_group_tests_name("postmortem", tests, NULL, NULL);
}
