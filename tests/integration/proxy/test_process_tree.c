/* The CPU time of a server's helpers is told from that of the server and its launchers. */
#include "proxy/process_tree.h"

#include "tests/support/group_unit.h"

#include "base/clock.h"

#include <time.h>

#define LIMIT_US 30000000
#define BURN "i=0; while :; do i=$((i+1)); done"

static void run_bash(const void *script)
{
    execlp("bash", "bash", "-c", (const char *)script, (char *)NULL);
}

static void start(struct group *g, const char *script)
{
    group_start(g, run_bash, script);
}

static int set_up(void **state)
{
    static struct group f;
    f = (struct group){0};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct group *f = *state;
    group_kill(f);
    return 0;
}

/* Waits until the tree has used ten ticks since the first sample. Returns the ticks of its helpers in that time, and the
 * last sample. */
static int64_t helper_ticks(struct group *f, struct process_sample *ret)
{
    struct process_sample first;
    char c;
    assert_int_equal(read(f->out, &c, 1), 1); /* it is set up */
    process_tree_take_sample(&first, f->pid, f->pid);
    assert_true(first.at_us > 0);
    for (int64_t end = clock_mono_us() + LIMIT_US; clock_mono_us() < end;) {
        process_tree_take_sample(ret, f->pid, f->pid);
        if (ret->cpu_ticks - first.cpu_ticks >= 10)
            return ret->helper_ticks - first.helper_ticks;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    fail_msg("no CPU time was used");
    return -1;
}

static size_t server_of(const struct group *f)
{
    struct process_tree t;
    process_tree_read(&t, f->pid, f->pid);
    assert_true(t.n >= 2);
    return process_tree_find_server(&t);
}

static void test_process_tree_server_that_computes_is_no_helper(void **state)
{
    struct process_sample s;
    start(*state, "echo x; " BURN);
    assert_int_equal(helper_ticks(*state, &s), 0);
    assert_false(s.helper_runs);
    assert_true(s.runs);
    assert_true(s.server_runs);
}

static void test_process_tree_server_behind_a_launcher_is_no_helper(void **state)
{
    struct process_sample s;
    start(*state, "sh -c 'echo x; " BURN "'; exit 1");
    assert_int_equal(helper_ticks(*state, &s), 0);
    assert_int_equal(server_of(*state), 1);
    assert_false(s.helper_runs);
    assert_true(s.server_runs);
}

static void test_process_tree_child_with_other_pipes_is_a_helper(void **state)
{
    struct process_sample s;
    start(*state, "echo x; sh -c '" BURN "' </dev/null >/dev/null; exit 1");
    assert_true(helper_ticks(*state, &s) >= 8);
    assert_true(s.helper_runs);
    assert_false(s.server_runs);
}

static void test_process_tree_forked_child_is_a_helper(void **state)
{
    struct process_sample s;
    start(*state, "echo x; ( " BURN " ); exit 1"); /* a copy of the shell, with its pipes */
    assert_true(helper_ticks(*state, &s) >= 8);
    assert_true(s.helper_runs);
    assert_int_equal(server_of(*state), 0);
}

static void test_process_tree_children_that_have_exited_count(void **state)
{
    struct process_sample s;
    start(*state, "echo x; while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' "
                  "</dev/null >/dev/null; done");
    assert_true(helper_ticks(*state, &s) >= 5);
}

static void test_process_tree_without_a_process(void **state)
{
    struct process_sample s;
    start(*state, "echo x; sleep 60");
    process_tree_take_sample(&s, 0, 0);
    assert_true(s.at_us > 0);
    assert_int_equal(s.cpu_ticks + s.helper_ticks, 0);
    assert_false(s.runs);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_process_tree_server_that_computes_is_no_helper),
        T(test_process_tree_server_behind_a_launcher_is_no_helper),
        T(test_process_tree_child_with_other_pipes_is_a_helper),
        T(test_process_tree_forked_child_is_a_helper),
        T(test_process_tree_children_that_have_exited_count),
        T(test_process_tree_without_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
