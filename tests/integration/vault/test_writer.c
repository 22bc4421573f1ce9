/* The database writer: stored values, failed batches, and other processes that use the database. */
#include "vault/store/writer.h"

#include "tests/support/vault_unit.h"

#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"

struct fixture {
    struct temp t;
    struct vault_dir d;
    struct writer *s;
    struct buf error;
};

static void open_store(struct fixture *f, bool sync_full)
{
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    assert_int_equal(writer_open(&f->s, &f->d, sync_full, &f->error), 0);
    assert_int_equal(f->error.n, 0);
}

static void close_store(struct fixture *f)
{
    writer_close(f->s);
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

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct session_record a_session = {
    .uid = TEXT(UID),
    .name = TEXT("files"),
    .command = TEXT("[\"files\"]"),
    .host = TEXT("here"),
    .record_level = TEXT("full"),
    .started_at_us = 1000000,
    .pid = 77,
};

static int64_t add_session(struct fixture *f)
{
    int64_t id = 0;
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_session(f->s, &a_session, &id), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_true(id > 0);
    return id;
}

static struct row a_row(uint64_t seq, const char *body)
{
    return (struct row){
        .kind = KIND_NOTIFICATION, .seq = seq, .body = slice_of(body), .size = strlen(body)};
}

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_writer_files_are_private(void **state)
{
    struct fixture *f = *state;
    umask(0);
    open_store(f, false);
    add_session(f);
    umask(022);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db")), 0600);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db-wal")), 0600);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/interposer.db-shm")), 0600);
    assert_string_equal(sql_rows(&f->t, "PRAGMA journal_mode"), "wal");
}

static void test_writer_row_is_stored_as_given(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = {
        .kind = KIND_ERROR,
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
    struct row event = {.event = "gap", .t_us = 7, .body = slice_of("{\"lost\":1}")};
    struct row bare = {.kind = KIND_NOISE, .seq = 6};
    struct row bare_event = {.event = "spawn", .t_us = 8};
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &event), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &bare), 0); /* no value of the previous row */
    assert_int_equal(writer_add_row(f->s, id, UID, &bare_event), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t,
                                 "SELECT id, session_id, seq, t_us, direction, origin, kind, "
                                 "rpc_id, method, target, body,"
                                 " body_offset, body_length, size, redactions, action, "
                                 "request_seq, error_code, batch_seq,"
                                 " finding FROM messages ORDER BY id"),
                        "68719476741|1|5|123|s2c|interposer|error|\"a\"|tools/"
                        "call|caf\xc3\xa9|{\"x\":1}|-|-|99|0|swallowed|"
                        "3|-32000|2|crlf,batch;"
                        "68719476742|1|6|0|c2s|peer|noise|-|-|-|-|-|-|0|0|forwarded|-|-|-|-");
    assert_string_equal(
        sql_rows(&f->t, "SELECT session_id, t_us, kind, detail FROM events ORDER BY id"),
        "1|7|gap|{\"lost\":1};1|8|spawn|-");
}

#define WITH_LONG 300 /* rows before the one with the longest body that is in the table */

/* Rows are inserted in batches: those with the usual values by one statement, and batches with others by another. */
static void test_writer_many_rows_in_a_transaction_are_all_stored_as_given(void **state)
{
    struct fixture *f = *state;
    struct buf longest = {0}, many = {0};
    static const struct {
        uint64_t from, to;
        bool usual;
    } parts[] = {{1, 1, true}, {2, 700, true}, {701, 720, false}, {721, 1500, true}};
    open_store(f, false);
    int64_t id = add_session(f), other = id + 1;
    while (longest.n < WRITER_BODY_MAX)
        buf_addc(&longest, 'x');
    while (many.n < 10000)
        buf_addc(&many, 'y');
    for (size_t p = 0; p < MI_COUNT(parts); p++) {
        assert_int_equal(writer_begin(f->s, 0), 0);
        for (uint64_t i = parts[p].from; i <= parts[p].to; i++) {
            struct row r = a_row(i, i > 800 && i < 900 ? buf_str(&many) : "{}");
            r.t_us = (int64_t)i * 10;
            r.request_seq = i / 2;
            if (i == WITH_LONG)
                r.body = buf_slice(&longest);
            if (!parts[p].usual) {
                r.origin = ROW_INTERPOSER;
                r.action = ROW_REFUSED;
                r.redactions = 3;
                r.has_error_code = i % 2 == 0;
                r.batch_seq = 700;
            }
            assert_int_equal(writer_add_row(f->s, i == 1400 ? other : id, UID, &r), 0);
        }
        assert_int_equal(writer_commit(f->s), 0);
    }
    assert_string_equal(
        sql_rows(&f->t,
                 "SELECT count(*), sum(seq), sum(t_us), sum(request_seq), sum(session_id = 1),"
                 " sum(id = (session_id << 36) + seq), sum(length(body)) FROM messages"),
        "1500|1125750|11257500|562500|1499|1500|1058336");
    assert_string_equal(
        sql_rows(&f->t, "SELECT origin, action, redactions, count(*), count(error_code), min(seq),"
                        " max(batch_seq) FROM messages GROUP BY 1, 2, 3 ORDER BY 1"),
        "interposer|refused|3|20|10|701|700;peer|forwarded|0|1480|0|1|-");
    assert_string_equal(sql_rows(&f->t, "SELECT seq FROM messages WHERE session_id = 2"), "1400");
    buf_close(&longest);
    buf_close(&many);
}

static void test_writer_database_with_a_view_in_place_of_the_batch_is_rejected(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = sql_vault(&f->t);
    sql_run(db, "CREATE VIEW row_batch AS SELECT * FROM messages");
    sqlite3_close(db);
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&f->error), "row_batch"));
}

static void test_writer_rules_are_added_to_the_finding_of_a_message(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row plain = a_row(1, "{}"), found = a_row(2, "{}");
    found.findings = FINDING(FIND_CRLF);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &plain), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &found), 0);
    for (uint64_t seq = 1; seq <= 3; seq++) /* there is no third message */
        assert_int_equal(writer_add_rules_to_message(f->s, id, seq, RULE(RULE_UNKNOWN_METHOD)), 0);
    assert_int_equal(writer_add_rules_to_message(f->s, id, 2, 0), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT seq, finding FROM messages ORDER BY id"),
                        "1|unknown-method;2|crlf,unknown-method");
}

static uint64_t position(struct fixture *f, int64_t id)
{
    uint64_t at = 99;
    assert_int_equal(writer_read_journal_position(f->s, id, &at), 0);
    return at;
}

static void test_writer_position_is_stored_with_the_rows_before_it(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    assert_int_equal(position(f, id), 0);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_store_journal_position(f->s, id, 100), 0);
    assert_int_equal(writer_store_journal_position(f->s, id, (uint64_t)1 << 40), 0);
    assert_int_equal(position(f, id), (uint64_t)1 << 40);
    assert_int_equal(writer_commit(f->s), 0);
    assert_int_equal(writer_begin(f->s, 0), 0);
    r.seq = 2;
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_store_journal_position(f->s, id, (uint64_t)1 << 41), 0);
    writer_rollback(f->s);
    assert_int_equal(position(f, id), (uint64_t)1 << 40);
    assert_int_equal(position(f, id + 1), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT max(seq) FROM messages"), "1");
    assert_int_equal(writer_remove_journal_position(f->s, id), 0);
    assert_int_equal(writer_remove_journal_position(f->s, id), 0); /* there is none */
    assert_int_equal(position(f, id), 0);
}

/* Somebody has removed the log as well: then SQLite uses the id of the last session again. */
static void test_writer_position_of_a_removed_session_is_not_taken_over(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    assert_int_equal(writer_store_journal_position(f->s, id, 4096), 0);
    assert_int_equal(add_session(f), id); /* a recorder that was started again */
    assert_int_equal(position(f, id), 4096);
    sql_rows(&f->t, "DELETE FROM sessions");
    sql_rows(&f->t, "DELETE FROM leaves");
    assert_int_equal(add_session(f), id);
    assert_int_equal(position(f, id), 0);
}

static void test_writer_id_of_a_removed_session_is_not_used_again(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    sql_rows(&f->t, "DELETE FROM sessions");
    assert_int_equal(add_session(f), id + 1);
    assert_int_equal(add_session(f), id + 1); /* a recorder that was started again */
    sql_rows(&f->t, "DELETE FROM sessions");
    sql_rows(
        &f->t,
        "INSERT INTO leaves SELECT max(n) + 1, '{\"type\":\"open\",\"session\":1}' FROM leaves");
    assert_int_equal(add_session(f), 1); /* a leaf that is not one says nothing */
    sql_rows(&f->t, "DELETE FROM sessions");
    sql_rows(&f->t, "DELETE FROM leaves WHERE n > 0");
    sql_rows(&f->t, "UPDATE leaves SET leaf = json_set(leaf, '$.after', 40)");
    assert_int_equal(add_session(f), 41); /* sessions up to 40 are not covered by the log */
    sql_rows(&f->t, "INSERT INTO calls (id, direction, origin, status, t_us, request_size)"
                    " VALUES ((50 << 36) + 7, 'c2s', 'peer', 'ok', 1, 1)");
    sql_rows(&f->t, "DELETE FROM sessions");
    assert_int_equal(add_session(f), 51); /* a call that was left behind is not one of it */
}

/* Message ids of a later session would be negative. */
static void test_writer_session_after_the_last_id_is_an_error(void **state)
{
    struct fixture *f = *state;
    static const char *const forged[] = {
        "INSERT INTO calls (id, direction, origin, status, t_us, request_size) VALUES"
        " (134217727 << 36, 'c2s', 'peer', 'ok', 0, 0)",
        "UPDATE sessions SET id = 134217727",
        "UPDATE sessions SET id = 9223372036854775807",
    };
    struct session_record other = a_session;
    int64_t id = 0;
    other.uid = slice_of("01ARZ3NDEKTSV4RRFFQ69G5FAW");
    open_store(f, false);
    add_session(f);
    for (size_t i = 0; i < MI_COUNT(forged); i++) {
        sql_rows(&f->t, forged[i]);
        assert_int_equal(writer_begin(f->s, 0), 0);
        assert_int_equal(writer_add_session(f->s, &other, &id), MI_ESTORE);
        assert_non_null(strstr(writer_error(f->s), "no id is left for a session"));
        assert_false(writer_is_busy(f->s) || writer_is_damaged(f->s) || writer_is_full(f->s));
        writer_rollback(f->s);
        assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM sessions"), "1");
        sql_rows(&f->t, "DELETE FROM calls");
    }
    sql_rows(&f->t, "UPDATE sessions SET id = 134217726");
    assert_int_equal(writer_add_session(f->s, &other, &id), 0); /* the last one */
    assert_int_equal(id, 134217727);
}

static void test_writer_session_update_changes_only_given_columns(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    static const char columns[] =
        "SELECT uid, name, command, client_name, client_version, server_name, server_version,"
        " protocol_version, started_at_us, ended_at_us, end_reason, exit_status, pid, host, "
        "record_level,"
        " interposer_version FROM sessions";
    assert_string_equal(sql_rows(&f->t, columns),
                        UID "|files|[\"files\"]|-|-|-|-|-|1000000|-|-|-|77|here|full|" MI_VERSION);
    struct session_update u = {.client_name = slice_of("c"),
                               .client_version = slice_of("1"),
                               .protocol_version = slice_of("")};
    assert_int_equal(writer_update_session(f->s, id, &u), 0);
    u = (struct session_update){.server_name = slice_of("s"),
                                .server_version = slice_of("2"),
                                .client_version = slice_of("3")};
    assert_int_equal(writer_update_session(f->s, id, &u), 0);
    u = (struct session_update){.end_reason = slice_of("signal"),
                                .has_exit_status = true,
                                .exit_status = 0,
                                .ended_at_us = 5};
    assert_int_equal(writer_update_session(f->s, id, &u), 0);
    u = (struct session_update){0};
    assert_int_equal(writer_update_session(f->s, id, &u), 0);
    assert_string_equal(sql_rows(&f->t, columns),
                        UID "|files|[\"files\"]|c|3|s|2||1000000|5|signal|0|77|here|"
                            "full|" MI_VERSION);
}

/* A commit whose sync failed is reported as failed, but recovery of the log may still find it: then the same rows are
 * written a second time. */
static void test_writer_rows_written_twice_are_stored_once(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f), again = 0;
    struct row r = a_row(1, "{}"), other = a_row(1, "[]"), next = a_row(2, "{}");
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_session(f->s, &a_session, &again), 0);
    assert_int_equal(again, id);
    assert_int_equal(writer_add_row(f->s, id, UID, &other), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &next), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT seq, body FROM messages"), "1|{};2|{}");
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM sessions"), "1");
    struct session_record second = a_session;
    second.uid = slice_of("01ARZ3NDEKTSV4RRFFQ69G5FAW");
    assert_int_equal(writer_add_session(f->s, &second, &again), 0);
    assert_int_equal(again, id + 1);
}

/* With --on-record-error stop, a message without its body counts as not recorded. */
static void test_writer_row_is_stored_without_its_body_unless_bodies_are_wanted(void **state)
{
    struct fixture *f = *state;
    static char body[WRITER_BODY_MAX + 1];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    FILE *file =
        fopen(temp_path(&f->t, "vault/Bodies"), "we"); /* so that the folder cannot be made */
    assert_non_null(file);
    fclose(file);
    struct row r = {.kind = KIND_RESULT, .seq = 1, .body = {body, sizeof body}};
    said_begin();
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_true(said_holds("cannot write to Bodies"));
    r.seq = 2;
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(said_lines(), 1);
    said_end();
    writer_make_lost_bodies_fatal(f->s);
    r.seq = 3;
    assert_int_equal(writer_add_row(f->s, id, UID, &r), MI_ESTORE);
    assert_string_equal(sql_rows(&f->t, "SELECT seq, body, body_offset, finding FROM messages"),
                        "1|-|-|body-lost;2|-|-|body-lost");
}

static void test_writer_uncommitted_rows_are_invisible_and_removed_by_a_rollback(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "0");
    writer_rollback(f->s);
    writer_rollback(f->s); /* nothing left to undo */
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "0");
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "1");
}

static void test_writer_row_outside_a_transaction_is_committed(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    writer_set_lock_timeout(f->s, 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT seq, body FROM messages"), "1|{}");
}

/* Bodies up to the limit are in the row, longer ones in a file; size is the received size. */
static void test_writer_large_bodies_are_in_a_file(void **state)
{
    struct fixture *f = *state;
    static char body[WRITER_BODY_MAX + 2];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    assert_int_equal(writer_begin(f->s, 0), 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct row r = {
            .kind = KIND_RESULT, .seq = i + 1, .body = {body, WRITER_BODY_MAX + i}, .size = 7};
        assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    }
    struct row small = a_row(4, "{}");
    assert_int_equal(writer_add_row(f->s, id, UID, &small), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(
        sql_rows(&f->t, "SELECT seq, length(body), body_offset, body_length, size FROM messages"),
        "1|65536|-|-|7;2|-|0|65537|7;3|-|65538|65538|7;4|2|-|-|2");
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Bodies/" UID)), 0600);
    size_t n;
    char *text = slurp(temp_path(&f->t, "vault/Bodies/" UID), &n);
    assert_int_equal(n, 65538 + 65539);
    free(text);
}

static void test_writer_opened_again_finds_existing_rows(void **state)
{
    struct fixture *f = *state;
    for (uint64_t i = 1; i <= 3; i++) {
        int64_t id = 1;
        open_store(f, i == 2);
        if (i == 1)
            id = add_session(f);
        struct row r = a_row(i, "{}");
        assert_int_equal(writer_begin(f->s, 0), 0);
        assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
        assert_int_equal(writer_commit(f->s), 0);
        close_store(f);
    }
    assert_string_equal(sql_rows(&f->t, "SELECT group_concat(seq) FROM messages"), "1,2,3");
    assert_string_equal(sql_rows(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_writer_that_cannot_be_opened_reports_the_reason(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    static const char db[] = "vault/interposer.db";
    /* a link */
    assert_int_equal(symlink("../outside", temp_path(&f->t, db)), 0);
    assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_null(f->s);
    assert_non_null(strstr(buf_str(&f->error), "symbolic link"));
    assert_false(exists(temp_path(&f->t, "outside")));
    assert_int_equal(unlink(temp_path(&f->t, db)), 0);
    /* a directory */
    assert_int_equal(mkdir(temp_path(&f->t, db), 0700), 0);
    assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&f->error), "directory"));
    assert_int_equal(rmdir(temp_path(&f->t, db)), 0);
    /* a file that is not a database */
    FILE *file = fopen(temp_path(&f->t, db), "we");
    assert_non_null(file);
    for (int i = 0; i < 500; i++)
        fputs("a text, not a database\n", file);
    fclose(file);
    assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), MI_EPROTO);
    assert_non_null(strstr(buf_str(&f->error), "not a database"));
    char *text = slurp(temp_path(&f->t, db), NULL);
    assert_memory_equal(text, "a text, not", 11); /* unchanged */
    free(text);
    assert_int_equal(unlink(temp_path(&f->t, db)), 0);
}

#define SHARED_LOCK_FIRST                                                                          \
    0x40000002 /* SQLite, os.h: while held, no other process removes the log */
#define SHARED_LOCK_BYTES 510

static bool is_locked(struct fixture *f)
{
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = SHARED_LOCK_FIRST,
                      .l_len = SHARED_LOCK_BYTES};
    int status;
    pid_t pid = fork(); /* locks of this process do not count for itself */
    if (pid == 0) {
        int fd = open(temp_path(&f->t, "vault/interposer.db"), O_RDWR | O_CLOEXEC);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* close() of any descriptor of a file drops all POSIX locks of the process on it. */
static void test_writer_keeps_its_lock_when_another_one_is_opened(void **state)
{
    struct fixture *f = *state;
    struct writer *other;
    struct vault_dir dir;
    open_store(f, false);
    int64_t id = add_session(f);
    assert_true(is_locked(f));
    assert_int_equal(vault_dir_open(&dir, f->t.vault, true, &f->error), 0);
    assert_int_equal(writer_open(&other, &dir, false, &f->error), 0);
    assert_int_equal(writer_store_journal_position(other, id, 1), 0);
    assert_int_equal(writer_checkpoint_wal(other), 0);
    writer_close(other);
    vault_dir_close(&dir);
    assert_int_equal(writer_checkpoint_wal(f->s), 0);
    assert_true(is_locked(f));
}

static void test_writer_vault_of_a_newer_program_is_rejected(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    close_store(f);
    assert_int_equal(SCHEMA_VERSION, 5);
    static const char *const newer[] = {"PRAGMA user_version = 6", "PRAGMA user_version = 99"};
    for (size_t i = 0; i < MI_COUNT(newer); i++) {
        sql_rows(&f->t, newer[i]);
        assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
        assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), MI_ESTORE);
        assert_non_null(strstr(buf_str(&f->error), "newer mcp-interposer"));
        assert_null(f->s);
        vault_dir_close(&f->d);
    }
}

#define READS_CALLS                                                                                \
    "SELECT count(*) FROM sqlite_schema WHERE name = 'invocations' AND sql LIKE '%FROM calls%'"

/* A later program may know more statuses: this one does not put its own view in place of that one. */
static void test_writer_view_of_a_later_program_stays(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    close_store(f);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(temp_path(&f->t, "vault/interposer.db"), &db), SQLITE_OK);
    sql_run(db, "DROP VIEW invocations; DROP TABLE journals;"
                "CREATE VIEW invocations AS SELECT 'later' AS b FROM calls UNION SELECT 'later'");
    open_store(f, false);
    assert_string_equal(sql_rows(&f->t, "SELECT b FROM invocations"), "later");
    assert_int_equal(sql_number(db, "SELECT count(*) FROM journals"), 0);
    close_store(f);
    sql_run(db, "DROP VIEW invocations");
    open_store(f, false);
    assert_int_equal(sql_number(db, READS_CALLS), 1);
    sqlite3_close(db);
}

/* Recording goes on, and verification finds that the log does not begin. */
static void test_writer_goes_on_in_a_vault_whose_log_was_removed(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    close_store(f);
    sql_rows(&f->t, "DROP TABLE leaves");
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*), min(n) FROM leaves"), "1|0");
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages WHERE commitment NOTNULL"),
                        "1");
}

/* A proxy of the older version may be running: its connection and prepared statements must still work. */
static void test_writer_old_vaults_are_upgraded_while_they_are_in_use(void **state)
{
    struct fixture *f = *state;
    static const char *const fixtures[] = {"tests/compat/files/vault-1.sql",
                                           "tests/compat/files/vault-2.sql",
                                           "tests/compat/files/vault-3.sql"};
    for (size_t i = 0; i < MI_COUNT(fixtures); i++) {
        sqlite3 *old;
        sqlite3_stmt *insert, *calls;
        assert_int_equal(mkdir(f->t.vault, 0700), 0);
        assert_int_equal(sqlite3_open(temp_path(&f->t, "vault/interposer.db"), &old), SQLITE_OK);
        char *sql = slurp(fixtures[i], NULL);
        sql_run(old, "PRAGMA journal_mode = WAL");
        sql_run(old, sql);
        free(sql);
        int64_t sessions = sql_number(old, "SELECT count(*) FROM sessions");
        assert_int_equal(sqlite3_prepare_v2(old,
                                            "INSERT INTO events (session_id, t_us, kind)"
                                            " VALUES (1, 1, 'gap')",
                                            -1, &insert, NULL),
                         SQLITE_OK);
        assert_int_equal(
            sqlite3_prepare_v2(old, "SELECT status FROM invocations", -1, &calls, NULL), SQLITE_OK);
        open_store(f, false);
        assert_string_equal(sql_rows(&f->t, "PRAGMA user_version"), "5");
        assert_int_equal(sql_number(old, "SELECT count(*) FROM sessions"), sessions);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_finalize(insert);
        assert_int_equal(sqlite3_step(calls), SQLITE_ROW);
        sqlite3_finalize(calls);
        assert_int_equal(sql_number(old, READS_CALLS), 1);
        assert_int_equal(sql_number(old, "SELECT count(*) FROM events WHERE kind = 'gap'"), 1);
        assert_int_equal(sql_number(old, "SELECT count(*) FROM invocations"), 2);
        assert_int_equal(sql_number(old, "SELECT count(*) FROM escalations"), 0);
        assert_int_equal(sql_number(old, "SELECT count(*) FROM journals"), 0);
        assert_true(add_session(f) > 0);
        close_store(f);
        sqlite3_close(old);
        temp_remove(&f->t);
        temp_make(&f->t);
    }
}

/* A new database has its tables at once; it must not differ from one that was upgraded. */
static void test_writer_new_vault_has_the_columns_of_an_upgraded_one(void **state)
{
    struct fixture *f = *state;
    static const char columns[] =
        "SELECT group_concat(s.type || ' ' || s.name || ' ' || c.cid || ' ' || c.name || ' ' ||"
        " c.type || ' ' || c.\"notnull\" || ' ' || c.pk, char(10)) FROM (SELECT * FROM"
        " sqlite_schema ORDER BY name) s, pragma_table_xinfo(s.name) c";
    open_store(f, false);
    close_store(f);
    char *fresh = strdup(sql_rows(&f->t, columns));
    assert_non_null(strstr(fresh, "table sessions 23 salt BLOB"));
    temp_remove(&f->t);
    temp_make(&f->t);
    sqlite3 *old;
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    assert_int_equal(sqlite3_open(temp_path(&f->t, "vault/interposer.db"), &old), SQLITE_OK);
    char *sql = slurp("tests/compat/files/vault-1.sql", NULL);
    sql_run(old, sql);
    free(sql);
    sqlite3_close(old);
    open_store(f, false);
    close_store(f);
    assert_string_equal(sql_rows(&f->t, columns), fresh);
    free(fresh);
}

/* SQLite must not write through -wal and -shm files that are links. */
static void test_writer_log_that_is_a_link_is_not_followed(void **state)
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
        st = writer_open(&f->s, &f->d, false, &f->error);
        if (st == 0) {
            int64_t id;
            if (writer_begin(f->s, 0) == 0 && writer_add_session(f->s, &a_session, &id) == 0)
                st = writer_commit(f->s);
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

/* Adds a function with a side effect to every connection opened from now on. */
static int with_act(sqlite3 *db, char **error, const void *api)
{
    (void)error, (void)api;
    return sqlite3_create_function(db, "act", 0, SQLITE_UTF8, NULL, act, NULL, NULL);
}

static void test_writer_schema_of_another_program_cannot_run_code(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = sql_vault(&f->t);
    sql_run(db, "CREATE TRIGGER t AFTER INSERT ON sessions BEGIN"
                " UPDATE sessions SET host = act(); END");
    sqlite3_close(db);
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    sqlite3_auto_extension((void (*)(void))with_act);
    int64_t id;
    assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), 0);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_session(f->s, &a_session, &id), 0);
    assert_int_equal(writer_commit(f->s), 0);
    sqlite3_reset_auto_extension();
    assert_int_equal(acted, 0);
    assert_string_equal(sql_rows(&f->t, "SELECT host FROM sessions"), "here");
}

static void test_writer_waits_for_a_held_lock_for_the_given_time(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}");
    pid_t h = sql_lock(&f->t, 0);
    static const int64_t waits[] = {0, 50000, 150000};
    for (size_t i = 0; i < MI_COUNT(waits); i++) {
        int64_t start = clock_mono_us();
        assert_int_equal(writer_begin(f->s, waits[i]), MI_ESTORE);
        int64_t took = clock_mono_us() - start;
        assert_true(writer_is_busy(f->s));
        assert_false(writer_is_full(f->s));
        assert_true(took >= waits[i]);
        assert_true(took < waits[i] + 2000000); /* generous, because the machine may be busy */
        writer_set_lock_timeout(f->s,
                             waits[i]); /* a row outside a transaction waits in the same way */
        start = clock_mono_us();
        assert_int_equal(writer_add_row(f->s, id, UID, &r), MI_ESTORE);
        took = clock_mono_us() - start;
        assert_true(writer_is_busy(f->s));
        assert_true(took >= waits[i]);
    }
    sql_unlock(h);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_commit(f->s), 0);
}

static void test_writer_gets_a_lock_that_is_released_in_time(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    pid_t h = sql_lock(&f->t, 60000);
    int64_t start = clock_mono_us();
    assert_int_equal(writer_begin(f->s, 10000000), 0);
    assert_true(clock_mono_us() - start < 5000000); /* not a second longer than needed */
    assert_int_equal(writer_commit(f->s), 0);
    sql_unlock(h);
}

static void test_writer_begin_later_leaves_the_lock_to_others_until_rows_are_inserted(void **state)
{
    struct fixture *f = *state;
    static char body[WRITER_BODY_MAX + 1];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = a_row(1, "{}"), large = {.kind = KIND_RESULT, .seq = 2};
    large.body = (struct slice){body, sizeof body};
    pid_t h = sql_lock(&f->t, 0);
    writer_defer_transaction(f->s, 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_commit(f->s), MI_ESTORE);
    assert_true(writer_is_busy(f->s));
    writer_rollback(f->s);
    writer_defer_transaction(
        f->s, 0); /* a body is not written while the lock is held by another process */
    assert_int_equal(writer_add_row(f->s, id, UID, &large), MI_ESTORE);
    assert_true(writer_is_busy(f->s));
    writer_rollback(f->s);
    sql_unlock(h);
    struct row alone = a_row(3, "{}");
    writer_defer_transaction(
        f->s, 0); /* forgotten by the rollback: the next row is a transaction of its own */
    writer_rollback(f->s);
    assert_int_equal(writer_add_row(f->s, id, UID, &alone), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "1");
    writer_defer_transaction(f->s, 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"),
                        "1"); /* not a transaction of its own */
    assert_int_equal(writer_add_row(f->s, id, UID, &large), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*), max(body_offset) FROM messages"), "3|0");
}

/* Adds rows of 4 KiB until one fails. Returns their number; the transaction stays open. */
static uint64_t fill(struct fixture *f, int64_t id, uint64_t from, uint64_t most, int *ret_st)
{
    static char body[4001];
    memset(body, 'x', sizeof body - 1);
    uint64_t n = 0;
    *ret_st = writer_begin(f->s, 0);
    while (*ret_st == 0 && n < most) {
        struct row r = a_row(from + n, body);
        *ret_st = writer_add_row(f->s, id, UID, &r);
        n += *ret_st == 0;
    }
    return n;
}

static void test_writer_full_disk_stores_none_of_the_batch_and_all_of_the_next(void **state)
{
    struct fixture *f = *state;
    int st;
    open_store(f, false);
    int64_t id = add_session(f);
    fill(f, id, 1, 10, &st);
    assert_int_equal(st, 0);
    assert_int_equal(writer_commit(f->s), 0);
    limit_files(200 << 10); /* writes beyond it fail, as on a full disk */
    fill(f, id, 11, 500, &st);
    if (st == 0)
        st = writer_commit(f->s);
    writer_rollback(f->s);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, MI_ESTORE);
    assert_false(writer_is_busy(f->s));
    assert_string_equal(sql_rows(&f->t, "SELECT count(*), max(seq) FROM messages"), "10|10");
    fill(f, id, 11, 10, &st);
    assert_int_equal(st, 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*), max(seq) FROM messages"), "20|20");
    assert_string_equal(sql_rows(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_writer_body_that_does_not_fit_fails_its_row(void **state)
{
    struct fixture *f = *state;
    static char body[WRITER_BODY_MAX * 2];
    memset(body, 'b', sizeof body);
    open_store(f, false);
    int64_t id = add_session(f);
    struct row r = {.kind = KIND_RESULT, .seq = 1, .body = {body, sizeof body}};
    assert_int_equal(writer_begin(f->s, 0), 0);
    limit_files(100 << 10);
    int st = writer_add_row(f->s, id, UID, &r);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, MI_ESTORE);
    assert_non_null(strstr(writer_error(f->s), "cannot write a body"));
    writer_rollback(f->s);
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
    assert_int_equal(writer_commit(f->s), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT seq, body_offset, body_length FROM messages"),
                        "1|0|131072");
}

/* After a rollback, buffered frames must not be written: they would overwrite those of another process. */
static void test_writer_rolled_back_transaction_does_not_overwrite_another(void **state)
{
    struct fixture *f = *state;
    int st;
    open_store(f, false);
    int64_t id = add_session(f);
    for (uint64_t pages = 1; pages <= 400; pages += 21) {
        sql_rows(
            &f->t,
            "PRAGMA wal_checkpoint(RESTART)"); /* so that the rollback has nothing to read from the log */
        fill(f, id, 1, pages, &st);
        assert_int_equal(st, 0);
        writer_rollback(f->s);
        for (int i = 0; i < 3; i++)
            sql_rows(&f->t, "INSERT INTO events (session_id, t_us, kind, detail)"
                            " VALUES (9, 9, 'theirs', hex(zeroblob(9000)))");
        struct row r = {.event = "ours"};
        assert_int_equal(writer_begin(f->s, 0), 0);
        assert_int_equal(writer_add_row(f->s, id, UID, &r), 0);
        assert_int_equal(writer_commit(f->s), 0);
        assert_string_equal(sql_rows(&f->t, "PRAGMA integrity_check"), "ok");
    }
    close_store(f);
    assert_string_equal(
        sql_rows(&f->t, "SELECT kind, count(*), sum(length(detail)) FROM events GROUP BY 1"),
        "ours|20|-;theirs|60|1080000");
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "0");
    assert_string_equal(sql_rows(&f->t, "PRAGMA integrity_check"), "ok");
}

static void test_writer_vanished_if_the_path_leads_to_another_file(void **state)
{
    struct fixture *f = *state;
    open_store(f, false);
    assert_false(writer_database_vanished(f->s, f->t.vault));
    assert_int_equal(rename(f->t.vault, temp_path(&f->t, "moved")), 0);
    assert_true(writer_database_vanished(f->s, f->t.vault));
    assert_int_equal(rename(temp_path(&f->t, "moved"), f->t.vault), 0);
    assert_false(writer_database_vanished(f->s, f->t.vault));
    assert_int_equal(unlink(temp_path(&f->t, "vault/interposer.db")), 0);
    assert_true(writer_database_vanished(f->s, f->t.vault));
    FILE *file = fopen(temp_path(&f->t, "vault/interposer.db"), "we");
    assert_non_null(file);
    fclose(file);
    assert_true(writer_database_vanished(f->s, f->t.vault)); /* another file with that name */
}

static void test_writer_log_grows_until_it_is_checkpointed(void **state)
{
    struct fixture *f = *state;
    int st;
    struct stat before, after;
    open_store(f, false);
    int64_t id = add_session(f);
    int64_t pages = writer_get_wal_pages(f->s);
    assert_true(pages > 0);
    for (uint64_t i = 0; i < 80; i++) {
        fill(f, id, 1 + i * 50, 50, &st);
        assert_int_equal(st, 0);
        assert_int_equal(writer_commit(f->s), 0);
        assert_true(writer_get_wal_pages(f->s) >
                    pages); /* no automatic checkpoint at 1,000 pages */
        pages = writer_get_wal_pages(f->s);
    }
    assert_true(pages > 1500);
    assert_int_equal(stat(temp_path(&f->t, "vault/interposer.db-wal"), &before), 0);
    assert_int_equal(writer_checkpoint_wal(f->s), 0);
    assert_int_equal(writer_get_wal_pages(f->s), 0);
    fill(f, id, 90001, 50, &st);
    assert_int_equal(writer_commit(f->s), 0);
    assert_true(writer_get_wal_pages(f->s) < 200);
    assert_int_equal(stat(temp_path(&f->t, "vault/interposer.db-wal"), &after), 0);
    assert_int_equal(before.st_size, after.st_size); /* its space was reused */
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM messages"), "4050");
}

static void test_writer_close_accepts_null(void **state)
{
    (void)state;
    writer_close(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_writer_files_are_private),
        T(test_writer_row_is_stored_as_given),
        T(test_writer_many_rows_in_a_transaction_are_all_stored_as_given),
        T(test_writer_database_with_a_view_in_place_of_the_batch_is_rejected),
        T(test_writer_rules_are_added_to_the_finding_of_a_message),
        T(test_writer_position_is_stored_with_the_rows_before_it),
        T(test_writer_position_of_a_removed_session_is_not_taken_over),
        T(test_writer_id_of_a_removed_session_is_not_used_again),
        T(test_writer_session_after_the_last_id_is_an_error),
        T(test_writer_session_update_changes_only_given_columns),
        T(test_writer_rows_written_twice_are_stored_once),
        T(test_writer_row_is_stored_without_its_body_unless_bodies_are_wanted),
        T(test_writer_uncommitted_rows_are_invisible_and_removed_by_a_rollback),
        T(test_writer_row_outside_a_transaction_is_committed),
        T(test_writer_large_bodies_are_in_a_file),
        T(test_writer_opened_again_finds_existing_rows),
        T(test_writer_that_cannot_be_opened_reports_the_reason),
        T(test_writer_keeps_its_lock_when_another_one_is_opened),
        T(test_writer_vault_of_a_newer_program_is_rejected),
        T(test_writer_goes_on_in_a_vault_whose_log_was_removed),
        T(test_writer_old_vaults_are_upgraded_while_they_are_in_use),
        T(test_writer_view_of_a_later_program_stays),
        T(test_writer_new_vault_has_the_columns_of_an_upgraded_one),
        T(test_writer_log_that_is_a_link_is_not_followed),
        T(test_writer_waits_for_a_held_lock_for_the_given_time),
        T(test_writer_gets_a_lock_that_is_released_in_time),
        T(test_writer_begin_later_leaves_the_lock_to_others_until_rows_are_inserted),
        T(test_writer_full_disk_stores_none_of_the_batch_and_all_of_the_next),
        T(test_writer_body_that_does_not_fit_fails_its_row),
        T(test_writer_rolled_back_transaction_does_not_overwrite_another),
        T(test_writer_vanished_if_the_path_leads_to_another_file),
        T(test_writer_log_grows_until_it_is_checkpointed),
        T(test_writer_schema_of_another_program_cannot_run_code),
        T(test_writer_close_accepts_null),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
