/* The database: what is bound is what stands there, a failed batch leaves nothing, and other processes
 * are neither waited for too long nor written over. */
#include "vault/store.h"

#include "tests/unit/vault_unit.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"

struct fixture {
    struct temp t;
    struct vault_dir d;
    struct store *s;
    struct buf error;
};

static void open_store(struct fixture *f, bool sync_full)
{
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    assert_int_equal(store_open(&f->s, &f->d, sync_full, &f->error), 0);
    assert_int_equal(f->error.n, 0);
}

static void close_store(struct fixture *f)
{
    store_close(f->s);
    f->s = NULL;
    vault_dir_close(&f->d);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.d = {.fd = -1}};
    temp_make(&f.t);
    signal(SIGXFSZ, SIG_IGN);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close_store(f);
    buf_close(&f->error);
    temp_remove(&f->t);
    return 0;
}

static const struct store_session a_session = {
    .uid = UID,
    .name = "files",
    .command = "[\"files\"]",
    .host = "here",
    .record_level = "full",
    .started_at_us = 1000000,
    .pid = 77,
};

static int64_t add_session(struct fixture *f)
{
    int64_t id = 0;
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_session_add(f->s, &a_session, &id), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_true(id > 0);
    return id;
}

static struct row a_row(uint64_t seq, const char *body)
{
    return (struct row){
        .kind = "notification", .seq = seq, .body = slice_of(body), .size = strlen(body)};
}

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_store_files_are_private(void **state)
{
    struct fixture *f = *state;
    umask(0);
    open_store(f, false);
    add_session(f);
    umask(022);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db")), 0600);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db-wal")), 0600);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db-shm")), 0600);
    assert_string_equal(ask(&f->t, "PRAGMA journal_mode"), "wal");
}

static void test_store_row_stands_in_the_database_as_it_was_given(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = {
        .kind = "error",
        .seq = 5,
        .t_us = 123,
        .direction = ROW_S2C,
        .origin = ROW_INTERPOSER,
        .action = ROW_SWALLOWED,
        .rpc_id = slice_of("\"a\""),
        .method = slice_of("tools\\/call"),
        .target = slice_of("caf\\u00e9"),
        .body = slice_of("{\"x\":1}"),
        .size = 99,
        .request_seq = 3,
        .has_error_code = true,
        .error_code = -32000,
        .batch_seq = 2,
        .findings = FINDING(FIND_CRLF) | FINDING(FIND_BATCH),
    };
    struct row event = {
        .kind = "gap", .is_event = true, .t_us = 7, .body = slice_of("{\"lost\":1}")};
    struct row bare = {.kind = "noise", .seq = 6};
    struct row bare_event = {.kind = "spawn", .is_event = true, .t_us = 8};
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(store_add(f->s, id, UID, &event), 0);
    assert_int_equal(store_add(f->s, id, UID, &bare),
                     0); /* nothing of the row before sticks to it */
    assert_int_equal(store_add(f->s, id, UID, &bare_event), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(ask(&f->t, "SELECT id, session_id, seq, t_us, direction, origin, kind, "
                                   "rpc_id, method, target, body,"
                                   " body_offset, body_length, size, redactions, action, "
                                   "request_seq, error_code, batch_seq,"
                                   " finding FROM messages ORDER BY id"),
                        "68719476741|1|5|123|s2c|interposer|error|\"a\"|tools/"
                        "call|caf\xc3\xa9|{\"x\":1}|-|-|99|0|swallowed|"
                        "3|-32000|2|crlf,batch;"
                        "68719476742|1|6|0|c2s|peer|noise|-|-|-|-|-|-|0|0|forwarded|-|-|-|-");
    assert_string_equal(ask(&f->t, "SELECT session_id, t_us, kind, detail FROM events ORDER BY id"),
                        "1|7|gap|{\"lost\":1};1|8|spawn|-");
}

static void test_store_session_learns_and_forgets_nothing(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    static const char columns[] =
        "SELECT uid, name, command, client_name, client_version, server_name, server_version,"
        " protocol_version, started_at_us, ended_at_us, end_reason, exit_status, pid, host, "
        "record_level,"
        " interposer_version FROM sessions";
    assert_string_equal(ask(&f->t, columns),
                        UID "|files|[\"files\"]|-|-|-|-|-|1000000|-|-|-|77|here|full|" MI_VERSION);
    struct store_update u = {.client_name = slice_of("c"),
                             .client_version = slice_of("1"),
                             .protocol_version = slice_of("")};
    assert_int_equal(store_session_update(f->s, id, &u), 0);
    u = (struct store_update){.server_name = slice_of("s"),
                              .server_version = slice_of("2"),
                              .client_version = slice_of("3")};
    assert_int_equal(store_session_update(f->s, id, &u), 0);
    u = (struct store_update){.end_reason = slice_of("signal"),
                              .has_exit_status = true,
                              .exit_status = 0,
                              .ended_at_us = 5};
    assert_int_equal(store_session_update(f->s, id, &u), 0);
    u = (struct store_update){0};
    assert_int_equal(store_session_update(f->s, id, &u), 0);
    assert_string_equal(ask(&f->t, columns),
                        UID "|files|[\"files\"]|c|3|s|2||1000000|5|signal|0|77|here|"
                            "full|" MI_VERSION);
}

/* A commit whose sync failed is told as failed, and may come true when somebody recovers the log: what is
 * written again then meets itself. */
static void test_store_rows_written_again_are_there_once(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f), again = 0;
    struct row r = a_row(1, "{}"), other = a_row(1, "[]"), next = a_row(2, "{}");
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_session_add(f->s, &a_session, &again), 0);
    assert_int_equal(again, id);
    assert_int_equal(store_add(f->s, id, UID, &other), 0);
    assert_int_equal(store_add(f->s, id, UID, &next), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(ask(&f->t, "SELECT seq, body FROM messages"), "1|{};2|{}");
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM sessions"), "1");
    struct store_session second = a_session;
    second.uid = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    assert_int_equal(store_session_add(f->s, &second, &again), 0);
    assert_int_equal(again, id + 1);
}

/* Under --on-record-error stop a message without its text is no record. */
static void test_store_row_is_kept_without_its_body_unless_it_is_wanted_whole(void **state)
{
    struct fixture *f = *state;
    static char body[STORE_BODY_MAX + 1];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    FILE *file = fopen(temp_path(&f->t, "vault/Bodies"), "we"); /* in the way of the folder */
    assert_non_null(file);
    fclose(file);
    struct row r = {.kind = "result", .seq = 1, .body = {body, sizeof body}};
    said_begin();
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_true(said_holds("cannot write to Bodies"));
    r.seq = 2;
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(said_lines(), 1);
    said_end();
    store_want_bodies(f->s);
    r.seq = 3;
    assert_int_equal(store_add(f->s, id, UID, &r), MI_ESTORE);
    assert_string_equal(ask(&f->t, "SELECT seq, body, body_offset, finding FROM messages"),
                        "1|-|-|body-lost;2|-|-|body-lost");
}

static void test_store_uncommitted_rows_are_seen_by_nobody_and_a_rollback_takes_them(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "0");
    store_rollback(f->s);
    store_rollback(f->s); /* nothing left to undo */
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "0");
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "1");
}

static void test_store_row_outside_a_transaction_is_one(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    store_wait(f->s, 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_string_equal(ask(&f->t, "SELECT seq, body FROM messages"), "1|{}");
}

/* Bodies up to the limit in the row, longer ones in a file; size counts what was received. */
static void test_store_long_bodies_lie_outside(void **state)
{
    struct fixture *f = *state;
    static char body[STORE_BODY_MAX + 2];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    assert_int_equal(store_begin(f->s, 0), 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct row r = {
            .kind = "result", .seq = i + 1, .body = {body, STORE_BODY_MAX + i}, .size = 7};
        assert_int_equal(store_add(f->s, id, UID, &r), 0);
    }
    struct row small = a_row(4, "{}");
    assert_int_equal(store_add(f->s, id, UID, &small), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(
        ask(&f->t, "SELECT seq, length(body), body_offset, body_length, size FROM messages"),
        "1|65536|-|-|7;2|-|0|65537|7;3|-|65538|65538|7;4|2|-|-|2");
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Bodies/" UID)), 0600);
    size_t n;
    char *text = slurp(temp_path(&f->t, "vault/Bodies/" UID), &n);
    assert_int_equal(n, 65538 + 65539);
    free(text);
}

static void test_store_opened_again_finds_what_was_there(void **state)
{
    struct fixture *f = *state;
    for (uint64_t i = 1; i <= 3; i++) {
        int64_t id = 1;
        open_store(f, i == 2);
        if (i == 1)
            id = add_session(f);
        struct row r = a_row(i, "{}");
        assert_int_equal(store_begin(f->s, 0), 0);
        assert_int_equal(store_add(f->s, id, UID, &r), 0);
        assert_int_equal(store_commit(f->s), 0);
        close_store(f);
    }
    assert_string_equal(ask(&f->t, "SELECT group_concat(seq) FROM messages"), "1,2,3");
    assert_string_equal(ask(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_store_that_cannot_be_opened_says_why(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    static const char db[] = "vault/interposer.db";
    /* a link, whatever it leads to */
    assert_int_equal(symlink("../outside", temp_path(&f->t, db)), 0);
    assert_int_equal(store_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_null(f->s);
    assert_non_null(strstr(buf_str(&f->error), "symbolic link"));
    assert_false(exists(temp_path(&f->t, "outside")));
    assert_int_equal(unlink(temp_path(&f->t, db)), 0);
    /* a directory */
    assert_int_equal(mkdir(temp_path(&f->t, db), 0700), 0);
    assert_int_equal(store_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&f->error), "directory"));
    assert_int_equal(rmdir(temp_path(&f->t, db)), 0);
    /* something else */
    FILE *file = fopen(temp_path(&f->t, db), "we");
    assert_non_null(file);
    for (int i = 0; i < 500; i++)
        fputs("a text, not a database\n", file);
    fclose(file);
    assert_int_equal(store_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&f->error), "not a database"));
    char *text = slurp(temp_path(&f->t, db), NULL);
    assert_memory_equal(text, "a text, not", 11); /* and it was not touched */
    free(text);
    assert_int_equal(unlink(temp_path(&f->t, db)), 0);
}

static void test_store_of_a_newer_program_is_refused(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    close_store(f);
    ask(&f->t, "PRAGMA user_version = 99");
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    assert_int_equal(store_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&f->error), "newer mcp-interposer"));
    assert_null(f->s);
}

/* Side files that are links: SQLite must not write through them either. */
static void test_store_log_that_is_a_link_is_not_followed(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    close_store(f);
    static const char *const sides[] = {"vault/interposer.db-wal", "vault/interposer.db-shm"};
    for (size_t i = 0; i < MI_COUNT(sides); i++) {
        unlink(temp_path(&f->t, sides[i]));
        assert_int_equal(symlink("../outside", temp_path(&f->t, sides[i])), 0);
        int st = vault_dir_open(&f->d, f->t.vault, true, &f->error);
        assert_int_equal(st, 0);
        st = store_open(&f->s, &f->d, false, &f->error);
        if (st == 0) {
            int64_t id;
            if (store_begin(f->s, 0) == 0 && store_session_add(f->s, &a_session, &id) == 0)
                st = store_commit(f->s);
        }
        assert_false(exists(temp_path(&f->t, "outside")));
        close_store(f);
        assert_int_equal(unlink(temp_path(&f->t, sides[i])), 0);
    }
}

static int acted;

static void act(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n, (void)v;
    acted++;
    sqlite3_result_int(ctx, 1);
}

/* Every connection that is opened from now on has a function that does something. */
static int with_act(sqlite3 *db, char **error, const void *api)
{
    (void)error, (void)api;
    return sqlite3_create_function(db, "act", 0, SQLITE_UTF8, NULL, act, NULL, NULL);
}

static void test_store_vault_of_somebody_else_does_not_act(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = sql_vault(&f->t);
    sql_run(db, "CREATE TRIGGER t AFTER INSERT ON sessions BEGIN"
                " UPDATE sessions SET host = act(); END");
    sqlite3_close(db);
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    sqlite3_auto_extension((void (*)(void))with_act);
    int64_t id;
    bool refused = store_open(&f->s, &f->d, false, &f->error) < 0 || store_begin(f->s, 0) < 0 ||
                   store_session_add(f->s, &a_session, &id) < 0;
    sqlite3_reset_auto_extension();
    assert_true(refused);
    assert_int_equal(acted, 0);
}

static void test_store_lock_of_another_is_waited_for_as_long_as_told(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    pid_t h = sql_lock(&f->t, 0);
    static const int64_t waits[] = {0, 50000, 150000};
    for (size_t i = 0; i < MI_COUNT(waits); i++) {
        int64_t start = clock_mono_us();
        assert_int_equal(store_begin(f->s, waits[i]), MI_ESTORE);
        int64_t took = clock_mono_us() - start;
        assert_true(store_busy(f->s));
        assert_false(store_full(f->s));
        assert_true(took >= waits[i]);
        assert_true(took < waits[i] + 2000000); /* generous: the machine may be busy */
        store_wait(f->s, waits[i]);             /* a row by itself waits in the same way */
        start = clock_mono_us();
        assert_int_equal(store_add(f->s, id, UID, &r), MI_ESTORE);
        took = clock_mono_us() - start;
        assert_true(store_busy(f->s));
        assert_true(took >= waits[i]);
    }
    sql_unlock(h);
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(store_commit(f->s), 0);
}

static void test_store_lock_that_is_let_go_in_time_is_got(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    pid_t h = sql_lock(&f->t, 60000);
    int64_t start = clock_mono_us();
    assert_int_equal(store_begin(f->s, 10000000), 0);
    assert_true(clock_mono_us() - start < 5000000); /* not a second longer than needed */
    assert_int_equal(store_commit(f->s), 0);
    sql_unlock(h);
}

/* Rows of 4 KiB until something fails; how many went in. Leaves the transaction. */
static uint64_t fill(struct fixture *f, int64_t id, uint64_t from, uint64_t most, int *ret_st)
{
    static char body[4001];
    memset(body, 'x', sizeof body - 1);
    uint64_t n = 0;
    *ret_st = store_begin(f->s, 0);
    while (*ret_st == 0 && n < most) {
        struct row r = a_row(from + n, body);
        *ret_st = store_add(f->s, id, UID, &r);
        n += *ret_st == 0;
    }
    return n;
}

static void test_store_full_disk_keeps_none_of_the_batch_and_takes_the_next(void **state)
{
    struct fixture *f = *state;
    int st;
    open_store(f, false);
    int64_t id = add_session(f);
    fill(f, id, 1, 10, &st);
    assert_int_equal(st, 0);
    assert_int_equal(store_commit(f->s), 0);
    limit_files(200 << 10); /* past it a write fails, as on a full disk */
    fill(f, id, 11, 500, &st);
    if (st == 0)
        st = store_commit(f->s);
    store_rollback(f->s);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, MI_ESTORE);
    assert_false(store_busy(f->s));
    assert_string_equal(ask(&f->t, "SELECT count(*), max(seq) FROM messages"), "10|10");
    fill(f, id, 11, 10, &st);
    assert_int_equal(st, 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(ask(&f->t, "SELECT count(*), max(seq) FROM messages"), "20|20");
    assert_string_equal(ask(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_store_body_that_does_not_fit_fails_its_row(void **state)
{
    struct fixture *f = *state;
    static char body[STORE_BODY_MAX * 2];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = {.kind = "result", .seq = 1, .body = {body, sizeof body}};
    assert_int_equal(store_begin(f->s, 0), 0);
    limit_files(100 << 10);
    int st = store_add(f->s, id, UID, &r);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, MI_ESTORE);
    assert_non_null(strstr(store_error(f->s), "cannot write a body"));
    store_rollback(f->s);
    assert_int_equal(store_begin(f->s, 0), 0);
    assert_int_equal(store_add(f->s, id, UID, &r), 0);
    assert_int_equal(store_commit(f->s), 0);
    assert_string_equal(ask(&f->t, "SELECT seq, body_offset, body_length FROM messages"),
                        "1|0|131072");
}

/* A large transaction is given up. What of it was on its way must never reach the file any more: there
 * another process's transaction stands now. */
static void test_store_given_up_transaction_does_not_write_over_anothers(void **state)
{
    struct fixture *f = *state;
    int st;
    open_store(f, false);
    int64_t id = add_session(f);
    for (uint64_t pages = 1; pages <= 400; pages += 21) {
        ask(&f->t,
            "PRAGMA wal_checkpoint(RESTART)"); /* so that the rollback finds nothing to read in the log */
        fill(f, id, 1, pages, &st);
        assert_int_equal(st, 0);
        store_rollback(f->s);
        for (int i = 0; i < 3; i++)
            ask(&f->t, "INSERT INTO events (session_id, t_us, kind, detail)"
                       " VALUES (9, 9, 'theirs', hex(zeroblob(9000)))");
        struct row r = {.kind = "ours", .is_event = true};
        assert_int_equal(store_begin(f->s, 0), 0);
        assert_int_equal(store_add(f->s, id, UID, &r), 0);
        assert_int_equal(store_commit(f->s), 0);
        assert_string_equal(ask(&f->t, "PRAGMA integrity_check"), "ok");
    }
    close_store(f);
    assert_string_equal(
        ask(&f->t, "SELECT kind, count(*), sum(length(detail)) FROM events GROUP BY 1"),
        "ours|20|-;theirs|60|1080000");
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "0");
    assert_string_equal(ask(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_store_vanished_when_the_path_leads_elsewhere(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    assert_false(store_vanished(f->s, f->t.vault));
    assert_int_equal(rename(f->t.vault, temp_path(&f->t, "moved")), 0);
    assert_true(store_vanished(f->s, f->t.vault));
    assert_int_equal(rename(temp_path(&f->t, "moved"), f->t.vault), 0);
    assert_false(store_vanished(f->s, f->t.vault));
    assert_int_equal(unlink(temp_path(&f->t, "vault/interposer.db")), 0);
    assert_true(store_vanished(f->s, f->t.vault));
    FILE *file = fopen(temp_path(&f->t, "vault/interposer.db"), "we");
    assert_non_null(file);
    fclose(file);
    assert_true(store_vanished(f->s, f->t.vault)); /* another file of that name */
}

static void test_store_log_grows_until_it_is_checkpointed(void **state)
{
    struct fixture *f = *state;
    int st;
    struct stat before, after;
    open_store(f, false);
    int64_t id = add_session(f);
    int64_t pages = store_wal_pages(f->s);
    assert_true(pages > 0);
    for (uint64_t i = 0; i < 40; i++) {
        fill(f, id, 1 + i * 50, 50, &st);
        assert_int_equal(st, 0);
        assert_int_equal(store_commit(f->s), 0);
        assert_true(store_wal_pages(f->s) >
                    pages); /* nothing checkpoints by itself: past 1,000 pages */
        pages = store_wal_pages(f->s);
    }
    assert_true(pages > 1500);
    assert_int_equal(stat(temp_path(&f->t, "vault/interposer.db-wal"), &before), 0);
    assert_int_equal(store_checkpoint(f->s), 0);
    assert_int_equal(store_wal_pages(f->s), 0);
    fill(f, id, 90001, 50, &st);
    assert_int_equal(store_commit(f->s), 0);
    assert_true(store_wal_pages(f->s) < 200);
    assert_int_equal(stat(temp_path(&f->t, "vault/interposer.db-wal"), &after), 0);
    assert_int_equal(before.st_size, after.st_size); /* its space was used again */
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM messages"), "2050");
}

static void test_store_close_of_nothing_is_fine(void **state)
{
    (void)state;
    store_close(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_store_files_are_private),
        T(test_store_row_stands_in_the_database_as_it_was_given),
        T(test_store_session_learns_and_forgets_nothing),
        T(test_store_rows_written_again_are_there_once),
        T(test_store_row_is_kept_without_its_body_unless_it_is_wanted_whole),
        T(test_store_uncommitted_rows_are_seen_by_nobody_and_a_rollback_takes_them),
        T(test_store_row_outside_a_transaction_is_one),
        T(test_store_long_bodies_lie_outside),
        T(test_store_opened_again_finds_what_was_there),
        T(test_store_that_cannot_be_opened_says_why),
        T(test_store_of_a_newer_program_is_refused),
        T(test_store_log_that_is_a_link_is_not_followed),
        T(test_store_lock_of_another_is_waited_for_as_long_as_told),
        T(test_store_lock_that_is_let_go_in_time_is_got),
        T(test_store_full_disk_keeps_none_of_the_batch_and_takes_the_next),
        T(test_store_body_that_does_not_fit_fails_its_row),
        T(test_store_given_up_transaction_does_not_write_over_anothers),
        T(test_store_vanished_when_the_path_leads_elsewhere),
        T(test_store_log_grows_until_it_is_checkpointed),
        T(test_store_vault_of_somebody_else_does_not_act),
        T(test_store_close_of_nothing_is_fine),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
