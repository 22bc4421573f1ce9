/* Storing a journal: everything, in order, once, wherever the process is killed. */
#include "record/process/store.h"

#include "tests/support/journal_unit.h"

#include "base/os/process.h"
#include "record/process/orphans.h"
#include "record/process/upkeep.h"
#include "redact/sanitizer.h"

#include <sys/resource.h>
#include <sys/time.h>

static int set_up(void **state)
{
    static struct journal_unit j;
    journal_unit_place(&j);
    *state = &j;
    return 0;
}

static int tear_down(void **state)
{
    journal_unit_remove(*state);
    return 0;
}

/* ---- a recorder ----------------------------------------------------------------------------- */

static int steps_left;     /* the process is killed at this step; 0: never */
static uint64_t poison_at; /* and at each entry at this position */
static bool
    poison_in_commit; /* only when its transaction is committed, as long as it has its body */
static struct ring *poison_ring;

static void on_step(const char *name)
{
    if (steps_left > 0 && --steps_left == 0)
        raise(SIGKILL);
    if (poison_in_commit) {
        const struct ring_shared *k = poison_ring->shared;
        bool stripped =
            atomic_load(&k->killed_by) == poison_at && atomic_load(&k->kills) >= STORE_KILLS_MAX;
        if (strcmp(name, "filled") == 0 && !stripped && atomic_load(&k->tail) <= poison_at &&
            poison_ring->at > poison_at)
            raise(SIGKILL);
        return;
    }
    if (poison_at != 0 && strcmp(name, "entry") == 0 &&
        atomic_load(&poison_ring->shared->trying) == poison_at)
        raise(SIGKILL);
}

/* Stores the journal of this uid to its end and removes it, as the recorder process does. Returns 0, or the result that
 * it cannot continue from. */
static int record(const char *uid)
{
    struct journal_file f;
    struct ring r;
    struct session_start start;
    struct store *s;
    enum store_result result;
    size_t n;
    if (journal_file_open(&f, uid) < 0 || ring_open(&r, f.fd) < 0 ||
        form_read_session_start(ring_get_session_start(&r), &start) < 0 ||
        store_open(&s, &start, NULL, NULL) < 0)
        return 100;
    poison_ring = &r;
    store_step = on_step;
    store_take_over_journal(s, &r);
    while (((result = store_batch(s, &r, &n)) == STORE_DONE && n > 0) || result == STORE_BUSY)
        continue;
    if (result == STORE_DONE)
        while ((result = store_end_session(s, &r)) == STORE_BUSY)
            continue;
    if (result == STORE_DONE) {
        on_step("remove");
        journal_file_remove(&f);
        on_step("removed");
    }
    store_step = NULL;
    store_close(s);
    ring_close(&r);
    journal_file_close(&f);
    return (int)result;
}

/* In a process of its own. Returns its status, as of waitpid(). us: it is killed after this time; 0: never. */
static int record_in_child(const char *uid, int steps, int64_t us)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct itimerval t = {.it_value = {us / 1000000, us % 1000000}};
        log_set_level(LOG_ERROR);
        steps_left = steps;
        setitimer(ITIMER_REAL, &t, NULL); /* SIGALRM kills, at any instruction */
        _exit(record(uid));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static char *text_of_length(size_t n)
{
    char *s = malloc(n + 64);
    size_t at = (size_t)sprintf(s, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"text\":\"");
    memset(s + at, 'a', n);
    strcpy(s + at + n, "\"}}");
    return s;
}

/* A session with entries of each kind. */
static void write_session(struct journal_unit *j, bool ends)
{
    char body[200], *large = text_of_length(70000);
    struct entry e = {
        .kind = ENTRY_UPDATE,
        .update = {.client_name = slice_of("client"), .server_name = slice_of("server \xff")}};
    put_running_processes(j);
    put_event(j, "spawn", "{\"pid\":1}");
    put(j, &e);
    for (int i = 0; i < 12; i++) {
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"password\":"
                 "\"secret%d\",\"arguments\":{\"path\":\"a\"}}}", /* those of put_invocation() */
                 i);
        if (i % 3 == 0) {
            put_answer(j, i % 5 == 1 ? large : body);
        } else {
            put_message(j, i % 5 == 1 ? large : body);
            put_invocation(j);
        }
        if (i % 4 == 2)
            put_event(j, "resent", "{\"seq\":1}");
        if (i == 3 || i == 7)
            put_escalation(j, i == 3 ? "read" : "write");
    }
    e = (struct entry){.kind = ENTRY_LOST,
                       .lost = {.n = 3, .first_seq = 13, .last_seq = 15, .t_us = 200}};
    put(j, &e);
    e = (struct entry){.kind = ENTRY_TOOLS_WANTED};
    put(j, &e);
    j->seq = 15;
    put_message(j, body);
    if (ends)
        put_end(j);
    free(large);
}

/* Removes the vault, and makes the same journal again. */
static void write_again(struct journal_unit *j, bool ends)
{
    nftw(j->t.vault, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (j->file.fd >= 0)
        journal_file_remove(&j->file);
    journal_unit_die(j);
    journal_unit_open(j, NULL);
    write_session(j, ends);
}

static bool has_journal(const struct journal_unit *j)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", j->dir, j->uid);
    return exists(path);
}

#define COMMITMENT "\"commitment\":\""

/* The text of the vault with the uid of this session and commitments in the log directory replaced. */
static char *vault_of(const struct journal_unit *j)
{
    char *text = vault_text(&j->t);
    for (char *p = text; (p = strstr(p, j->uid)) != NULL;)
        memset(p, 'U', UID_LEN);
    for (char *p = text; (p = strstr(p, COMMITMENT)) != NULL;) /* salts are random */
        memset((p += sizeof COMMITMENT - 1), 'C', 64);
    return text;
}

static void assert_same_vault(const char *want, const struct journal_unit *j, const char *what,
                              int n)
{
    char *got = vault_of(j);
    if (strcmp(want, got) != 0) {
        size_t i = 0;
        while (want[i] == got[i])
            i++;
        size_t from = i > 200 ? i - 200 : 0;
        fail_msg("%s %d:\nwant …%.400s\ngot …%.400s", what, n, want + from, got + from);
    }
    free(got);
    assert_false(has_journal(j));
}

/* ---- the tests ------------------------------------------------------------------------------ */

static void test_store_stores_every_entry_in_order(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, true);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    assert_false(has_journal(j));
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT group_concat(seq) FROM (SELECT seq FROM messages ORDER "
                                 "BY id)"),
                        "1,2,3,4,5,6,7,8,9,10,11,12,16");
    assert_string_equal(sql_rows(&j->t, "SELECT count(*), sum(body_length > 70000) FROM messages"),
                        "13|3");
    assert_string_equal(
        sql_rows(&j->t, "SELECT group_concat(kind) FROM (SELECT kind FROM events ORDER BY id)"),
        "spawn,resent,escalation,resent,escalation,resent,gap");
    assert_string_equal(sql_rows(&j->t, "SELECT detail FROM events WHERE kind = 'gap'"),
                        "{\"reason\":\"full\",\"lost\":3,\"first_seq\":13,\"last_seq\":15}");
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT client_name, server_name, end_reason, exit_status, pid, "
                                 "ended_at_us - started_at_us FROM sessions"),
                        "client|server \xef\xbf\xbd|client-closed|0|4242|1000000");
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT count(*), sum(status = 'open'), sum(status = 'ok') FROM "
                                 "calls"),
                        "9|6|3");
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT (SELECT count(*) FROM running), (SELECT count(*) FROM "
                                 "journals), (SELECT count(*) FROM escalations)"),
                        "0|0|2");
    char *text = vault_of(j);
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "ghp_"));
    size_t lines = 0;
    for (char *p = text; (p = strstr(p, "{\"time\":")) != NULL; p++)
        lines++;
    assert_int_equal(lines, 12);
    free(text);
}

static void test_store_killed_at_any_step_loses_nothing_and_repeats_nothing(void **state)
{
    struct journal_unit *j = *state;
    for (int ends = 0; ends <= 1; ends++) {
        write_again(j, ends);
        assert_int_equal(record_in_child(j->uid, 0, 0), 0);
        char *want = vault_of(j);
        for (int n = 1 + ends;; n += (int)unit_sample(3)) {
            write_again(j, ends);
            int status = record_in_child(j->uid, n, 0);
            if (WIFEXITED(status)) {
                assert_int_equal(status, 0);
                assert_true(n > 50);
                break;
            }
            if (has_journal(j))
                assert_int_equal(record_in_child(j->uid, 0, 0), 0);
            assert_same_vault(want, j, "step", n);
        }
        free(want);
    }
}

static void test_store_killed_at_any_time_loses_nothing_and_repeats_nothing(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, true);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    char *want = vault_of(j);
    for (int us = 300;; us += us / 20 * (int)unit_sample(3)) {
        write_again(j, true);
        int status = record_in_child(j->uid, 0, us);
        if (WIFEXITED(status))
            break;
        if (has_journal(j))
            assert_int_equal(record_in_child(j->uid, 0, 0), 0);
        assert_same_vault(want, j, "time", us);
    }
    free(want);
}

static void test_store_killed_twice_at_any_step_loses_nothing(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, true);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    char *want = vault_of(j);
    for (int n = 1; n < 60; n += 3 * (int)unit_sample(3)) {
        write_again(j, true);
        for (int again = 1; has_journal(j); again++)
            (void)record_in_child(j->uid, n + again * 4, 0);
        assert_same_vault(want, j, "steps", n);
    }
    free(want);
}

static void test_store_message_that_kills_is_stored_without_its_body(void **state)
{
    struct journal_unit *j = *state;
    journal_unit_open(j, NULL);
    put_message(j, "{\"first\":1}");
    poison_at = atomic_load(&j->ring.shared->head);
    put_message(j, "{\"second\":2}");
    put_message(j, "{\"third\":3}");
    put_end(j);
    for (int i = 0; i < 3; i++)
        assert_true(WIFSIGNALED(record_in_child(j->uid, 0, 0)));
    uint64_t killer = poison_at;
    poison_at = 0;
    assert_int_equal(atomic_load(&j->ring.shared->trying), killer);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    assert_string_equal(sql_rows(&j->t, "SELECT seq, method, body FROM messages ORDER BY id"),
                        "1|tools/call|{\"first\":1};2|tools/call|-;3|tools/call|{\"third\":3}");
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "unrecordable|{\"seq\":2,\"kills\":3}");
}

/* The first process dies in a transaction of several entries: the next ones find out which it was. */
static void test_store_message_that_kills_in_the_commit_is_stored_without_its_body(void **state)
{
    struct journal_unit *j = *state;
    journal_unit_open(j, NULL);
    put_message(j, "{\"first\":1}");
    poison_at = atomic_load(&j->ring.shared->head);
    put_message(j, "{\"second\":2}");
    put_message(j, "{\"third\":3}");
    put_end(j);
    poison_in_commit = true;
    for (int i = 0; i < 1 + STORE_KILLS_MAX; i++)
        assert_true(WIFSIGNALED(record_in_child(j->uid, 0, 0)));
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    poison_in_commit = false;
    poison_at = 0;
    assert_string_equal(sql_rows(&j->t, "SELECT seq, method, body FROM messages ORDER BY id"),
                        "1|tools/call|{\"first\":1};2|tools/call|-;3|tools/call|{\"third\":3}");
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "unrecordable|{\"seq\":2,\"kills\":3}");
}

static void test_store_entry_that_always_kills_is_skipped(void **state)
{
    struct journal_unit *j = *state;
    journal_unit_open(j, NULL);
    put_message(j, "{\"first\":1}");
    poison_at = atomic_load(&j->ring.shared->head);
    put_event(j, "spawn", NULL);
    put_message(j, "{\"third\":3}");
    put_end(j);
    for (int i = 0; i < 7; i++)
        assert_true(WIFSIGNALED(record_in_child(j->uid, 0, 0)));
    poison_at = 0;
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    assert_string_equal(sql_rows(&j->t, "SELECT group_concat(seq) FROM messages"), "1,2");
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "unrecordable|{\"kills\":7}");
}

/* ---- trouble -------------------------------------------------------------------------------- */

/* A store in this process. */
struct open_store {
    struct journal_file f;
    struct ring r;
    struct session_start start;
    struct store *s;
    unsigned changed;
};

static void on_changed(void *ctx)
{
    struct open_store *o = ctx;
    o->changed++;
}

static void open_it(struct open_store *o, const struct journal_unit *j)
{
    static const struct store_calls calls = {.changed = on_changed};
    *o = (struct open_store){.changed = 0};
    assert_int_equal(journal_file_open(&o->f, j->uid), 0);
    assert_int_equal(ring_open(&o->r, o->f.fd), 0);
    assert_int_equal(form_read_session_start(ring_get_session_start(&o->r), &o->start), 0);
    assert_int_equal(store_open(&o->s, &o->start, &calls, o), 0);
    store_take_over_journal(o->s, &o->r);
}

static void close_it(struct open_store *o)
{
    store_close(o->s);
    ring_close(&o->r);
    journal_file_close(&o->f);
}

static enum ring_trouble trouble_of(const struct open_store *o)
{
    return (enum ring_trouble)atomic_load(&o->r.shared->trouble);
}

static void assert_stored(struct open_store *o, size_t n)
{
    size_t stored, sum = 0;
    do {
        assert_int_equal(store_batch(o->s, &o->r, &stored), STORE_DONE);
        sum += stored;
    } while (stored > 0);
    assert_int_equal(sum, n);
    assert_int_equal(trouble_of(o), RING_FINE);
}

static void test_store_of_a_locked_database_waits_and_reports_it(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    size_t n;
    journal_unit_open(j, NULL);
    open_it(&o, j);
    said_begin();
    put_message(j, "{\"first\":1}");
    assert_stored(&o, 1);
    pid_t locker = sql_lock(&j->t, 0);
    put_message(j, "{\"second\":2}");
    put_event(j, "spawn", NULL);
    ring_set_writer_waits(&j->ring, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_batch(o.s, &o.r, &n), STORE_BUSY);
        assert_int_equal(n, 0);
        assert_int_equal(trouble_of(&o), RING_BUSY);
        assert_int_equal(o.changed, 1);
    }
    assert_int_equal(ring_count_unread_bytes(&o.r),
                     atomic_load(&o.r.shared->head) - atomic_load(&o.r.shared->tail));
    assert_true(ring_count_unread_bytes(&o.r) > 0);
    sql_unlock(locker);
    assert_stored(&o, 2);
    assert_int_equal(o.changed, 3); /* tail, trouble */
    assert_int_equal(said_lines(), 0);
    assert_string_equal(
        sql_rows(&j->t, "SELECT count(*), (SELECT count(*) FROM events) FROM messages"), "2|1");
    said_end();
    close_it(&o);
}

/* Others that make the same vault hold the lock, too. */
static void test_store_of_a_database_that_is_locked_when_it_is_opened_waits(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    size_t n;
    journal_unit_open(j, NULL);
    sqlite3 *db = NULL;
    assert_int_equal(mkdir(j->t.vault, 0700), 0);
    assert_int_equal(sqlite3_open(temp_path(&j->t, "vault/interposer.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE other (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    pid_t locker = sql_lock(&j->t, 0);
    open_it(&o, j);
    said_begin();
    put_message(j, "{\"first\":1}");
    assert_int_equal(store_batch(o.s, &o.r, &n), STORE_BUSY);
    assert_int_equal(trouble_of(&o), RING_BUSY);
    sql_unlock(locker);
    assert_stored(&o, 1);
    assert_int_equal(trouble_of(&o), RING_FINE);
    assert_int_equal(said_lines(), 0);
    said_end();
    close_it(&o);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_store_on_a_full_disk_tries_until_there_is_room(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    char *large = text_of_length(40000);
    size_t n, total = 0;
    signal(SIGXFSZ, SIG_IGN);
    journal_unit_open(j, NULL);
    open_it(&o, j);
    said_begin();
    put_event(j, "spawn", NULL);
    assert_stored(&o, 1);
    limit_files(1 << 20);
    for (int failed = 0; failed < 3; total++) { /* in a row: a checkpoint may make room */
        assert_true(total < 500);
        if (failed == 0) {
            put_message(j, large);
            put_event(j, "resent", NULL);
        }
        enum store_result result = store_batch(o.s, &o.r, &n);
        failed = result == STORE_FAILING ? failed + 1 : 0;
        assert_int_equal(trouble_of(&o), failed > 0 ? RING_FAILING : RING_FINE);
    }
    assert_true(said_holds("cannot record, messages wait in memory: "));
    size_t lines = said_lines();
    assert_int_equal(lines % 2, 1); /* begin and end of each failure */
    limit_files(RLIM_INFINITY);
    assert_stored(&o, 2);
    assert_int_equal(said_lines(), lines + 1);
    assert_true(said_holds("recording again"));
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT count(*) = max(seq), count(*) = (SELECT count(*) FROM "
                                 "events WHERE kind = 'resent') FROM messages"),
                        "1|1");
    char last[40];
    snprintf(last, sizeof last, "%llu", (unsigned long long)j->seq);
    assert_string_equal(sql_rows(&j->t, "SELECT max(seq) FROM messages"), last);
    said_end();
    close_it(&o);
    free(large);
}

static size_t checkpoints;

static void on_checkpoint(const char *name)
{
    checkpoints += strcmp(name, "checkpoint") == 0;
}

static void
test_store_after_a_full_disk_pauses_between_checkpoints_that_a_reader_prevents(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    char *large = text_of_length(40000), path[300];
    size_t n, turns = 0;
    sqlite3 *reader;
    signal(SIGXFSZ, SIG_IGN);
    journal_unit_open(j, NULL);
    open_it(&o, j);
    said_begin();
    put_message(j, large);
    assert_stored(&o, 1);
    snprintf(path, sizeof path, "%s/interposer.db", j->t.vault);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM messages", NULL, NULL, NULL),
                     SQLITE_OK);
    limit_files(1 << 20);
    for (int i = 0; i < 150; i++)
        put_message(j, large);
    for (int failed = 0; failed < 3;)
        failed += store_batch(o.s, &o.r, &n) == STORE_FAILING;
    limit_files(RLIM_INFINITY);
    checkpoints = 0;
    store_step = on_checkpoint;
    int64_t start_us = clock_mono_us();
    for (n = 1; n > 0; turns++)
        assert_int_equal(store_batch(o.s, &o.r, &n), STORE_DONE);
    store_step = NULL;
    assert_true(turns > 5);
    assert_in_range(checkpoints, 1, (uintmax_t)(2 + (clock_mono_us() - start_us) / STORE_RETRY_US));
    sqlite3_close(reader);
    said_end();
    close_it(&o);
    free(large);
}

/* Two calls get the same result 20 times each, in one transaction. */
static void test_store_escalates_each_call_without_progress_of_a_transaction(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    char body[200];
    journal_unit_open(j, NULL);
    open_it(&o, j);
    for (int i = 0; i < 40; i++) {
        const char *tool = i < 20 ? "read" : "write";
        struct entry e = {.kind = ENTRY_MESSAGE,
                          .row = {.kind = KIND_REQUEST,
                                  .seq = ++j->seq,
                                  .rpc_id = slice_of("7"),
                                  .method = slice_of("tools/call"),
                                  .target = slice_of(tool)}};
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"%s\"}}",
                 tool);
        e.row.body = slice_of(body);
        e.row.size = e.row.body.n;
        put(j, &e);
        put_answer(j, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}");
    }
    said_begin();
    assert_stored(&o, 80);
    said_end();
    assert_string_equal(sql_rows(&j->t, "SELECT tool FROM escalations WHERE cause = 'no-progress' "
                                        "ORDER BY tool"),
                        "read;write");
    assert_string_equal(sql_rows(&j->t, "SELECT count(*) FROM events WHERE kind = 'escalation'"),
                        "2");
    close_it(&o);
}

static void test_store_without_a_vault_makes_escalations_wait_for_it(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    size_t n;
    char path[300];
    said_begin();
    journal_unit_open(j, NULL);
    open_it(&o, j);
    assert_int_equal(mkdir(j->t.vault, 0700), 0);
    snprintf(path, sizeof path, "%s/interposer.db", j->t.vault);
    assert_int_equal(mkdir(path, 0700), 0); /* it cannot be opened */
    put_message(j, "{\"first\":1}");
    put_escalation(j, "read");
    put_escalation(j, "read");
    put_escalation(j, "write");
    put_message(j, "{\"second\":2}");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_batch(o.s, &o.r, &n), STORE_FAILING);
        store_write_escalations_early(o.s, &o.r);
    }
    struct buf files = {0};
    add_folder(&files, &j->t, "Escalations", false);
    assert_int_equal(files.n, 2 * strlen("20261121T101540.043Z-auth-files.md\n"));
    assert_int_equal(rmdir(path), 0);
    assert_stored(&o, 5);
    assert_int_equal(store_end_session(o.s, &o.r), STORE_DONE); /* writes the counts */
    char *text = vault_text(&j->t);
    assert_non_null(strstr(text, "\ncount: 2\n"));
    assert_string_equal(sql_rows(&j->t, "SELECT tool, count FROM escalations ORDER BY id"),
                        "read|2;write|1");
    assert_string_equal(sql_rows(&j->t, "SELECT count(*) FROM events WHERE kind = 'escalation'"),
                        "2");
    struct buf again = {0};
    add_folder(&again, &j->t, "Escalations", false);
    assert_string_equal(buf_str(&again), buf_str(&files));
    free(text);
    buf_close(&files);
    buf_close(&again);
    said_end();
    close_it(&o);
}

static void remove_vault(const struct journal_unit *j)
{
    nftw(j->t.vault, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_store_of_a_removed_vault_ends_and_the_next_one_makes_it_again(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    size_t n;
    enum store_result result;
    said_begin();
    journal_unit_open(j, NULL);
    open_it(&o, j);
    put_message(j, "{\"first\":1}");
    assert_stored(&o, 1);
    remove_vault(j);
    put_message(j, "{\"second\":2}");
    int64_t until = clock_mono_us() + 20000000; /* it looks once a second */
    while ((result = store_batch(o.s, &o.r, &n)) != STORE_GONE && clock_mono_us() < until) {
        assert_int_equal(result, STORE_DONE);
        put_message(j, "{\"more\":3}");
        usleep(10000);
    }
    assert_int_equal(result, STORE_GONE);
    assert_true(said_holds("the vault was removed; creating it again: vault="));
    assert_true(ring_count_unread_bytes(&o.r) > 0);
    close_it(&o);
    put_end(j);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "gap|{\"reason\":\"vault removed\"}");
    char last[40];
    snprintf(last, sizeof last, "%llu", (unsigned long long)j->seq);
    assert_string_equal(sql_rows(&j->t, "SELECT max(seq) FROM messages"), last);
    said_end();
}

/* ---- damage --------------------------------------------------------------------------------- */

static void test_store_of_a_damaged_journal_keeps_what_is_before(void **state)
{
    struct journal_unit *j = *state;
    journal_unit_open(j, NULL);
    put_message(j, "{\"first\":1}");
    put_message(j, "{\"second\":2}");
    uint64_t at = atomic_load(&j->ring.shared->head);
    put_message(j, "{\"third\":3}");
    struct ring_head *head = (struct ring_head *)(void *)(j->ring.data + at);
    head->n = 0x7fffffff;
    journal_unit_die(j);
    said_begin();
    for (int i = 0; i < 2; i++) /* the second one finds nothing */
        orphans_store_all(j->t.vault, NULL, NULL);
    said_end();
    assert_false(has_journal(j));
    assert_string_equal(sql_rows(&j->t, "SELECT group_concat(seq) FROM messages"), "1,2");
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "gap|{\"reason\":\"damaged\"}");
    assert_string_equal(sql_rows(&j->t, "SELECT end_reason FROM sessions"), "killed");
}

static void test_store_skips_an_entry_that_is_damaged(void **state)
{
    struct journal_unit *j = *state;
    journal_unit_open(j, NULL);
    put_message(j, "{\"first\":1}");
    char *p = ring_reserve_record(&j->ring, 3);
    memcpy(p, "abc", 3);
    ring_add_record_head(&j->ring, ENTRY_MESSAGE, 3);
    put_message(j, "{\"second\":2}");
    put_end(j);
    assert_int_equal(record_in_child(j->uid, 0, 0), 0);
    assert_string_equal(sql_rows(&j->t, "SELECT group_concat(seq) FROM messages"), "1,2");
    assert_string_equal(sql_rows(&j->t, "SELECT kind, detail FROM events"),
                        "gap|{\"reason\":\"damaged\"}");
}

/* ---- orphans -------------------------------------------------------------------------------- */

static void test_orphan_is_stored_closed_and_removed(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, false);
    assert_int_equal(record_in_child(j->uid, 30, 0), SIGKILL);
    orphans_store_all(j->t.vault, NULL, NULL); /* the writer lives */
    assert_true(has_journal(j));
    journal_unit_die(j);
    orphans_store_all("/another/vault", NULL, NULL);
    assert_true(has_journal(j));
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_false(has_journal(j));
    assert_string_equal(
        sql_rows(&j->t, "SELECT end_reason, ended_at_us - started_at_us FROM sessions"),
        "killed|160");
    assert_string_equal(sql_rows(&j->t,
                                 "SELECT count(*), (SELECT count(*) FROM events), "
                                 "(SELECT count(*) FROM running), (SELECT count(*) FROM journals)"
                                 " FROM messages"),
                        "13|7|0|0");
    orphans_store_all(j->t.vault, NULL, NULL);
}

static void test_file_that_never_became_a_journal_is_removed_later(void **state)
{
    struct journal_unit *j = *state;
    struct journal_file f;
    char uid[UID_LEN + 1];
    assert_int_equal(uid_make(clock_wall_us(), uid), 0);
    assert_int_equal(journal_file_create(&f, uid, NULL), 0);
    journal_file_close(&f);
    orphans_store_all(j->t.vault, NULL, NULL); /* it may be one that is being made */
    assert_int_equal(journal_file_open(&f, uid), 0);
    const struct timespec old[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(futimens(f.fd, old), 0);
    journal_file_close(&f);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_int_equal(journal_file_open(&f, uid), MI_ENOENT);
}

static void test_orphan_that_has_ended_is_only_removed(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, true);
    for (int n = 30;; n++) { /* killed before it removes the journal */
        int status = record_in_child(j->uid, n, 0);
        if (ring_is_finished(&j->ring) && WIFSIGNALED(status))
            break;
        write_again(j, true);
    }
    assert_true(has_journal(j));
    journal_unit_die(j);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_false(has_journal(j));
    assert_string_equal(sql_rows(&j->t, "SELECT count(*), (SELECT count(*) FROM events), "
                                        "(SELECT end_reason FROM sessions), (SELECT count(*) FROM "
                                        "journals) FROM messages"),
                        "13|7|client-closed|0");
}

static void test_orphan_found_by_many_processes_is_stored_once(void **state)
{
    struct journal_unit *j = *state;
    for (int round = 0; round < 10; round++) {
        pid_t pid[4];
        int go[2];
        write_again(j, false);
        journal_unit_die(j);
        assert_int_equal(pipe(go), 0);
        for (size_t i = 0; i < MI_COUNT(pid); i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                char c;
                close(go[1]);
                (void)!read(go[0], &c, 1); /* until all are there */
                orphans_store_all(j->t.vault, NULL, NULL);
                _exit(0);
            }
        }
        close(go[0]);
        close(go[1]);
        for (size_t i = 0; i < MI_COUNT(pid); i++) {
            int status;
            assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
            assert_int_equal(status, 0);
        }
        assert_false(has_journal(j));
        assert_string_equal(sql_rows(&j->t, "SELECT count(*), (SELECT count(*) FROM events), "
                                            "(SELECT count(*) FROM sessions) FROM messages"),
                            "13|7|1");
    }
}

static void test_orphan_is_sanitized_with_the_rules_of_its_session(void **state)
{
    struct journal_unit *j = *state;
    struct buf error = {0};
    struct redact *own;
    assert_int_equal(redact_open(&own, &error), 0);
    assert_int_equal(redact_add_rule(own, "keys", "colour", &error), 0);
    redact_set_current_rules(own);
    journal_unit_open(j, "{\"version\":\"2.1\",\"rules\":[[\"keys\",\"shoe_size\"]]}");
    put_message(j, "{\"shoe_size\":\"forty\",\"colour\":\"green\",\"x\":1}");
    journal_unit_die(j);
    orphans_store_all(j->t.vault, NULL, NULL);
    const char *body = sql_rows(&j->t, "SELECT body FROM messages");
    assert_null(strstr(body, "forty"));
    assert_null(strstr(body, "green"));
    assert_non_null(strstr(sql_rows(&j->t, "SELECT redact_rules FROM sessions"), "shoe_size"));
    struct buf rules = {0};
    assert_ptr_equal(redact_get_current_sanitizer(), own); /* unchanged */
    redact_write_rules(own, &rules);
    assert_null(strstr(buf_str(&rules), "shoe_size"));
    redact_set_current_rules(NULL);
    buf_close(&rules);
    buf_close(&error);
}

static void test_orphan_of_another_version_is_left(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, false);
    j->ring.shared->version++;
    journal_unit_die(j);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_true(has_journal(j));
    assert_false(exists(j->t.vault));
}

static void test_orphan_whose_vault_is_locked_is_left_for_later(void **state)
{
    struct journal_unit *j = *state;
    write_again(j, false);
    assert_int_equal(record_in_child(j->uid, 30, 0), SIGKILL);
    journal_unit_die(j);
    pid_t locker = sql_lock(&j->t, 0);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_true(has_journal(j));
    sql_unlock(locker);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_false(has_journal(j));
}

/* ---- upkeep --------------------------------------------------------------------------------- */

/* A session in the vault whose processes are gone, and whose journal is gone as well. */
static void leave_dead_session(struct journal_unit *j, int id)
{
    char sql[600], boot[PROCESS_BOOT_MAX];
    sqlite3 *db = NULL;
    process_read_boot_id(boot);
    snprintf(
        sql, sizeof sql,
        "INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host, record_level,"
        " interposer_version, salt) VALUES (%d, 'U%d', 'n', '[]', 1, 1, 'h', 'full', '0', x'00');"
        "INSERT INTO running (session_id, boot, pid_namespace, pid, pid_start)"
        " VALUES (%d, '%s', %lld, 1, 0)",
        id, id, id, boot, (long long)process_pid_namespace());
    assert_int_equal(sqlite3_open(temp_path(&j->t, "vault/interposer.db"), &db), SQLITE_OK);
    sql_run(db, sql);
    sqlite3_close(db);
}

static void test_upkeep_looks_for_dead_sessions_from_time_to_time(void **state)
{
    struct journal_unit *j = *state;
    struct open_store o;
    struct upkeep u;
    static const struct retention none;
    journal_unit_open(j, NULL);
    open_it(&o, j);
    assert_int_equal(store_open_and_add_session(o.s, &o.r), STORE_DONE);
    upkeep_open(&u, o.s, &none, NULL, NULL);
    int64_t wait_us = upkeep_run_when_idle(&u);
    assert_true(wait_us > 0 && wait_us <= UPKEEP_DEAD_US);
    for (int id = 2; id <= 3; id++) {
        char sql[80];
        leave_dead_session(j, id);
        (void)upkeep_run_when_idle(&u); /* not due */
        snprintf(sql, sizeof sql, "SELECT end_reason FROM sessions WHERE id = %d", id);
        assert_string_equal(sql_rows(&j->t, sql), "-");
        u.look_us = clock_mono_us();
        wait_us = upkeep_run_when_idle(&u);
        assert_string_equal(sql_rows(&j->t, sql), "killed");
        for (int n = 0; u.fill_us != INT64_MAX && n < 10; n++) { /* its calls are added */
            u.fill_us = clock_mono_us();
            wait_us = upkeep_run_when_idle(&u);
        }
        assert_true(wait_us > UPKEEP_DEAD_US && wait_us <= UPKEEP_LOOK_US);
        snprintf(sql, sizeof sql, "SELECT calls FROM sessions WHERE id = %d", id);
        assert_string_equal(sql_rows(&j->t, sql), "1");
    }
    upkeep_close(&u);
    close_it(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(test_store_stores_every_entry_in_order),
        T(test_store_killed_at_any_step_loses_nothing_and_repeats_nothing),
        T(test_store_killed_at_any_time_loses_nothing_and_repeats_nothing),
        T(test_store_killed_twice_at_any_step_loses_nothing),
        T(test_store_message_that_kills_is_stored_without_its_body),
        T(test_store_message_that_kills_in_the_commit_is_stored_without_its_body),
        T(test_store_entry_that_always_kills_is_skipped),
        T(test_store_of_a_locked_database_waits_and_reports_it),
        T(test_store_of_a_database_that_is_locked_when_it_is_opened_waits),
        T(test_store_on_a_full_disk_tries_until_there_is_room),
        T(test_store_after_a_full_disk_pauses_between_checkpoints_that_a_reader_prevents),
        T(test_store_escalates_each_call_without_progress_of_a_transaction),
        T(test_store_without_a_vault_makes_escalations_wait_for_it),
        T(test_store_of_a_removed_vault_ends_and_the_next_one_makes_it_again),
        T(test_store_of_a_damaged_journal_keeps_what_is_before),
        T(test_store_skips_an_entry_that_is_damaged),
        T(test_orphan_is_stored_closed_and_removed),
        T(test_file_that_never_became_a_journal_is_removed_later),
        T(test_orphan_that_has_ended_is_only_removed),
        T(test_orphan_found_by_many_processes_is_stored_once),
        T(test_orphan_is_sanitized_with_the_rules_of_its_session),
        T(test_orphan_of_another_version_is_left),
        T(test_orphan_whose_vault_is_locked_is_left_for_later),
        T(test_upkeep_looks_for_dead_sessions_from_time_to_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
