/* vault_unit.h - shared by the unit tests that use a vault: a temporary folder for each test, and SQL
 * queries to a database in it. */
#ifndef MI_TESTS_VAULT_UNIT_H
#define MI_TESTS_VAULT_UNIT_H

#include "tests/support/log_unit.h"

#include "base/buf.h"
#include "base/log.h"
#include "vault/store/schema.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A folder below TMPDIR, and the path of a vault in it that does not exist yet. */
struct temp {
    char root[128];
    char vault[160];
};

static inline void temp_make(struct temp *t)
{
    const char *dir = getenv("TMPDIR");
    snprintf(t->root, sizeof t->root, "%s/mi-unit-XXXXXX", dir != NULL ? dir : "/tmp");
    assert_non_null(mkdtemp(t->root));
    char *real = realpath(t->root, NULL);
    assert_non_null(real);
    snprintf(t->root, sizeof t->root, "%s", real);
    free(real);
    snprintf(t->vault, sizeof t->vault, "%s/vault", t->root);
}

static inline int temp_remove_one(const char *path, const struct stat *st, int what, struct FTW *f)
{
    (void)st, (void)what, (void)f;
    return remove(path);
}

static inline void temp_remove(struct temp *t)
{
    nftw(t->root, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Setup and teardown for tests whose *state is a struct temp. */
static inline MI_UNUSED int temp_set_up(void **state)
{
    static struct temp t;
    temp_make(&t);
    *state = &t;
    return 0;
}

static inline MI_UNUSED int temp_tear_down(void **state)
{
    temp_remove(*state);
    return 0;
}

/* "root/name"; valid during the next three calls. */
static inline const char *temp_path(const struct temp *t, const char *name)
{
    static char path[4][512];
    static unsigned at;
    at = (at + 1) % MI_COUNT(path);
    snprintf(path[at], sizeof path[at], "%s/%s", t->root, name);
    return path[at];
}

static inline MI_UNUSED unsigned mode_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        fail_msg("%s does not exist", path);
    return st.st_mode & 07777u;
}

static inline MI_UNUSED bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* The contents of the file, NUL-terminated; free() it. */
static inline MI_UNUSED char *slurp(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        fail_msg("%s cannot be read", path);
    struct buf b = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        buf_add(&b, part, n);
    fclose(f);
    buf_addc(&b, '\0');
    assert_false(b.failed);
    if (ret_n != NULL)
        *ret_n = b.n - 1;
    return b.p;
}

/* ---- SQL ---- */

/* Rows may be without evidence. */
static inline MI_UNUSED void sql_run(sqlite3 *db, const char *sql)
{
    (void)sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* The number in the first column of the first row. */
static inline MI_UNUSED int64_t sql_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int64_t v = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return v;
}

/* A vault whose database has empty tables. The caller closes the connection. */
static inline MI_UNUSED sqlite3 *sql_vault(const struct temp *t)
{
    sqlite3 *db = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/interposer.db", t->vault);
    assert_int_equal(mkdir(t->vault, 0700), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sql_run(db,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
    assert_int_equal(schema_make_ready(db), 0);
    return db;
}

/* Another process holds the write lock until sql_unlock(), or for this time. */
static inline MI_UNUSED pid_t sql_lock(const struct temp *t, int64_t for_us)
{
    int locked[2];
    char path[512], c = 0;
    snprintf(path, sizeof path, "%s/interposer.db", t->vault);
    assert_int_equal(pipe(locked), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db = NULL;
        alarm(60);
        if (sqlite3_open(path, &db) == SQLITE_OK &&
            sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
            write(locked[1], "x", 1) == 1)
            usleep((useconds_t)(for_us > 0 ? for_us : 60000000));
        kill(getpid(), SIGKILL); /* the kernel releases the lock */
    }
    close(locked[1]);
    assert_int_equal(read(locked[0], &c, 1), 1);
    close(locked[0]);
    return pid;
}

static inline MI_UNUSED void sql_unlock(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The result of an SQL query: columns joined by `|`, rows by `;`, NULL as `-`. It uses its own connection,
 * so only committed rows are seen. Good until the next call. */
static inline const char *ask_file(const char *db_path, const char *sql)
{
    static struct buf b;
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int rc;
    buf_close(&b);
    if (sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("%s: %s", db_path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 5000);
    /* as sql_run() */
    (void)sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        if (b.n > 0)
            buf_addc(&b, ';');
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            const void *text = sqlite3_column_blob(q, i);
            if (i > 0)
                buf_addc(&b, '|');
            if (sqlite3_column_type(q, i) == SQLITE_NULL)
                buf_addc(&b, '-');
            else
                buf_add(&b, text, (size_t)sqlite3_column_bytes(q, i));
        }
    }
    if (rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return buf_str(&b);
}

static inline MI_UNUSED const char *sql_rows(const struct temp *t, const char *sql)
{
    char path[512];
    snprintf(path, sizeof path, "%s/interposer.db", t->vault);
    return ask_file(path, sql);
}

#endif
