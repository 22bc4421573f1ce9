#include "vault/query_inner.h"

#include "vault/connect.h"
#include "vault/dir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000

/* Version 1 has no redact_rules: there the name means the NULL at the end. */
#define SESSION_COLUMNS                                                                            \
    "SELECT s.id, s.started_at_us, s.ended_at_us, s.exit_status, s.pid, s.uid, s.name, s.command," \
    " s.client_name, s.client_version, s.server_name, s.server_version, s.protocol_version,"       \
    " s.end_reason, s.host, s.record_level, s.interposer_version,"                                 \
    " (SELECT redact_rules FROM sessions r WHERE r.id = s.id),"                                    \
    " (SELECT max(b.uid) FROM sessions b WHERE b.uid < s.uid),"                                    \
    " (SELECT min(a.uid) FROM sessions a WHERE a.uid > s.uid) FROM sessions s,"                    \
    " (SELECT NULL AS redact_rules)"

/* A session's messages are one range of the primary key: ?1 to ?2. The key alone says which seq a row
 * has: reading goes on behind the last key, whatever the column says. */
const char *const query_sql[Q_COUNT] = {
    [Q_SESSIONS] = SESSION_COLUMNS " WHERE s.id BETWEEN ?1 AND ?2 ORDER BY s.id DESC LIMIT ?3",
    [Q_BY_UID] = "SELECT id, uid FROM sessions WHERE uid >= ?1 AND uid < ?1 || '~'"
                 " ORDER BY uid LIMIT 2",
    [Q_NEWEST] = "SELECT max(id) FROM sessions",
    [Q_NEWEST_USED] = "SELECT s.id FROM sessions s WHERE EXISTS (SELECT 1 FROM messages m"
                      " WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735)"
                      " ORDER BY s.id DESC LIMIT 1",
    [Q_LAST] = "SELECT id & 68719476735, t_us FROM messages WHERE id BETWEEN ?1 AND ?2"
               " ORDER BY id DESC LIMIT 1",
    /* `finding` lies behind the body: it is looked at only where it decides. */
    [Q_SUMMARY] = "SELECT id & 68719476735, kind, action, request_seq,"
                  " CASE WHEN kind = 'result' OR origin = 'interposer' THEN finding END"
                  " FROM messages WHERE id BETWEEN ?1 AND ?2"
                  " AND (direction = 's2c' AND kind IN ('result', 'error')"
                  " OR direction = 'c2s' AND origin = 'peer' AND kind IN ('request', "
                  "'notification')) ORDER BY id",
    [Q_CALLS] = "SELECT id & 68719476735, kind, action, request_seq,"
                " CASE WHEN kind = 'result' OR origin = 'interposer' THEN finding END,"
                " t_us, size, origin, method, target"
                " FROM messages WHERE id BETWEEN ?1 AND ?2"
                " AND (direction = 's2c' AND kind IN ('result', 'error')"
                " OR direction = 'c2s' AND origin = 'peer' AND kind IN ('request', "
                "'notification')) ORDER BY id",
    [Q_MESSAGES] = "SELECT m.id & 68719476735, m.t_us, m.body_offset, m.body_length, m.size,"
                   " m.redactions, m.request_seq, m.batch_seq, m.error_code, r.t_us, m.direction,"
                   " m.origin, m.kind, m.action, m.rpc_id, m.method, m.target, m.body, m.finding,"
                   " r.method, r.target, r.action FROM messages m"
                   " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"
                   " WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id LIMIT ?3",
    [Q_EVENTS] = "SELECT id, t_us, kind, detail FROM events WHERE session_id = ?1 AND id > ?2"
                 " ORDER BY id LIMIT ?3",
    [Q_BODIES] = "SELECT id & 68719476735, kind, body, body_offset, body_length FROM messages"
                 " WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
    [Q_FACTS] = "SELECT m.id & 68719476735, m.t_us, m.kind, m.origin, m.action, m.method, m.target,"
                " m.finding, r.method, r.target, r.action FROM messages m"
                " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"
                " WHERE m.id BETWEEN ?1 AND ?2 AND (?4 IS NULL OR m.kind = ?4)"
                " ORDER BY m.id LIMIT ?3",
    [Q_VERSION] = "PRAGMA data_version",
    [Q_END] = "SELECT ended_at_us FROM sessions WHERE id = ?1",
    [Q_LAST_EVENT] = "SELECT max(id) FROM events WHERE session_id = ?1",
};

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

/* ---- opening ---- */

/* Keeps SQLite's words. */
static int fail(struct query *q)
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

/* The first statement that reads the file tells whether it can be read. */
static int read_version(struct query *q, int64_t *ret)
{
    return connect_number(q->db, "PRAGMA user_version", 0, ret);
}

/* On a read-only file system SQLite cannot make the -wal and -shm that it wants to see. Nobody can write
 * there either, so with nothing in the log the file may be taken as it is. */
static int connect_unchanging(struct query *q)
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

/* The -wal or the -shm could not be made: SQLite says the one or the other. */
static bool lacks_room(int rc)
{
    return (rc & 0xFF) == SQLITE_CANTOPEN || (rc & 0xFF) == SQLITE_READONLY;
}

/* A proxy was killed while it made this database, and left a journal that has to be rolled back before
 * anybody can read. SQLite does that for whoever may write; nothing that was recorded changes. */
static int roll_back(struct query *q, const char *path)
{
    sqlite3 *db = NULL;
    int rc = connect_open(&db, path, SQLITE_OPEN_READWRITE, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA user_version", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc == SQLITE_OK ? connect_to(q, path, 0) : rc;
}

static int open_db(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return MI_ENOENT;
    struct buf path = {0};
    int64_t version = 0;
    buf_printf(&path, "%s/" VAULT_DB, q->path);
    int rc = path.failed ? SQLITE_NOMEM : connect_to(q, buf_str(&path), 0);
    if (rc == SQLITE_OK)
        rc = read_version(q, &version);
    if (q->db != NULL && sqlite3_extended_errcode(q->db) == SQLITE_READONLY_ROLLBACK) {
        rc = roll_back(q, buf_str(&path));
        if (rc == SQLITE_OK)
            rc = read_version(q, &version);
    }
    buf_close(&path);
    if (lacks_room(rc) && faccessat(q->dir_fd, ".", W_OK, AT_EACCESS) != 0) {
        rc = connect_unchanging(q);
        if (rc == SQLITE_OK)
            rc = read_version(q, &version);
        if (lacks_room(rc) && faccessat(q->dir_fd, VAULT_DB, R_OK, AT_EACCESS) == 0) {
            buf_printf(&q->error,
                       "cannot read %s/" VAULT_DB
                       ": it was not closed properly, and its folder cannot be "
                       "written to; copy the folder and name the copy with --vault",
                       q->path);
            return MI_ESTORE;
        }
    }
    if (rc == SQLITE_NOMEM)
        return MI_ENOMEM;
    if (rc != SQLITE_OK)
        return fail(q);
    if (version > SCHEMA_VERSION) {
        buf_printf(&q->error,
                   "%s/" VAULT_DB
                   " was made by a newer mcp-interposer; use that one, or name another "
                   "vault with --vault",
                   q->path);
        return MI_ESTORE;
    }
    return version == 0 ? MI_ENOENT : 0; /* 0: no proxy has got as far as to make the tables */
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
        buf_adds(error, st == MI_ENOMEM ? "no memory" : buf_str(&q->error));
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
    return q->error.n > 0 && !q->error.failed ? buf_str(&q->error) : "no memory";
}

const char *query_vault(const struct query *q)
{
    return q->path;
}

/* ---- rows ---- */

int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret)
{
    if (q->q[i] == NULL && sqlite3_prepare_v3(q->db, query_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                              &q->q[i], NULL) != SQLITE_OK)
        return fail(q);
    *ret = q->q[i];
    return 0;
}

int query_done(struct query *q, sqlite3_stmt *st, int rc)
{
    int ret = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(q);
    sqlite3_reset(st);
    return ret;
}

int query_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, id);
    int rc = sqlite3_step(st);
    int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    status = query_done(q, st, rc);
    if (status == 0)
        *ret = n;
    return status;
}

int query_last_message(struct query *q, int64_t session_id, int64_t *ret_seq, int64_t *ret_t_us)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_LAST, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, 0));
    sqlite3_bind_int64(st, 2, schema_message_id(session_id, SCHEMA_SEQ_MAX));
    int rc = sqlite3_step(st);
    int64_t seq = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    int64_t t_us = rc == SQLITE_ROW ? sqlite3_column_int64(st, 1) : 0;
    status = query_done(q, st, rc);
    if (status == 0) {
        *ret_seq = seq;
        *ret_t_us = t_us;
    }
    return status;
}

/* ---- rows ---- */

struct slice query_column(sqlite3_stmt *st, int i)
{
    const char *p = (const char *)sqlite3_column_text(st, i);
    return (struct slice){p, p != NULL ? (size_t)sqlite3_column_bytes(st, i) : 0};
}

bool query_column_is(sqlite3_stmt *st, int i, const char *word)
{
    return slice_is(query_column(st, i), word);
}

bool query_column_has(sqlite3_stmt *st, int i, const char *word)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    return text != NULL && strstr(text, word) != NULL;
}

int query_page(struct query *q, sqlite3_stmt *st, query_hold_fn hold, size_t max_bytes,
               struct held **ret)
{
    struct held *first = NULL, **tail = &first;
    size_t sum = 0;
    int status = 0, rc = SQLITE_DONE;
    while (sum < max_bytes && status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        size_t bytes = 0;
        *tail = hold(st, &bytes);
        sum += bytes;
        if (*tail == NULL)
            status = MI_ENOMEM;
        else
            tail = &(*tail)->next;
    }
    int ended = query_done(q, st, rc);
    if (status == 0)
        status = ended;
    if (status == 0)
        *ret = first;
    else
        query_drop(first);
    return status;
}

struct held *query_hold(sqlite3_stmt *st, int first, size_t *ret_bytes)
{
    size_t n = sizeof(struct held);
    for (int i = first; i < sqlite3_column_count(st); i++)
        if (sqlite3_column_text(st, i) != NULL)
            n += (size_t)sqlite3_column_bytes(st, i) + 1;
    struct held *h = malloc(n);
    if (h == NULL)
        return NULL;
    h->next = NULL;
    *ret_bytes = n;
    return h;
}

struct slice query_take(sqlite3_stmt *st, int i, char **at)
{
    const void *text = sqlite3_column_text(st, i);
    if (text == NULL)
        return (struct slice){0};
    struct slice s = {*at, (size_t)sqlite3_column_bytes(st, i)};
    memcpy(*at, text, s.n);
    (*at)[s.n] = '\0';
    *at += s.n + 1;
    return s;
}

void query_drop(struct held *h)
{
    while (h != NULL) {
        struct held *next = h->next;
        free(h);
        h = next;
    }
}
