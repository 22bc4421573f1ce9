#include "vault/query/connection.h"

#include "vault/query/store.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"
#include "vault/store/layout.h"
#include "vault/store/read_only.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000

int query_fail(struct query *q)
{
    if (q->remote != NULL)
        return query_store_fail(q, failure_text(q->db));
    bool changed = !q->shared && (failure_code(q->db) & 0xFF) == SQLITE_BUSY;
    buf_clear(&q->error);
    buf_printf(&q->error, "cannot read %s/" VAULT_DB ": %s", q->path,
               changed ? "it was changed meanwhile; run the command again" : failure_text(q->db));
    return MI_ESTORE;
}

int query_damaged(struct query *q)
{
    static const char why[] = "it is damaged: rows are not in the order of their ids";
    if (q->remote != NULL)
        return query_store_fail(q, why);
    buf_clear(&q->error);
    buf_printf(&q->error, "cannot read %s/" VAULT_DB ": %s", q->path, why);
    return MI_ESTORE;
}

static int connect_to(struct query *q)
{
    sqlite3_close(q->db);
    q->db = NULL;
    q->connections++;
    int rc = read_only_open(&q->db, buf_str(&q->file), BUSY_MS, &q->shared);
    if (q->db == NULL)
        return SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    return sqlite3_exec(q->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
}

/* The first statement that reads the file shows whether it can be read. */
static int read_version(struct query *q, int64_t *ret)
{
    return schema_version(q->db, ret) == 0 ? SQLITE_OK : failure_code(q->db);
}

/* A proxy was killed while it created this database and left a rollback journal. SQLite rolls it back on a connection
 * that may write; no recorded row changes. */
static int roll_back(struct query *q)
{
    sqlite3 *db = NULL;
    int rc = connect_open(&db, buf_str(&q->file), NULL, SQLITE_OPEN_READWRITE, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA user_version", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc == SQLITE_OK ? connect_to(q) : rc;
}

static int connect_and_check(struct query *q, int64_t *ret_version)
{
    int rc = connect_to(q);
    if (rc == SQLITE_OK)
        rc = read_version(q, ret_version);
    /* Without the writer's shared memory, this may have read a transaction that is being committed. The next connection
     * shares that memory, and would not find the tables yet. */
    if (rc == SQLITE_OK && !q->shared && read_only_is_shared(buf_str(&q->file))) {
        rc = connect_to(q);
        if (rc == SQLITE_OK)
            rc = read_version(q, ret_version);
    }
    if (q->db == NULL || sqlite3_extended_errcode(q->db) != SQLITE_READONLY_ROLLBACK)
        return rc;
    rc = roll_back(q);
    return rc == SQLITE_OK ? read_version(q, ret_version) : rc;
}

static bool in_transaction(const struct query *q)
{
    for (int i = 0; i < Q_COUNT; i++)
        if (q->q[i] != NULL && sqlite3_stmt_busy(q->q[i]))
            return true;
    return false;
}

static void close_db(struct query *q)
{
    for (int i = 0; i < Q_COUNT; i++) {
        sqlite3_finalize(q->q[i]);
        q->q[i] = NULL;
    }
    sqlite3_close(q->db);
    q->db = NULL;
}

/* Before it is believed what the tables say. */
static int check_layout(struct query *q)
{
    struct buf why = {0};
    int st = q->any ? 0 : layout_check(q->db, &why);
    if (st == MI_EINVAL) {
        buf_clear(&q->error);
        buf_printf(&q->error, "cannot read %s/" VAULT_DB ": %s", q->path, buf_str(&why));
    }
    buf_close(&why);
    return st == MI_EINVAL ? MI_ESTORE : st == MI_ESTORE ? query_fail(q) : st;
}

int query_refresh(struct query *q)
{
    if (q->shared || !read_only_is_shared(buf_str(&q->file)) || in_transaction(q))
        return 0;
    close_db(q);
    int rc = connect_to(q);
    return rc == SQLITE_OK ? check_layout(q) : rc == SQLITE_NOMEM ? MI_ENOMEM : query_fail(q);
}

/* Without a version, no proxy has created the tables yet: MI_ENOENT. Both are created in one transaction, which may be
 * committed between two statements. */
static int check_empty(struct query *q)
{
    bool has = false;
    int64_t version = 0;
    if (schema_has_table(q->db, "sessions", &has) < 0 || schema_version(q->db, &version) < 0)
        return query_fail(q);
    if (!has)
        return MI_ENOENT;
    if (version > 0)
        return check_layout(q);
    buf_printf(&q->error,
               "cannot read %s/" VAULT_DB ": it has tables and states no version of its schema: "
               "another program has changed it",
               q->path);
    return MI_ESTORE;
}

static int open_db(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return MI_ENOENT;
    int64_t version = 0;
    buf_printf(&q->file, "%s/" VAULT_DB, q->path);
    int rc = q->file.failed ? SQLITE_NOMEM : connect_and_check(q, &version);
    if (rc != SQLITE_OK)
        return rc == SQLITE_NOMEM ? MI_ENOMEM : query_fail(q);
    if (version > SCHEMA_VERSION) {
        buf_printf(&q->error,
                   "%s/" VAULT_DB " was created by a newer mcp-interposer; use that version, or "
                   "choose another vault with --vault",
                   q->path);
        return MI_ESTORE;
    }
    return version == 0 ? check_empty(q) : check_layout(q);
}

static int open_vault(struct query **ret, const char *vault, bool any, struct buf *error)
{
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return MI_ENOMEM;
    int st = 0;
    q->any = any;
    q->dir_fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    q->path = q->dir_fd >= 0 ? realpath(vault, NULL) : NULL;
    if (q->path == NULL) {
        st = errno == ENOENT ? MI_ENOENT : errno == ENOMEM ? MI_ENOMEM : MI_EIO;
        if (st == MI_EIO)
            buf_printf(&q->error, "cannot open vault %s: %s; choose another with --vault", vault,
                       strerror(errno));
    }
    if (st == 0)
        st = open_db(q);
    if (st == 0) {
        *ret = q;
        return 0;
    }
    buf_clear(error);
    if (st == MI_ENOENT)
        buf_printf(error, "nothing has been recorded in %s; choose another vault with --vault",
                   vault);
    else
        buf_adds(error, st == MI_ENOMEM ? "out of memory" : buf_str(&q->error));
    query_close(q);
    return st;
}

int query_open(struct query **ret, const char *vault, struct buf *error)
{
    return open_vault(ret, vault, false, error);
}

int query_open_any(struct query **ret, const char *vault, struct buf *error)
{
    return open_vault(ret, vault, true, error);
}

/* A database in memory. NULL: out of memory. */
static struct query *open_memory(const char *name)
{
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->dir_fd = -1;
    q->shared = true; /* no file may appear */
    q->path = strdup(name);
    if (q->path != NULL &&
        connect_open(&q->db, ":memory:", NULL, SQLITE_OPEN_READWRITE, 0) == SQLITE_OK)
        return q;
    query_close(q);
    return NULL;
}

int query_open_empty(struct query **ret, const char *vault)
{
    struct query *q = open_memory(vault);
    if (q == NULL || schema_ready(q->db) < 0) {
        query_close(q);
        return MI_ENOMEM;
    }
    *ret = q;
    return 0;
}

int query_open_store(struct query **ret, const struct remote_store *store, const char *name)
{
    struct query *q = open_memory(name);
    if (q == NULL) {
        store->close(store->ctx);
        return MI_ENOMEM;
    }
    if (remote_open(&q->remote, q->db, store) != SQLITE_OK) {
        query_close(q);
        return MI_ENOMEM;
    }
    *ret = q;
    return 0;
}

bool query_is_stored(const struct query *q)
{
    return q->dir_fd >= 0;
}

void query_close(struct query *q)
{
    if (q == NULL)
        return;
    close_db(q);
    remote_free(q->remote);
    if (q->dir_fd >= 0)
        close(q->dir_fd);
    free(q->path);
    buf_close(&q->file);
    free(q->session);
    buf_close(&q->error);
    free(q);
}

const char *query_error(struct query *q)
{
    return q->error.n > 0 && !q->error.failed ? buf_str(&q->error) : "out of memory";
}

const char *query_vault(const struct query *q)
{
    return q->path;
}

int query_dir_fd(const struct query *q)
{
    return q->dir_fd;
}
