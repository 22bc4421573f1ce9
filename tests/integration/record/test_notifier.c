/* The escalation command: splitting, environment, limits, and that it survives the end of the session. */
#include "record/notifier.h"

#include "tests/support/vault_unit.h"

#include "base/clock.h"
#include "base/os/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SECOND 1000000

struct fixture {
    struct temp t;
    struct notifier n;
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
    notifier_close(&f->n);
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
    notifier_open(&f->n, command, "files", limit_us);
    notifier_attach_to_loop(&f->n, f->loop, on_output, f);
}

/* As the recorder process does. */
static void notify(struct fixture *f, const char *path)
{
    (void)send(f->n.fd, path, strlen(path), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void turn(struct fixture *f)
{
    ev_run(f->loop, EVRUN_NOWAIT);
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static bool outputs(struct fixture *f, const char *text)
{
    for (int64_t end = clock_mono_us() + 30 * SECOND; clock_mono_us() < end; turn(f))
        if (strstr(buf_str(&f->output), text) != NULL)
            return true;
    print_message("output so far: %s\n", buf_str(&f->output));
    return false;
}

static bool appears(struct fixture *f, const char *name)
{
    const char *path = temp_path(&f->t, name);
    for (int64_t end = clock_mono_us() + 30 * SECOND; clock_mono_us() < end; turn(f)) {
        struct stat st;
        if (stat(path, &st) == 0 && st.st_size > 0)
            return true;
    }
    return false;
}

/* A number written by a script. */
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
    for (int64_t end = clock_mono_us() + 30 * SECOND; clock_mono_us() < end; turn(f))
        if (process_read(pid, &p) < 0 || p.state == 'Z') /* not reaped here */
            return true;
    return false;
}

/* ---- the command line ----------------------------------------------------------------------- */

static void test_notifier_command_is_split_and_gets_the_path_as_its_last_word(void **state)
{
    struct fixture *f = *state;
    char command[600];
    script(f, "show", "for a in \"$@\"; do echo \"[$a]\"; done; echo end");
    snprintf(command, sizeof command, " %s/show\ta  'b c' \"d 'e'\"f '' $HOME *.md;x ", f->t.root);
    begin(f, command, 10 * SECOND);
    notify(f, "/vault/Escalations/x y.md");
    assert_true(outputs(f, "end\n"));
    assert_string_equal(buf_str(&f->output), "[a]\n[b c]\n[d 'e'f]\n[]\n[$HOME]\n[*.md;x]\n"
                                             "[/vault/Escalations/x y.md]\nend\n");
}

static void test_notifier_check_rejects_invalid_commands(void **state)
{
    (void)state;
    static const struct {
        const char *command, *why;
        int st;
    } rows[] = {
        {"mail me", "", 0},
        {"'/a b/c' \"\"", "", 0},
        {"", "does not name a command", MI_EINVAL},
        {" \t\n", "does not name a command", MI_EINVAL},
        {"'' x", "does not name a command", MI_EINVAL},
        {"mail 'me", "an unterminated quote", MI_EINVAL},
        {"mail \"me'", "an unterminated quote", MI_EINVAL},
    };
    struct buf error = {0};
    char many[NOTIFIER_WORDS * 2 + 3] = "";
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        assert_int_equal(notifier_check_command(rows[i].command, &error), rows[i].st);
        assert_non_null(strstr(buf_str(&error), rows[i].why));
    }
    for (int i = 0; i < NOTIFIER_WORDS; i++)
        memcpy(many + (size_t)2 * (size_t)i, "x ", 3);
    assert_int_equal(notifier_check_command(many, &error), 0);
    memcpy(many + (size_t)2 * NOTIFIER_WORDS, "x", 2);
    assert_int_equal(notifier_check_command(many, &error), MI_EINVAL);
    assert_non_null(strstr(buf_str(&error), "too many words"));
    buf_close(&error);
}

static void test_notifier_without_a_command_does_nothing(void **state)
{
    struct fixture *f = *state;
    const char *none[] = {NULL, ""};
    for (size_t i = 0; i < MI_COUNT(none); i++) {
        begin(f, none[i], SECOND);
        assert_int_equal(f->n.fd, -1);
        notify(f, "/x");
        notifier_close(&f->n);
        notifier_close(&f->n);
    }
    assert_int_equal(said_lines(), 0);
}

/* ---- its environment ------------------------------------------------------------------------ */

static void test_notifier_command_inherits_no_descriptors_and_signal_settings(void **state)
{
    struct fixture *f = *state;
    int extra = open("/dev/null", O_RDONLY); /* not close-on-exec */
    signal(SIGHUP, SIG_IGN);
    begin(f,
          script(f, "look",
                 "ls -l /proc/self/fd | sed -n 's/.*[0-9] \\([0-9]*\\) -> /\\1 /p' > a\n"
                 "sed -n 's/^SigIgn:.//p; s/^SigBlk:.//p' /proc/self/status > b\n"
                 "mv a fds; mv b signals"),
          10 * SECOND);
    signal(SIGHUP, SIG_DFL);
    notify(f, "/x");
    assert_true(appears(f, "signals"));
    close(extra);
    char *p = slurp(temp_path(&f->t, "fds"), NULL), *first = p;
    assert_true(strncmp(p, "0 /dev/null\n", 12) == 0);
    for (size_t i = 0; *p != '\0'; i++, p = strchr(p, '\n') + 1)
        assert_true(i < 3 || strncmp(p, "3 /proc", 7) == 0); /* ls itself has the directory open */
    free(first);
    p = slurp(temp_path(&f->t, "signals"), NULL);
    /* signals 32 and 33 are reserved by the C library, and cannot be changed */
    unsigned long long blocked = 1, ignored = 1;
    assert_int_equal(sscanf(p, "%llx\n%llx\n", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & ~(3ULL << 31), 0);
    free(p);
}

static void test_notifier_warns_of_a_failed_command(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "fail", "echo oops >&2; exit 3"), 10 * SECOND);
    notify(f, "/x");
    assert_true(outputs(f, "the escalation command exited with status 3\n"));
    assert_non_null(strstr(buf_str(&f->output), "oops\n"));
    notifier_close(&f->n);
    buf_clear(&f->output);
    begin(f, "/nonexistent/command", 10 * SECOND);
    notify(f, "/x");
    assert_true(outputs(f, "cannot start the escalation command '/nonexistent/command': No such"));
}

static void test_notifier_drops_excess_output_of_a_command(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "flood", "head -c 1000000 /dev/zero | tr '\\0' x; echo; exit 4"),
          10 * SECOND);
    notify(f, "/x");
    assert_true(outputs(f, "exited with status 4"));
    assert_non_null(strstr(buf_str(&f->output), "printed too much"));
    assert_true(f->output.n < (size_t)70 << 10);
}

/* ---- limits --------------------------------------------------------------------------------- */

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

/* Each command runs until its file goN exists: so the test decides which one ends next. */
static void test_notifier_runs_a_limited_number_at_once_and_the_rest_in_order(void **state)
{
    struct fixture *f = *state;
    char path[16];
    begin(f,
          script(f, "slow",
                 "echo $1 >> begun; while [ ! -e go${1#/} ]; do sleep 0.01; done\n"
                 "echo $1 >> ended"),
          30 * SECOND);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "/%d", i);
        notify(f, path);
    }
    for (size_t i = 0; i < 6; i++) {
        size_t running = i + NOTIFIER_AT_ONCE < 6 ? i + NOTIFIER_AT_ONCE : 6;
        for (int64_t end = clock_mono_us() + 30 * SECOND;
             lines_in(f, "begun") < running && clock_mono_us() < end;)
            turn(f);
        for (int64_t end = clock_mono_us() + SECOND / 20; clock_mono_us() < end;)
            turn(f); /* time in which a further one could start */
        assert_int_equal(lines_in(f, "begun"), running);
        char *begun = slurp(temp_path(&f->t, "begun"), NULL);
        snprintf(path, sizeof path, "/%zu\n", running - 1);
        assert_non_null(strstr(begun, path));
        free(begun);
        snprintf(path, sizeof path, "go%zu", i);
        fclose(fopen(temp_path(&f->t, path), "we"));
    }
    for (int64_t end = clock_mono_us() + 30 * SECOND;
         lines_in(f, "ended") < 6 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), 6);
}

static void test_notifier_warns_of_files_it_could_not_queue(void **state)
{
    struct fixture *f = *state;
    char path[16];
    begin(f, script(f, "wait", "while [ ! -e go ]; do sleep 0.01; done; echo $1 >> ended"),
          30 * SECOND);
    for (int i = 0; i < NOTIFIER_AT_ONCE; i++)
        notify(f, "/first");
    for (int64_t end = clock_mono_us() + SECOND / 5; clock_mono_us() < end;)
        turn(f); /* they run */
    for (int i = 0; i < NOTIFIER_QUEUE + 1; i++) {
        snprintf(path, sizeof path, "/%d", i);
        notify(f, path);
        turn(f);
    }
    assert_true(outputs(f, "too many are waiting: file=/16\n"));
    fclose(fopen(temp_path(&f->t, "go"), "we"));
    for (int64_t end = clock_mono_us() + 30 * SECOND;
         lines_in(f, "ended") < NOTIFIER_AT_ONCE + NOTIFIER_QUEUE && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), NOTIFIER_AT_ONCE + NOTIFIER_QUEUE);
}

static void test_notifier_kills_a_command_and_its_children_at_the_time_limit(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "hang", "sleep 60 & echo $! > a; mv a below; echo $$ > b; mv b pid; wait"),
          5 * SECOND);
    notify(f, "/x");
    pid_t pid = pid_in(f, "pid"), below = pid_in(f, "below");
    assert_true(outputs(f, "did not exit within 5 s"));
    assert_true(ends(f, pid));
    assert_true(ends(f, below));
    assert_true(outputs(f, "was killed by signal 15"));
}

static void test_notifier_kills_a_command_that_ignores_sigterm(void **state)
{
    struct fixture *f = *state;
    begin(f,
          script(f, "deaf",
                 "trap '' TERM; echo $$ > a; mv a pid\n"
                 "while :; do sleep 0.05; done"),
          5 * SECOND);
    notify(f, "/x");
    pid_t pid = pid_in(f, "pid");
    assert_true(ends(f, pid));
    assert_true(outputs(f, "was killed by signal 9"));
}

/* The session ends directly after a crash loop: its notification is sent all the same. */
static void test_notifier_finishes_commands_within_the_limit_after_the_proxy_exited(void **state)
{
    struct fixture *f = *state;
    script(f, "late",
           "echo $$ >> pids; while [ ! -e go ]; do sleep 0.01; done\n"
           "if [ $1 = /hang ]; then sleep 60; fi; echo $1 >> ended");
    pid_t proxy = fork();
    if (proxy == 0) {
        notifier_open(&f->n, temp_path(&f->t, "late"), "files", 7 * SECOND);
        const char *paths[] = {"/hang", "/1", "/2", "/3"};
        for (size_t i = 0; i < MI_COUNT(paths); i++)
            notify(f, paths[i]);
        _exit(0);
    }
    assert_int_equal(waitpid(proxy, NULL, 0), proxy);
    for (int64_t end = clock_mono_us() + 30 * SECOND;
         lines_in(f, "pids") < 4 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "pids"), 4); /* the waiting ones were started, too */
    fclose(fopen(temp_path(&f->t, "go"), "we"));
    for (int64_t end = clock_mono_us() + 30 * SECOND;
         lines_in(f, "ended") < 3 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(lines_in(f, "ended"), 3);
    char *p = slurp(temp_path(&f->t, "pids"), NULL);
    for (char *s = p; *s != '\0'; s = strchr(s, '\n') + 1)
        assert_true(ends(f, atoi(s)));
    free(p);
}

/* The notifier process is not our child, so that the sweep at the end of a session does not see it. Before it exits, it
 * kills processes that left their command's process group. */
static void test_notifier_process_is_not_a_child_and_leaves_no_processes(void **state)
{
    struct fixture *f = *state;
    pid_t kids[4];
    begin(f,
          script(f, "stray",
                 "setsid sleep 60 & echo $! > a; mv a stray; echo $PPID > b; mv b notifier"),
          10 * SECOND);
    notify(f, "/x");
    pid_t notifier = pid_in(f, "notifier"), stray = pid_in(f, "stray");
    assert_int_equal(process_read_children(getpid(), kids, 4), 0);
    struct process p;
    assert_int_equal(process_read(notifier, &p), 0);
    assert_string_equal(p.name, "mcp-notifier");
    notifier_close(&f->n);
    assert_true(ends(f, notifier));
    assert_true(ends(f, stray));
}

static void test_notifier_warns_when_its_process_was_killed(void **state)
{
    struct fixture *f = *state;
    begin(f, script(f, "who", "echo $PPID > a; mv a notifier"), SECOND);
    notify(f, "/x");
    kill(pid_in(f, "notifier"), SIGKILL);
    for (int64_t end = clock_mono_us() + 30 * SECOND; f->n.fd >= 0 && clock_mono_us() < end;)
        turn(f);
    assert_int_equal(f->n.fd, -1);
    assert_true(said_holds("the notifier process has exited"));
    notify(f, "/y");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_notifier_command_is_split_and_gets_the_path_as_its_last_word),
        T(test_notifier_check_rejects_invalid_commands),
        T(test_notifier_without_a_command_does_nothing),
        T(test_notifier_command_inherits_no_descriptors_and_signal_settings),
        T(test_notifier_warns_of_a_failed_command),
        T(test_notifier_drops_excess_output_of_a_command),
        T(test_notifier_runs_a_limited_number_at_once_and_the_rest_in_order),
        T(test_notifier_warns_of_files_it_could_not_queue),
        T(test_notifier_kills_a_command_and_its_children_at_the_time_limit),
        T(test_notifier_kills_a_command_that_ignores_sigterm),
        T(test_notifier_finishes_commands_within_the_limit_after_the_proxy_exited),
        T(test_notifier_process_is_not_a_child_and_leaves_no_processes),
        T(test_notifier_warns_when_its_process_was_killed),
    };
    return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
