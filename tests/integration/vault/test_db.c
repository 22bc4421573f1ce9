/* db: statements by name, transactions, and one sentence for each error. */
#include "vault/store/db.h"

#include "tests/support/vault_unit.h"

enum { MAKE, ADD, COUNT, TEXT, WRONG, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [MAKE] = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)",
    [ADD] = "INSERT INTO t VALUES (?1, ?2)",
    [COUNT] = "SELECT count(*) FROM t WHERE id >= ?1",
    [TEXT] = "SELECT max(id) FROM t WHERE name = ?1",
    [WRONG] = "SELECT a FROM nowhere",
};
static const struct db_kind writer = {
    .writes = true, .wait_ms = 10, .sql = sql, .n = STATEMENTS, .can_not = "change"};
static const struct db_kind reader = {
    .wait_ms = 10, .sql = sql, .n = STATEMENTS, .can_not = "read"};

struct files {
    struct temp temp;
    char path[256];
    struct db d;
    struct buf error;
};

static int set_up(void **state)
{
    static struct files f;
    f = (struct files){.error = {0}};
    temp_make(&f.temp);
    snprintf(f.path, sizeof f.path, "%s/some.db", f.temp.root);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    sql_run(db, "PRAGMA journal_mode = WAL");
    sqlite3_close(db);
    assert_int_equal(db_open(&f.d, &writer, f.path, &f.error), 0);
    assert_int_equal(db_run_statement(&f.d, MAKE, NULL, 0), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct files *f = *state;
    db_close(&f->d);
    buf_close(&f->error);
    temp_remove(&f->temp);
    return 0;
}

static int add(struct files *f, int64_t id, const char *name)
{
    return db_run_statement(
        &f->d, ADD,
        DB_WITH(db_int(id), db_text(name != NULL ? slice_of(name) : (struct slice){0})));
}

static int64_t count(struct files *f)
{
    int64_t n;
    assert_int_equal(db_read_number(&f->d, COUNT, &n, DB_WITH(db_int(0))), 0);
    return n;
}

static void test_db_binds_values_by_type(void **state)
{
    struct files *f = *state;
    int64_t id = 7;
    assert_int_equal(add(f, INT64_MAX, "x"), 0);
    assert_int_equal(add(f, 2, NULL), 0);
    assert_int_equal(db_read_number(&f->d, TEXT, &id, DB_WITH(db_text(slice_of("x")))), 0);
    assert_true(id == INT64_MAX);
    /* NULL is not a number: as if there were no row */
    assert_int_equal(db_read_number(&f->d, TEXT, &id, DB_WITH(db_text(slice_of("y")))), MI_ENOENT);
    assert_int_equal(id, 0);
    assert_int_equal(count(f), 2);
}

static void test_db_error_names_the_database_and_the_reason(void **state)
{
    struct files *f = *state;
    int64_t n;
    assert_int_equal(add(f, 1, "x"), 0);
    assert_int_equal(add(f, 1, "x"), MI_ESTORE);
    char expected[512];
    snprintf(expected, sizeof expected, "cannot change %s: UNIQUE constraint failed: t.id",
             f->path);
    assert_string_equal(buf_str(&f->error), expected);
    assert_int_equal(db_read_number(&f->d, WRONG, &n, NULL, 0), MI_ESTORE);
    if (strstr(buf_str(&f->error), "no such table: nowhere") == NULL)
        fail_msg("%s", buf_str(&f->error));
    assert_int_equal(count(f), 1); /* the connection is as good as before */
}

static void test_db_failed_transaction_changes_nothing(void **state)
{
    struct files *f = *state;
    assert_int_equal(db_begin(&f->d), 0);
    assert_int_equal(add(f, 1, "x"), 0);
    assert_int_equal(db_begin(&f->d), 0); /* a part of the first */
    assert_int_equal(add(f, 2, "y"), 0);
    assert_int_equal(db_end(&f->d, 0), 0);
    assert_int_equal(db_end(&f->d, MI_EIO), MI_EIO);
    assert_int_equal(count(f), 0);
    assert_int_equal(db_begin(&f->d), 0);
    assert_int_equal(add(f, 1, "x"), 0);
    assert_int_equal(db_end(&f->d, 0), 0);
    assert_int_equal(count(f), 1);
}

static void test_db_snapshot_does_not_see_later_rows(void **state)
{
    struct files *f = *state;
    struct db r;
    struct buf error = {0};
    int64_t n;
    assert_int_equal(add(f, 1, "x"), 0);
    assert_int_equal(db_open(&r, &reader, f->path, &error), 0);
    assert_int_equal(db_begin(&r), 0);
    assert_int_equal(db_read_number(&r, COUNT, &n, DB_WITH(db_int(0))), 0);
    assert_int_equal(add(f, 2, "y"), 0);
    assert_int_equal(db_read_number(&r, COUNT, &n, DB_WITH(db_int(0))), 0);
    assert_int_equal(n, 1);
    assert_int_equal(db_end(&r, 0), 0);
    assert_int_equal(db_read_number(&r, COUNT, &n, DB_WITH(db_int(0))), 0);
    assert_int_equal(n, 2);
    assert_int_equal(db_run_statement(&r, ADD, DB_WITH(db_int(3))), MI_ESTORE);
    assert_non_null(strstr(buf_str(&error), "readonly"));
    db_close(&r);
    buf_close(&error);
}

/* Without SQLite's files, a reader does not see a writer that starts later: it connects again. */
static void test_db_reader_connects_again_when_a_writer_has_started(void **state)
{
    struct files *f = *state;
    struct db r;
    struct buf error = {0};
    int64_t n;
    assert_int_equal(add(f, 1, "x"), 0);
    db_close(&f->d); /* the last connection removes SQLite's files */
    assert_int_equal(db_open(&r, &reader, f->path, &error), 0);
    assert_false(r.shared);
    assert_int_equal(db_read_number(&r, COUNT, &n, DB_WITH(db_int(0))), 0);
    assert_false(db_is_outdated(&r));
    assert_int_equal(db_open(&f->d, &writer, f->path, &f->error), 0);
    assert_int_equal(add(f, 2, "y"), 0);
    assert_true(db_is_outdated(&r));
    assert_int_equal(db_begin(&r), 0);
    assert_true(r.shared);
    assert_int_equal(r.connections, 2);
    assert_int_equal(db_read_number(&r, COUNT, &n, DB_WITH(db_int(0))), 0);
    assert_int_equal(n, 2);
    assert_int_equal(db_end(&r, 0), 0);
    db_close(&r);
    buf_close(&error);
}

static sqlite3_stmt *ask_number(struct files *f, const char *text, int64_t expected)
{
    sqlite3_stmt *q = NULL;
    assert_int_equal(db_begin_query_text(&f->d, text, &q, DB_WITH(db_int(expected))), 0);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(q, 0), expected);
    return q;
}

static void test_db_texts_that_were_asked_last_are_not_prepared_again(void **state)
{
    struct files *f = *state;
    static const char one[] = "SELECT ?1", two[] = "SELECT ?1 + 0";
    sqlite3_stmt *first = ask_number(f, one, 1),
                 *second = ask_number(f, one, 2); /* the first is in use */
    assert_true(first != second);
    assert_int_equal(db_finish_statement(&f->d, second, SQLITE_ROW), 0);
    assert_int_equal(db_finish_statement(&f->d, first, SQLITE_ROW), 0);
    sqlite3_stmt *third = ask_number(f, two, 3), *again = ask_number(f, one, 4);
    assert_true(again == first || again == second);
    assert_int_equal(sqlite3_step(again), SQLITE_DONE);
    assert_int_equal(db_finish_statement(&f->d, again, SQLITE_DONE), 0);
    assert_int_equal(db_finish_statement(&f->d, third, SQLITE_ROW), 0);
    size_t n = 0;
    for (int i = 0; i < 3 * DB_KEPT; i++) {
        char text[32];
        snprintf(text, sizeof text, "SELECT ?1 + 0 * %d", i);
        assert_int_equal(db_finish_statement(&f->d, ask_number(f, text, i), SQLITE_ROW), 0);
    }
    for (sqlite3_stmt *q = NULL; (q = sqlite3_next_stmt(f->d.db, q)) != NULL;)
        n++;
    assert_int_equal(n, DB_KEPT + 1); /* and MAKE */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_db_binds_values_by_type),
        TEST(test_db_error_names_the_database_and_the_reason),
        TEST(test_db_failed_transaction_changes_nothing),
        TEST(test_db_snapshot_does_not_see_later_rows),
        TEST(test_db_reader_connects_again_when_a_writer_has_started),
        TEST(test_db_texts_that_were_asked_last_are_not_prepared_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
