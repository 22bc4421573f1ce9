#include "vault/store/connect.h"

#include "base/clock.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the budget of a statement -------------------------------------------------------------- */

/* A statement on a valid file needs a few steps of SQLite's virtual machine for each byte of the
 * file. The budget is BUDGET_LEAST steps, plus BUDGET_PER_BYTE steps for each byte of the file and
 * its write-ahead log. */
#define BUDGET_PER_BYTE 64
#define BUDGET_COMPRESSED 16 /* factor by which a file system may compress a file */
/* the part of a statement's budget that does not depend on the file, in steps: about a second */
#define BUDGET_LEAST 50000000
#define STEPS_PER_CALL 1000000 /* number of steps between two calls of the progress handler */

struct budget {
    sqlite3 *db;
    int64_t used; /* number of steps of the running statement */
};

static int64_t get_size_of_database_file(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;
    int n = path != NULL ? snprintf(name, sizeof name, "%s%s", path, suffix) : -1;
    if (n < 0 || (size_t)n >= sizeof name || stat(name, &st) != 0)
        return 0;
    /* A sparse file may claim a size of exabytes, so the size is limited by the file's disk blocks.
     * Less than a page of blocks means that their number is unknown: some file systems report no
     * blocks, or none until the data is written. */
    int64_t stored = (int64_t)st.st_blocks * 512;
    bool known = stored >= 4096 && st.st_size / BUDGET_COMPRESSED > stored;
    return known ? stored * BUDGET_COMPRESSED : st.st_size;
}

static int budget_count_steps(void *ctx)
{
    struct budget *b = ctx;
    b->used += STEPS_PER_CALL;
    if (b->used < BUDGET_LEAST)
        return 0;
    const char *path = sqlite3_db_filename(b->db, "main");
    return b->used > BUDGET_LEAST + BUDGET_PER_BYTE * (get_size_of_database_file(path, "") +
                                                       get_size_of_database_file(path, "-wal"));
}

/* SQLite calls this function when a statement begins, and when the connection is closed. */
static int budget_reset_or_free(unsigned event, void *ctx, void *p, void *x)
{
    (void)p, (void)x;
    struct budget *b = ctx;
    b->used = 0;
    if (event == SQLITE_TRACE_CLOSE)
        free(b);
    return 0;
}

static int set_statement_budget(sqlite3 *db)
{
    struct budget *b = malloc(sizeof *b);
    if (b == NULL)
        return SQLITE_NOMEM;
    *b = (struct budget){.db = db};
    int rc = sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE, budget_reset_or_free, b);
    if (rc != SQLITE_OK)
        free(b);
    else
        sqlite3_progress_handler(db, STEPS_PER_CALL, budget_count_steps, b);
    return rc;
}

/* ---- protection ----------------------------------------------------------------------------- */

int connect_harden_against_schema(sqlite3 *db)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        /* the statements of this program use no trigger and no view; its two views are for
         * people */
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < MI_COUNT(options); i++)
        rc = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
    return rc == SQLITE_OK ? set_statement_budget(db) : rc;
}

/* ---- files ---------------------------------------------------------------------------------- */

static sqlite3_vfs *system_vfs;

bool connect_may_open_file(const char *name)
{
    struct stat st;
    return name == NULL || lstat(name, &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
}

/* Refuses to open a super-journal. Such a file names the rollback journals of a transaction over
 * several databases, and SQLite would delete the files that it names. This program makes no
 * super-journal. */
static int connect_open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                             int *ret_flags)
{
    (void)vfs;
    f->pMethods = NULL;
    if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0 || !connect_may_open_file(name))
        return SQLITE_CANTOPEN;
    return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
}

const char *connect_get_vfs_name(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *found = system_vfs == NULL ? sqlite3_vfs_find(NULL) : NULL;
    if (system_vfs == NULL && found != NULL) {
        vfs = *found;
        vfs.zName = "mcp-interposer";
        vfs.pNext = NULL;
        vfs.xOpen = connect_open_file;
        if (sqlite3_vfs_register(&vfs, 0) == SQLITE_OK)
            system_vfs = found;
    }
    /* no VFS has the name "none", so opening fails */
    return system_vfs != NULL ? vfs.zName : "none";
}

/* ---- connections ---------------------------------------------------------------------------- */

int connect_open_database(sqlite3 **ret, const char *path, const char *vfs, int flags, int wait_ms)
{
    flags |= SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    vfs = vfs != NULL ? vfs : connect_get_vfs_name();
    *ret = NULL;
    int rc = sqlite3_open_v2(path, ret, flags, vfs);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_busy_timeout(*ret, wait_ms);
    return connect_harden_against_schema(*ret);
}

bool connect_find_database_path(const char *vault, char ret[PATH_MAX])
{
    /* SQLITE_OPEN_NOFOLLOW forbids symbolic links anywhere in the path */
    char *real = realpath(vault, NULL);
    int n = real != NULL ? snprintf(ret, PATH_MAX, "%s/" VAULT_DB, real) : -1;
    free(real);
    return n > 0 && n < PATH_MAX && access(ret, F_OK) == 0;
}

int connect_read_number(sqlite3 *db, const char *sql, int64_t arg, int64_t *ret)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(q) > 0)
        rc = sqlite3_bind_int64(q, 1, arg);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(q, 0);
    else if (rc != SQLITE_DONE)
        (void)failure_keep(db);
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

void connect_bind(sqlite3_stmt *q, int i, struct slice text)
{
    if (text.p != NULL)
        sqlite3_bind_text64(q, i, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(q, i);
}

void connect_bind_blob(sqlite3_stmt *q, int i, struct slice bytes)
{
    if (bytes.p != NULL)
        sqlite3_bind_blob64(q, i, bytes.p, bytes.n, SQLITE_STATIC);
    else
        sqlite3_bind_null(q, i);
}

int64_t connect_time(sqlite3_stmt *q, int i)
{
    return clock_clamp_us(sqlite3_column_int64(q, i));
}

struct slice connect_column(sqlite3_stmt *q, int i)
{
    bool blob = sqlite3_column_type(q, i) == SQLITE_BLOB;
    const void *p = blob ? sqlite3_column_blob(q, i) : (const void *)sqlite3_column_text(q, i);
    size_t n = p != NULL ? (size_t)sqlite3_column_bytes(q, i) : 0;
    return (struct slice){p != NULL || !blob ? p : "", n};
}
