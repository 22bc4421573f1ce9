/* Verification of vaults made by the writer: honest ones are never accused, changes are found. */
#include "vault/audit/audit.h"

#include "tests/support/vault_unit.h"

#include "vault/store/restate.h"
#include "vault/store/writer.h"

#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"

struct fixture {
    struct temp t;
    struct vault_dir d;
    struct writer *s;
    struct buf error;
    int64_t id;
    /* what verification says */
    struct audit_session last;
    struct audit_wrong log;
    int sessions, wrong;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct session_record session = {.uid = slice_of(UID),
                                     .name = slice_of("files"),
                                     .command = slice_of("[]"),
                                     .host = slice_of(""),
                                     .record_level = slice_of("full"),
                                     .started_at_us = 1000000,
                                     .pid = 77};
    f = (struct fixture){.d = {.fd = -1}};
    temp_make(&f.t);
    assert_int_equal(vault_dir_open(&f.d, f.t.vault, true, &f.error), 0);
    assert_int_equal(writer_open(&f.s, &f.d, false, &f.error), 0);
    assert_int_equal(writer_begin(f.s, 0), 0);
    assert_int_equal(writer_add_session(f.s, &session, &f.id), 0);
    assert_int_equal(writer_commit(f.s), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    writer_close(f->s);
    vault_dir_close(&f->d);
    buf_close(&f->error);
    temp_remove(&f->t);
    return 0;
}

static void add(struct fixture *f, uint64_t from, uint64_t to, const char *event)
{
    assert_int_equal(writer_begin(f->s, 0), 0);
    for (uint64_t i = from; i <= to; i++) {
        struct row r = {.kind = KIND_NOTIFICATION, .seq = i, .body = slice_of("{}"), .size = 2};
        assert_int_equal(writer_add_row(f->s, f->id, UID, &r), 0);
    }
    if (event != NULL) {
        struct row r = {.event = event, .t_us = 7, .body = slice_of("{\"lost\":1}")};
        assert_int_equal(writer_add_row(f->s, f->id, UID, &r), 0);
    }
    assert_int_equal(writer_commit(f->s), 0);
}

static void end(struct fixture *f)
{
    struct session_update u = {.client_name = slice_of("client"),
                               .end_reason = slice_of("client-closed"),
                               .ended_at_us = 2000000};
    assert_int_equal(writer_begin(f->s, 0), 0);
    assert_int_equal(writer_update_session(f->s, f->id, &u), 0);
    assert_int_equal(writer_commit(f->s), 0);
}

static void change(struct fixture *f, const char *sql)
{
    char path[512];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/interposer.db", f->t.vault);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sql_run(db, sql);
    assert_true(sqlite3_changes(db) > 0);
    sqlite3_close(db);
}

/* As `redact --apply` does it. */
static void redact(struct fixture *f, const char *sql, enum restate_kind kind, int64_t id)
{
    char path[512];
    sqlite3 *db = NULL;
    struct salts salts = {0};
    struct restated record = {kind, id};
    snprintf(path, sizeof path, "%s/interposer.db", f->t.vault);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sql_run(db, "BEGIN IMMEDIATE");
    sql_run(db, sql);
    struct restate r = {.db = db, .salts = &salts, .session_id = f->id, .bodies_fd = -1};
    assert_int_equal(restate_records(&r, &record, 1), 0);
    sql_run(db, "COMMIT");
    sqlite3_close(db);
}

static void on_wrong(void *ctx, const struct audit_wrong *w)
{
    struct fixture *f = ctx;
    f->log = *w;
    f->wrong++;
}

static void on_session(void *ctx, const struct audit_session *s)
{
    struct fixture *f = ctx;
    f->last = *s;
    f->sessions++;
}

static void expect(struct fixture *f, enum audit_status status, enum audit_kind kind,
                   const char *record)
{
    struct audit_calls calls = {.on_wrong = on_wrong, .on_session = on_session, .ctx = f};
    struct audit *a = NULL;
    f->sessions = f->wrong = 0;
    assert_int_equal(audit_open(&a, f->t.vault, &calls, &f->error), 0);
    assert_int_equal(audit_check_log(a, NULL), 0);
    assert_int_equal(audit_check_sessions(a), 0);
    audit_close(a);
    assert_int_equal(f->sessions, 1);
    assert_int_equal(f->wrong, 0);
    if (f->last.status != status || f->last.wrong.kind != kind)
        fail_msg("%s: %s: %s", audit_status_name(f->last.status), f->last.wrong.record,
                 f->last.wrong.text);
    if (record != NULL)
        assert_string_equal(f->last.wrong.record, record);
}

static void test_audit_of_more_records_than_a_group(void **state)
{
    struct fixture *f = *state;
    for (uint64_t i = 0; i < 5; i++) {
        add(f, 1 + i * 50, 50 + i * 50, i == 2 ? "gap" : NULL);
        expect(f, AUDIT_INCOMPLETE, AUDIT_NOTHING, "");
    }
    end(f);
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
    assert_int_equal(f->last.records, 252);
}

static void test_audit_of_more_records_than_a_page(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 4500, NULL);
    end(f);
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
    change(f, "UPDATE messages SET body = '{ }' WHERE seq = 4001");
    expect(f, AUDIT_TAMPERED, AUDIT_CHANGED, "message 4001");
}

static void test_audit_of_a_session_that_is_sealed_again(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 100, NULL);
    end(f);
    add(f, 1, 0, "gap");
    add(f, 1, 0, "gap");
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
}

static void test_audit_of_a_redacted_end_that_is_sealed_again(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 3, NULL);
    end(f);
    redact(f, "UPDATE sessions SET client_name = 'x'", RESTATE_SESSION, 0);
    expect(f, AUDIT_REDACTED, AUDIT_NOTHING, "");
    add(f, 1, 0, "gap");
    expect(f, AUDIT_REDACTED, AUDIT_NOTHING, "");
    redact(f, "UPDATE sessions SET client_name = 'y'", RESTATE_SESSION, 0);
    add(f, 1, 0, "gap");
    expect(f, AUDIT_REDACTED, AUDIT_NOTHING, "");
    assert_int_equal(f->last.redacted, 4);
}

/* A writer that begins with a group that is not full takes the commitments that its records had first. */
static void test_audit_of_records_redacted_twice_before_another_writer(void **state)
{
    static const struct {
        const char *once, *twice;
        enum restate_kind kind;
        int64_t id;
    } redacted[] = {
        {"UPDATE messages SET body = '[1]' WHERE seq = 2",
         "UPDATE messages SET body = '[2]' WHERE seq = 2", RESTATE_MESSAGE, 2},
        {"UPDATE events SET detail = '1'", "UPDATE events SET detail = '2'", RESTATE_EVENT, 1},
        {"UPDATE sessions SET name = 'x'", "UPDATE sessions SET name = 'y'", RESTATE_SESSION, 0},
    };
    struct fixture *f = *state;
    add(f, 1, 3, "gap");
    for (size_t i = 0; i < MI_COUNT(redacted); i++) {
        redact(f, redacted[i].once, redacted[i].kind, redacted[i].id);
        redact(f, redacted[i].twice, redacted[i].kind, redacted[i].id);
        writer_close(f->s);
        assert_int_equal(writer_open(&f->s, &f->d, false, &f->error), 0);
        add(f, 4 + i, 4 + i, NULL);
    }
    expect(f, AUDIT_INCOMPLETE, AUDIT_NOTHING, "");
    add(f, 7, 100, NULL);
    end(f);
    expect(f, AUDIT_REDACTED, AUDIT_NOTHING, "");
    assert_int_equal(f->last.redacted, 6);
}

static void test_audit_of_a_finding_that_was_added(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 3, NULL);
    breaches rules = 1;
    assert_int_equal(writer_add_rules_to_message(f->s, f->id, 2, rules), 0);
    assert_int_equal(writer_add_rules_to_message(f->s, f->id, 2, rules << 1), 0);
    end(f);
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
    redact(f, "UPDATE messages SET body = '[]' WHERE seq = 2", RESTATE_MESSAGE, 2);
    expect(f, AUDIT_REDACTED, AUDIT_NOTHING, "");
    change(f, "UPDATE messages SET finding = NULL WHERE seq = 2");
    expect(f, AUDIT_TAMPERED, AUDIT_CHANGED, "message 2");
}

static void test_audit_finds_records_exchanged_with_their_commitments(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 9, "gap");
    end(f);
    change(f, "UPDATE events SET place = 4");
    expect(f, AUDIT_TAMPERED, AUDIT_EXCHANGED, "");
}

static void test_audit_compares_an_end_that_was_not_written(void **state)
{
    struct fixture *f = *state;
    add(f, 1, 9, NULL);
    end(f);
    change(f, "UPDATE sessions SET client_version = '2'");
    expect(f, AUDIT_TAMPERED, AUDIT_CHANGED, "end");
}

/* Each request but the first is answered by the message after it. */
static void add_calls(struct fixture *f, uint64_t from, uint64_t to)
{
    assert_int_equal(writer_begin(f->s, 0), 0);
    for (uint64_t i = from; i <= to; i++) {
        bool answer = i > 1 && i % 2 == 1;
        struct row r = {.kind = !answer      ? KIND_REQUEST
                                : i % 5 == 0 ? KIND_ERROR
                                             : KIND_RESULT,
                        .direction = answer ? ROW_S2C : ROW_C2S,
                        .seq = i,
                        .t_us = (int64_t)i,
                        .size = i,
                        .request_seq = answer ? i - 1 : 0,
                        .method = slice_of(i % 3 == 0 ? "ping" : "tools/call")};
        assert_int_equal(writer_add_row(f->s, f->id, UID, &r), 0);
    }
    assert_int_equal(writer_commit(f->s), 0);
}

/* The first call stays open: all others are compared when the session has been read. */
static void test_audit_compares_calls_with_messages(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *change, *undo, *record;
        enum audit_kind kind;
    } changes[] = {
        {"UPDATE calls SET status = 'ok' WHERE id & 65535 = 1",
         "UPDATE calls SET status = 'open' WHERE id & 65535 = 1", "call 1", AUDIT_CHANGED},
        {"UPDATE calls SET duration_us = 2 WHERE id & 65535 = 4400",
         "UPDATE calls SET duration_us = 1 WHERE id & 65535 = 4400", "call 4400", AUDIT_CHANGED},
        {"UPDATE calls SET id = id + 1 WHERE id & 65535 = 4002",
         "UPDATE calls SET id = id - 1 WHERE id & 65535 = 4003", "call 4002", AUDIT_REMOVED},
        {"UPDATE sessions SET calls = NULL", "UPDATE sessions SET calls = 1", "call 1",
         AUDIT_ADDED},
    };
    add_calls(f, 1, 801);
    expect(f, AUDIT_INCOMPLETE, AUDIT_NOTHING, "");
    add_calls(f, 802, 4500);
    for (size_t i = 0; i < MI_COUNT(changes); i++) {
        expect(f, AUDIT_INCOMPLETE, AUDIT_NOTHING, "");
        change(f, changes[i].change);
        expect(f, AUDIT_TAMPERED, changes[i].kind, changes[i].record);
        change(f, changes[i].undo);
    }
    end(f);
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
    change(f, "DELETE FROM calls WHERE id & 65535 = 4500");
    expect(f, AUDIT_TAMPERED, AUDIT_REMOVED, "call 4500");
}

/* A session of an older version that is long may have been filled in to some part: nobody reads these rows. */
static void test_audit_of_a_session_whose_calls_are_being_added(void **state)
{
    struct fixture *f = *state;
    add_calls(f, 1, 4500);
    end(f);
    change(f, "UPDATE sessions SET calls = NULL");
    change(f, "DELETE FROM calls WHERE id & 65535 > 1000");
    expect(f, AUDIT_NOT_ANCHORED, AUDIT_NOTHING, "");
}

static void test_audit_of_a_vault_that_does_not_exist_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct audit_calls calls = {.on_wrong = on_wrong, .on_session = on_session, .ctx = f};
    struct audit *a = NULL;
    assert_true(audit_open(&a, temp_path(&f->t, "none"), &calls, &f->error) < 0);
    assert_true(f->error.n > 0);
    assert_null(a);
}

#define AUDIT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDIT_TEST(test_audit_of_more_records_than_a_group),
        AUDIT_TEST(test_audit_of_more_records_than_a_page),
        AUDIT_TEST(test_audit_of_a_session_that_is_sealed_again),
        AUDIT_TEST(test_audit_of_a_redacted_end_that_is_sealed_again),
        AUDIT_TEST(test_audit_of_records_redacted_twice_before_another_writer),
        AUDIT_TEST(test_audit_of_a_finding_that_was_added),
        AUDIT_TEST(test_audit_finds_records_exchanged_with_their_commitments),
        AUDIT_TEST(test_audit_compares_an_end_that_was_not_written),
        AUDIT_TEST(test_audit_compares_calls_with_messages),
        AUDIT_TEST(test_audit_of_a_session_whose_calls_are_being_added),
        AUDIT_TEST(test_audit_of_a_vault_that_does_not_exist_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
