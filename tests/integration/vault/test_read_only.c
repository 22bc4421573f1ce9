/* Reading a vault without adding or changing a file in it, whether or not somebody writes to it. */
#include "vault/store/read_only.h"

#include "tests/support/vault_unit.h"
#include "vault/query/reader.h"

#define ADD_SESSION                                                                                \
    "INSERT INTO sessions (uid, name, command, started_at_us, pid, host, record_level,"            \
    " interposer_version) VALUES (hex(randomblob(13)), 'a', '[]', 1, 1, 'h', 'full', '1')"
#define MANY                                                                                       \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"               \
    " INSERT INTO events (session_id, t_us, kind, detail) SELECT 1, i, 'e', printf('%1000d', i) "  \
    "FROM n"

static const char *db_of(const struct temp *t)
{
    return temp_path(t, "vault/interposer.db");
}

/* A vault with one session and many events. `left`: as a killed writer leaves it, without -shm. */
static void make(const struct temp *t, bool left)
{
    sqlite3 *db = sql_vault(t);
    sql_run(db, left ? "SELECT 1" : ADD_SESSION ";" MANY);
    if (left) {
        sql_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
        sql_run(db, ADD_SESSION ";" MANY);
        assert_int_equal(rename(temp_path(t, "vault/interposer.db-wal"), temp_path(t, "wal")), 0);
    }
    sqlite3_close(db);
    if (left)
        assert_int_equal(rename(temp_path(t, "wal"), temp_path(t, "vault/interposer.db-wal")), 0);
    /* an old file: its next change has another time */
    const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, db_of(t), old, 0), 0);
}

struct files {
    struct stat db, wal;
    bool wal_exists, shm_exists;
};

static struct files look(const struct temp *t)
{
    struct files f = {.shm_exists = exists(temp_path(t, "vault/interposer.db-shm"))};
    assert_int_equal(stat(db_of(t), &f.db), 0);
    f.wal_exists = stat(temp_path(t, "vault/interposer.db-wal"), &f.wal) == 0;
    return f;
}

static void assert_unchanged(const struct temp *t, const struct files *before)
{
    struct files f = look(t);
    assert_int_equal(f.shm_exists, before->shm_exists);
    assert_int_equal(f.wal_exists, before->wal_exists);
    assert_int_equal(f.db.st_size, before->db.st_size);
    assert_int_equal(f.wal.st_size, before->wal.st_size);
    assert_memory_equal(&f.db.st_mtim, &before->db.st_mtim, sizeof f.db.st_mtim);
    assert_memory_equal(&f.wal.st_mtim, &before->wal.st_mtim, sizeof f.wal.st_mtim);
}

static void read_it(struct temp *t, bool left)
{
    sqlite3 *db;
    bool shared = true;
    make(t, left);
    struct files before = look(t);
    assert_false(before.shm_exists);
    assert_int_equal(before.wal_exists, left);
    assert_int_equal(read_only_open(&db, db_of(t), 100, &shared), SQLITE_OK);
    assert_false(shared);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM events"), 2000);
    assert_unchanged(t, &before); /* neither while it is open */
    assert_int_equal(sql_number(db, "SELECT count(*) FROM sessions"), 1);
    assert_int_not_equal(sqlite3_exec(db, "DELETE FROM sessions", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_unchanged(t, &before); /* nor afterwards */
}

static void test_read_only_adds_no_file_to_a_closed_vault(void **state)
{
    read_it(*state, false);
}

static void test_read_only_reads_the_log_of_a_killed_writer(void **state)
{
    read_it(*state, true);
}

static void test_read_only_shares_the_files_of_a_writer(void **state)
{
    struct temp *t = *state;
    sqlite3 *writer = sql_vault(t), *db;
    bool shared = false;
    sql_run(writer, ADD_SESSION);
    assert_true(read_only_wal_and_shm_exist(db_of(t)));
    assert_int_equal(read_only_open(&db, db_of(t), 100, &shared), SQLITE_OK);
    assert_true(shared);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM sessions"), 1);
    sql_run(writer, ADD_SESSION);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM sessions"), 2);
    sqlite3_close(db);
    sqlite3_close(writer);
}

static void test_read_only_writer_in_the_middle_of_a_transaction_is_noticed(void **state)
{
    struct temp *t = *state;
    sqlite3 *db, *writer;
    sqlite3_stmt *q;
    make(t, false);
    assert_int_equal(read_only_open(&db, db_of(t), 100, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT detail FROM events ORDER BY id", -1, &q, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    assert_int_equal(sqlite3_open(db_of(t), &writer), SQLITE_OK);
    sql_run(writer, ADD_SESSION); /* in its log: the reader does not need to know */
    assert_true(read_only_wal_and_shm_exist(db_of(t)));
    for (int i = 0; i < 100; i++)
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    sql_run(writer, "DELETE FROM events; PRAGMA wal_checkpoint(FULL)");
    int rc, rows = 0;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        rows++;
    assert_int_equal(rc, SQLITE_BUSY);
    assert_int_equal(sqlite3_extended_errcode(db), READ_ONLY_CHANGED);
    assert_true(rows < 1000); /* those that were in its cache */
    sqlite3_finalize(q);
    sqlite3_close(db);
    sqlite3_close(writer);
}

static void test_read_only_database_without_a_log_may_change_between_transactions(void **state)
{
    struct temp *t = *state;
    sqlite3 *db, *writer = sql_vault(t);
    sql_run(writer, ADD_SESSION ";" MANY "; PRAGMA journal_mode = DELETE");
    assert_int_equal(read_only_open(&db, db_of(t), 100, NULL), SQLITE_OK);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM events"), 2000);
    sql_run(writer, "DELETE FROM events WHERE id > 1000");
    assert_int_equal(sql_number(db, "SELECT count(*) FROM events"), 1000);
    sqlite3_close(db);
    sqlite3_close(writer);
}

static bool count(void *ctx, const struct query_session *s)
{
    (void)s;
    ++*(int *)ctx;
    return true;
}

static void test_read_only_query_sees_a_writer_that_starts_later(void **state)
{
    struct temp *t = *state;
    struct buf error = {0};
    struct query *q;
    int64_t version, later;
    int n = 0;
    make(t, false);
    assert_int_equal(query_open(&q, t->vault, &error), 0);
    assert_int_equal(query_sessions(q, 0, count, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(query_read_change_counter(q, &version), 0);
    assert_false(exists(temp_path(t, "vault/interposer.db-shm")));
    sqlite3 *writer;
    assert_int_equal(sqlite3_open(db_of(t), &writer), SQLITE_OK);
    sql_run(writer, ADD_SESSION);
    assert_int_equal(query_read_change_counter(q, &later), 0);
    assert_int_not_equal(later, version);
    n = 0;
    assert_int_equal(query_sessions(q, 0, count, &n), 0);
    assert_int_equal(n, 2);
    sql_run(writer, ADD_SESSION "; PRAGMA wal_checkpoint(FULL)");
    n = 0;
    assert_int_equal(query_sessions(q, 0, count, &n), 0);
    assert_int_equal(n, 3);
    query_close(q);
    sqlite3_close(writer);
    buf_close(&error);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, temp_set_up, temp_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_read_only_adds_no_file_to_a_closed_vault),
        T(test_read_only_reads_the_log_of_a_killed_writer),
        T(test_read_only_shares_the_files_of_a_writer),
        T(test_read_only_writer_in_the_middle_of_a_transaction_is_noticed),
        T(test_read_only_database_without_a_log_may_change_between_transactions),
        T(test_read_only_query_sees_a_writer_that_starts_later),
    };
    return cmocka_run_group_tests_name("read_only", tests, NULL, NULL);
}
