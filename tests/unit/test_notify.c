/* The escalation command: how it is split, what it gets, and that it neither outlives its limit nor
 * ends with the session it tells of. */
#include "proxy/notify.h"

#include "tests/unit/vault_unit.h"

#include "base/clock.h"
#include "base/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SECOND 1000000

struct fixture {
    struct temp t;
    struct notify n;
    struct ev_loop *loop;
    struct buf output;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.n.fd = -1};
    temp_make(&f.t);
    f.loop = ev_loop_new(EVFLAG_AUTO);
    assert_non_null(f.loop);
    said_begin();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    notify_close(&f->n);
    ev_loop_destroy(f->loop);
    buf_close(&f->output);
    said_end();
    temp_remove(&f->t);
    return 0;
}

static void on_output(void *data, struct slice bytes)
{
    struct fixture *f = data;
    buf_slice_add(&f->output, bytes);
}

/* A program of the test: a shell script at root/name. */
static const char *script(struct fixture *f, const char *name, const char *body)
{
    const char *path = temp_path(&f->t, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\ncd '%s' || exit 9\n%s\n", f->t.root, body);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void begin(struct fixture *f, const char *command, int64_t limit_us)
{
    notify_open(&f->n, command, limit_us);
    notify_watch(&f->n, f->loop, on_output, f);
}

static void turn(struct fixture *f)
{
    ev_run(f->loop, EVRUN_NOWAIT);
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static bool outputs(struct fixture *f, const char *text)
{
    for (int64_t end = clock_mono_us() + 10 * SECOND; clock_mono_us() < end; turn(f))
        if (strstr(buf_str(&f->output), text) != NULL)
            return true;
    print_message("output so far: %s\n", buf_str(&f->output));
    return false;
}

static bool appears(struct fixture *f, const char *name)
{
    const char *path = temp_path(&f->t, name);
    for (int64_t end = clock_mono_us() + 10 * SECOND; clock_mono_us() < end; turn(f)) {
        struct stat st;
        if (stat(path, &st) == 0 && st.st_size > 0)
            return true;
    }
    return false;
}

/* A number that a script has written. */
static pid_t pid_in(struct fixture *f, const char *name)
{
    assert_true(appears(f, name));
    char *p = slurp(temp_path(&f->t, name), NULL);
    pid_t pid = atoi(p);
    free(p);
    assert_true(pid > 0);
    return pid;
}

static bool ends(struct fixture *f, pid_t pid)
{
    struct process p;
    for (int64_t end = clock_mono_us() + 20 * SECOND; clock_mono_us() < end; turn(f))
        if (process_read(pid, &p) < 0 || p.state == 'Z') /* nobody here waits for it */
            return true;
    return false;
}

/* ---- the command line ----------------------------------------------------------------------- */

static void test_notify_command_is_split_and_gets_the_path_as_its_last_word(void **state)
{
    struct fixture *f = *state;
    char command[600];
    script(f, "show", "for a in \"$@\"; do echo \"[$a]\"; done; echo end");
    snprintf(command, sizeof command, " %s/show\ta  'b c' \"d 'e'\"f '' $HOME *.md;x ", f->t.root);
    begin(f, command, 10 * SECOND);
    notify_run(&f->n, "/vault/Escalations/x y.md");
    assert_true(outputs(f, "end\n"));
    assert_string_equal(buf_str(&f->output), "[a]\n[b c]\n[d 'e'f]\n[]\n[$HOME]\n[*.md;x]\n"
                                             "[/vault/Escalations/x y.md]\nend\n");
}

static void test_notify_check_refuses_what_cannot_be_run(void **state)
{
    (void)state;
    static const struct {
        const char *command, *why;
        int st;
    } rows[] = {
        {"mail me", "", 0},
        {"'/a b/c' \"\"", "", 0},
        {"", "names no command", MI_EINVAL},
        {" \t\n", "names no command", MI_EINVAL},
        {"'' x", "names no command", MI_EINVAL},
        {"mail 'me", "a quote that is not closed", MI_EINVAL},
        {"mail \"me'", "a quote that is not closed", MI_EINVAL},
    };
    struct buf error = {0};
    char many[NOTIFY_WORDS * 2 + 3] = "";
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_int_equal(notify_check(rows[i].command, &error), rows[i].st);
        assert_non_null(strstr(buf_str(&error), rows[i].why));
    }
    for (int i = 0; i < NOTIFY_WORDS; i++)
        memcpy(many + (size_t)2 * (size_t)i, "x ", 3);
    assert_int_equal(notify_check(many, &error), 0);
    memcpy(many + (size_t)2 * NOTIFY_WORDS, "x", 2);
    assert_int_equal(notify_check(many, &error), MI_EINVAL);
    assert_non_null(strstr(buf_str(&error), "too many words"));
    buf_close(&error);
}

static void test_notify_without_a_command_does_nothing(void **state)
{
    struct fixture *f = *state;
    const char *none[] = {NULL, ""};
    for (size_t i = 0; i < MI_COUNT(none); i++) {
        begin(f, none[i], SECOND);
        assert_int_equal(f->n.fd, -1);
        notify_run(&f->n, "/x");
        notify_close(&f->n);
        notify_close(&f->n);
    }
    assert_int_equal(said_lines(), 0);
}

/* ---- what it gets --------------------------------------------------------------------------- */

static void test_notify_command_has_no_descriptor_and_no_signal_setting_of_ours(void **state)
{
    struct fixture *f = *state;
    int extra = open("/dev/null", O_RDONLY); /* not close-on-exec: it would be handed down */
    signal(SIGHUP, SIG_IGN);
    begin(f,
          script(f, "look",
                 "ls -l /proc/self/fd | sed -n 's/.*[0-9] \\([0-9]*\\) -> /\\1 /p' > a\n"
                 "sed -n 's/^SigIgn:.//p; s/^SigBlk:.//p' /proc/self/status > b\n"
                 "mv a fds; mv b signals"),
          10 * SECOND);
    signal(SIGHUP, SIG_DFL);
    notify_run(&f->n, "/x");
    assert_true(appears(f, "signals"));
    close(extra);
    char *p = slurp(temp_path(&f->t, "fds"), NULL), *first = p;
    assert_true(strncmp(p, "0 /dev/null\n", 12) == 0);
    for (size_t i = 0; *p != '\0'; i++, p = strchr(p, '\n') + 1)
        assert_true(i < 3 || strncmp(p, "3 /proc", 7) == 0); /* ls itself has the directory open */
    free(first);
    p = slurp(temp_path(&f->t, "signals"), NULL);
    /* 32 and 33 belong to the C library, which lets nobody change them: they stay as inherited */
    unsigned long long blocked = 1, ignored = 1;
    assert_int_equal(sscanf(p, "%llx\n%llx\n", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & ~(3ULL << 31), 0);
    free(p);
}

static void test_notify_tells_of_a_command_that_fails(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "fail", "echo oops >&2; exit 3"), 10 * SECOND);
    notify_run(&f->n, "/x");
    assert_true(outputs(f, "the escalation command ended with status 3\n"));
    assert_non_null(strstr(buf_str(&f->output), "oops\n"));
    notify_close(&f->n);
    buf_clear(&f->output);
    begin(f, "/nonexistent/command", 10 * SECOND);
    notify_run(&f->n, "/x");
    assert_true(outputs(f, "cannot start the escalation command '/nonexistent/command': No such"));
}

static void test_notify_drops_what_a_command_prints_too_much(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "flood", "head -c 1000000 /dev/zero | tr '\\0' x; echo; exit 4"),
          10 * SECOND);
    notify_run(&f->n, "/x");
    assert_true(outputs(f, "ended with status 4"));
    assert_non_null(strstr(buf_str(&f->output), "prints too much"));
    assert_true(f->output.n < (size_t)70 << 10);
}

/* ---- how many, and how long ----------------------------------------------------------------- */

static size_t lines_in(struct fixture *f, const char *name)
{
    if (!exists(temp_path(&f->t, name)))
        return 0;
    char *p = slurp(temp_path(&f->t, name), NULL);
    size_t n = 0;
    for (char *s = p; *s != '\0'; s++)
        n += *s == '\n';
    free(p);
    return n;
}

static void test_notify_runs_a_few_at_once_and_the_others_in_order(void **state)
{
    struct fixture *f = *state;
    char path[16];
    begin(f,
          script(f, "slow",
                 "echo $1 >> begun; while [ ! -e go ]; do sleep 0.01; done\n"
                 "echo $1 >> ended"),
          30 * SECOND);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "/%d", i);
        notify_run(&f->n, path);
    }
    for (int64_t end = clock_mono_us() + 10 * SECOND;
         lines_in(f, "begun") < NOTIFY_AT_ONCE && clock_mono_us() < end;)
        turn(f);
    for (int64_t end = clock_mono_us() + SECOND / 5; clock_mono_us() < end;)
        turn(f); /* time to start one too many */
    assert_int_equal(lines_in(f, "begun"), NOTIFY_AT_ONCE);
    fclose(fopen(temp_path(&f->t, "go"), "we"));
    for (int64_t end = clock_mono_us() + 10 * SECOND;
         lines_in(f, "ended") < 6 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), 6);
    char *p = slurp(temp_path(&f->t, "begun"), NULL);
    assert_non_null(strstr(p, "/2\n"));
    assert_true(strstr(p, "/2\n") < strstr(p, "/5\n"));
    free(p);
}

static void test_notify_says_what_it_could_not_queue(void **state)
{
    struct fixture *f = *state;
    char path[16];
    begin(f, script(f, "wait", "while [ ! -e go ]; do sleep 0.01; done; echo $1 >> ended"),
          30 * SECOND);
    for (int i = 0; i < NOTIFY_AT_ONCE; i++)
        notify_run(&f->n, "/first");
    for (int64_t end = clock_mono_us() + SECOND / 5; clock_mono_us() < end;)
        turn(f); /* they run */
    for (int i = 0; i < NOTIFY_QUEUE + 1; i++) {
        snprintf(path, sizeof path, "/%d", i);
        notify_run(&f->n, path);
        turn(f);
    }
    assert_true(outputs(f, "too many wait: file=/16\n"));
    fclose(fopen(temp_path(&f->t, "go"), "we"));
    for (int64_t end = clock_mono_us() + 10 * SECOND;
         lines_in(f, "ended") < NOTIFY_AT_ONCE + NOTIFY_QUEUE && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), NOTIFY_AT_ONCE + NOTIFY_QUEUE);
}

static void test_notify_ends_a_command_at_its_limit_with_all_it_started(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "hang", "sleep 60 & echo $! > a; mv a below; echo $$ > b; mv b pid; wait"),
          SECOND / 4);
    notify_run(&f->n, "/x");
    pid_t pid = pid_in(f, "pid"), below = pid_in(f, "below");
    assert_true(outputs(f, "did not end within 0.25 s"));
    assert_true(ends(f, pid));
    assert_true(ends(f, below));
    assert_true(outputs(f, "was ended by signal 15"));
}

static void test_notify_kills_a_command_that_ignores_sigterm(void **state)
{
    struct fixture *f = *state;
    begin(f,
          script(f, "deaf",
                 "trap '' TERM; echo $$ > a; mv a pid\n"
                 "while :; do sleep 0.05; done"),
          SECOND / 4);
    notify_run(&f->n, "/x");
    pid_t pid = pid_in(f, "pid");
    assert_true(ends(f, pid));
    assert_true(outputs(f, "was ended by signal 9"));
}

/* The session ends at once after a crash loop: its notification goes out all the same, and no
 * longer. */
static void test_notify_goes_on_when_the_proxy_is_gone_and_not_past_the_limit(void **state)
{
    struct fixture *f = *state;
    script(f, "late",
           "echo $$ >> pids; while [ ! -e go ]; do sleep 0.01; done\n"
           "if [ $1 = /hang ]; then sleep 60; fi; echo $1 >> ended");
    pid_t proxy = fork();
    if (proxy == 0) {
        notify_open(&f->n, temp_path(&f->t, "late"), 2 * SECOND);
        const char *paths[] = {"/hang", "/1", "/2", "/3"};
        for (size_t i = 0; i < MI_COUNT(paths); i++)
            notify_run(&f->n, paths[i]);
        _exit(0);
    }
    assert_int_equal(waitpid(proxy, NULL, 0), proxy);
    for (int64_t end = clock_mono_us() + 10 * SECOND;
         lines_in(f, "pids") < 4 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "pids"), 4); /* what waited has been started, too */
    fclose(fopen(temp_path(&f->t, "go"), "we"));
    for (int64_t end = clock_mono_us() + 10 * SECOND;
         lines_in(f, "ended") < 3 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), 3);
    char *p = slurp(temp_path(&f->t, "pids"), NULL);
    for (char *s = p; *s != '\0'; s = strchr(s, '\n') + 1)
        assert_true(ends(f, atoi(s)));
    free(p);
}

/* The courier is no child of ours, so that the sweep at the end of a session does not see it; when
 * nothing is left to do it goes, and what escaped from a command's process group goes with it. */
static void test_notify_courier_is_nobodys_child_and_leaves_nobody(void **state)
{
    struct fixture *f = *state;
    pid_t kids[4];
    begin(f,
          script(f, "stray",
                 "setsid sleep 60 & echo $! > a; mv a stray; echo $PPID > b; mv b courier"),
          10 * SECOND);
    notify_run(&f->n, "/x");
    pid_t courier = pid_in(f, "courier"), stray = pid_in(f, "stray");
    assert_int_equal(process_children(getpid(), kids, 4), 0);
    struct process p;
    assert_int_equal(process_read(courier, &p), 0);
    assert_string_equal(p.name, "mcp-courier");
    notify_close(&f->n);
    assert_true(ends(f, courier));
    assert_true(ends(f, stray));
}

static void test_notify_that_lost_its_courier_says_so(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "who", "echo $PPID > a; mv a courier"), SECOND);
    notify_run(&f->n, "/x");
    kill(pid_in(f, "courier"), SIGKILL);
    for (int64_t end = clock_mono_us() + 10 * SECOND; f->n.fd >= 0 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(f->n.fd, -1);
    assert_true(said_holds("the courier of escalations is gone"));
    notify_run(&f->n, "/y");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_notify_command_is_split_and_gets_the_path_as_its_last_word),
        T(test_notify_check_refuses_what_cannot_be_run),
        T(test_notify_without_a_command_does_nothing),
        T(test_notify_command_has_no_descriptor_and_no_signal_setting_of_ours),
        T(test_notify_tells_of_a_command_that_fails),
        T(test_notify_drops_what_a_command_prints_too_much),
        T(test_notify_runs_a_few_at_once_and_the_others_in_order),
        T(test_notify_says_what_it_could_not_queue),
        T(test_notify_ends_a_command_at_its_limit_with_all_it_started),
        T(test_notify_kills_a_command_that_ignores_sigterm),
        T(test_notify_goes_on_when_the_proxy_is_gone_and_not_past_the_limit),
        T(test_notify_courier_is_nobodys_child_and_leaves_nobody),
        T(test_notify_that_lost_its_courier_says_so),
    };
    return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
