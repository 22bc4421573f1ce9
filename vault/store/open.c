/* open.c - opens the database: file, journal mode, statements, busy handler. */
#include "vault/store/writer_state.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Columns of `messages`. The SELECT lists them in the order of the table, so that SQLite need not
 * copy its values for the INSERT. */
#define FIRST(name, type, null, since, ...) FIELD_IF(SCHEMA_FIRST_##since)(", " #name)
#define LAST(name, type, null, since, ...) FIELD_IF(SCHEMA_LAST_##since)(", " #name)
#define COLUMNS "id, session_id" MESSAGE_FIELDS(FIRST) ", salt, commitment" MESSAGE_FIELDS(LAST)
/* SQL constants for the columns that have the same value in all rows of a usual batch (member
 * `usual` in vault/store/row_batch.h). */
#define SAME_origin "'" ROW_BATCH_ORIGIN "'"
#define SAME_action "'" ROW_BATCH_ACTION "'"
#define SAME_redactions "0"
#define USUAL_OWN(name) ", " #name
#define USUAL_SAME(name) ", " SAME_##name
#define USUAL_RARE(name) ", NULL"
#define USUAL_FIRST(name, type, null, since, evidence, cassette, store, json, journal, usual)      \
    FIELD_IF(SCHEMA_FIRST_##since)(USUAL_##usual(name))
#define USUAL_LAST(name, type, null, since, evidence, cassette, store, json, journal, usual)       \
    FIELD_IF(SCHEMA_LAST_##since)(USUAL_##usual(name))
#define USUAL "id, ?1" MESSAGE_FIELDS(USUAL_FIRST) ", salt, commitment" MESSAGE_FIELDS(USUAL_LAST)

#define PARAMETER(name, type, null) ",?"
/* The fields of a session that are known when it begins, and a parameter for each of them. */
#define BEGUN(name, type, null, since, evidence, cassette, store, json, journal)                   \
    FIELD_EITHER(FIELD_UPDATE_##journal, "", ", " #name)
#define BEGUN_PARAMETER(name, type, null, since, evidence, cassette, store, json, journal)         \
    FIELD_EITHER(FIELD_UPDATE_##journal, "", ",?")
/* The id of a new session; if it is NULL, SQLite takes the greatest id plus one. ?1 is the greatest
 * id that a session has had, according to the log. The id of a removed session is not used again:
 * `calls` may still have rows of that session, which must not become rows of a new session. */
#define NEXT_ID                                                                                    \
    "(SELECT CASE WHEN ifnull((SELECT max(id) FROM sessions), 0) <= n THEN n + 1 END FROM"         \
    " (SELECT max(?1, ifnull((SELECT max(id) >> 36 FROM calls), 0)) AS n))"
#define SESSION_COLUMNS "id, salt, calls" SESSION_FIELDS(BEGUN)
#define SESSION_VALUES NEXT_ID ", ?2, 1" SESSION_FIELDS(BEGUN_PARAMETER)

#define UPDATED(name, type, null, since, evidence, cassette, store, json, journal)                 \
    FIELD_IF(FIELD_UPDATE_##journal)(", " #name " = coalesce(?, " #name ")")

/* A commit that was reported as failed may still take effect: if only the sync failed, the
 * write-ahead log has the commit, and SQLite reads it when the database is opened again. So
 * inserting the same rows again must not fail. */
static const char *const sql[Q_COUNT] = {
    [Q_BEGIN] = "BEGIN IMMEDIATE",
    [Q_COMMIT] = "COMMIT",
    [Q_ROWS] =
        "INSERT OR IGNORE INTO messages (" COLUMNS ") SELECT " COLUMNS " FROM " ROW_BATCH_TABLE,
    [Q_ROWS_USUAL] =
        "INSERT OR IGNORE INTO messages (" COLUMNS ") SELECT " USUAL " FROM " ROW_BATCH_TABLE,
    [Q_RULES] = "UPDATE messages SET finding = coalesce(finding || ',', '') || ?2 WHERE id = ?1"
                " RETURNING t_us",
    [Q_EVENT] = "INSERT INTO events (session_id, t_us, kind, detail, place, salt, commitment)"
                " VALUES (?1,?2,?3,?4,?5,?6,?7)",
    [Q_SESSION] = "INSERT INTO sessions (" SESSION_COLUMNS ") VALUES (" SESSION_VALUES ")"
                  " ON CONFLICT (uid) DO UPDATE SET pid = excluded.pid RETURNING id",
    /* The text of each other column begins with a comma, but SET must begin with a column: so it
     * begins with `pid = pid`, which changes nothing. */
    [Q_UPDATE] = "UPDATE sessions SET pid = pid" SESSION_FIELDS(UPDATED) " WHERE id = ?",
    [Q_RUNNING] = "INSERT OR REPLACE INTO running (session_id" RUNNING_FIELDS(
        FIELD_NAME) ") VALUES (?" RUNNING_FIELDS(PARAMETER) ")",
    [Q_ENDED] = "DELETE FROM running WHERE session_id = ?1",
    [Q_EVENT_SESSION] = "SELECT s.id, s.uid FROM events e JOIN sessions s ON s.id = e.session_id"
                        " WHERE e.kind = ?1 AND e.detail = ?2 ORDER BY e.id LIMIT 1",
    [Q_POSITION] = "INSERT OR REPLACE INTO journals (session_id, position, records, tree)"
                   " VALUES (?1,?2,?3,?4)",
    [Q_POSITION_READ] = "SELECT position FROM journals WHERE session_id = ?1",
    [Q_POSITION_REMOVE] = "DELETE FROM journals WHERE session_id = ?1",
};

/* Waits for a lock in short sleeps. SQLite's own handler sleeps up to 100 ms at a time, so it
 * seldom gets the lock while others use it often. */
static int writer_on_busy(void *ctx, int times)
{
    struct writer *s = ctx;
    int64_t now = clock_mono_us();
    if (s->busy_until_us == 0)
        /* this is the first call of the handler after writer_set_lock_timeout(): the wait begins */
        s->busy_until_us = now + s->wait_us;
    if (now >= s->busy_until_us)
        return 0;
    long us = 50 + 10L * times;
    struct timespec t = {0, (us < 250 ? us : 250) * 1000};
    nanosleep(&t, NULL);
    return 1;
}

static int writer_store_wal_page_count(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    struct writer *s = ctx;
    s->wal_pages = pages;
    return SQLITE_OK;
}

/* Creates the database file before SQLite opens it, so that it is 0600 (-wal and -shm take its
 * mode) and not a symbolic link. An existing file is not opened here: another writer of this
 * process may have locked it, and close() drops all POSIX locks of the process. */
static int make_database_file(struct writer *s, const struct vault_dir *dir)
{
    struct stat st;
    int fd = vault_dir_open_file(dir->fd, VAULT_DB, O_RDWR | O_CREAT | O_EXCL);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return MI_EIO;
    if (fstatat(dir->fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return MI_EIO;
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISLNK(st.st_mode) ? ELOOP : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return MI_EIO;
    }
    if (file_may_write(dir->fd, VAULT_DB) < 0)
        return MI_EIO;
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

static int writer_prepare_statements(struct writer *s)
{
    for (int i = 0; i < Q_COUNT; i++)
        if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->q[i], NULL) !=
            SQLITE_OK)
            return writer_fail_sql(s);
    return 0;
}

/* Callback for PRAGMA journal_mode: SQLite returns the resulting mode, and no error if it is not
 * WAL. */
static int check_journal_mode_is_wal(void *ctx, int n, char **value, char **name)
{
    (void)name;
    bool *wal = ctx;
    *wal = n == 1 && value[0] != NULL && strcmp(value[0], "wal") == 0;
    return 0;
}

/* Page size of a new database; an existing database keeps its own page size. With larger pages, a
 * batch of rows needs fewer pages, but a single row writes more bytes. Set the page size before
 * journal_mode. */
static const char page_size[] = "PRAGMA page_size = 8192";
/* A page cache of 512 KiB fits into the processor's cache; a larger page cache is slower
 * (tests/bench/parts/rows.c). Temporary tables are in memory, because a confined process cannot
 * create temporary files. */
static const char settings[] = "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -512;"
                               " PRAGMA temp_store = MEMORY";

static int open_database(struct writer *s, const struct vault_dir *dir, bool sync_full)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir->path, VAULT_DB);
    if (n < 0 || (size_t)n >= sizeof path)
        return MI_EINVAL;
    /* Turn off thread safety and memory statistics: they are not used, and cost time on every call.
     * This has no effect if SQLite is already initialized. */
    static bool done;
    if (!done) {
        (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    }
    done = true;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &s->db, flags, connect_get_vfs_name()) != SQLITE_OK)
        return s->db != NULL ? writer_fail_sql(s) : MI_ENOMEM;
    if (connect_harden_against_schema(s->db) != SQLITE_OK)
        return writer_fail_sql(s);
    sqlite3_extended_result_codes(s->db, 1);
    writer_set_lock_timeout(s, 250000);
    sqlite3_busy_handler(s->db, writer_on_busy, s);
    bool wal = false;
    if (sqlite3_exec(s->db, sync_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, page_size, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", check_journal_mode_is_wal, &wal, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(s->db, settings, NULL, NULL, NULL) != SQLITE_OK)
        return writer_fail_sql(s);
    if (!wal) {
        snprintf(s->error, sizeof s->error,
                 "cannot create its write-ahead log (a symbolic link, or a file system without "
                 "shared memory)");
        return MI_ESTORE;
    }
    sqlite3_wal_hook(s->db, writer_store_wal_page_count, s);
    if (row_batch_connect(&s->batch, s->db) != SQLITE_OK ||
        call_batch_connect(&s->calls, s->db) != SQLITE_OK)
        return writer_fail_sql(s);
    int st = schema_make_ready(s->db);
    return st == MI_ESTORE ? writer_fail_sql(s) : st;
}

int writer_open(struct writer **ret, const struct vault_dir *dir, bool sync_full, struct buf *error)
{
    buf_clear(error);
    struct writer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    bodies_open(&s->bodies, dir->fd, sync_full);
    int st = row_batch_open(&s->batch);
    if (st == 0)
        st = call_batch_open(&s->calls);
    if (st == 0 && (st = make_database_file(s, dir)) < 0)
        buf_printf(error, "cannot open %s/" VAULT_DB ": %s; choose another vault with --vault",
                   dir->path, strerror(errno));
    if (st == 0)
        st = open_database(s, dir, sync_full);
    if (st == 0)
        st = writer_prepare_statements(s);
    if (st == 0) {
        *ret = s;
        return 0;
    }
    if (st == MI_EINVAL)
        buf_printf(
            error,
            "%s/" VAULT_DB
            " was made by a newer mcp-interposer; use that version, or another vault with --vault",
            dir->path);
    else if (error->n == 0)
        buf_printf(error, "cannot open %s/" VAULT_DB ": %s", dir->path,
                   s->error[0] != '\0' ? s->error : "out of memory");
    if (st == MI_ESTORE && writer_is_busy(s))
        st = MI_EBUSY;
    else if (st == MI_ESTORE && writer_is_damaged(s))
        st = MI_EPROTO;
    writer_close(s);
    return st == MI_ENOMEM || st == MI_EBUSY || st == MI_EPROTO ? st : MI_ESTORE;
}

void writer_close(struct writer *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < Q_COUNT; i++)
        sqlite3_finalize(s->q[i]);
    call_batch_close(&s->calls);
    coverage_close(&s->coverage);
    /* closing the connection must not change the -wal of a damaged database */
    if (s->db != NULL && writer_is_damaged(s))
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(s->db);
    row_batch_close(&s->batch);
    bodies_close(&s->bodies);
    sanitize_close(&s->sanitizer);
    free(s);
}
