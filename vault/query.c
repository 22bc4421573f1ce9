#include "vault/query.h"

#include "vault/dir.h"
#include "vault/schema.h"
#include "vault/uid.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 2000
#define SEQ_MAX (((int64_t)1 << SCHEMA_SEQ_BITS) - 1)
#define SESSION_MAX (INT64_MAX >> SCHEMA_SEQ_BITS)
#define PAGE_SESSIONS 64

enum statement {
    Q_SESSIONS,
    Q_BY_UID,
    Q_NEWEST,
    Q_NEWEST_USED,
    Q_LAST,
    Q_SUMMARY,
    Q_MESSAGES,
    Q_EVENTS,
    Q_COUNT
};

#define SESSION_COLUMNS                                                                            \
    "SELECT s.id, s.started_at_us, s.ended_at_us, s.exit_status, s.pid, s.uid, s.name, s.command," \
    " s.client_name, s.client_version, s.server_name, s.server_version, s.protocol_version,"       \
    " s.end_reason, s.host, s.record_level, s.interposer_version,"                                 \
    " (SELECT max(b.uid) FROM sessions b WHERE b.uid < s.uid),"                                    \
    " (SELECT min(a.uid) FROM sessions a WHERE a.uid > s.uid) FROM sessions s"

/* A session's messages are one range of the primary key: ?1 to ?2. The key alone says which seq a row
 * has: reading goes on behind the last key, whatever the column says. */
static const char *const sql[Q_COUNT] = {
    [Q_SESSIONS] = SESSION_COLUMNS " WHERE s.id BETWEEN ?1 AND ?2 ORDER BY s.id DESC LIMIT ?3",
    [Q_BY_UID] = "SELECT id, uid FROM sessions WHERE uid >= ?1 AND uid < ?1 || '~'"
                 " ORDER BY uid LIMIT 2",
    [Q_NEWEST] = "SELECT max(id) FROM sessions",
    [Q_NEWEST_USED] = "SELECT s.id FROM sessions s WHERE EXISTS (SELECT 1 FROM messages m"
                      " WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735)"
                      " ORDER BY s.id DESC LIMIT 1",
    [Q_LAST] = "SELECT id & 68719476735, t_us FROM messages WHERE id BETWEEN ?1 AND ?2 ORDER BY id "
               "DESC LIMIT 1",
    /* `finding` lies behind the body: it is looked at only where it decides. */
    [Q_SUMMARY] = "SELECT id & 68719476735, kind, action, request_seq,"
                  " CASE WHEN kind = 'result' OR origin = 'interposer' THEN finding END"
                  " FROM messages WHERE id BETWEEN ?1 AND ?2"
                  " AND (direction = 's2c' AND kind IN ('result', 'error')"
                  " OR direction = 'c2s' AND kind IN ('request', 'notification')) ORDER BY id",
    [Q_MESSAGES] =
        "SELECT m.id & 68719476735, m.t_us, m.body_offset, m.body_length, m.size, m.redactions,"
        " m.request_seq, m.batch_seq, m.error_code, r.t_us, m.direction, m.origin, m.kind, "
        "m.action,"
        " m.rpc_id, m.method, m.target, m.body, m.finding, r.method, r.target"
        " FROM messages m"
        " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"
        " WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id LIMIT ?3",
    [Q_EVENTS] = "SELECT id, t_us, kind, detail FROM events WHERE session_id = ?1 AND id > ?2"
                 " ORDER BY id LIMIT ?3",
};

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

struct query {
    sqlite3 *db;              /* owned */
    sqlite3_stmt *q[Q_COUNT]; /* owned; prepared when first used */
    int dir_fd;               /* owned; -1: none */
    char *path;               /* owned; of the vault, absolute, without symbolic links */
    struct held *session;     /* owned; what query_session() gave */
    struct buf error;         /* owned */
};

/* One row, copied: the statement can be reset before anybody looks at it. */
struct held {
    struct held *next;
    union {
        struct query_session session;
        struct query_message message;
        struct query_event event;
    };
    char text[];
};

/* ---- opening ---- */

static int fail_sql(struct query *q)
{
    buf_clear(&q->error);
    buf_printf(&q->error, "cannot read %s/" VAULT_DB ": %s", q->path, sqlite3_errmsg(q->db));
    return MI_ESTORE;
}

static int connect_to(struct query *q, const char *name, int flags)
{
    sqlite3_close(q->db);
    q->db = NULL;
    flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(name, &q->db, flags, NULL);
    if (q->db == NULL)
        return SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_busy_timeout(q->db, BUSY_MS);
    /* Somebody else's vault is data: nothing written into its schema may act. */
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return sqlite3_exec(q->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
}

/* The first statement that reads the file tells whether it can be read. */
static int read_version(struct query *q, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(q->db, "PRAGMA user_version", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
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

static int open_db(struct query *q)
{
    struct stat st;
    if (fstatat(q->dir_fd, VAULT_DB, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return MI_ENOENT;
    struct buf path = {0};
    int64_t version = 0;
    buf_printf(&path, "%s/" VAULT_DB, q->path);
    int rc = path.failed ? SQLITE_NOMEM : connect_to(q, buf_str(&path), 0);
    buf_close(&path);
    if (rc == SQLITE_OK)
        rc = read_version(q, &version);
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
        return fail_sql(q);
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

const char *query_error(const struct query *q)
{
    return q->error.n > 0 && !q->error.failed ? q->error.p : "no memory";
}

const char *query_vault(const struct query *q)
{
    return q->path;
}

/* ---- rows ---- */

static int prepare(struct query *q, enum statement i, sqlite3_stmt **ret)
{
    if (q->q[i] == NULL && sqlite3_prepare_v3(q->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                              &q->q[i], NULL) != SQLITE_OK)
        return fail_sql(q);
    *ret = q->q[i];
    return 0;
}

/* Ends the statement, and with it the transaction. rc is what the last step said. */
static int done(struct query *q, sqlite3_stmt *st, int rc)
{
    int ret = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail_sql(q);
    sqlite3_reset(st);
    return ret;
}

/* Text columns begin at `first`; room for them is made with the row. */
static struct held *hold(sqlite3_stmt *st, int first, size_t *ret_bytes)
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

static struct slice take(sqlite3_stmt *st, int i, char **at)
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

static void drop(struct held *h)
{
    while (h != NULL) {
        struct held *next = h->next;
        free(h);
        h = next;
    }
}

/* ---- sessions ---- */

static size_t shared_with(struct slice uid, struct slice other)
{
    size_t n = 0;
    while (n < uid.n && n < other.n && uid.p[n] == other.p[n])
        n++;
    return n;
}

static struct held *hold_session(sqlite3_stmt *st)
{
    size_t bytes;
    struct held *h = hold(st, 5, &bytes);
    if (h == NULL)
        return NULL;
    struct query_session *s = &h->session;
    char *at = h->text;
    *s = (struct query_session){
        .id = sqlite3_column_int64(st, 0),
        .started_at_us = sqlite3_column_int64(st, 1),
        .ended_at_us = sqlite3_column_int64(st, 2),
        .has_exit_status = sqlite3_column_type(st, 3) != SQLITE_NULL,
        .exit_status = sqlite3_column_int64(st, 3),
        .pid = sqlite3_column_int64(st, 4),
    };
    struct slice *const texts[] = {
        &s->uid,
        &s->name,
        &s->command,
        &s->client_name,
        &s->client_version,
        &s->server_name,
        &s->server_version,
        &s->protocol_version,
        &s->end_reason,
        &s->host,
        &s->record_level,
        &s->interposer_version,
    };
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        *texts[i] = take(st, 5 + (int)i, &at);
    size_t before = shared_with(s->uid, take(st, 17, &at));
    size_t after = shared_with(s->uid, take(st, 18, &at));
    s->uid_unique = size_min(s->uid.n, 1 + (before > after ? before : after));
    return h;
}

/* Sessions with from <= id <= to, newest first, at most `limit`. *ret is a list to be dropped. */
static int load_sessions(struct query *q, int64_t from, int64_t to, int64_t limit,
                         struct held **ret)
{
    sqlite3_stmt *st;
    int status = prepare(q, Q_SESSIONS, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    sqlite3_bind_int64(st, 3, limit);
    struct held *first = NULL, **tail = &first;
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && status == 0) {
        *tail = hold_session(st);
        if (*tail == NULL)
            status = MI_ENOMEM;
        else
            tail = &(*tail)->next;
    }
    int ended = done(q, st, rc);
    if (status == 0)
        status = ended;
    if (status == 0)
        *ret = first;
    else
        drop(first);
    return status;
}

int query_sessions(struct query *q, int64_t limit, query_session_fn fn, void *ctx)
{
    int64_t to = INT64_MAX;
    int64_t left = limit > 0 ? limit : INT64_MAX;
    while (left > 0) {
        struct held *page = NULL;
        int st =
            load_sessions(q, INT64_MIN, to, left < PAGE_SESSIONS ? left : PAGE_SESSIONS, &page);
        if (st < 0)
            return st;
        if (page == NULL)
            break;
        bool more = true;
        for (struct held *h = page; more && h != NULL; h = h->next) {
            more = fn(ctx, &h->session);
            to = h->session.id - 1;
            left--;
        }
        drop(page);
        if (!more)
            break;
    }
    return 0;
}

/* The number in the first column of a statement with one row at most; 0: there is none. */
static int one_id(struct query *q, enum statement i, int64_t *ret)
{
    sqlite3_stmt *st;
    int status = prepare(q, i, &st);
    if (status < 0)
        return status;
    int rc = sqlite3_step(st);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    status = done(q, st, rc);
    if (status == 0)
        *ret = id;
    return status;
}

static bool is_id(const char *ref, int64_t *ret)
{
    int64_t id = 0;
    if (ref[0] == '0' || ref[0] == '\0')
        return false;
    for (; *ref != '\0'; ref++) {
        if (!isdigit((unsigned char)*ref) || id > SESSION_MAX / 10 - 1)
            return false;
        id = id * 10 + (*ref - '0');
    }
    *ret = id;
    return true;
}

static int find_uid(struct query *q, const char *ref, int64_t *ret)
{
    char prefix[UID_LEN + 1];
    size_t n = 0;
    for (; n < UID_LEN && isalnum((unsigned char)ref[n]); n++)
        prefix[n] = (char)toupper((unsigned char)ref[n]);
    prefix[n] = '\0';
    if (ref[n] != '\0' || n == 0)
        return MI_ENOENT;
    sqlite3_stmt *st;
    int status = prepare(q, Q_BY_UID, &st);
    if (status < 0)
        return status;
    sqlite3_bind_text(st, 1, prefix, -1, SQLITE_TRANSIENT);
    int64_t id = 0;
    int found = 0, rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        id = sqlite3_column_int64(st, 0);
        if (++found == 2)
            buf_printf(&q->error,
                       "several sessions begin with %s, the last of them is %s; write more of it",
                       prefix, (const char *)sqlite3_column_text(st, 1));
    }
    status = done(q, st, rc);
    if (status < 0)
        return status;
    if (found == 1)
        *ret = id;
    return found == 0 ? MI_ENOENT : found == 1 ? 0 : MI_EINVAL;
}

static int find_session(struct query *q, const char *ref, int64_t *ret)
{
    if (ref == NULL) {
        int st = one_id(q, Q_NEWEST_USED, ret);
        return st == 0 && *ret == 0 ? one_id(q, Q_NEWEST, ret) : st;
    }
    struct held *found = NULL;
    int64_t id;
    if (is_id(ref, &id)) {
        int st = load_sessions(q, id, id, 1, &found);
        if (st < 0)
            return st;
        if (found != NULL) {
            drop(found);
            *ret = id;
            return 0;
        }
    }
    return find_uid(q, ref, ret);
}

int query_session(struct query *q, const char *ref, struct query_session *ret)
{
    int64_t id = 0;
    struct held *found = NULL;
    buf_clear(&q->error);
    int st = find_session(q, ref, &id);
    if (st == 0)
        st = load_sessions(q, id, id, 1, &found);
    if (st == 0 && found == NULL)
        st = MI_ENOENT;
    if (st == MI_ENOENT) {
        if (ref != NULL)
            buf_printf(&q->error, "there is no session '%s' in %s; see: mcp-interposer sessions",
                       ref, q->path);
        else
            buf_printf(&q->error, "there is no session in %s yet; name another vault with --vault",
                       q->path);
    }
    if (st != 0)
        return st;
    drop(q->session);
    q->session = found;
    *ret = found->session;
    return 0;
}

/* ---- summary ---- */

static int last_message(struct query *q, int64_t session_id, struct query_summary *ret)
{
    sqlite3_stmt *st;
    int status = prepare(q, Q_LAST, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, 0));
    sqlite3_bind_int64(st, 2, schema_message_id(session_id, SEQ_MAX));
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        ret->last_seq = sqlite3_column_int64(st, 0);
        ret->last_t_us = sqlite3_column_int64(st, 1);
    }
    return done(q, st, rc);
}

static bool column_is(sqlite3_stmt *st, int i, const char *word)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    return text != NULL && strcmp(text, word) == 0;
}

static bool column_has(sqlite3_stmt *st, int i, const char *word)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    return text != NULL && strstr(text, word) != NULL;
}

static bool take_bit(struct query_summary *s, int64_t seq)
{
    if (!query_summary_waits(s, seq))
        return false;
    s->waiting[seq / 64] &= ~((uint64_t)1 << seq % 64);
    return true;
}

/* One row in order of seq. A request waits until the first thing that closes it; what comes later, or for
 * a request that is not there, does not count. */
static void sum_up(struct query_summary *s, sqlite3_stmt *st)
{
    int64_t seq = sqlite3_column_int64(st, 0);
    if (column_is(st, 1, "request")) {
        s->calls++;
        if (column_is(st, 2, "refused"))
            s->refused++;
        else if (seq >= 0 && seq <= s->last_seq)
            s->waiting[seq / 64] |= (uint64_t)1 << seq % 64;
        return;
    }
    if (!column_is(st, 2, "forwarded") || !take_bit(s, sqlite3_column_int64(st, 3)))
        return;
    if (column_is(st, 1, "notification"))
        s->cancelled++;
    else if (column_has(st, 4, "server-gone"))
        s->server_gone++;
    else if (column_is(st, 1, "error"))
        s->errors++;
    else if (column_has(st, 4, "tool-error"))
        s->tool_errors++;
    else
        s->ok++;
}

int query_summary(struct query *q, int64_t session_id, bool waiting, struct query_summary *ret)
{
    struct query_summary s = {0};
    sqlite3_stmt *st;
    int status = last_message(q, session_id, &s);
    if (status == 0)
        status = prepare(q, Q_SUMMARY, &st);
    if (status < 0)
        return status;
    s.waiting_n = (size_t)s.last_seq / 64 + 1;
    s.waiting = calloc(s.waiting_n, sizeof *s.waiting);
    if (s.waiting == NULL)
        return MI_ENOMEM;
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, 0));
    sqlite3_bind_int64(st, 2, schema_message_id(session_id, (uint64_t)s.last_seq));
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        sum_up(&s, st);
    status = done(q, st, rc);
    s.open = s.calls - s.ok - s.tool_errors - s.errors - s.refused - s.cancelled - s.server_gone;
    if (!waiting || status < 0)
        query_summary_close(&s);
    if (status == 0)
        *ret = s;
    return status;
}

void query_summary_close(struct query_summary *s)
{
    free(s->waiting);
    s->waiting = NULL;
}

bool query_summary_waits(const struct query_summary *s, int64_t seq)
{
    return s->waiting != NULL && seq > 0 && (size_t)seq / 64 < s->waiting_n &&
           (s->waiting[seq / 64] >> seq % 64 & 1) != 0;
}

/* ---- messages and events ---- */

static struct held *hold_message(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct held *h = hold(st, 10, ret_bytes);
    if (h == NULL)
        return NULL;
    struct query_message *m = &h->message;
    char *at = h->text;
    *m = (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 1),
        .is_large = sqlite3_column_type(st, 2) != SQLITE_NULL,
        .body_offset = sqlite3_column_int64(st, 2),
        .body_length = sqlite3_column_int64(st, 3),
        .size = sqlite3_column_int64(st, 4),
        .redactions = sqlite3_column_int64(st, 5),
        .request_seq = sqlite3_column_int64(st, 6),
        .batch_seq = sqlite3_column_int64(st, 7),
        .has_error_code = sqlite3_column_type(st, 8) != SQLITE_NULL,
        .error_code = sqlite3_column_int64(st, 8),
        .has_request = sqlite3_column_type(st, 9) != SQLITE_NULL,
        .request_t_us = sqlite3_column_int64(st, 9),
    };
    struct slice *const texts[] = {
        &m->direction, &m->origin, &m->kind,    &m->action,         &m->rpc_id,         &m->method,
        &m->target,    &m->body,   &m->finding, &m->request_method, &m->request_target,
    };
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        *texts[i] = take(st, 10 + (int)i, &at);
    return h;
}

static int load_messages(struct query *q, int64_t from, int64_t to, struct held **ret)
{
    sqlite3_stmt *st;
    int status = prepare(q, Q_MESSAGES, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    sqlite3_bind_int64(st, 3, QUERY_PAGE_ROWS);
    struct held *first = NULL, **tail = &first;
    size_t sum = 0;
    int rc = SQLITE_DONE;
    while (sum < QUERY_PAGE_BYTES && status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        size_t bytes = 0;
        *tail = hold_message(st, &bytes);
        sum += bytes;
        if (*tail == NULL)
            status = MI_ENOMEM;
        else
            tail = &(*tail)->next;
    }
    int ended = done(q, st, rc);
    if (status == 0)
        status = ended;
    if (status == 0)
        *ret = first;
    else
        drop(first);
    return status;
}

static int load_events(struct query *q, int64_t session_id, int64_t after, struct held **ret)
{
    sqlite3_stmt *st;
    int status = prepare(q, Q_EVENTS, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, session_id);
    sqlite3_bind_int64(st, 2, after);
    sqlite3_bind_int64(st, 3, QUERY_PAGE_ROWS);
    struct held *first = NULL, **tail = &first;
    int rc = SQLITE_DONE;
    while (status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        size_t bytes;
        struct held *h = hold(st, 2, &bytes);
        *tail = h;
        if (h == NULL) {
            status = MI_ENOMEM;
            break;
        }
        char *at = h->text;
        h->event = (struct query_event){
            .id = sqlite3_column_int64(st, 0),
            .t_us = sqlite3_column_int64(st, 1),
        };
        h->event.kind = take(st, 2, &at);
        h->event.detail = take(st, 3, &at);
        tail = &h->next;
    }
    int ended = done(q, st, rc);
    if (status == 0)
        status = ended;
    if (status == 0)
        *ret = first;
    else
        drop(first);
    return status;
}

/* Events that have not been handed out yet. */
struct event_walk {
    struct held *page, *next;  /* next lies in page */
    int64_t session_id, after; /* after: the id of the last one loaded */
    query_event_fn fn;         /* NULL: nobody wants them */
};

/* Hands out the events up to t_us. *ret_more: the reader wants to go on. */
static int walk_events(struct query *q, struct event_walk *w, int64_t t_us, void *ctx,
                       bool *ret_more)
{
    *ret_more = true;
    while (w->fn != NULL && *ret_more) {
        if (w->next == NULL) {
            drop(w->page);
            w->page = NULL;
            int st = load_events(q, w->session_id, w->after, &w->page);
            if (st < 0)
                return st;
            w->next = w->page;
            if (w->page == NULL) {
                w->fn = NULL;
                break;
            }
        }
        if (w->next->event.t_us > t_us)
            break;
        *ret_more = w->fn(ctx, &w->next->event);
        w->after = w->next->event.id;
        w->next = w->next->next;
    }
    return 0;
}

int query_timeline(struct query *q, int64_t session_id, int64_t from, int64_t to,
                   query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct event_walk w = {.session_id = session_id, .after = INT64_MIN, .fn = on_event};
    bool more = true;
    int st = 0;
    from = from < 0 ? 0 : from;
    to = to > SEQ_MAX ? SEQ_MAX : to;
    while (st == 0 && more && from <= to) {
        struct held *page = NULL;
        st = load_messages(q, schema_message_id(session_id, (uint64_t)from),
                           schema_message_id(session_id, (uint64_t)to), &page);
        if (st < 0 || page == NULL)
            break;
        for (struct held *h = page; st == 0 && more && h != NULL; h = h->next) {
            st = walk_events(q, &w, h->message.t_us, ctx, &more);
            if (st == 0 && more)
                more = on_message(ctx, &h->message);
            from = h->message.seq + 1;
        }
        drop(page);
    }
    if (st == 0 && more)
        st = walk_events(q, &w, INT64_MAX, ctx, &more);
    drop(w.page);
    return st;
}

/* ---- large bodies ---- */

static bool is_uid(struct slice uid)
{
    if (uid.n != UID_LEN)
        return false;
    for (size_t i = 0; i < uid.n; i++)
        if (!isalnum((unsigned char)uid.p[i]))
            return false;
    return true;
}

static int fail_body(struct query *q, struct slice uid, const char *why)
{
    int e = errno;
    buf_clear(&q->error);
    buf_printf(&q->error, "%s/" VAULT_BODIES "/%.*s: %s", q->path, (int)size_min(uid.n, UID_LEN),
               uid.p, why);
    errno = e;
    return MI_EIO;
}

static int read_part(int fd, int64_t offset, size_t n, struct buf *b)
{
    if (!buf_room(b, n))
        return MI_ENOMEM;
    while (n > 0) {
        ssize_t got = pread(fd, b->p + b->n, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? ENODATA : errno;
            return MI_EIO;
        }
        b->n += (size_t)got;
        offset += got;
        n -= (size_t)got;
    }
    return 0;
}

int query_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
               struct buf *b)
{
    if (!is_uid(uid)) /* it is about to be a file name */
        return fail_body(q, uid, "this is no name of a session");
    char name[UID_LEN + 1] = {0};
    memcpy(name, uid.p, UID_LEN);
    int dir = vault_dir_sub(q->dir_fd, VAULT_BODIES, false);
    int fd = dir >= 0 ? vault_dir_file(dir, name, O_RDONLY | O_NONBLOCK) : -1;
    int st = fd < 0 ? fail_body(q, uid, strerror(errno)) : 0;
    struct stat s;
    if (st == 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)))
        st = fail_body(q, uid, "this is no plain file");
    else if (st == 0 && (m->body_offset < 0 || m->body_length < 0 || m->body_offset > s.st_size ||
                         m->body_length > s.st_size - m->body_offset))
        st = fail_body(q, uid, "the file is too short");
    if (st == 0)
        st = read_part(fd, m->body_offset, size_min(max, (size_t)m->body_length), b);
    if (st == MI_EIO && b->failed)
        st = MI_ENOMEM;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return st;
}
