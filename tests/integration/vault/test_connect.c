/* A database created by another program: links are not followed, and its schema cannot run code. */
#include "vault/store/connect.h"

#include "tests/support/vault_unit.h"

static int called;

static void evil(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n, (void)v;
    called++;
    sqlite3_result_int(ctx, 1);
}

static void test_connect_schema_of_another_program_cannot_run_code(void **state)
{
    struct temp *t = *state;
    char path[PATH_MAX];
    sqlite3 *db = sql_vault(t);
    sql_run(db, "CREATE VIEW bad AS SELECT evil() AS x");
    sqlite3_close(db);
    assert_true(connect_find_database_path(t->vault, path));
    assert_int_equal(connect_open_database(&db, path, NULL, SQLITE_OPEN_READWRITE, 100), SQLITE_OK);
    assert_int_equal(sqlite3_create_function(db, "evil", 0, SQLITE_UTF8, NULL, evil, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT x FROM bad", NULL, NULL, NULL), SQLITE_ERROR);
    assert_int_equal(called, 0);
    sql_run(db, "SELECT evil()"); /* allowed in a statement of ours */
    assert_int_equal(called, 1);
    sql_run(db, "PRAGMA writable_schema = ON");
    assert_int_not_equal(sqlite3_exec(db, "UPDATE sqlite_schema SET sql = 'x'", NULL, NULL, NULL),
                         SQLITE_OK);
    sqlite3_close(db);
}

static void test_connect_link_is_not_followed(void **state)
{
    struct temp *t = *state;
    char path[PATH_MAX];
    sqlite3 *db = sql_vault(t);
    sqlite3_close(db);
    const char *link = temp_path(t, "link");
    assert_int_equal(symlink(t->vault, link), 0);
    assert_true(connect_find_database_path(link, path)); /* a link to the vault is followed */
    assert_int_equal(strncmp(path, t->vault, strlen(t->vault)), 0);
    assert_int_equal(connect_open_database(&db, path, NULL, SQLITE_OPEN_READONLY, 100), SQLITE_OK);
    sqlite3_close(db);
    const char *other = temp_path(t, "other.db");
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    int rc = connect_open_database(&db, path, NULL, SQLITE_OPEN_READONLY, 100);
    assert_int_equal(rc & 0xFF, SQLITE_CANTOPEN);
    sqlite3_close(db);
}

static void test_connect_missing_vault_has_no_path(void **state)
{
    struct temp *t = *state;
    char path[PATH_MAX];
    assert_false(connect_find_database_path(t->vault, path));
    assert_int_equal(mkdir(t->vault, 0700), 0);
    assert_false(connect_find_database_path(t->vault, path)); /* nor one without a database */
}

static void test_connect_waits_for_a_lock_for_the_given_time(void **state)
{
    struct temp *t = *state;
    char path[PATH_MAX];
    sqlite3 *db = sql_vault(t);
    sqlite3_close(db);
    assert_true(connect_find_database_path(t->vault, path));
    assert_int_equal(connect_open_database(&db, path, NULL, SQLITE_OPEN_READWRITE, 0), SQLITE_OK);
    pid_t h = sql_lock(t, 0);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
    sqlite3_close(db);
    sql_unlock(h);
    assert_int_equal(connect_open_database(&db, path, NULL, SQLITE_OPEN_READWRITE, 60000), SQLITE_OK);
    h = sql_lock(t, 50000);
    sql_run(db, "BEGIN IMMEDIATE");
    sqlite3_close(db);
    sql_unlock(h);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, temp_set_up, temp_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_connect_schema_of_another_program_cannot_run_code),
        T(test_connect_link_is_not_followed),
        T(test_connect_missing_vault_has_no_path),
        T(test_connect_waits_for_a_lock_for_the_given_time),
    };
    return cmocka_run_group_tests_name("connect", tests, NULL, NULL);
}
