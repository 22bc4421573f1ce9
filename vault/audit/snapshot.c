#include "vault/audit/snapshot.h"

#include "vault/store/commitment.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"
#include "vault/store/read_only.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BUSY_MS 2000

_Static_assert(SESSION_END_SALT == SESSION_SALT + 2 + COMMITMENT_SESSION_N, "after its fields");

/* ?2 of the pages is the last id of the page before. */
static const char *const sql[SNAPSHOT_COUNT] = {
    [SNAPSHOT_LEAVES] = "SELECT n, leaf FROM leaves WHERE n > ?1 ORDER BY n",
    [SNAPSHOT_CHECKPOINTS] = "SELECT size, note FROM checkpoints ORDER BY size",
    [SNAPSHOT_NEXT_SESSION] = "SELECT min(id) FROM sessions WHERE id > ?1",
    [SNAPSHOT_SESSION] =
        "SELECT name, started_at_us,"
        " CASE WHEN j.records > ifnull(s.records, 0) THEN j.records ELSE s.records END,"
        " CASE WHEN j.records > ifnull(s.records, 0) THEN j.tree ELSE s.tree END,"
        " host, salt, commitment, " COMMITMENT_SESSION ", end_salt, end_commitment, " COMMITMENT_END
        " FROM sessions s LEFT JOIN journals j ON j.session_id = s.id WHERE s.id = ?1",
    [SNAPSHOT_TOTAL] = "SELECT CAST(total(records) AS INTEGER) FROM sessions",
    [SNAPSHOT_EVENTS] = "SELECT id, place, salt, commitment, " COMMITMENT_EVENT
                        " FROM events WHERE session_id = ?1 AND id > ?2 ORDER BY id LIMIT 2000",
    [SNAPSHOT_MESSAGES] =
        "SELECT id, session_id, body_offset, body_length, salt, commitment, " COMMITMENT_MESSAGE
        ", body FROM messages WHERE id > ?2 AND id <= (?1 << 36) + 68719476735"
        " ORDER BY id LIMIT 2000",
    [SNAPSHOT_REPLACED] = ("SELECT record, leaf, commitment FROM replaced WHERE session_id = ?1"
                           " ORDER BY record, leaf"),
    [SNAPSHOT_MESSAGE_OWNER] = "SELECT min(id) FROM messages WHERE id >= ?1",
    [SNAPSHOT_EVENT_OWNER] = "SELECT min(session_id) FROM events WHERE session_id >= ?1",
    [SNAPSHOT_REPLACED_OWNER] = "SELECT min(session_id) FROM replaced WHERE session_id >= ?1",
    [SNAPSHOT_HAS_SESSION] = "SELECT id FROM sessions WHERE id = ?1",
    [SNAPSHOT_FIRST] = "SELECT min(id) FROM messages WHERE id BETWEEN ?1 << 36"
                       " AND (?1 << 36) + 68719476735",
    [SNAPSHOT_FOREIGN] = "SELECT session_id FROM messages WHERE id BETWEEN ?1 << 36"
                         " AND (?1 << 36) + 68719476735 AND session_id <> ?1 LIMIT 1",
};

int snapshot_fail(struct snapshot *s)
{
    int rc = failure_code(s->db) & 0xFF;
    if (rc == SQLITE_NOMEM)
        return MI_ENOMEM;
    buf_clear(s->error);
    buf_printf(s->error, "cannot read %s/" VAULT_DB ": %s", s->path,
               !s->shared && rc == SQLITE_BUSY ? "it was changed meanwhile; run the command again"
                                               : failure_text(s->db));
    return MI_ESTORE;
}

int snapshot_damaged(struct snapshot *s)
{
    buf_clear(s->error);
    buf_printf(s->error,
               "cannot read %s/" VAULT_DB ": it is damaged: rows are not in the order of their ids",
               s->path);
    return MI_ESTORE;
}

static void disconnect(struct snapshot *s)
{
    for (int i = 0; i < SNAPSHOT_COUNT; i++) {
        sqlite3_finalize(s->q[i]);
        s->q[i] = NULL;
    }
    sqlite3_close(s->db);
    s->db = NULL;
}

static int connect_to(struct snapshot *s)
{
    disconnect(s);
    if (read_only_open(&s->db, buf_str(&s->file), BUSY_MS, &s->shared) != SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) != SQLITE_OK)
        return snapshot_fail(s);
    return 0;
}

int snapshot_open(struct snapshot *s, const char *vault, struct buf *error)
{
    *s = (struct snapshot){.path = vault, .error = error};
    buf_printf(&s->file, "%s/" VAULT_DB, vault);
    s->dir_fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir_fd < 0) {
        buf_printf(error, "cannot open vault %s: %s", vault, strerror(errno));
        return MI_EIO;
    }
    return s->file.failed ? MI_ENOMEM : connect_to(s);
}

void snapshot_close(struct snapshot *s)
{
    disconnect(s);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    s->dir_fd = -1;
    buf_close(&s->file);
}

int snapshot_begin(struct snapshot *s)
{
    if (s->depth > 0) {
        s->depth++;
        return 0;
    }
    int st = !s->shared && read_only_is_shared(buf_str(&s->file)) ? connect_to(s) : 0;
    if (st == 0 && sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        st = snapshot_fail(s);
    if (st == 0)
        s->depth = 1;
    return st;
}

void snapshot_end(struct snapshot *s)
{
    if (--s->depth == 0) /* nothing was written: there is nothing to lose */
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* A page that cannot be read, or is not one: SQLite says so in words. */
static bool is_unreadable(const char *text)
{
    return strstr(text, "error code") != NULL || strstr(text, "failed to get page") != NULL;
}

/* Without the line that names the database, and with '?' for what is not printable: names of the file are in it. */
static void add_plain(struct buf *b, const char *text)
{
    static const char head[] = "*** in database main ***\n";
    text += strncmp(text, head, sizeof head - 1) == 0 ? sizeof head - 1 : 0;
    for (; *text != '\0'; text++)
        buf_addc(b, *text >= ' ' && *text <= '~' ? *text : '?');
}

static int ask_integrity(struct snapshot *s, struct buf *ret)
{
    sqlite3_stmt *q = NULL;
    int st = snapshot_begin(s);
    if (st < 0)
        return st;
    int rc = sqlite3_prepare_v2(s->db, "PRAGMA integrity_check(1)", -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (text == NULL) {
        st = snapshot_fail(s);
    } else if (is_unreadable(text)) {
        buf_clear(s->error);
        buf_printf(s->error,
                   "cannot read %s/" VAULT_DB ": database disk image is malformed: ", s->path);
        add_plain(s->error, text);
        st = MI_ESTORE;
    } else if (strcmp(text, "ok") != 0) {
        buf_adds(ret, "SQLite says of the file: ");
        add_plain(ret, text);
    }
    sqlite3_finalize(q);
    snapshot_end(s);
    return st;
}

int snapshot_integrity(struct snapshot *s, struct buf *ret)
{
    bool shared = s->shared;
    int st = ask_integrity(s, ret);
    /* A writer has started meanwhile: the next transaction shares its files. */
    if (st == MI_ESTORE && !shared && read_only_is_shared(buf_str(&s->file)))
        st = ask_integrity(s, ret);
    return st;
}

int snapshot_query(struct snapshot *s, enum snapshot_sql i, int64_t a, int64_t b,
                   sqlite3_stmt **ret)
{
    if (s->q[i] == NULL && sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                              &s->q[i], NULL) != SQLITE_OK)
        return snapshot_fail(s);
    if (sqlite3_bind_parameter_count(s->q[i]) > 0)
        sqlite3_bind_int64(s->q[i], 1, a);
    if (sqlite3_bind_parameter_count(s->q[i]) > 1)
        sqlite3_bind_int64(s->q[i], 2, b);
    *ret = s->q[i];
    return 0;
}

int snapshot_done(struct snapshot *s, sqlite3_stmt *q, int rc)
{
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : snapshot_fail(s);
    sqlite3_reset(q);
    return st;
}

int snapshot_number(struct snapshot *s, enum snapshot_sql i, int64_t a, bool *ret_has, int64_t *ret)
{
    sqlite3_stmt *q;
    int st = snapshot_begin(s);
    if (st < 0)
        return st;
    st = snapshot_query(s, i, a, 0, &q);
    if (st == 0) {
        int rc = sqlite3_step(q);
        *ret_has = rc == SQLITE_ROW && sqlite3_column_type(q, 0) == SQLITE_INTEGER;
        *ret = *ret_has ? sqlite3_column_int64(q, 0) : 0;
        st = snapshot_done(s, q, rc);
    }
    snapshot_end(s);
    return st;
}
