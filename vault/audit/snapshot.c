#include "vault/audit/snapshot.h"

#include "model/records.h"
#include "vault/store/commitment.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BUSY_MS 2000

/* In statements that read one page, ?2 is the last id of the previous page. */
static const char *const sql[SNAPSHOT_COUNT] = {
    [SNAPSHOT_LEAVES] = "SELECT n, leaf FROM leaves WHERE n > ?1 ORDER BY n",
    [SNAPSHOT_CHECKPOINTS] = "SELECT size, note FROM checkpoints ORDER BY size",
    [SNAPSHOT_NEXT_SESSION] = "SELECT min(id) FROM sessions WHERE id > ?1",
    [SNAPSHOT_SESSION] =
        "SELECT name, started_at_us,"
        " CASE WHEN j.records > ifnull(s.records, 0) THEN j.records ELSE s.records END,"
        " CASE WHEN j.records > ifnull(s.records, 0) THEN j.tree ELSE s.tree END,"
        " host, salt, commitment@session_record, end_salt, end_commitment@end_record"
        " FROM sessions s LEFT JOIN journals j ON j.session_id = s.id WHERE s.id = ?1",
    [SNAPSHOT_TOTAL] = "SELECT CAST(total(records) AS INTEGER) FROM sessions",
    [SNAPSHOT_EVENTS] = "SELECT id, place, salt, commitment@event_record FROM events WHERE "
                        "session_id = ?1 AND id > ?2 ORDER BY id LIMIT 2000",
    [SNAPSHOT_MESSAGES] =
        "SELECT id, session_id, body_offset, body_length, salt, commitment@message_record,"
        " body FROM messages WHERE id > ?2 AND id <= (?1 << 36) + 68719476735"
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
    [SNAPSHOT_UNCOVERED] = "SELECT uid, name, started_at_us FROM sessions WHERE id = ?1",
    [SNAPSHOT_FILLED] = "SELECT calls FROM sessions WHERE id = ?1",
    [SNAPSHOT_CALLS] =
        "SELECT id" CALL_FIELDS(FIELD_NAME) " FROM calls WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [SNAPSHOT_FIRST_CALL] = "SELECT min(id) FROM calls WHERE id BETWEEN ?1 << 36"
                            " AND (?1 << 36) + 68719476735",
    [SNAPSHOT_CALL_OWNER] = "SELECT min(id) FROM calls WHERE id >= ?1",
};

static const struct db_kind verifier = {
    .wait_ms = BUSY_MS,
    .settings = "PRAGMA temp_store = MEMORY",
    .sql = sql,
    .n = SNAPSHOT_COUNT,
    .can_not = "read",
};

int snapshot_open(struct snapshot *s, const char *vault, struct buf *error)
{
    struct buf file = {0};
    *s = (struct snapshot){.path = vault, .d.error = error};
    buf_printf(&file, "%s/" VAULT_DB, vault);
    s->dir_fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir_fd < 0)
        buf_printf(error, "cannot open vault %s: %s", vault, strerror(errno));
    int st = s->dir_fd < 0 ? MI_EIO : file.failed ? MI_ENOMEM : 0;
    if (st == 0)
        st = db_open(&s->d, &verifier, buf_str(&file), error);
    buf_close(&file);
    return st;
}

void snapshot_close(struct snapshot *s)
{
    db_close(&s->d);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    s->dir_fd = -1;
}

/* Adds SQLite's text without its line that names the database. Unprintable characters become '?',
 * because the text contains names from the file. */
static void snapshot_append_printable_text(struct buf *b, const char *text)
{
    static const char head[] = "*** in database main ***\n";
    text += strncmp(text, head, sizeof head - 1) == 0 ? sizeof head - 1 : 0;
    for (; *text != '\0'; text++)
        buf_addc(b, *text >= ' ' && *text <= '~' ? *text : '?');
}

static int run_integrity_check(struct snapshot *s, struct buf *ret)
{
    sqlite3_stmt *q = NULL;
    struct buf why = {0};
    int st = db_begin(&s->d);
    if (st < 0)
        return st;
    st = db_begin_query_text(&s->d, "PRAGMA integrity_check(1)", &q, NULL, 0);
    int rc = st == 0 ? sqlite3_step(q) : SQLITE_DONE;
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (st == 0 && text == NULL) {
        st = db_fail(&s->d);
    } else if (st == 0 && (strstr(text, "error code") || strstr(text, "failed to get page"))) {
        /* A page cannot be read or is invalid: SQLite reports this only in its text. */
        buf_adds(&why, "database disk image is malformed: ");
        snapshot_append_printable_text(&why, text);
        st = db_set_error(&s->d, buf_str(&why));
    } else if (st == 0 && strcmp(text, "ok") != 0) {
        buf_adds(ret, "SQLite says of the file: ");
        snapshot_append_printable_text(ret, text);
    }
    sqlite3_finalize(q);
    buf_close(&why);
    return db_end(&s->d, st);
}

int snapshot_check_integrity(struct snapshot *s, struct buf *ret)
{
    int st = run_integrity_check(s, ret);
    /* A writer has started during the check. Check again: the next transaction uses the files that
     * SQLite shares between processes. */
    if (st == MI_ESTORE && db_is_outdated(&s->d))
        st = run_integrity_check(s, ret);
    return st;
}

int snapshot_begin_query(struct snapshot *s, enum snapshot_sql i, int64_t a, int64_t b,
                         sqlite3_stmt **ret)
{
    return db_begin_query(&s->d, i, ret, DB_WITH(db_int(a), db_int(b)));
}

int snapshot_read_number(struct snapshot *s, enum snapshot_sql i, int64_t a, bool *ret_has,
                         int64_t *ret)
{
    int st = db_begin(&s->d);
    if (st < 0)
        return st;
    st = db_read_number(&s->d, i, ret, DB_WITH(db_int(a)));
    *ret_has = st == 0;
    return db_end(&s->d, st == MI_ENOENT ? 0 : st);
}
