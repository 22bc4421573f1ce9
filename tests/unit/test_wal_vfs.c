/* The write-ahead log's frames leave together, and never too late: what another connection may see is in
 * the file, and what is not in the file was not committed. */
#include "vault/wal_vfs.h"

#include "tests/unit/vault_unit.h"

#include <errno.h>
#include <sys/syscall.h>

static struct temp temp;
static char path[256];
static sqlite3 *db;    /* through our layer */
static sqlite3 *other; /* through SQLite's own VFS */
static sqlite3_vfs *below;

/* Every pwrite of SQLite's comes here: counted, and failed when told to. */
static int writes, fail_at = -1;
static bool no_room_ahead; /* the whole buffer at once does not fit on the disk */
static size_t largest;

/* Stands before the C library's: SQLite's list of system calls does not have it. */
static int syncs;
int fdatasync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

static ssize_t counted_pwrite(int fd, const void *p, size_t n, off_t at)
{
    writes++;
    largest = n > largest ? n : largest;
    if (fail_at >= 0 && fail_at-- == 0) {
        fail_at = 0; /* and from then on */
        errno = EIO;
        return -1;
    }
    if (no_room_ahead && n == WAL_VFS_BUFFER) {
        (void)!pwrite(fd, p, n / 2, at);
        errno = ENOSPC;
        return -1;
    }
    return pwrite(fd, p, n, at);
}

static sqlite3 *open_through(const char *vfs)
{
    sqlite3 *d;
    assert_int_equal(sqlite3_open_v2(path, &d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
                     SQLITE_OK);
    sql_run(
        d, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
    return d;
}

static int setup(void **state)
{
    (void)state;
    temp_make(&temp);
    snprintf(path, sizeof path, "%s/test.db", temp.root);
    below = sqlite3_vfs_find(NULL);
    assert_string_equal(wal_vfs(), WAL_VFS_NAME);
    assert_ptr_equal(wal_vfs(), wal_vfs());
    db = open_through(wal_vfs());
    other = open_through(NULL);
    sql_run(db, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
    fail_at = -1;
    no_room_ahead = false;
    writes = 0;
    largest = 0;
    /* the cast is SQLite's interface: every system call is stored as the same type of function */
    assert_int_equal(below->xSetSystemCall(below, "pwrite64", (sqlite3_syscall_ptr)counted_pwrite),
                     SQLITE_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fail_at = -1;
    sqlite3_close(other);
    sqlite3_close(db);
    below->xSetSystemCall(below, "pwrite64", NULL);
    temp_remove(&temp);
    return 0;
}

static void test_wal_vfs_one_row_is_one_write(void **state)
{
    (void)state;
    sql_run(db,
            "INSERT INTO t (b) VALUES ('x')"); /* the first one also makes the log's own header */
    writes = 0;
    sql_run(db, "INSERT INTO t (b) VALUES ('y')");
    assert_int_equal(writes, 1);
    assert_int_equal(largest, 24 + 4096);
}

static void test_wal_vfs_commit_is_seen_by_others_at_once(void **state)
{
    (void)state;
    for (int i = 1; i <= 200; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "INSERT INTO t (b) VALUES (hex(randomblob(%d)))", i * 40);
        sql_run(db, sql);
        assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), i);
        assert_int_equal(sql_number(other, "SELECT length(b) FROM t ORDER BY a DESC LIMIT 1"),
                         i * 80);
    }
    assert_int_equal(
        sql_number(other,
                   "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
}

static void test_wal_vfs_large_transaction_leaves_in_pieces_that_sqlite_can_write(void **state)
{
    (void)state;
    sql_run(db, "BEGIN; INSERT INTO t (b) VALUES (zeroblob(3000000)); COMMIT");
    assert_true(largest <= WAL_VFS_BUFFER);
    assert_true(largest > WAL_VFS_BUFFER / 2);
    assert_int_equal(sql_number(other, "SELECT length(b) FROM t"), 3000000);
}

static void test_wal_vfs_spilled_pages_can_be_read_back_before_the_commit(void **state)
{
    (void)state;
    sql_run(db, "PRAGMA cache_size = 10");
    sql_run(db, "BEGIN");
    for (int i = 0; i < 300; i++)
        sql_run(db, "INSERT INTO t (b) VALUES (hex(randomblob(1500)))");
    assert_int_equal(sql_number(db, "SELECT sum(length(b)) FROM t"), 300 * 3000);
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 0);
    sql_run(db, "COMMIT");
    assert_int_equal(sql_number(other, "SELECT sum(length(b)) FROM t"), 300 * 3000);
}

static void test_wal_vfs_failed_write_fails_the_commit_and_shows_nothing(void **state)
{
    (void)state;
    sql_run(db, "INSERT INTO t (b) VALUES ('before')");
    for (int n = 0;; n++) {
        fail_at = n;
        int rc = sqlite3_exec(db, "BEGIN; INSERT INTO t (b) VALUES (zeroblob(400000)); COMMIT",
                              NULL, NULL, NULL);
        bool reached = fail_at <= 0 && rc != SQLITE_OK;
        fail_at = -1;
        if (!sqlite3_get_autocommit(db))
            sql_run(db, "ROLLBACK");
        assert_int_equal(
            sql_number(other,
                       "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1);
        if (!reached) {
            assert_int_equal(rc, SQLITE_OK);
            assert_true(n > 1);
            break;
        }
        assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 1);
        assert_int_equal(sql_number(db, "SELECT count(*) FROM t"), 1);
    }
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 2);
}

static void test_wal_vfs_checkpoint_and_new_start_of_the_log_keep_everything(void **state)
{
    (void)state;
    for (int i = 1; i <= 30; i++) {
        sql_run(db,
                "BEGIN; INSERT INTO t (b) VALUES (hex(randomblob(9000))); INSERT INTO t (b) VALUES "
                "('x'); COMMIT");
        if (i % 3 == 0)
            sql_run(i % 2 == 0 ? db : other, "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 2 * i);
    }
    assert_int_equal(
        sql_number(other,
                   "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
}

static int64_t log_size(void)
{
    struct stat st;
    char log[300];
    snprintf(log, sizeof log, "%s-wal", path);
    assert_int_equal(stat(log, &st), 0);
    return st.st_size;
}

static void grow_log_to(int64_t size)
{
    while (log_size() < size)
        sql_run(db, "INSERT INTO t (b) VALUES ('x')");
}

static void copy_file(const char *from, const char *to)
{
    size_t n;
    char *bytes = slurp(from, &n);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    free(bytes);
}

/* What a process finds that has to recover: the two files as they are, and no shared memory. */
static int64_t recovered_rows(void)
{
    char to[300], log[300], to_log[320];
    sqlite3 *d;
    snprintf(to, sizeof to, "%s/copy.db", temp.root);
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(to_log, sizeof to_log, "%s-wal", to);
    copy_file(path, to);
    copy_file(log, to_log);
    assert_int_equal(sqlite3_open_v2(to, &d, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(
        sql_number(d, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
    int64_t n = sql_number(d, "SELECT count(*) FROM t");
    sqlite3_close(d);
    return n;
}

static void test_wal_vfs_long_log_grows_ahead_and_recovers_from_its_zeros(void **state)
{
    (void)state;
    grow_log_to(65536);
    int64_t size = log_size();
    assert_int_equal(size % (24 + 4096),
                     32); /* frames and nothing else so far, or this proves nothing */
    sql_run(db, "INSERT INTO t (b) VALUES ('x')");
    assert_true(log_size() >= size + 20 * 4120);
    size = log_size();
    for (int i = 0; i < 20; i++)
        sql_run(db, "INSERT INTO t (b) VALUES ('x')");
    assert_int_equal(log_size(), size);
    assert_int_equal(recovered_rows(), sql_number(other, "SELECT count(*) FROM t"));
}

static void test_wal_vfs_no_room_ahead_is_no_error_and_takes_none(void **state)
{
    (void)state;
    grow_log_to(65536);
    no_room_ahead = true;
    int64_t size = log_size();
    for (int i = 0; i < 50; i++)
        sql_run(db, "INSERT INTO t (b) VALUES ('x')");
    assert_int_equal(log_size(), size + 50 * 4120);
    assert_int_equal(recovered_rows(), sql_number(other, "SELECT count(*) FROM t"));
}

static void test_wal_vfs_only_a_log_without_a_past_needs_no_sync_of_its_header(void **state)
{
    (void)state;
    sql_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    syncs = 0;
    sql_run(db, "INSERT INTO t (b) VALUES ('into the empty file')");
    assert_int_equal(syncs, 0);
    sql_run(db, "PRAGMA wal_checkpoint(RESTART)");
    assert_true(syncs >= 2); /* the log, the database */
    syncs = 0;
    sql_run(db, "INSERT INTO t (b) VALUES ('over old frames')");
    assert_int_equal(syncs, 1);
    syncs = 0;
    sql_run(db, "PRAGMA synchronous = FULL; INSERT INTO t (b) VALUES ('x')");
    assert_int_equal(syncs, 1);
    sql_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    syncs = 0;
    sql_run(db, "INSERT INTO t (b) VALUES ('with the header')");
    assert_int_equal(syncs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wal_vfs_one_row_is_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wal_vfs_commit_is_seen_by_others_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_large_transaction_leaves_in_pieces_that_sqlite_can_write, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_spilled_pages_can_be_read_back_before_the_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_failed_write_fails_the_commit_and_shows_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_checkpoint_and_new_start_of_the_log_keep_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_long_log_grows_ahead_and_recovers_from_its_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wal_vfs_no_room_ahead_is_no_error_and_takes_none,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_vfs_only_a_log_without_a_past_needs_no_sync_of_its_header, setup, teardown),
    };
    return cmocka_run_group_tests_name("wal_vfs", tests, NULL, NULL);
}
