/* Record before forward: what is committed, what waits, what is lost and said, in which order. */
#include "vault/recorder.h"

#include "tests/unit/vault_unit.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The clock runs, and a test may put it forward. */
static int64_t forward_us;
int64_t __real_clock_mono_us(void);
int64_t __wrap_clock_mono_us(void);
int64_t __wrap_clock_mono_us(void)
{
    return __real_clock_mono_us() + forward_us;
}

/* Allocations fail while this is so. */
static bool no_memory;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n)
{
    return no_memory ? NULL : __real_malloc(n);
}
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

struct fixture {
    struct temp t;
    struct recorder *r;
    uint64_t added;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    forward_us = 0;
    temp_make(&f.t);
    signal(SIGXFSZ, SIG_IGN);
    said_begin();
    *state = &f;
    return 0;
}

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    no_memory = false;
    limit_files(RLIM_INFINITY);
    recorder_close(f->r);
    temp_remove(&f->t);
    said_end();
    return 0;
}

static int open_recorder(struct fixture *f, bool stop)
{
    char name[] = "files", command[] = "[\"files\",\"/\"]", vault[200];
    snprintf(vault, sizeof vault, "%s", f->t.vault);
    struct recorder_config cfg = {
        .vault = vault, .name = name, .command = command, .stop_on_error = stop};
    int st = recorder_open(&f->r, &cfg);
    memset(name, '#', sizeof name); /* all of it was copied */
    memset(command, '#', sizeof command);
    memset(vault, '#', sizeof vault);
    return st;
}

/* A row whose body says its seq, and whose bytes are gone after the commit. */
static struct chunk *add(struct fixture *f, size_t pad)
{
    struct chunk *c = chunk_new(32 + pad);
    assert_non_null(c);
    int n = snprintf(c->data, 32, "%llu ", (unsigned long long)f->added + 1);
    memset(c->data + n, 'x', pad);
    struct row row = {.kind = "notification",
                      .body = {c->data, (size_t)n + pad},
                      .size = (size_t)n + pad,
                      .method = {c->data, (size_t)n},
                      .hold = c};
    assert_int_equal(recorder_add(f->r, &row), ++f->added);
    assert_int_equal(c->refs, 2);
    return c;
}

static void let_go(struct chunk *c)
{
    assert_int_equal(c->refs, 1); /* nobody looks at it any more */
    memset(c->data, '#', c->cap);
    chunk_drop(c);
}

static enum recorder_result add_and_commit(struct fixture *f, size_t pad)
{
    struct chunk *c = add(f, pad);
    enum recorder_result result = recorder_commit(f->r);
    let_go(c);
    return result;
}

static enum recorder_result commit_later(struct fixture *f)
{
    forward_us += 1000000;
    return recorder_commit(f->r);
}

/* Every row that is there is the one of its seq, whole and in place; how many. */
static uint64_t rows_that_are_right(struct fixture *f)
{
    assert_string_equal(ask(&f->t, "PRAGMA integrity_check"), "ok");
    assert_string_equal(ask(&f->t,
                            "SELECT count(*) FROM messages WHERE id <> (session_id << 36) + seq"
                            " OR body NOT LIKE seq || ' %' OR method <> seq || ' '"
                            " OR length(body) <> size OR rtrim(body, 'x') <> seq || ' '"),
                        "0");
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM (SELECT t_us < lag(t_us) OVER (PARTITION "
                                   "BY session_id ORDER BY id) AS back"
                                   " FROM messages) WHERE back"),
                        "0");
    return strtoull(ask(&f->t, "SELECT count(*) FROM messages"), NULL, 10);
}

static uint64_t lost_as_events_say(struct fixture *f)
{
    return strtoull(ask(&f->t, "SELECT coalesce(sum(json_extract(detail, '$.lost')), 0) FROM "
                               "events WHERE kind = 'gap'"),
                    NULL, 10);
}

static void test_recorder_nothing_is_seen_before_the_commit_and_all_of_it_after(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED);
    struct chunk *c[3];
    for (size_t i = 0; i < 3; i++)
        c[i] = add(f, i * 10);
    recorder_event(f->r, "spawn", "{\"pid\":1}");
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "0");
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM events"), "0");
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED);
    for (size_t i = 0; i < 3; i++)
        let_go(c[i]);
    assert_int_equal(rows_that_are_right(f), 3);
    assert_string_equal(ask(&f->t, "SELECT seq, session_id FROM messages"), "1|1;2|1;3|1");
    assert_string_equal(ask(&f->t, "SELECT kind, detail, session_id FROM events"),
                        "spawn|{\"pid\":1}|1");
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED); /* one by itself */
    assert_int_equal(rows_that_are_right(f), 4);
    assert_false(recorder_behind(f->r));
    assert_int_equal(said_lines(), 0);
}

static void
test_recorder_session_is_written_with_the_first_rows_and_completed_as_it_learns(void **state)
{
    struct fixture *f = *state;
    char here[256] = "unknown", want[600];
    int64_t before = clock_wall_us();
    assert_int_equal(open_recorder(f, false), 0);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM sessions"), "0");
    recorder_event(f->r, "spawn", NULL);
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED);
    char client[] = "inspector";
    struct store_update u = {.client_name = slice_of(client),
                             .protocol_version = slice_of("2025-06-18")};
    recorder_learn(f->r, &u);
    memset(client, '#', sizeof client - 1);
    u = (struct store_update){.server_name = slice_of("fs"),
                              .ended_at_us = 5,
                              .has_exit_status = true,
                              .exit_status = 130,
                              .end_reason = slice_of("signal")};
    recorder_learn(f->r, &u);
    assert_string_equal(ask(&f->t, "SELECT client_name FROM sessions"), "-");
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED); /* without a row */
    gethostname(here, sizeof here - 1);
    snprintf(
        want, sizeof want,
        "%s|files|[\"files\",\"/\"]|inspector|fs|2025-06-18|5|signal|130|%d|%s|full|" MI_VERSION,
        recorder_uid(f->r), (int)getpid(), here);
    assert_string_equal(ask(&f->t,
                            "SELECT uid, name, command, client_name, server_name, protocol_version,"
                            " ended_at_us, end_reason, exit_status, pid, host, record_level,"
                            " interposer_version FROM sessions"),
                        want);
    int64_t started = strtoll(ask(&f->t, "SELECT started_at_us FROM sessions"), NULL, 10);
    assert_in_range(started - before, 0, 10000000);
    assert_int_equal(strlen(recorder_uid(f->r)), UID_LEN);
    assert_string_equal(recorder_vault(f->r), f->t.vault);
    assert_true(recorder_dir_fd(f->r) >= 0);
    assert_true(recorder_wal_pages(f->r) > 0);
}

static void test_recorder_two_sessions_in_one_vault_keep_their_rows_apart(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    struct fixture g = *f;
    assert_int_equal(open_recorder(&g, true), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(add_and_commit(f, 10), RECORDER_STORED);
        assert_int_equal(add_and_commit(&g, 10), RECORDER_STORED);
    }
    assert_int_equal(rows_that_are_right(f), 10);
    assert_string_equal(
        ask(&f->t, "SELECT session_id, group_concat(seq), min(id) FROM messages GROUP BY 1"),
        "1|1,2,3,4,5|68719476737;2|1,2,3,4,5|137438953473");
    recorder_close(g.r);
}

static void test_recorder_times_do_not_go_back(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    int64_t last = recorder_now_us(f->r);
    assert_in_range(last, 0, 10000000);
    for (int i = 0; i < 100; i++) {
        int64_t now = recorder_now_us(f->r);
        assert_true(now >= last);
        last = now;
    }
}

static void test_recorder_lock_held_for_a_moment_is_waited_for(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 60000);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    sql_unlock(h);
    assert_int_equal(rows_that_are_right(f), 2);
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_lock_held_for_long_lets_the_traffic_go_on_and_loses_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    int64_t start = __real_clock_mono_us();
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND);
    assert_true(__real_clock_mono_us() - start >= RECORDER_WAIT_US);
    assert_true(recorder_behind(f->r));
    start = __real_clock_mono_us();
    for (int i = 0; i < 200; i++) {
        struct chunk *c = add(f, 100);
        recorder_event(f->r, "note", "{}");
        forward_us += 1000; /* some of them try, none of them waits */
        assert_int_equal(recorder_commit(f->r), RECORDER_BEHIND);
        let_go(c);
    }
    assert_true(__real_clock_mono_us() - start < 2000000);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "1");
    sql_unlock(h);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    assert_false(recorder_behind(f->r));
    assert_int_equal(rows_that_are_right(f), 202);
    assert_string_equal(ask(&f->t, "SELECT kind, count(*) FROM events GROUP BY 1"), "note|200");
    assert_int_equal(said_lines(), 0); /* nothing was lost: nothing to say */
}

static void test_recorder_full_queue_holds_the_traffic_before_it_loses_anything(void **state)
{
    struct fixture *f = *state;
    const size_t pad = 100000;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    enum recorder_result result = RECORDER_BEHIND;
    struct chunk *c = NULL;
    while (result == RECORDER_BEHIND) {
        assert_true(f->added * pad < 2 * RECORDER_QUEUE_MAX);
        c = add(f, pad);
        result = recorder_commit(f->r);
        if (result == RECORDER_BEHIND)
            let_go(c);
    }
    assert_int_equal(result, RECORDER_HOLD);
    assert_in_range(f->added * pad, RECORDER_QUEUE_MAX - 2 * pad, RECORDER_QUEUE_MAX + 2 * pad);
    assert_int_equal(c->refs, 2); /* its row waits where it was */
    for (int i = 0; i < 9; i++) {
        forward_us += 1000000;
        assert_int_equal(recorder_commit(f->r), RECORDER_HOLD);
    }
    sql_unlock(h);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    let_go(c);
    assert_int_equal(rows_that_are_right(f), f->added);
    assert_int_equal(lost_as_events_say(f), 0);
}

static void test_recorder_after_the_pause_rows_are_lost_counted_and_said(void **state)
{
    struct fixture *f = *state;
    const size_t pad = 100000;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    struct chunk *c;
    do {
        c = add(f, pad);
        if (recorder_commit(f->r) == RECORDER_HOLD)
            break;
        let_go(c);
    } while (f->added < 1000);
    uint64_t first_lost = f->added;
    forward_us += RECORDER_PAUSE_US;
    assert_int_equal(recorder_commit(f->r), RECORDER_BEHIND);
    let_go(c);
    for (int i = 0; i < 5; i++)
        assert_int_equal(add_and_commit(f, pad), RECORDER_BEHIND);
    uint64_t last_lost = f->added;
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND); /* a small one still fits */
    sql_unlock(h);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    char want[200];
    snprintf(want, sizeof want,
             "{\"reason\":\"locked\",\"lost\":6,\"first_seq\":%llu,\"last_seq\":%llu}",
             (unsigned long long)first_lost, (unsigned long long)last_lost);
    assert_string_equal(ask(&f->t, "SELECT detail FROM events WHERE kind = 'gap'"), want);
    assert_int_equal(rows_that_are_right(f), f->added - 6);
    assert_true(said_holds("recording again: lost=6"));
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED); /* and the gap is told once */
    assert_int_equal(lost_as_events_say(f), 6);
}

/* One that would not fit into an empty queue is no reason to wait. */
static void test_recorder_row_larger_than_the_queue_is_lost_at_once(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    assert_int_equal(add_and_commit(f, RECORDER_QUEUE_MAX), RECORDER_BEHIND);
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND);
    sql_unlock(h);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    assert_int_equal(lost_as_events_say(f), 1);
    assert_string_equal(ask(&f->t, "SELECT group_concat(seq) FROM messages"), "1,3");
}

static void test_recorder_stop_holds_everything_while_the_lock_is_held(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, true), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    struct chunk *c = add(f, 0);
    assert_int_equal(recorder_commit(f->r), RECORDER_HOLD);
    assert_true(recorder_behind(f->r));
    for (int i = 0; i < 9; i++) {
        forward_us += 1000000;
        assert_int_equal(recorder_commit(f->r), RECORDER_HOLD);
    }
    sql_unlock(h);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    let_go(c);
    assert_int_equal(rows_that_are_right(f), 2);
    assert_int_equal(lost_as_events_say(f), 0);
}

static void test_recorder_stop_gives_up_after_the_pause(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, true), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    struct chunk *c = add(f, 0);
    assert_int_equal(recorder_commit(f->r), RECORDER_HOLD);
    forward_us += RECORDER_PAUSE_US;
    assert_int_equal(recorder_commit(f->r), RECORDER_FAILED);
    sql_unlock(h);
    recorder_close(f->r); /* at last it can be written after all */
    f->r = NULL;
    let_go(c);
    assert_int_equal(rows_that_are_right(f), 2);
}

static void test_recorder_stop_gives_up_at_once_when_the_disk_is_full(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, true), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    struct chunk *c = add(f, 60000);
    limit_files(30000);
    assert_int_equal(recorder_commit(f->r), RECORDER_FAILED);
    assert_true(said_holds("cannot record: "));
    assert_false(said_holds("going on without"));
    recorder_close(f->r);
    f->r = NULL;
    let_go(c);
    assert_true(said_holds("not everything is recorded"));
    limit_files(RLIM_INFINITY);
    assert_int_equal(rows_that_are_right(f), 1);
}

static void test_recorder_stop_without_a_vault_does_not_begin(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(f->t.vault, "we");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(open_recorder(f, true), MI_ESTORE);
    assert_null(f->r);
    assert_true(said_holds("error: cannot open vault"));
    assert_int_equal(said_lines(), 1);
}

static void test_recorder_pass_without_a_vault_begins_and_records_once_it_can(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(f->t.vault, "we");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(said_lines(), 0);
    assert_int_equal(strlen(recorder_uid(f->r)), UID_LEN);
    assert_null(recorder_vault(f->r));
    assert_int_equal(recorder_dir_fd(f->r), -1);
    assert_int_equal(recorder_wal_pages(f->r), 0);
    recorder_checkpoint(f->r);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(add_and_commit(f, 10), RECORDER_BEHIND);
        forward_us += 200000;
    }
    assert_true(said_holds("cannot record, going on without: cannot open vault"));
    assert_int_equal(said_lines(), 1); /* however often it is tried */
    assert_int_equal(unlink(f->t.vault), 0);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    assert_string_equal(recorder_vault(f->r), f->t.vault);
    assert_int_equal(rows_that_are_right(f), 10);
    assert_int_equal(lost_as_events_say(f), 0);
    assert_true(said_holds("recording again: lost=0"));
    assert_int_equal(said_lines(), 2);
}

/* A full disk that becomes free again: what fits into memory comes later, the rest is counted. */
static void test_recorder_full_disk_loses_only_what_memory_cannot_keep(void **state)
{
    struct fixture *f = *state;
    const size_t pad = 20000;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    limit_files(100000);
    int behind = 0;
    for (int i = 0; i < 400; i++) { /* 8 MB */
        enum recorder_result result = add_and_commit(f, pad);
        assert_true(result == RECORDER_STORED || result == RECORDER_BEHIND);
        behind += result == RECORDER_BEHIND;
        forward_us += 50000;
    }
    assert_true(behind >= 395);
    assert_int_equal(said_lines(), 1);
    assert_true(said_holds("cannot record, going on without"));
    limit_files(RLIM_INFINITY);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    uint64_t lost = lost_as_events_say(f);
    assert_int_equal(rows_that_are_right(f), f->added - lost);
    assert_in_range(lost * pad, ((size_t)8 << 20) - RECORDER_BROKEN_MAX - 20 * pad,
                    ((size_t)8 << 20) - RECORDER_BROKEN_MAX + 20 * pad);
    assert_string_equal(ask(&f->t, "SELECT json_extract(detail, '$.reason') FROM events"), "error");
    assert_true(strtoull(ask(&f->t, "SELECT json_extract(detail, '$.last_seq') FROM events"), NULL,
                         10) == f->added);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_int_equal(lost_as_events_say(f), lost);
}

/* Room for some of it comes back: the first portions are written, the rest goes on waiting. */
static void test_recorder_little_room_is_used_for_what_waits(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    limit_files(60000);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(add_and_commit(f, 20000), RECORDER_BEHIND);
        forward_us += 1000;
    }
    limit_files(1500000); /* of 2 MB */
    assert_int_equal(commit_later(f), RECORDER_BEHIND);
    uint64_t some = rows_that_are_right(f);
    assert_in_range(some, 20, 80);
    assert_int_equal(strtoull(ask(&f->t, "SELECT max(seq) FROM messages"), NULL, 10),
                     some); /* in order */
    limit_files(RLIM_INFINITY);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    assert_int_equal(rows_that_are_right(f), 101);
    assert_int_equal(lost_as_events_say(f), 0);
}

static void test_recorder_large_body_that_does_not_fit_waits_with_the_others(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    limit_files(150000);
    assert_int_equal(add_and_commit(f, 200000), RECORDER_BEHIND);
    assert_int_equal(add_and_commit(f, 10), RECORDER_BEHIND);
    assert_true(said_holds("cannot write a body"));
    limit_files(RLIM_INFINITY);
    assert_int_equal(commit_later(f), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT seq, body_length FROM messages"), "1|-;2|200002;3|-");
    size_t n, at = strtoul(ask(&f->t, "SELECT body_offset FROM messages WHERE seq = 2"), NULL, 10);
    char name[100];
    snprintf(name, sizeof name, "vault/Bodies/%s", recorder_uid(f->r));
    char *bodies = slurp(temp_path(&f->t, name), &n);
    assert_true(n >= at + 200002 + 1);
    assert_memory_equal(bodies + at, "2 xxx", 5);
    assert_memory_equal(bodies + at + 200000, "xx\n", 3);
    free(bodies);
}

static void test_recorder_removed_vault_is_made_anew_and_the_session_goes_on(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_int_equal(rename(f->t.vault, temp_path(&f->t, "old")), 0);
    forward_us += 2000000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_true(said_holds("the vault was removed, making it anew"));
    assert_int_equal(rows_that_are_right(f), 3);
    assert_string_equal(ask(&f->t, "SELECT group_concat(seq) FROM messages"), "4,5,6");
    assert_string_equal(ask(&f->t, "SELECT kind, detail FROM events"),
                        "gap|{\"reason\":\"vault removed\"}");
    assert_string_equal(ask(&f->t, "SELECT uid FROM sessions"), recorder_uid(f->r));
    assert_string_equal(
        ask_file(temp_path(&f->t, "old/interposer.db"), "SELECT group_concat(seq) FROM messages"),
        "1,2,3");
}

static void test_recorder_name_of_a_peer_is_kept_short_and_without_nul(void **state)
{
    struct fixture *f = *state;
    static char name[100000] = "a";
    memset(name + 2, 'x', sizeof name - 2); /* behind a NUL */
    assert_int_equal(open_recorder(f, false), 0);
    struct store_update u = {.client_name = {name, sizeof name}};
    recorder_learn(f->r, &u);
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT substr(client_name, 1, 3) FROM sessions"),
                        "a\xEF\xBF\xBDx");
    assert_string_equal(ask(&f->t, "SELECT length(client_name) FROM sessions"), "4096");
}

/* What the session has learnt before belongs into the new vault as well. */
static void test_recorder_removed_vault_gets_all_that_is_known_of_the_session(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    struct store_update u = {.client_name = slice_of("inspector"),
                             .protocol_version = slice_of("2025-06-18")};
    recorder_learn(f->r, &u);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_int_equal(rename(f->t.vault, temp_path(&f->t, "old")), 0);
    forward_us += 2000000;
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT client_name, protocol_version FROM sessions"),
                        "inspector|2025-06-18");
}

static void test_recorder_close_writes_what_waits(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND);
    struct chunk *c = add(f, 0); /* of a turn that was never ended */
    struct store_update u = {.end_reason = slice_of("signal")};
    recorder_learn(f->r, &u);
    sql_unlock(h);
    recorder_close(f->r);
    f->r = NULL;
    let_go(c);
    assert_int_equal(rows_that_are_right(f), 3);
    assert_string_equal(ask(&f->t, "SELECT end_reason FROM sessions"), "signal");
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_close_waits_for_a_lock_that_is_held(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, RECORDER_WAIT_US + 350000); /* the first wait is over before */
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND);
    recorder_close(f->r);
    f->r = NULL;
    sql_unlock(h);
    assert_int_equal(rows_that_are_right(f), 2);
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_close_that_cannot_write_says_so(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    pid_t h = sql_lock(&f->t, 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_BEHIND);
    recorder_close(f->r);
    f->r = NULL;
    assert_true(
        said_holds("error: not everything is recorded: lost=1 reason=\"database is locked\""));
    sql_unlock(h);
    assert_int_equal(rows_that_are_right(f), 1);
}

static void test_recorder_close_of_nothing_is_fine(void **state)
{
    (void)state;
    recorder_close(NULL);
}

static void test_recorder_checkpoint_lets_the_log_start_anew(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(add_and_commit(f, 20000), RECORDER_STORED);
    assert_true(recorder_wal_pages(f->r) > 250);
    recorder_checkpoint(f->r);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    assert_true(recorder_wal_pages(f->r) < 20);
    assert_int_equal(rows_that_are_right(f), 51);
}

/* Rows for which there is no memory: lost and said under pass. */
static void test_recorder_pass_without_memory_counts_what_is_lost(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, false), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    struct row row = {.kind = "notification", .body = slice_of("x")};
    no_memory = true;
    for (int i = 0; i < 100; i++)
        assert_int_equal(recorder_add(f->r, &row), ++f->added); /* the first 64 have their place */
    no_memory = false;
    assert_int_equal(recorder_commit(f->r), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "65");
    assert_string_equal(
        ask(&f->t, "SELECT json_extract(detail, '$.lost'), json_extract(detail, '$.first_seq'),"
                   " json_extract(detail, '$.last_seq') FROM events"),
        "36|66|101");
}

static void test_recorder_stop_without_memory_lets_nothing_go_on_unrecorded(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_recorder(f, true), 0);
    assert_int_equal(add_and_commit(f, 0), RECORDER_STORED);
    struct row row = {.kind = "notification", .body = slice_of("x")};
    no_memory = true;
    for (int i = 0; i < 100; i++)
        assert_int_equal(recorder_add(f->r, &row), ++f->added);
    no_memory = false;
    assert_int_equal(recorder_commit(f->r), RECORDER_FAILED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_recorder_nothing_is_seen_before_the_commit_and_all_of_it_after),
        T(test_recorder_session_is_written_with_the_first_rows_and_completed_as_it_learns),
        T(test_recorder_name_of_a_peer_is_kept_short_and_without_nul),
        T(test_recorder_two_sessions_in_one_vault_keep_their_rows_apart),
        T(test_recorder_times_do_not_go_back),
        T(test_recorder_lock_held_for_a_moment_is_waited_for),
        T(test_recorder_lock_held_for_long_lets_the_traffic_go_on_and_loses_nothing),
        T(test_recorder_full_queue_holds_the_traffic_before_it_loses_anything),
        T(test_recorder_after_the_pause_rows_are_lost_counted_and_said),
        T(test_recorder_row_larger_than_the_queue_is_lost_at_once),
        T(test_recorder_stop_holds_everything_while_the_lock_is_held),
        T(test_recorder_stop_gives_up_after_the_pause),
        T(test_recorder_stop_gives_up_at_once_when_the_disk_is_full),
        T(test_recorder_stop_without_a_vault_does_not_begin),
        T(test_recorder_pass_without_a_vault_begins_and_records_once_it_can),
        T(test_recorder_full_disk_loses_only_what_memory_cannot_keep),
        T(test_recorder_little_room_is_used_for_what_waits),
        T(test_recorder_large_body_that_does_not_fit_waits_with_the_others),
        T(test_recorder_removed_vault_is_made_anew_and_the_session_goes_on),
        T(test_recorder_removed_vault_gets_all_that_is_known_of_the_session),
        T(test_recorder_close_writes_what_waits),
        T(test_recorder_close_waits_for_a_lock_that_is_held),
        T(test_recorder_close_that_cannot_write_says_so),
        T(test_recorder_close_of_nothing_is_fine),
        T(test_recorder_checkpoint_lets_the_log_start_anew),
        T(test_recorder_pass_without_memory_counts_what_is_lost),
        T(test_recorder_stop_without_memory_lets_nothing_go_on_unrecorded),
    };
    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
