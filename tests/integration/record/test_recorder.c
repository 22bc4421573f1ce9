/* A session recorded by a real recorder process: what is in the vault, also if that process is killed or stopped. */
#include "record/recorder.h"

#include "tests/support/journals_unit.h"

#include "base/clock.h"
#include "record/state.h"

#include <sys/resource.h>

#define DEADLINE_US 120000000
#define KILLS 20

struct fixture {
    struct temp t;
    struct recorder *r;
    struct ev_loop *loop;
    struct buf output; /* of the recorder process */
    char before_uid[UID_LEN + 1];
    struct tools before;
    uint64_t added;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    temp_make(&f.t);
    journals_begin();
    f.loop = ev_default_loop(EVFLAG_AUTO);
    assert_non_null(f.loop);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    said_begin();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    recorder_close(f->r);
    buf_close(&f->output);
    tools_close(&f->before);
    said_end();
    temp_remove(&f->t);
    journals_end();
    return 0;
}

static void on_changed(void *data)
{
    (void)data;
}

static void on_output(void *data, struct slice bytes)
{
    struct fixture *f = data;
    buf_slice_add(&f->output, bytes);
}

static void on_previous_tools(void *data, struct tools *tools, const char *uid)
{
    struct fixture *f = data;
    tools_close(&f->before);
    f->before = *tools;
    snprintf(f->before_uid, sizeof f->before_uid, "%s", uid);
    journal_append_event(recorder_get_journal(f->r), "tool-changed",
                         NULL); /* also while it is closed */
}

static const struct recorder_calls calls = {
    .changed = on_changed, .output = on_output, .previous_tools = on_previous_tools};

static struct recorder_config config(struct fixture *f)
{
    return (struct recorder_config){.vault = f->t.vault, .name = "files", .command = "[\"files\"]"};
}

static void begin(struct fixture *f, const struct recorder_config *cfg)
{
    assert_int_equal(recorder_open(&f->r, cfg), 0);
    recorder_attach_to_loop(f->r, f->loop, &calls, f);
    while (f->r->has_ring && f->r->worker.pid == 0 && f->r->worker.exits == 0)
        ev_run(f->loop, EVRUN_ONCE);
    f->r->end_us = DEADLINE_US;
}

static void begin_pass(struct fixture *f)
{
    struct recorder_config cfg = config(f);
    begin(f, &cfg);
}

static void close_it(struct fixture *f)
{
    recorder_close(f->r);
    f->r = NULL;
}

/* Appends a message whose body contains its seq. The bytes are overwritten at once. */
static void add(struct fixture *f, size_t pad)
{
    struct buf b = {0};
    buf_printf(&b, "%llu ", (unsigned long long)++f->added);
    size_t n = b.n;
    while (b.n < n + pad)
        buf_add(&b, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", size_min(32, n + pad - b.n));
    assert_false(b.failed);
    struct row row = {
        .kind = KIND_NOTIFICATION, .method = {b.p, n}, .body = buf_slice(&b), .size = b.n};
    assert_int_equal(journal_append(recorder_get_journal(f->r), &row), f->added);
    memset(b.p, '#', b.n);
    buf_close(&b);
}

/* Ends the turn, and waits while the recorder holds it. */
static enum recorder_result end_turn(struct fixture *f)
{
    enum recorder_result result = recorder_publish(f->r);
    for (int64_t end = clock_mono_us() + DEADLINE_US;
         result == RECORDER_HOLD && clock_mono_us() < end; result = recorder_publish(f->r))
        ev_run(f->loop, EVRUN_ONCE);
    return result;
}

static enum recorder_result add_and_publish(struct fixture *f, size_t pad)
{
    add(f, pad);
    ev_run(f->loop, EVRUN_NOWAIT);
    return end_turn(f);
}

/* Every stored row is complete and has its own seq. Returns the number of rows. */
static uint64_t rows_that_are_right(struct fixture *f)
{
    assert_string_equal(sql_rows(&f->t, "PRAGMA integrity_check"), "ok");
    assert_string_equal(sql_rows(&f->t,
                                 "SELECT count(*) FROM messages WHERE body NOT LIKE seq || ' %'"
                                 " OR method <> seq || ' ' OR length(body) <> size"
                                 " OR rtrim(body, 'x') <> seq || ' '"),
                        "0");
    assert_string_equal(sql_rows(&f->t,
                                 "SELECT count(*) FROM (SELECT t_us < lag(t_us) OVER (PARTITION"
                                 " BY session_id ORDER BY id) AS back FROM messages) WHERE back"),
                        "0");
    return strtoull(sql_rows(&f->t, "SELECT count(*) FROM messages"), NULL, 10);
}

static uint64_t lost_as_events_say(struct fixture *f)
{
    return strtoull(sql_rows(&f->t, "SELECT coalesce(sum(json_extract(detail, '$.lost')), 0) FROM "
                                    "events WHERE kind = 'gap'"),
                    NULL, 10);
}

static void wait_for_rows(struct fixture *f)
{
    for (int64_t end = clock_mono_us() + DEADLINE_US; !ring_has_stored_everything(&f->r->ring);) {
        assert_true(clock_mono_us() < end);
        ev_run(f->loop, EVRUN_NOWAIT);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_recorder_rows_and_metadata_are_in_the_vault(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    for (int i = 0; i < 100; i++)
        assert_int_equal(add_and_publish(f, 100), RECORDER_PUBLISHED);
    journal_append_event(recorder_get_journal(f->r), "spawn", "{\"pid\":1}");
    journal_append_session_update(recorder_get_journal(f->r),
                          &(struct session_update){.end_reason = slice_of("done"),
                                                   .client_name = slice_of("c"),
                                                   .ended_at_us = 1});
    close_it(f);
    assert_int_equal(rows_that_are_right(f), 100);
    assert_string_equal(sql_rows(&f->t, "SELECT kind || detail FROM events"), "spawn{\"pid\":1}");
    assert_string_equal(
        sql_rows(&f->t, "SELECT name || command || client_name || end_reason FROM sessions"),
        "files[\"files\"]cdone");
    assert_int_equal(said_lines(), 0);
    assert_int_equal(f->output.n, 0);
}

static void test_recorder_row_is_in_the_vault_while_the_session_runs(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    wait_for_rows(f);
    assert_int_equal(rows_that_are_right(f), 1);
}

static void test_recorder_killed_at_any_moment_loses_and_repeats_nothing(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 7;
    begin_pass(f);
    for (int i = 0; i < KILLS; i++) {
        for (int k = rand_r(&seed) % 200; k >= 0; k--)
            assert_int_equal(add_and_publish(f, (size_t)(rand_r(&seed) % 2000)),
                             RECORDER_PUBLISHED);
        journal_append_event(recorder_get_journal(f->r), "resent", NULL);
        nanosleep(&(struct timespec){0, rand_r(&seed) % 3000000}, NULL); /* at any step */
        if (recorder_pid(f->r) > 0)
            assert_int_equal(kill(recorder_pid(f->r), SIGKILL), 0);
        f->r->worker.exits = 0; /* the next one starts at once */
    }
    assert_int_equal(end_turn(f), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(rows_that_are_right(f), f->added);
    char events[16];
    snprintf(events, sizeof events, "%d", KILLS);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM events WHERE kind = 'resent'"),
                        events);
    assert_int_equal(lost_as_events_say(f), 0);
}

static void test_recorder_stopped_under_load_holds_then_loses_in_bounded_memory(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    f->r->pause_us = 50000;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    pid_t pid = recorder_pid(f->r);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    int64_t longest = 0;
    for (int i = 0; i < 200; i++) { /* 100 MiB */
        int64_t start = clock_mono_us();
        assert_int_equal(add_and_publish(f, (size_t)512 << 10), RECORDER_PUBLISHED);
        int64_t us = clock_mono_us() - start;
        longest = us > longest ? us : longest;
        assert_in_range(f->r->waiting.cap, 0, (size_t)2 << 20);
        assert_in_range(ring_count_unread_bytes(&f->r->ring), 0, RECORDER_JOURNAL_MAX);
    }
    assert_true(longest >= 50000); /* it was held once, before the first loss */
    uint64_t lost = f->r->lost.n;
    assert_in_range(lost, 70, 80);
    assert_int_equal(kill(pid, SIGCONT), 0);
    wait_for_rows(f);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(rows_that_are_right(f), f->added - lost);
    assert_int_equal(lost_as_events_say(f), lost);
}

static void test_recorder_stopped_under_load_ends_a_session_that_must_be_recorded(void **state)
{
    struct fixture *f = *state;
    struct recorder_config cfg = config(f);
    cfg.stop_on_error = true;
    begin(f, &cfg);
    f->r->pause_us = 50000;
    pid_t pid = recorder_pid(f->r);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    enum recorder_result result = RECORDER_PUBLISHED;
    while (result == RECORDER_PUBLISHED && f->added < 1000)
        result = add_and_publish(f, (size_t)512 << 10);
    assert_int_equal(result, RECORDER_FAILED);
    assert_int_equal(kill(pid, SIGCONT), 0);
    close_it(f);
    assert_int_equal(rows_that_are_right(f), f->added); /* the last one while closing */
}

static void test_recorder_sync_full_row_is_committed_before_it_is_forwarded(void **state)
{
    struct fixture *f = *state;
    struct recorder_config cfg = config(f);
    cfg.sync_full = true;
    begin(f, &cfg);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
        assert_int_equal(strtol(sql_rows(&f->t, "SELECT count(*) FROM messages"), NULL, 10), i);
    }
}

static void test_recorder_stop_reports_an_unusable_vault(void **state)
{
    struct fixture *f = *state;
    struct recorder_config cfg = config(f);
    cfg.vault = "/dev/null/vault";
    cfg.stop_on_error = true;
    /* The process writes the reason to our stderr. */
    int out[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(out), 0);
    dup2(out[1], STDERR_FILENO);
    int st = recorder_open(&f->r, &cfg);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(out[1]);
    char text[4096] = "";
    ssize_t n = read(out[0], text, sizeof text - 1);
    close(out[0]);
    assert_int_equal(st, MI_ESTORE);
    assert_true(n > 0);
    assert_non_null(strstr(text, "/dev/null/vault"));
}

static void test_recorder_pass_goes_on_with_an_unusable_vault(void **state)
{
    struct fixture *f = *state;
    struct recorder_config cfg = config(f);
    cfg.vault = "/dev/null/vault";
    begin(f, &cfg);
    for (int64_t end = clock_mono_us() + DEADLINE_US;
         strstr(buf_str(&f->output), "/dev/null/vault") == NULL && clock_mono_us() < end;)
        assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_non_null(strstr(buf_str(&f->output), "cannot record"));
    f->r->end_us = 10000;
    pid_t pid = recorder_pid(f->r);
    journal_file_remove(&f->r->file); /* nobody can store it */
    close_it(f);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_recorder_close_leaves_the_rest_to_a_stopped_process(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    pid_t pid = recorder_pid(f->r);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    f->r->end_us = 20000;
    close_it(f);
    assert_true(said_holds("the recorder process continues"));
    assert_int_equal(kill(pid, SIGCONT), 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rows_that_are_right(f), 1);
}

/* A session with a list of tools. */
static void record_tools(struct fixture *f, char *ret_uid)
{
    static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    static const char tools[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"add\","
        "\"inputSchema\":{\"type\":\"object\"}}]}}";
    begin_pass(f);
    snprintf(ret_uid, UID_LEN + 1, "%s", recorder_get_journal(f->r)->uid);
    const struct journal *j = recorder_get_journal(f->r);
    uint64_t asked = journal_append(j, &(struct row){.kind = KIND_REQUEST,
                                                     .method = slice_of("tools/list"),
                                                     .rpc_id = slice_of("1"),
                                                     .body = slice_of(list),
                                                     .size = sizeof list - 1});
    (void)journal_append(j, &(struct row){.kind = KIND_RESULT,
                                          .direction = ROW_S2C,
                                          .rpc_id = slice_of("1"),
                                          .body = slice_of(tools),
                                          .size = sizeof tools - 1,
                                          .request_seq = asked});
    journal_append_session_update(
        j, &(struct session_update){.end_reason = slice_of("done"), .ended_at_us = 1});
    close_it(f);
}

static void check_tools(struct fixture *f, const char *uid)
{
    assert_int_equal(f->before.n, 1);
    assert_string_equal(f->before.tool[0].name.p, "add");
    assert_true(tools_are_complete(&f->before));
    assert_string_equal(f->before_uid, uid);
}

static void test_recorder_reports_the_tools_of_the_previous_session(void **state)
{
    struct fixture *f = *state;
    char uid[UID_LEN + 1];
    record_tools(f, uid);
    begin_pass(f);
    journal_request_previous_tools(recorder_get_journal(f->r));
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    for (int64_t end = clock_mono_us() + DEADLINE_US; f->before.n == 0 && clock_mono_us() < end;)
        ev_run(f->loop, EVRUN_ONCE);
    check_tools(f, uid);
}

static void test_recorder_reports_the_previous_tools_to_a_session_that_ends(void **state)
{
    struct fixture *f = *state;
    char uid[UID_LEN + 1];
    record_tools(f, uid);
    begin_pass(f);
    journal_request_previous_tools(recorder_get_journal(f->r));
    close_it(f);
    check_tools(f, uid);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM events WHERE kind = 'tool-changed'"),
                        "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_recorder_rows_and_metadata_are_in_the_vault),
        TEST(test_recorder_row_is_in_the_vault_while_the_session_runs),
        TEST(test_recorder_killed_at_any_moment_loses_and_repeats_nothing),
        TEST(test_recorder_stopped_under_load_holds_then_loses_in_bounded_memory),
        TEST(test_recorder_stopped_under_load_ends_a_session_that_must_be_recorded),
        TEST(test_recorder_sync_full_row_is_committed_before_it_is_forwarded),
        TEST(test_recorder_stop_reports_an_unusable_vault),
        TEST(test_recorder_pass_goes_on_with_an_unusable_vault),
        TEST(test_recorder_close_leaves_the_rest_to_a_stopped_process),
        TEST(test_recorder_reports_the_tools_of_the_previous_session),
        TEST(test_recorder_reports_the_previous_tools_to_a_session_that_ends),
    };
    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
