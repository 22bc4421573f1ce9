/* The reason of a failed statement is kept, although other statements follow it. */
#include "vault/store/failure.h"

#include "tests/support/vault_unit.h"
#include "vault/store/coverage.h"
#include "vault/store/running.h"
#include "vault/store/schema.h"

static int open_memory(void **state)
{
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        return -1;
    sql_run(db, "CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)");
    *state = db;
    return 0;
}

static int close_memory(void **state)
{
    sqlite3_close(*state);
    return 0;
}

static void insert_twice(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT);
}

static void test_failure_is_kept_when_another_statement_is_finalized(void **state)
{
    sqlite3 *db = *state;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT a FROM t", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    insert_twice(db);
    assert_int_equal(failure_keep(db), MI_ESTORE);
    sqlite3_finalize(q);
    assert_string_equal(sqlite3_errmsg(db), "not an error");
    assert_string_equal(failure_text(db), "UNIQUE constraint failed: t.a");
    assert_int_equal(failure_get_sqlite_code(db) & 0xFF, SQLITE_CONSTRAINT);
}

static void test_failure_is_kept_when_a_transaction_is_rolled_back(void **state)
{
    sqlite3 *db = *state;
    sql_run(db, "BEGIN");
    insert_twice(db);
    assert_int_equal(failure_keep(db), MI_ESTORE);
    sql_run(db, "ROLLBACK");
    assert_int_equal(failure_keep(db), MI_ESTORE); /* a caller who passes the failure on */
    assert_string_equal(failure_text(db), "UNIQUE constraint failed: t.a");
}

static void test_failure_of_the_last_call_is_newer_than_the_kept_one(void **state)
{
    sqlite3 *db = *state;
    insert_twice(db);
    (void)failure_keep(db);
    assert_int_equal(sqlite3_exec(db, "SELECT x", NULL, NULL, NULL), SQLITE_ERROR);
    assert_string_equal(failure_text(db), "no such column: x");
    assert_int_equal(failure_get_sqlite_code(db), SQLITE_ERROR);
}

static void test_failure_without_an_error_is_a_damaged_database(void **state)
{
    sqlite3 *db = *state, *other;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
    insert_twice(db);
    (void)failure_keep(db);
    assert_int_equal(sqlite3_prepare_v2(other, "SELECT 1", -1, &q, NULL), SQLITE_OK);
    for (int i = 0; i < 2; i++) { /* a row, and the end */
        (void)sqlite3_step(q);
        assert_non_null(strstr(failure_text(other), "it is damaged"));
        assert_int_equal(failure_get_sqlite_code(other), SQLITE_CORRUPT);
    }
    (void)failure_keep(other);
    sqlite3_finalize(q);
    assert_non_null(strstr(failure_text(other), "it is damaged"));
    sqlite3_close(other);
    assert_string_equal(failure_text(NULL), "out of memory");
    assert_int_equal(failure_get_sqlite_code(NULL), SQLITE_NOMEM);
}

/* ---- where it was lost ---- */

static void test_failure_of_an_upgrade_survives_its_rollback(void **state)
{
    struct temp *t = *state;
    sqlite3 *db = sql_vault(t);
    sql_run(db, "PRAGMA user_version = 0");
    assert_int_equal(schema_make_ready(db), MI_ESTORE);
    assert_string_equal(failure_text(db), "table sessions already exists");
    sqlite3_close(db);
}

static void test_failure_of_the_log_is_reported_for_the_session(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    struct coverage c = {0};
    sqlite3 *db = sql_vault(t);
    sql_run(db, "INSERT INTO sessions (uid, name, command, started_at_us, pid, host, record_level,"
                " interposer_version, salt) VALUES ('u', 'n', '[]', 1, 1, 'h', 'standard', '1',"
                " zeroblob(16));"
                "DROP TABLE leaves; CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL,"
                " CONSTRAINT 'the log takes nothing' CHECK (n IS NULL)) STRICT;"
                "PRAGMA ignore_check_constraints = 0");
    assert_int_equal(coverage_open(&c, db, 1), MI_ESTORE);
    assert_string_equal(failure_text(db), "CHECK constraint failed: the log takes nothing");
    coverage_close(&c);
    sqlite3_close(db);
    assert_int_equal(end_dead_running_session(t->vault, 1, true, &error), MI_ESTORE);
    assert_non_null(
        strstr(buf_str(&error), "interposer.db: CHECK constraint failed: the log takes nothing"));
    buf_close(&error);
}

#define IN_MEMORY(f) cmocka_unit_test_setup_teardown(f, open_memory, close_memory)
#define IN_VAULT(f) cmocka_unit_test_setup_teardown(f, temp_set_up, temp_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_MEMORY(test_failure_is_kept_when_another_statement_is_finalized),
        IN_MEMORY(test_failure_is_kept_when_a_transaction_is_rolled_back),
        IN_MEMORY(test_failure_of_the_last_call_is_newer_than_the_kept_one),
        IN_MEMORY(test_failure_without_an_error_is_a_damaged_database),
        IN_VAULT(test_failure_of_an_upgrade_survives_its_rollback),
        IN_VAULT(test_failure_of_the_log_is_reported_for_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
