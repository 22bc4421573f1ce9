#include "vault/store.h"

#include "base/clock.h"
#include "base/log.h"
#include "vault/bodies.h"
#include "vault/connect.h"
#include "vault/keep.h"
#include "vault/schema.h"
#include "vault/wal_locks.h"
#include "vault/wal_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum query {
    Q_BEGIN,
    Q_COMMIT,
    Q_MESSAGE,
    Q_EVENT,
    Q_SESSION,
    Q_UPDATE,
    Q_RUNNING,
    Q_ENDED,
    Q_COUNT
};

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

struct store {
    sqlite3 *db;              /* owned */
    sqlite3_stmt *q[Q_COUNT]; /* owned; prepared once */
    struct wal_locks *locks;  /* borrowed from the VFS; NULL: it is SQLite's own */
    struct keep keep;
    struct bodies bodies;
    dev_t dev; /* of the database file when it was opened */
    ino_t ino;
    int64_t wait_us;       /* how long the busy handler may wait */
    int64_t busy_until_us; /* it gives up then; 0: it has not been called yet */
    int64_t wal_pages;
    bool want_bodies; /* a row without its body is no row */
    bool body_lost;   /* the last long body could not be written, and that has been said */
    int rc;           /* SQLite's extended code of the last failed call; 0: not SQLite's */
    char error[200];
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

static int fail_sql(struct store *s)
{
    s->rc = sqlite3_extended_errcode(s->db);
    snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->db));
    return MI_ESTORE;
}

static int fail_body(struct store *s)
{
    s->rc = SQLITE_FULL;
    snprintf(s->error, sizeof s->error, "cannot write a body: %s", strerror(errno));
    return MI_ESTORE;
}

static int fail_memory(struct store *s)
{
    s->rc = SQLITE_NOMEM;
    snprintf(s->error, sizeof s->error, "out of memory");
    return MI_ESTORE;
}

/* For a statement without rows. Reset on every path: it keeps no lock. */
static int run(struct store *s, enum query i)
{
    int rc = sqlite3_step(s->q[i]);
    int st = rc == SQLITE_DONE ? 0 : fail_sql(s);
    sqlite3_reset(s->q[i]);
    return st;
}

static void bind_text(sqlite3_stmt *q, int i, struct slice text)
{
    if (text.p != NULL)
        sqlite3_bind_text64(q, i, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(q, i);
}

static void bind_count(sqlite3_stmt *q, int i, uint64_t n)
{
    if (n != 0)
        sqlite3_bind_int64(q, i, (int64_t)n);
    else
        sqlite3_bind_null(q, i);
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
            return fail_sql(s);
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
        return s->db != NULL ? fail_sql(s) : MI_ENOMEM;
    if (connect_guard(s->db) != SQLITE_OK)
        return fail_sql(s);
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
        return fail_sql(s);
    if (!wal) {
        snprintf(s->error, sizeof s->error,
                 "no write-ahead log can be made beside it (a link, or a file system without "
                 "shared memory)");
        return MI_ESTORE;
    }
    sqlite3_wal_hook(s->db, on_wal, s);
    int st = schema_ready(s->db);
    return st == MI_ESTORE ? fail_sql(s) : st;
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

void store_level(struct store *s, enum keep_level level)
{
    s->keep.level = level;
}

void store_want_bodies(struct store *s)
{
    s->want_bodies = true;
}

void store_wait(struct store *s, int64_t wait_us)
{
    s->wait_us = wait_us;
    s->busy_until_us = 0;
}

int store_begin(struct store *s, int64_t wait_us)
{
    store_wait(s, wait_us);
    return run(s, Q_BEGIN);
}

int store_commit(struct store *s)
{
    return run(s, Q_COMMIT);
}

void store_rollback(struct store *s)
{
    /* A full disk makes SQLite roll back by itself; other errors leave the transaction open. */
    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_session_add(struct store *s, const struct store_session *n, int64_t *ret_id)
{
    sqlite3_stmt *q = s->q[Q_SESSION];
    struct slice command;
    struct buf name = {0};
    if (keep_json(&s->keep, slice_of(n->command), &command) < 0 ||
        keep_text(slice_of(n->name), &name) < 0) {
        buf_close(&name);
        return fail_memory(s);
    }
    bind_text(q, 1, slice_of(n->uid));
    bind_text(q, 2, buf_slice(&name));
    bind_text(q, 3, command);
    sqlite3_bind_int64(q, 4, n->started_at_us);
    sqlite3_bind_int64(q, 5, n->pid);
    bind_text(q, 6, slice_of(n->host));
    bind_text(q, 7, slice_of(n->record_level));
    bind_text(q, 8, slice_of(MI_VERSION));
    bind_text(q, 9, n->redact_rules != NULL ? slice_of(n->redact_rules) : (struct slice){0});
    int rc = sqlite3_step(q);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_DONE ? 0 : fail_sql(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    buf_close(&name);
    if (st == 0)
        *ret_id = id;
    return st;
}

int store_session_update(struct store *s, int64_t id, const struct store_update *u)
{
    const struct slice told[] = {u->client_name,    u->client_version,   u->server_name,
                                 u->server_version, u->protocol_version, u->end_reason};
    struct buf text[MI_COUNT(told)] = {0};
    sqlite3_stmt *q = s->q[Q_UPDATE];
    int st = 0;
    sqlite3_bind_int64(q, 1, id);
    for (size_t i = 0; i < MI_COUNT(told); i++) {
        if (told[i].p != NULL && st == 0)
            st = keep_text(told[i], &text[i]);
        bind_text(q, 2 + (int)i, told[i].p != NULL ? buf_slice(&text[i]) : told[i]);
    }
    if (u->has_exit_status)
        sqlite3_bind_int64(q, 8, u->exit_status);
    else
        sqlite3_bind_null(q, 8);
    bind_count(q, 9, (uint64_t)u->ended_at_us);
    st = st < 0 ? fail_memory(s) : run(s, Q_UPDATE);
    sqlite3_clear_bindings(q);
    for (size_t i = 0; i < MI_COUNT(told); i++)
        buf_close(&text[i]);
    return st;
}

int store_running(struct store *s, int64_t session_id, const struct running *r)
{
    enum query i = r != NULL ? Q_RUNNING : Q_ENDED;
    sqlite3_stmt *q = s->q[i];
    sqlite3_bind_int64(q, 1, session_id);
    if (r != NULL) {
        const uint64_t number[] = {(uint64_t)r->pid_namespace,
                                   (uint64_t)r->pid,
                                   r->pid_start,
                                   (uint64_t)r->client_pid,
                                   r->client_start,
                                   (uint64_t)r->server_pid,
                                   r->server_start,
                                   (uint64_t)r->server_group,
                                   (uint64_t)r->server_session};
        bind_text(q, 2, slice_of(r->boot));
        for (size_t k = 0; k < MI_COUNT(number); k++)
            bind_count(q, 3 + (int)k, number[k]);
    }
    int st = run(s, i);
    sqlite3_clear_bindings(q);
    return st;
}

static int add_event(struct store *s, int64_t session_id, const struct row *r)
{
    sqlite3_stmt *q = s->q[Q_EVENT];
    struct slice detail;
    if (keep_json(&s->keep, r->body, &detail) < 0)
        return fail_memory(s);
    sqlite3_bind_int64(q, 1, session_id);
    sqlite3_bind_int64(q, 2, r->t_us);
    bind_text(q, 3, slice_of(r->kind));
    bind_text(q, 4, detail);
    int st = run(s, Q_EVENT);
    sqlite3_clear_bindings(q);
    return st;
}

/* The body goes into the row, or, when it is long, to the file of bodies. Where that cannot be written at
 * all, the row is kept without it, unless it is wanted whole: it must not hold up all others. */
static int bind_body(struct store *s, sqlite3_stmt *q, const char *uid, struct slice body,
                     findings *found)
{
    if (body.n <= STORE_BODY_MAX) {
        bind_text(q, 11, body);
        sqlite3_bind_null(q, 12);
        sqlite3_bind_null(q, 13);
        return 0;
    }
    int64_t offset;
    sqlite3_bind_null(q, 11);
    if (bodies_add(&s->bodies, uid, body, &offset) < 0) {
        if (s->want_bodies || errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            return fail_body(s);
        if (!s->body_lost)
            log_warn("cannot write to " VAULT_BODIES
                     ", long messages are recorded without their text: %s",
                     strerror(errno));
        s->body_lost = true;
        *found |= FINDING(FIND_BODY_LOST);
        sqlite3_bind_null(q, 12);
        sqlite3_bind_null(q, 13);
        return 0;
    }
    s->body_lost = false;
    sqlite3_bind_int64(q, 12, offset);
    sqlite3_bind_int64(q, 13, (int64_t)body.n);
    return 0;
}

int store_add(struct store *s, int64_t session_id, const char *uid, const struct row *r)
{
    static const struct slice directions[] = {{"c2s", 3}, {"s2c", 3}};
    static const struct slice origins[] = {{"peer", 4}, {"interposer", 10}};
    static const struct slice actions[] = {{"forwarded", 9}, {"refused", 7}, {"swallowed", 9}};
    if (r->is_event)
        return add_event(s, session_id, r);
    struct kept k;
    if (keep_row(&s->keep, r, &k) < 0)
        return fail_memory(s);
    char names[2048];
    struct buf found = {.p = names, .cap = sizeof names, .max = sizeof names};
    findings set = r->findings;
    sqlite3_stmt *q = s->q[Q_MESSAGE];
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, r->seq));
    sqlite3_bind_int64(q, 2, session_id);
    sqlite3_bind_int64(q, 3, (int64_t)r->seq);
    sqlite3_bind_int64(q, 4, r->t_us);
    bind_text(q, 5, directions[r->direction]);
    bind_text(q, 6, origins[r->origin]);
    bind_text(q, 7, slice_of(r->kind));
    bind_text(q, 8, k.rpc_id);
    bind_text(q, 9, k.method);
    bind_text(q, 10, k.target);
    int st = bind_body(s, q, uid, k.body, &set);
    if (set != 0 || r->rules != 0)
        finding_list(&found, set, r->rules);
    sqlite3_bind_int64(q, 14, (int64_t)r->size);
    sqlite3_bind_int64(q, 20, (int64_t)k.redactions);
    bind_text(q, 15, actions[r->action]);
    bind_count(q, 16, r->request_seq);
    if (r->has_error_code)
        sqlite3_bind_int64(q, 17, r->error_code);
    else
        sqlite3_bind_null(q, 17);
    bind_count(q, 18, r->batch_seq);
    bind_text(q, 19, found.n > 0 ? buf_slice(&found) : (struct slice){0});
    /* bindings are not cleared here: each is bound anew for the next row, before it is looked at */
    return st < 0 ? st : run(s, Q_MESSAGE);
}

void store_keep_lock(struct store *s, bool keep)
{
    if (s->locks != NULL)
        s->locks->keep = keep;
    if (!keep)
        store_rest(s);
}

bool store_keeps_lock(const struct store *s)
{
    return s->locks != NULL && wal_locks_kept(s->locks);
}

void store_rest(struct store *s)
{
    if (s->locks != NULL)
        wal_locks_rest(s->locks);
}

bool store_new_bodies(struct store *s, int64_t *ret_from, int64_t *ret_to)
{
    return bodies_new(&s->bodies, ret_from, ret_to);
}

const char *store_error(const struct store *s)
{
    return s->error;
}

bool store_busy(const struct store *s)
{
    return (s->rc & 0xFF) == SQLITE_BUSY || (s->rc & 0xFF) == SQLITE_LOCKED;
}

bool store_full(const struct store *s)
{
    return (s->rc & 0xFF) == SQLITE_FULL || (s->rc & 0xFF) == SQLITE_NOMEM;
}

bool store_vanished(const struct store *s, const char *vault)
{
    struct stat st;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", vault, VAULT_DB);
    return n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0 || st.st_ino != s->ino ||
           st.st_dev != s->dev;
}

int64_t store_wal_pages(const struct store *s)
{
    return s->wal_pages;
}

int store_checkpoint(struct store *s)
{
    int left = 0, moved = 0;
    store_wait(s, 0);
    if (sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &left, &moved) !=
        SQLITE_OK)
        return fail_sql(s);
    if (left == moved)
        s->wal_pages = 0; /* the next commit starts the log anew and tells its length */
    return 0;
}
