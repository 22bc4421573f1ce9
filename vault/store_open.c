/* store_open.c - how the database is opened: its file, its mode, its statements, who waits for it. */
#include "vault/store_inner.h"

#include "base/clock.h"
#include "vault/schema.h"
#include "vault/wal_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A commit that failed may be found done after all when the database is opened anew: its frames were in
 * the log, and only the sync failed. Then the rows are written a second time, and must not be refused. */
static const char *const sql[Q_COUNT] = {
    [Q_BEGIN] = "BEGIN IMMEDIATE",
    [Q_COMMIT] = "COMMIT",
    [Q_MESSAGE] =
        "INSERT OR IGNORE INTO messages (id, session_id, seq, t_us, direction, origin, "
        "kind, rpc_id,"
        " method, target, body, body_offset, body_length, size, redactions, action,"
        " request_seq, error_code, batch_seq, finding)"
        " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?20,?15,?16,?17,?18,?19)",
    [Q_EVENT] = "INSERT INTO events (session_id, t_us, kind, detail) VALUES (?1,?2,?3,?4)",
    [Q_SESSION] =
        "INSERT INTO sessions (uid, name, command, started_at_us, pid, host, record_level,"
        " interposer_version, redact_rules) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"
        " ON CONFLICT (uid) DO UPDATE SET pid = excluded.pid RETURNING id",
    [Q_UPDATE] = "UPDATE sessions SET client_name = coalesce(?2, client_name),"
                 " client_version = coalesce(?3, client_version),"
                 " server_name = coalesce(?4, server_name),"
                 " server_version = coalesce(?5, server_version),"
                 " protocol_version = coalesce(?6, protocol_version),"
                 " end_reason = coalesce(?7, end_reason),"
                 " exit_status = coalesce(?8, exit_status),"
                 " ended_at_us = coalesce(?9, ended_at_us) WHERE id = ?1",
    [Q_RUNNING] = "INSERT OR REPLACE INTO running (session_id, boot, pid_namespace, pid, pid_start,"
                  " client_pid, client_start, server_pid, server_start, server_group,"
                  " server_session) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
    [Q_ENDED] = "DELETE FROM running WHERE session_id = ?1",
};

/* SQLite's own handler sleeps up to 100 ms at a time and starves; short sleeps keep every waiter near. */
static int on_busy(void *ctx, int times)
{
    struct store *s = ctx;
    int64_t now = clock_mono_us();
    if (s->busy_until_us == 0)
        s->busy_until_us = now + s->wait_us; /* the wait begins where the lock is met */
    if (now >= s->busy_until_us)
        return 0;
    long us = 50 + 10L * times;
    struct timespec t = {0, (us < 250 ? us : 250) * 1000};
    nanosleep(&t, NULL);
    return 1;
}

static int on_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    struct store *s = ctx;
    s->wal_pages = pages;
    return SQLITE_OK;
}

/* The database file is made by us, so that it is 0600 (its -wal and -shm take its mode) and no link. */
static int make_file(struct store *s, const struct vault_dir *dir, struct buf *error)
{
    struct stat st;
    int fd = vault_dir_file(dir->fd, VAULT_DB, O_RDWR | O_CREAT);
    if (fd < 0 || fstat(fd, &st) != 0) {
        buf_printf(error, "cannot open %s/" VAULT_DB ": %s; choose another vault with --vault",
                   dir->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return MI_ESTORE;
    }
    close(fd); /* before SQLite has locks on it: POSIX drops a process's locks at any close */
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

static int prepare_all(struct store *s)
{
    for (int i = 0; i < Q_COUNT; i++)
        if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->q[i], NULL) !=
            SQLITE_OK)
            return store_fail_sql(s);
    return 0;
}

/* One thread, and nobody asks SQLite how much memory it uses: both cost on every call. Does nothing when
 * SQLite is already running. */
static void configure_once(void)
{
    static bool done;
    if (!done) {
        (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    }
    done = true;
}

/* SQLite answers with the mode it could get, and calls that no error. */
static int is_wal(void *ctx, int n, char **value, char **name)
{
    (void)name;
    bool *wal = ctx;
    *wal = n == 1 && value[0] != NULL && strcmp(value[0], "wal") == 0;
    return 0;
}

static int open_db(struct store *s, const struct vault_dir *dir, bool sync_full)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir->path, VAULT_DB);
    if (n < 0 || (size_t)n >= sizeof path)
        return MI_EINVAL;
    configure_once();
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &s->db, flags, wal_vfs()) != SQLITE_OK)
        return s->db != NULL ? store_fail_sql(s) : MI_ENOMEM;
    if (connect_guard(s->db) != SQLITE_OK)
        return store_fail_sql(s);
    sqlite3_extended_result_codes(s->db, 1);
    if (sqlite3_file_control(s->db, "main", WAL_VFS_LOCKS, &s->locks) != SQLITE_OK)
        s->locks = NULL;
    store_wait(s, 250000);
    sqlite3_busy_handler(s->db, on_busy, s);
    bool wal = false;
    if (sqlite3_exec(s->db, sync_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", is_wal, &wal, NULL) != SQLITE_OK ||
        sqlite3_exec(
            s->db,
            "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -512; PRAGMA cache_spill = OFF",
            NULL, NULL, NULL) != SQLITE_OK) /* no spilling: see wal_vfs.h */
        return store_fail_sql(s);
    if (!wal) {
        snprintf(s->error, sizeof s->error,
                 "no write-ahead log can be made beside it (a link, or a file system without "
                 "shared memory)");
        return MI_ESTORE;
    }
    sqlite3_wal_hook(s->db, on_wal, s);
    int st = schema_ready(s->db);
    return st == MI_ESTORE ? store_fail_sql(s) : st;
}

int store_open(struct store **ret, const struct vault_dir *dir, bool sync_full, struct buf *error)
{
    buf_clear(error);
    struct store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    bodies_open(&s->bodies, dir->fd, sync_full);
    int st = make_file(s, dir, error);
    if (st == 0)
        st = open_db(s, dir, sync_full);
    if (st == 0)
        st = prepare_all(s);
    if (st == 0) {
        *ret = s;
        return 0;
    }
    if (st == MI_EINVAL)
        buf_printf(error,
                   "%s/" VAULT_DB
                   " was made by a newer mcp-interposer; use that one, or another --vault",
                   dir->path);
    else if (error->n == 0)
        buf_printf(error, "cannot open %s/" VAULT_DB ": %s", dir->path,
                   s->error[0] != '\0' ? s->error : "out of memory");
    store_close(s);
    return st == MI_ENOMEM ? st : MI_ESTORE;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < Q_COUNT; i++)
        sqlite3_finalize(s->q[i]);
    sqlite3_close(s->db);
    bodies_close(&s->bodies);
    keep_close(&s->keep);
    free(s);
}
