#include "vault/query/connection.h"

#include "vault/store/connect.h"
#include "vault/store/dir.h"
#include "vault/store/schema.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000

int query_fail(struct query *q)
{
    buf_clear(&q->error);
    buf_printf(&q->error, "cannot read %s/" VAULT_DB ": %s", q->path, sqlite3_errmsg(q->db));
    return MI_ESTORE;
}

static int connect_to(struct query *q, const char *name, int flags)
{
    sqlite3_close(q->db);
    q->db = NULL;
    int rc = connect_open(&q->db, name, flags | SQLITE_OPEN_READONLY, BUSY_MS);
    if (q->db == NULL)
        return SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    return sqlite3_exec(q->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
}

/* The first statement that reads the file shows whether it can be read. */
static int read_version(struct query *q, int64_t *ret)
{
    return connect_number(q->db, "PRAGMA user_version", 0, ret);
}

/* On a read-only file system SQLite cannot create the -wal and -shm files that it needs. Nothing can write there, so
 * if the log is empty the database can be opened as immutable. */
static int connect_immutable(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB "-wal", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0)
        return SQLITE_CANTOPEN;
    struct buf uri = {0};
    buf_adds(&uri, "file:");
    for (const char *p = q->path; *p != '\0'; p++) {
        if (isalnum((unsigned char)*p) || strchr("/-_.~", *p) != NULL)
            buf_addc(&uri, *p);
        else
            buf_printf(&uri, "%%%02x", (unsigned)(unsigned char)*p);
    }
    buf_adds(&uri, "/" VAULT_DB "?immutable=1");
    int rc = uri.failed ? SQLITE_NOMEM : connect_to(q, buf_str(&uri), SQLITE_OPEN_URI);
    buf_close(&uri);
    return rc;
}

/* The -wal or -shm file could not be created: SQLite reports either code. */
static bool cannot_create_log(int rc)
{
    return (rc & 0xFF) == SQLITE_CANTOPEN || (rc & 0xFF) == SQLITE_READONLY;
}

/* A proxy was killed while it created this database and left a rollback journal. SQLite rolls it back on a connection
 * that may write; no recorded row changes. */
static int roll_back(struct query *q, const char *path)
{
    sqlite3 *db = NULL;
    int rc = connect_open(&db, path, SQLITE_OPEN_READWRITE, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA user_version", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc == SQLITE_OK ? connect_to(q, path, 0) : rc;
}

static int connect_and_check(struct query *q, const char *path, int64_t *ret_version)
{
    int rc = connect_to(q, path, 0);
    if (rc == SQLITE_OK)
        rc = read_version(q, ret_version);
    if (q->db == NULL || sqlite3_extended_errcode(q->db) != SQLITE_READONLY_ROLLBACK)
        return rc;
    rc = roll_back(q, path);
    return rc == SQLITE_OK ? read_version(q, ret_version) : rc;
}

static int open_db(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return MI_ENOENT;
    struct buf path = {0};
    int64_t version = 0;
    buf_printf(&path, "%s/" VAULT_DB, q->path);
    int rc = path.failed ? SQLITE_NOMEM : connect_and_check(q, buf_str(&path), &version);
    buf_close(&path);
    if (cannot_create_log(rc) && faccessat(q->dir_fd, ".", W_OK, AT_EACCESS) != 0) {
        rc = connect_immutable(q);
        if (rc == SQLITE_OK)
            rc = read_version(q, &version);
        if (cannot_create_log(rc) && faccessat(q->dir_fd, VAULT_DB, R_OK, AT_EACCESS) == 0) {
            buf_printf(&q->error,
                       "cannot read %s/" VAULT_DB ": it was not closed cleanly, and its folder is "
                       "read-only; copy the folder and name the copy with --vault",
                       q->path);
            return MI_ESTORE;
        }
    }
    if (rc != SQLITE_OK)
        return rc == SQLITE_NOMEM ? MI_ENOMEM : query_fail(q);
    if (version > SCHEMA_VERSION) {
        buf_printf(&q->error,
                   "%s/" VAULT_DB " was created by a newer mcp-interposer; use that version, or "
                   "name another vault with --vault",
                   q->path);
        return MI_ESTORE;
    }
    return version == 0 ? MI_ENOENT : 0; /* 0: no proxy has created the tables yet */
}

int query_open(struct query **ret, const char *vault, struct buf *error)
{
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return MI_ENOMEM;
    int st = 0;
    q->dir_fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    q->path = q->dir_fd >= 0 ? realpath(vault, NULL) : NULL;
    if (q->path == NULL) {
        st = errno == ENOENT ? MI_ENOENT : errno == ENOMEM ? MI_ENOMEM : MI_EIO;
        if (st == MI_EIO)
            buf_printf(&q->error, "cannot open vault %s: %s; name another with --vault", vault,
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
        buf_printf(error, "nothing has been recorded in %s; name another vault with --vault",
                   vault);
    else
        buf_adds(error, st == MI_ENOMEM ? "out of memory" : buf_str(&q->error));
    query_close(q);
    return st;
}

void query_close(struct query *q)
{
    if (q == NULL)
        return;
    for (int i = 0; i < Q_COUNT; i++)
        sqlite3_finalize(q->q[i]);
    sqlite3_close(q->db);
    if (q->dir_fd >= 0)
        close(q->dir_fd);
    free(q->path);
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
