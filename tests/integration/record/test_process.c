/* The recorder process: wakes, stores, survives its own death and that of its proxy. */
#include "record/process/process.h"

#include "tests/support/journal_unit.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sysexits.h>

struct fixture {
    struct journal_unit j;
    struct session_start start;  /* points into j.start */
    pid_t pid;                   /* of the recorder; 0: none */
    int control, text, notifier; /* our ends */
    struct buf said;             /* on `text` */
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.control = -1, .text = -1, .notifier = -1};
    journal_unit_place(&f.j);
    journal_unit_open(&f.j, NULL);
    assert_int_equal(form_read_session_start(buf_slice(&f.j.start), &f.start), 0);
    *state = &f;
    return 0;
}

static void close_ours(struct fixture *f)
{
    close(f->control);
    close(f->text);
    close(f->notifier);
    f->control = f->text = f->notifier = -1;
}

static int wait_for(struct fixture *f)
{
    int status = -1;
    for (int i = 0; i < 30000; i++) {
        if (waitpid(f->pid, &status, WNOHANG) == f->pid) {
            f->pid = 0;
            return status;
        }
        usleep(1000);
    }
    fail_msg("the recorder does not exit");
    return -1;
}

static void kill_it(struct fixture *f)
{
    kill(f->pid, SIGKILL);
    (void)wait_for(f);
    close_ours(f);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->pid > 0)
        kill_it(f);
    close_ours(f);
    buf_close(&f->said);
    journal_unit_remove(&f->j);
    return 0;
}

static void start(struct fixture *f)
{
    static const struct retention none;
    int control[2], text[2], notifier[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control),
                     0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, notifier), 0);
    assert_int_equal(pipe2(text, O_NONBLOCK | O_CLOEXEC), 0);
    f->pid = fork();
    if (f->pid == 0) {
        struct process_config cfg = {.lock = -1,
                                     .start = f->start,
                                     .retention = &none,
                                     .file = &f->j.file,
                                     .control = control[1],
                                     .text = STDERR_FILENO,
                                     .notifier = notifier[1]};
        log_set_sink(NULL, NULL);
        dup2(text[1], STDERR_FILENO);
        close(text[1]);
        close(control[0]);
        process_run_recorder(&cfg);
    }
    close(control[1]);
    close(text[1]);
    close(notifier[1]);
    f->control = control[0];
    f->text = text[0];
    f->notifier = notifier[0];
}

static void wake(const struct fixture *f)
{
    (void)send(f->control, "w", 1, MSG_NOSIGNAL);
}

/* Until the condition holds, or for 30 s. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int64_t until_us = clock_mono_us() + 30000000;                                             \
        bool holds;                                                                                \
        while (!(holds = (condition)) && clock_mono_us() < until_us)                               \
            usleep(500);                                                                           \
        if (!holds)                                                                                \
            fail_msg("not within 30 s: %s", #condition);                                           \
    } while (0)

static enum ring_trouble trouble_of(const struct fixture *f)
{
    return (enum ring_trouble)atomic_load(&f->j.ring.shared->trouble);
}

static bool sleeps(const struct fixture *f)
{
    return atomic_load(&f->j.ring.shared->reader_sleeps) != 0;
}

/* Whether a datagram that begins with this byte has arrived. Others are dropped. */
static bool heard(const struct fixture *f, char what)
{
    char byte;
    while (recv(f->control, &byte, 1, MSG_DONTWAIT) == 1)
        if (byte == what)
            return true;
    return false;
}

static bool has_said(struct fixture *f, const char *text)
{
    char part[4096];
    for (ssize_t n; (n = read(f->text, part, sizeof part)) > 0;)
        buf_add(&f->said, part, (size_t)n);
    return strstr(buf_str(&f->said), text) != NULL;
}

static bool has_journal(const struct fixture *f)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", f->j.dir, f->j.uid);
    return exists(path);
}

/* ---- the tests ------------------------------------------------------------------------------ */

static void test_process_sleeps_and_stores_soon_after_it_is_woken(void **state)
{
    struct fixture *f = *state;
    start(f);
    UNTIL(heard(f, 'o'));
    int64_t best_us = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        UNTIL(sleeps(f));
        put_message(&f->j, "{\"a\":1}"); /* it takes the wake-up: */
        assert_false(sleeps(f));
        int64_t from_us = clock_mono_us();
        wake(f);
        UNTIL(ring_has_stored_everything(&f->j.ring));
        int64_t took_us = clock_mono_us() - from_us;
        best_us = took_us < best_us ? took_us : best_us;
    }
    assert_true(best_us < 200000); /* the best of 20, on a busy machine */
    assert_string_equal(sql_rows(&f->j.t, "SELECT count(*), max(seq) FROM messages"), "20|20");
    assert_int_equal(atomic_load(&f->j.ring.shared->reader_pid), f->pid);
}

static void test_process_ends_after_the_last_entry_and_removes_the_journal(void **state)
{
    struct fixture *f = *state;
    put_message(&f->j, "{\"a\":1}");
    start(f);
    UNTIL(heard(f, 'o'));
    put_message(&f->j, "{\"a\":2}");
    put_end(&f->j);
    wake(f);
    assert_int_equal(wait_for(f), EX_OK);
    assert_false(has_journal(f));
    assert_string_equal(sql_rows(&f->j.t, "SELECT end_reason, (SELECT count(*) FROM messages), "
                                          "(SELECT count(*) FROM journals) FROM sessions"),
                        "client-closed|2|0");
    assert_true(has_said(f, ""));
    assert_int_equal(f->said.n, 0);
}

static void test_process_that_was_killed_is_continued_by_the_next(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 5; i++) {
        start(f);
        put_message(&f->j, "{\"a\":1}");
        put_event(&f->j, "spawn", NULL);
        wake(f);
        if (i % 2 == 0)
            UNTIL(ring_has_stored_everything(&f->j.ring));
        kill_it(f);
        assert_true(has_journal(f));
    }
    start(f);
    put_end(&f->j);
    wake(f);
    assert_int_equal(wait_for(f), EX_OK);
    assert_string_equal(sql_rows(&f->j.t,
                                 "SELECT count(*), max(seq), (SELECT count(*) FROM events) FROM "
                                 "messages"),
                        "5|5|5");
}

static pid_t start_server(const struct fixture *f)
{
    pid_t server = fork();
    if (server == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    setpgid(server, server);
    struct running r = {.server_group = server};
    running_share_server(&r, f->j.ring.shared);
    return server;
}

static void test_process_of_a_killed_proxy_kills_the_server_and_closes_the_session(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t server = start_server(f);
    put_running_processes(&f->j);
    start(f);
    UNTIL(heard(f, 'o'));
    put_message(&f->j, "{\"a\":1}");
    close_ours(f); /* the end of the proxy */
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(wait_for(f), EX_OK);
    assert_false(has_journal(f));
    assert_string_equal(sql_rows(&f->j.t, "SELECT end_reason, ended_at_us - started_at_us, "
                                          "(SELECT count(*) FROM messages), (SELECT count(*) FROM "
                                          "journals) FROM sessions"),
                        "killed|10|1|0");
}

static void test_process_leaves_the_server_of_an_ended_session_alone(void **state)
{
    struct fixture *f = *state;
    pid_t server = start_server(f);
    start(f);
    UNTIL(heard(f, 'o'));
    put_end(&f->j);
    close_ours(f);
    assert_int_equal(wait_for(f), EX_OK);
    assert_int_equal(waitpid(server, NULL, WNOHANG), 0);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

static void test_process_waits_for_a_locked_database(void **state)
{
    struct fixture *f = *state;
    start(f);
    UNTIL(heard(f, 'o'));
    pid_t locker = sql_lock(&f->j.t, 0);
    put_message(&f->j, "{\"a\":1}");
    ring_set_writer_waits(&f->j.ring, true);
    wake(f);
    UNTIL(trouble_of(f) == RING_BUSY);
    UNTIL(heard(f, 'c'));
    assert_false(ring_has_stored_everything(&f->j.ring));
    sql_unlock(locker);
    UNTIL(ring_has_stored_everything(&f->j.ring));
    UNTIL(trouble_of(f) == RING_FINE);
    UNTIL(heard(f, 'c'));
    assert_true(has_said(f, "") && f->said.n == 0);
}

static void test_process_waits_for_a_vault_that_cannot_be_opened(void **state)
{
    struct fixture *f = *state;
    int fd = open(f->j.t.vault, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* a file */
    assert_true(fd >= 0);
    close(fd);
    put_message(&f->j, "{\"a\":1}");
    start(f);
    UNTIL(trouble_of(f) == RING_FAILING);
    UNTIL(has_said(f, "cannot record, messages wait in memory: "));
    assert_false(heard(f, 'o'));
    assert_int_equal(unlink(f->j.t.vault), 0);
    UNTIL(ring_has_stored_everything(&f->j.ring));
    UNTIL(heard(f, 'o'));
    UNTIL(has_said(f, "recording again"));
    size_t lines = 0;
    for (size_t i = 0; i < f->said.n; i++)
        lines += f->said.p[i] == '\n';
    assert_int_equal(lines, 2);
}

static void test_process_whose_vault_was_removed_is_replaced(void **state)
{
    struct fixture *f = *state;
    put_message(&f->j, "{\"a\":1}");
    start(f);
    UNTIL(ring_has_stored_everything(&f->j.ring));
    nftw(f->j.t.vault, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    int status = -1;
    for (int i = 0; i < 30000 && waitpid(f->pid, &status, WNOHANG) == 0; i++) {
        if (i % 100 == 0)
            put_message(&f->j, "{\"a\":2}");
        wake(f);
        usleep(1000);
    }
    f->pid = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EX_TEMPFAIL);
    assert_true(has_said(f, "the vault was removed; creating it again: vault="));
    close_ours(f);
    start(f);
    UNTIL(ring_has_stored_everything(&f->j.ring));
    assert_string_equal(sql_rows(&f->j.t, "SELECT kind, detail FROM events"),
                        "gap|{\"reason\":\"vault removed\"}");
}

static void test_process_passes_escalations_to_the_notifier(void **state)
{
    struct fixture *f = *state;
    char path[600] = {0};
    put_escalation(&f->j, "read");
    start(f);
    UNTIL(ring_has_stored_everything(&f->j.ring));
    assert_true(recv(f->notifier, path, sizeof path - 1, 0) > 0);
    assert_true(path[0] == '/' && exists(path));
    assert_true(has_said(f, "the server needs attention: server=files cause=auth file=/"));
}

static void test_process_passes_the_previous_tools(void **state)
{
    struct fixture *f = *state;
    static const char result[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":"
                                 "\"read\",\"inputSchema\":{}}]}}";
    struct entry list = {.kind = ENTRY_MESSAGE,
                         .row = {.kind = KIND_REQUEST,
                                 .seq = ++f->j.seq,
                                 .rpc_id = slice_of("1"),
                                 .method = slice_of("tools/list"),
                                 .body = slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                                                  "\"tools/list\"}")}};
    put(&f->j, &list);
    list.row = (struct row){.kind = KIND_RESULT,
                            .seq = ++f->j.seq,
                            .direction = ROW_S2C,
                            .rpc_id = slice_of("1"),
                            .body = slice_of(result),
                            .request_seq = 1};
    put(&f->j, &list);
    put_end(&f->j);
    char before[UID_LEN + 1];
    memcpy(before, f->j.uid, sizeof before);
    start(f);
    assert_int_equal(wait_for(f), EX_OK);
    close_ours(f);

    journal_unit_die(&f->j);
    f->j.wall_us += 1000000;
    journal_unit_open(&f->j, NULL);
    assert_int_equal(form_read_session_start(buf_slice(&f->j.start), &f->start), 0);
    list = (struct entry){.kind = ENTRY_TOOLS_WANTED};
    put(&f->j, &list);
    start(f);
    char what = 0, control[CMSG_SPACE(sizeof(int))], text[1000] = {0};
    struct iovec v = {&what, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct pollfd p = {f->control, POLLIN, 0};
    while (what != 't') {
        assert_int_equal(poll(&p, 1, 30000), 1);
        m.msg_controllen = sizeof control;
        assert_int_equal(recvmsg(f->control, &m, 0), 1);
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    assert_non_null(c);
    int fd;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    char want[300];
    snprintf(want, sizeof want,
             "%s\n{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"tools\":[{\"name\":\"read\","
             "\"inputSchema\":{}}]}}",
             before);
    assert_string_equal(text, want);
}

static void test_process_stores_what_another_session_has_left(void **state)
{
    struct fixture *f = *state;
    put_message(&f->j, "{\"a\":1}");
    journal_unit_die(&f->j); /* both were killed */
    f->j.wall_us += 1000000;
    journal_unit_open(&f->j, NULL);
    assert_int_equal(form_read_session_start(buf_slice(&f->j.start), &f->start), 0);
    start(f);
    UNTIL(heard(f, 'o'));
    UNTIL(strcmp(sql_rows(&f->j.t,
                          "SELECT (SELECT count(*) FROM messages), count(*) FROM sessions WHERE "
                          "end_reason = 'killed'"),
                 "1|1") == 0);
    put_message(&f->j, "{\"a\":1}");
    wake(f);
    UNTIL(ring_has_stored_everything(&f->j.ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(test_process_sleeps_and_stores_soon_after_it_is_woken),
        T(test_process_ends_after_the_last_entry_and_removes_the_journal),
        T(test_process_that_was_killed_is_continued_by_the_next),
        T(test_process_of_a_killed_proxy_kills_the_server_and_closes_the_session),
        T(test_process_leaves_the_server_of_an_ended_session_alone),
        T(test_process_waits_for_a_locked_database),
        T(test_process_waits_for_a_vault_that_cannot_be_opened),
        T(test_process_whose_vault_was_removed_is_replaced),
        T(test_process_passes_escalations_to_the_notifier),
        T(test_process_passes_the_previous_tools),
        T(test_process_stores_what_another_session_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
