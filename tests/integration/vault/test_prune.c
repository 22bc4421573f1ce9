/* Removes sessions step by step. tests/e2e/65-prune.py tests which ones are removed. */
#include "vault/upkeep/prune/remove.h"

#include "vault/store/schema.h"

#include "tests/support/vault_unit.h"

#define NOW ((int64_t)1795256137 * 1000000)
#define DAY ((int64_t)86400 * 1000000)

static void open_vault(struct temp *t, sqlite3 **ret)
{
    char sql[400];
    *ret = sql_vault(t);
    for (int i = 1; i <= 3; i++) { /* three, two and one day ago, with 500 messages each */
        int64_t at = NOW - (4 - i) * DAY;
        snprintf(
            sql, sizeof sql,
            "INSERT INTO sessions (id, uid, name, command, started_at_us, ended_at_us, pid, host,"
            " record_level, interposer_version) VALUES (%d, 'U%d', 'n', '[]', %lld, %lld, 1, 'h', "
            "'full', '0')",
            i, i, (long long)at, (long long)at);
        sql_run(*ret, sql);
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
                 " INSERT INTO messages SELECT (%d << 36) + i, %d, i, 0, 'c2s', 'peer', 'request', "
                 "NULL, NULL,"
                 " NULL, '{}', NULL, NULL, 2, 0, 'forwarded', NULL, NULL, NULL, NULL, NULL, NULL, "
                 "NULL FROM n",
                 i, i);
        sql_run(*ret, sql);
    }
    sql_run(*ret, "INSERT INTO calls (id, direction, origin, status, t_us, request_size)"
                  " SELECT id, direction, origin, 'open', t_us, size FROM messages");
}

static struct prune *begin(struct temp *t, struct retention rule)
{
    struct prune *p = NULL;
    struct buf error = {0};
    if (prune_open(&p, t->vault, &rule, NOW, &error) < 0 || prune_fill_in_plan_totals(p, &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
    return p;
}

static void test_prune_step_is_short_and_the_next_run_continues(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    sqlite3 *db;
    bool done;
    open_vault(t, &db);
    struct prune *p = begin(t, (struct retention){.older_us = 2 * DAY + DAY / 2});
    assert_int_equal(prune_get_plan_totals(p)->sessions, 1);
    assert_int_equal(prune_get_plan_totals(p)->messages, 500);
    assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_false(done);
    assert_int_equal(prune_get_report(p)->messages, PRUNE_ROWS);
    assert_string_equal(sql_rows(t, "SELECT count(*), min(seq) FROM messages WHERE session_id = 1"),
                        "300|201");
    assert_string_equal(
        sql_rows(t, "SELECT count(*), min(id & 65535) FROM calls WHERE id >> 36 = 1"), "300|201");
    prune_close(p); /* as if killed */
    p = begin(t, (struct retention){.older_us = 2 * DAY + DAY / 2});
    assert_int_equal(prune_get_plan_totals(p)->messages, 300);
    for (done = false; !done;)
        assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_string_equal(sql_rows(t, "SELECT group_concat(id) FROM sessions"), "2,3");
    assert_string_equal(sql_rows(t, "SELECT count(*) FROM messages"), "1000");
    assert_string_equal(sql_rows(t, "SELECT count(*), min(id >> 36) FROM calls"), "1000|2");
    prune_close(p);
    sqlite3_close(db);
}

static void test_prune_plan_counts_calls(void **state)
{
    struct temp *t = *state;
    int64_t bytes[2];
    sqlite3 *db;
    open_vault(t, &db);
    for (int i = 0; i < 2; i++) {
        struct prune *p = begin(t, (struct retention){.keep_last = 1});
        bytes[i] = prune_get_plan_totals(p)->bytes_before - prune_get_plan_totals(p)->bytes_after;
        prune_close(p);
        sql_run(db, "DELETE FROM calls");
    }
    assert_true(bytes[0] > bytes[1] + 1000 * 15); /* two sessions with 500 calls */
    sqlite3_close(db);
}

static void test_prune_locked_database_can_be_tried_again(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    sqlite3 *db;
    bool done;
    open_vault(t, &db);
    struct prune *p = begin(t, (struct retention){.keep_last = 1});
    sql_run(db, "BEGIN IMMEDIATE");
    assert_int_equal(prune_run_step(p, &done, &error), MI_EFULL);
    assert_int_equal(error.n, 0); /* the caller tries again, and says so if that takes too long */
    buf_close(&error);
    sql_run(db, "COMMIT");
    assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_int_equal(prune_get_report(p)->messages, PRUNE_ROWS);
    prune_close(p);
    sqlite3_close(db);
}

static void test_prune_is_quiet_if_no_other_process_has_written(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    sqlite3 *db;
    bool done;
    open_vault(t, &db);
    struct prune *p = begin(t, (struct retention){.keep_last = 1});
    assert_false(prune_database_is_unchanged(p)); /* there is no earlier call to compare with */
    assert_true(prune_database_is_unchanged(p));
    assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_true(prune_database_is_unchanged(p)); /* our own change does not count */
    sql_run(db, "UPDATE sessions SET pid = 2 WHERE id = 3");
    assert_false(prune_database_is_unchanged(p));
    assert_true(prune_database_is_unchanged(p));
    prune_close(p);
    sqlite3_close(db);
}

static void test_prune_escalation_is_removed_with_its_row(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    sqlite3 *db;
    bool done = false;
    struct timespec times[2] = {{NOW / 1000000 - 100 * 86400, 0}, {NOW / 1000000 - 100 * 86400, 0}};
    open_vault(t, &db);
    assert_int_equal(mkdir(temp_path(t, "vault/Escalations"), 0700), 0);
    close(open(temp_path(t, "vault/Escalations/1.md"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(utimensat(AT_FDCWD, temp_path(t, "vault/Escalations/1.md"), times, 0), 0);
    sql_run(db, "INSERT INTO escalations VALUES (1, 'auth', 's', NULL, NULL, '1.md', 1, 1, 1),"
                " (2, 'auth', 's', NULL, NULL, '2.md', 1, 1, 1)");
    struct prune *p = begin(t, (struct retention){.older_us = 10 * DAY});
    while (!done)
        assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_int_equal(prune_get_report(p)->escalations, 1);
    assert_string_equal(sql_rows(t, "SELECT file FROM escalations"), "2.md");
    prune_close(p);
    sqlite3_close(db);
}

/* A vault of this version that no proxy has opened since the table was added. */
static void test_prune_vault_without_the_table_of_escalations(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    sqlite3 *db;
    bool done = false;
    struct timespec times[2] = {{NOW / 1000000 - 100 * 86400, 0}, {NOW / 1000000 - 100 * 86400, 0}};
    open_vault(t, &db);
    assert_int_equal(mkdir(temp_path(t, "vault/Escalations"), 0700), 0);
    close(open(temp_path(t, "vault/Escalations/1.md"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(utimensat(AT_FDCWD, temp_path(t, "vault/Escalations/1.md"), times, 0), 0);
    sql_run(db, "DROP TABLE escalations");
    struct prune *p = begin(t, (struct retention){.older_us = 10 * DAY});
    while (!done)
        assert_int_equal(prune_run_step(p, &done, &error), 0);
    assert_int_equal(prune_get_report(p)->escalations, 1);
    prune_close(p);
    sqlite3_close(db);
}

static void test_prune_missing_vault_is_an_error(void **state)
{
    struct temp *t = *state;
    struct prune *p = NULL;
    struct retention rule = {.keep_last = 1};
    struct buf error = {0};
    assert_int_equal(prune_open(&p, t->vault, &rule, NOW, &error), MI_ENOENT);
    assert_true(error.n > 0);
    assert_int_equal(mkdir(t->vault, 0700), 0);
    assert_int_equal(prune_open(&p, t->vault, &rule, NOW, &error), MI_ENOENT);
    assert_false(exists(temp_path(t, "vault/interposer.db")));
    buf_close(&error);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_set_up, temp_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_prune_step_is_short_and_the_next_run_continues),
        TEST(test_prune_plan_counts_calls),
        TEST(test_prune_locked_database_can_be_tried_again),
        TEST(test_prune_is_quiet_if_no_other_process_has_written),
        TEST(test_prune_escalation_is_removed_with_its_row),
        TEST(test_prune_vault_without_the_table_of_escalations),
        TEST(test_prune_missing_vault_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
