/* The read lock that stays between transactions costs nobody anything but a checkpoint's progress, and
 * no process that dies or restarts the log in between makes it wrong. */
#include "vault/wal_locks.h"

#include "tests/unit/vault_unit.h"
#include "vault/wal_vfs.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct temp temp;
static char path[256];
static sqlite3 *db;    /* through our layer, keeping its lock */
static sqlite3 *other; /* through SQLite's own VFS */
static struct wal_locks *locks;
static sqlite3_vfs *below;

static int lock_calls; /* fcntl(2) that sets a lock */
static int counted_fcntl(int fd, int op, ...)
{
    va_list args;
    va_start(args, op);
    void *arg = va_arg(args, void *);
    va_end(args);
    lock_calls += op == F_SETLK;
    return fcntl(fd, op, arg);
}

static sqlite3 *open_through(const char *vfs)
{
    sqlite3 *d;
    assert_int_equal(sqlite3_open_v2(path, &d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
                     SQLITE_OK);
    sqlite3_busy_timeout(d, 10000);
    sql_run(
        d, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
    return d;
}

static struct wal_locks *locks_of(sqlite3 *d)
{
    struct wal_locks *l = NULL;
    assert_int_equal(sqlite3_file_control(d, "main", WAL_VFS_LOCKS, &l), SQLITE_OK);
    return l;
}

static int setup(void **state)
{
    (void)state;
    temp_make(&temp);
    snprintf(path, sizeof path, "%s/test.db", temp.root);
    below = sqlite3_vfs_find(NULL);
    db = open_through(wal_vfs());
    other = open_through(NULL);
    sql_run(db, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
    locks = locks_of(db);
    assert_int_equal(below->xSetSystemCall(below, "fcntl", (sqlite3_syscall_ptr)counted_fcntl),
                     SQLITE_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    below->xSetSystemCall(below, "fcntl", NULL);
    sqlite3_close(other);
    sqlite3_close(db);
    temp_remove(&temp);
    return 0;
}

static void insert(int n)
{
    for (int i = 0; i < n; i++)
        sql_run(db, "INSERT INTO t (b) VALUES ('x')");
}

/* Frames in the log, and those of them that are in the database; SQLITE_OK or SQLITE_BUSY. */
static int checkpoint(sqlite3 *d, int how, int *ret_log, int *ret_moved)
{
    return sqlite3_wal_checkpoint_v2(d, NULL, how, ret_log, ret_moved);
}

static void test_wal_locks_burst_takes_two_calls_a_commit(void **state)
{
    (void)state;
    locks->keep = true;
    insert(2);
    assert_true(wal_locks_kept(locks));
    lock_calls = 0;
    insert(100);
    assert_int_equal(lock_calls, 200);
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 102);
}

static void test_wal_locks_not_asked_to_keep_lets_go_with_the_transaction(void **state)
{
    (void)state;
    insert(2);
    assert_false(wal_locks_kept(locks));
    lock_calls = 0;
    insert(10);
    assert_int_equal(lock_calls, 60);
}

static void test_wal_locks_kept_lock_keeps_back_a_checkpoint_until_it_rests(void **state)
{
    (void)state;
    int log, moved;
    locks->keep = true;
    insert(50);
    sqlite3_busy_timeout(other, 0);
    assert_int_equal(checkpoint(other, SQLITE_CHECKPOINT_PASSIVE, &log, &moved), SQLITE_OK);
    assert_true(moved < log);
    assert_int_equal(checkpoint(other, SQLITE_CHECKPOINT_RESTART, &log, &moved), SQLITE_BUSY);
    wal_locks_rest(locks);
    assert_false(wal_locks_kept(locks));
    assert_int_equal(checkpoint(other, SQLITE_CHECKPOINT_RESTART, &log, &moved), SQLITE_OK);
    assert_int_equal(moved, log);
    insert(1); /* into a log that starts anew */
    assert_int_equal(checkpoint(other, SQLITE_CHECKPOINT_PASSIVE, &log, &moved), SQLITE_OK);
    assert_true(log < 5);
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 51);
}

static void test_wal_locks_own_checkpoint_is_not_kept_back(void **state)
{
    (void)state;
    int log, moved;
    locks->keep = true;
    insert(50);
    assert_int_equal(checkpoint(db, SQLITE_CHECKPOINT_RESTART, &log, &moved), SQLITE_OK);
    assert_int_equal(moved, log);
    insert(50);
    assert_int_equal(checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE, &log, &moved), SQLITE_OK);
    insert(50);
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 150);
}

static void test_wal_locks_busy_writer_makes_it_let_go(void **state)
{
    (void)state;
    locks->keep = true;
    insert(5);
    assert_true(wal_locks_kept(locks));
    sqlite3_busy_timeout(db, 0);
    sql_run(other, "BEGIN IMMEDIATE");
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t (b) VALUES ('y')", NULL, NULL, NULL),
                     SQLITE_BUSY);
    assert_false(wal_locks_kept(locks));
    sql_run(other, "COMMIT");
    insert(5);
    assert_true(wal_locks_kept(locks));
    assert_int_equal(sql_number(other, "SELECT count(*) FROM t"), 10);
}

static void test_wal_locks_sees_what_others_wrote_in_between(void **state)
{
    (void)state;
    locks->keep = true;
    for (int i = 0; i < 200; i++) {
        insert(1);
        sql_run(other, "INSERT INTO t (b) VALUES ('other')");
        assert_int_equal(sql_number(db, "SELECT count(*) FROM t"), 2 * i + 2);
        if (i % 50 == 49)
            wal_locks_rest(locks);
        if (i % 20 == 0)
            (void)checkpoint(other, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
}

/* ---- many processes ------------------------------------------------------------------------- */

#define WRITERS 5
#define KILLS 40

struct board {
    int64_t committed[WRITERS]; /* rows of this writer that it knows to be committed */
};

/* Writes rows of its own, each a transaction, and says so after each commit, until it is killed. */
static void write_for_ever(int who, struct board *b)
{
    sqlite3 *d = open_through(wal_vfs());
    struct wal_locks *l = locks_of(d);
    sqlite3_stmt *q;
    l->keep = true;
    int64_t n = 0;
    assert_int_equal(sqlite3_prepare_v2(d, "SELECT count(*) FROM t WHERE b = ?1", -1, &q, NULL), 0);
    sqlite3_bind_int(q, 1, who);
    if (sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    if (n < b->committed[who])
        _exit(1); /* a committed row is gone */
    if (sqlite3_prepare_v2(d, "INSERT INTO t (b) VALUES (?1)", -1, &q, NULL) != SQLITE_OK)
        _exit(2);
    sqlite3_bind_int(q, 1, who);
    for (unsigned i = 1;; i++) {
        int rc = sqlite3_step(q);
        sqlite3_reset(q);
        if (rc == SQLITE_BUSY)
            continue;
        if (rc != SQLITE_DONE)
            _exit(3);
        __atomic_store_n(&b->committed[who], ++n, __ATOMIC_SEQ_CST);
        if (i % (16u << who) == 0) {
            wal_locks_rest(l);
            usleep(200);
        }
    }
}

static void checkpoint_for_ever(void)
{
    static const int how[] = {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_PASSIVE,
                              SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE};
    sqlite3 *d = open_through(NULL);
    sqlite3_busy_timeout(d, 5);
    for (unsigned i = 0;; i++) {
        int rc = checkpoint(d, how[i % MI_COUNT(how)], NULL, NULL);
        if (rc != SQLITE_OK && rc != SQLITE_BUSY)
            _exit(4);
        usleep(2000);
    }
}

static pid_t start(int who, struct board *b)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (who < WRITERS)
            write_for_ever(who, b);
        checkpoint_for_ever();
    }
    return pid;
}

static void test_wal_locks_killed_writers_and_checkpoints_lose_nothing(void **state)
{
    (void)state;
    /* the connections of setup() are not touched: they must not be taken through a fork */
    struct board *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(b != MAP_FAILED);
    pid_t pid[WRITERS + 1];
    for (int i = 0; i <= WRITERS; i++)
        pid[i] = start(i, b);
    int64_t seen = 0;
    for (int i = 0; i < KILLS; i++) {
        int who = i % (WRITERS + 1);
        int status;
        usleep(10000 + 1000 * (unsigned)(i % 7));
        sqlite3 *d = open_through(NULL);
        int64_t n = sql_number(d, "SELECT count(*) FROM t");
        assert_true(n >= seen);
        seen = n;
        sqlite3_close(d);
        kill(pid[who], SIGKILL);
        assert_int_equal(waitpid(pid[who], &status, 0), pid[who]);
        assert_true(WIFSIGNALED(status)); /* it had not ended by itself: no error, no loss */
        pid[who] = start(who, b);
    }
    for (int i = 0; i <= WRITERS; i++) {
        int status;
        kill(pid[i], SIGKILL);
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFSIGNALED(status));
    }
    sqlite3 *d = open_through(NULL);
    for (int i = 0; i < WRITERS; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM t WHERE b = '%d'", i);
        assert_true(b->committed[i] > 0);
        assert_true(sql_number(d, sql) >= b->committed[i]);
        assert_true(sql_number(d, sql) <= b->committed[i] + KILLS);
    }
    assert_int_equal(
        sql_number(d, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
    sqlite3_close(d);
    munmap(b, sizeof *b);
}

static int setup_closed(void **state)
{
    int st = setup(state);
    sqlite3_close(other);
    sqlite3_close(db);
    db = other = NULL;
    return st;
}

int main(void)
{
    alarm(300); /* a lock that nobody lets go makes everybody wait */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wal_locks_burst_takes_two_calls_a_commit, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_locks_not_asked_to_keep_lets_go_with_the_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_wal_locks_kept_lock_keeps_back_a_checkpoint_until_it_rests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wal_locks_own_checkpoint_is_not_kept_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wal_locks_busy_writer_makes_it_let_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wal_locks_sees_what_others_wrote_in_between, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wal_locks_killed_writers_and_checkpoints_lose_nothing,
                                        setup_closed, teardown),
    };
    return cmocka_run_group_tests_name("wal_locks", tests, NULL, NULL);
}
