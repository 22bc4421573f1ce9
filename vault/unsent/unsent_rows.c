/* unsent_rows.c - the statements of vault/unsent; reads batches of rows. */
#include "vault/unsent/state.h"

#include "model/values.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

#define CELLS_MAX 32

/* ?3 is true if only data that the level `minimal` allows may be sent */
#define SENT_YES(name) ", " #name
#define SENT_FULL(name) ", CASE WHEN NOT ?3 THEN " #name " END"
#define SENT_PROGRAM(name)                                                                         \
    ", CASE WHEN NOT ?3 THEN " #name " WHEN json_valid(" #name                                     \
    ") THEN json_array(json_extract(" #name ", '$[0]')) ELSE '[]' END"
#define SENT_LATER(name) SENT_FULL(name)
#define SESSION_COLUMN(name, t, n, s, e, c, store, ...)                                            \
    FIELD_IF(FIELD_FIRST_##store)(SENT_##store(name))
#define SESSION_COLUMN_LAST(name, t, n, s, e, c, store, ...)                                       \
    FIELD_IF(FIELD_LAST_##store)(SENT_##store(name))
#define COLUMN(name, t, n, s, e, c, store, ...) FIELD_IF(FIELD_FIRST_##store)(", " #name)
#define COLUMN_LAST(name, t, n, s, e, c, store, ...) FIELD_IF(FIELD_LAST_##store)(", " #name)

/* clang-format off */
const char *const unsent_sql[UNSENT_STATEMENTS] = {
    [UNSENT_SESSIONS] =
        "SELECT id, uid" SESSION_FIELDS(SESSION_COLUMN)
        ", salt, commitment, end_salt, end_commitment, records, tree"
        SESSION_FIELDS(SESSION_COLUMN_LAST)
        ", ifnull((SELECT m.seq FROM messages m"
        " WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735"
        " ORDER BY m.id DESC LIMIT 1), 0),"
        " ifnull((SELECT max(e.id) FROM events e WHERE e.session_id = s.id), 0)"
        " FROM sessions s WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [UNSENT_MESSAGES] =
        "SELECT seq" MESSAGE_FIELDS(COLUMN) ", salt, commitment" MESSAGE_FIELDS(COLUMN_LAST)
        " FROM messages WHERE id BETWEEN (?1 << 36) + ?2 AND (?1 << 36) + min(?3, 68719476735) "
        "ORDER BY id",
    [UNSENT_EVENTS] = "SELECT id" EVENT_FIELDS(COLUMN) ", place, salt, commitment"
                      " FROM events WHERE session_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id",
    [UNSENT_LEAVES] = "SELECT n, leaf FROM leaves WHERE n >= ?1 ORDER BY n",
    [UNSENT_CHECKPOINTS] =
        "SELECT size, at_us, note FROM checkpoints WHERE size > ?1 ORDER BY size",
    [UNSENT_REPLACED] =
        "SELECT record, leaf, commitment, session_id, CAST(substr(record, instr(record, ' ') + 1) "
        "AS INTEGER)"
        " FROM replaced WHERE session_id = ?1 AND leaf = ?2 ORDER BY record LIMIT -1 OFFSET ?3",
    [UNSENT_BY_UID] = "SELECT id FROM sessions WHERE uid = ?1",
    [UNSENT_FINDING] = "SELECT CASE WHEN json_valid(?1) THEN json_extract(?1, '$.seq') END",
    [UNSENT_VERSION] = "PRAGMA data_version",
    [CURSORS_NEXT] = "SELECT s.id, ifnull(c.seq, 0), ifnull(c.event, 0) FROM sessions s"
                     " LEFT JOIN shipped c ON c.target = ?1 AND c.session_id = s.id"
                     " WHERE s.id > ?2 AND ifnull(c.complete, 0) = 0 ORDER BY s.id LIMIT 1",
    [CURSORS_SAVE] =
        "INSERT INTO shipped (target, session_id, seq, event, complete, at_us)"
        " VALUES (?1,?2,?3,?4,?5,?6) ON CONFLICT DO UPDATE SET seq = excluded.seq,"
        " event = excluded.event, complete = excluded.complete, at_us = excluded.at_us"
        " WHERE (seq, event, complete) <> (excluded.seq, excluded.event, excluded.complete)",
    [CURSORS_FORGET] = "DELETE FROM shipped WHERE target = ?1",
    [CURSORS_TARGET] =
        "INSERT INTO ship_targets (target, tried_at_us, sent_at_us, leaves, error)"
        " VALUES (?1,?2,nullif(?3,0),?4,?5) ON CONFLICT (target) DO UPDATE SET"
        " tried_at_us = excluded.tried_at_us,"
        " sent_at_us = ifnull(excluded.sent_at_us, sent_at_us),"
        " leaves = iif(excluded.error IS NULL, excluded.leaves, max(leaves, excluded.leaves)),"
        " error = excluded.error",
    [CURSORS_FORGET_TARGET] = "DELETE FROM ship_targets WHERE target = ?1",
};
/* clang-format on */

/* Syncs all commits that are visible now, because a recorder commits without syncing. Does nothing
 * if there was no commit since the last successful call. */
static int unsent_sync_commits(struct unsent *u)
{
    sqlite3_file *log = NULL;
    int64_t version = 0;
    if (unsent_read_data_version(u, &version) < 0)
        return MI_ESTORE;
    if (version == u->synced)
        return 0;
    int rc = sqlite3_file_control(u->d.db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (rc == SQLITE_OK && log != NULL && log->pMethods != NULL)
        rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    if (rc != SQLITE_OK) {
        buf_clear(&u->error);
        buf_printf(&u->error, "cannot sync %s/" VAULT_DB "-wal: %s", u->dir.path,
                   sqlite3_errstr(rc));
        return MI_ESTORE;
    }
    u->synced = version;
    return 0;
}

/* Whether the number of a row is in the requested range, and greater than that of the previous row.
 * If not, the file is damaged, and sending might never end. n: number of previous rows. */
static bool row_number_is_next(enum unsent_rows what, const int64_t key[3],
                               const struct cell *first, int64_t n, int64_t *last)
{
    int64_t from = what == UNSENT_MESSAGES || what == UNSENT_EVENTS ? key[1] : key[0];
    if (what == UNSENT_REPLACED) /* these rows have no number: they are counted (OFFSET) instead */
        return true;
    bool next =
        first->type == CELL_INT &&
        (n > 0 ? first->number > *last : first->number >= from + (what == UNSENT_CHECKPOINTS));
    *last = first->number;
    return next;
}

int unsent_read_rows(struct unsent *u, enum unsent_rows what, const int64_t key[3], unsent_fn fn,
                     void *ctx, int64_t *ret_n)
{
    struct cell cell[CELLS_MAX];
    int64_t n = 0, last = 0;
    size_t bytes = 0;
    int st = 0, rc = SQLITE_ROW;
    sqlite3_stmt *q;
    st = db_begin_query(&u->d, what, &q, DB_WITH(db_int(key[0]), db_int(key[1]), db_int(key[2])));
    if (st < 0)
        return st;
    while (st == 0 && n < UNSENT_ROWS && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(q) && i < CELLS_MAX; i++) {
            cell[i] = db_get_cell(q, i);
            bytes += sizeof(int64_t) + cell[i].text.n;
        }
        if (what == UNSENT_MESSAGES)
            bytes += (size_t)cell[MESSAGE_LENGTH].number;
        if (n > 0 && bytes > UNSENT_BYTES)
            break;
        if (!row_number_is_next(what, key, &cell[0], n++, &last))
            st = db_fail_damaged(&u->d);
        else
            st = fn(ctx, cell);
    }
    int ended = db_finish_statement(&u->d, q, rc);
    st = st == 0 ? ended : st;
    *ret_n = n;
    if (st >= 0 && n > 0)
        st = unsent_sync_commits(u);
    return st < 0 ? st : 0;
}

int unsent_find_session_by_uid(struct unsent *u, struct slice uid, int64_t *ret)
{
    return db_read_number(&u->d, UNSENT_BY_UID, ret, DB_WITH(db_text(uid)));
}

int unsent_find_seq_of_finding(struct unsent *u, const struct cell *event, int64_t *ret_seq)
{
    *ret_seq = 0;
    if (event[EVENT_KIND].type != CELL_TEXT ||
        !slice_is(event[EVENT_KIND].text, EVENT_FINDING_ADDED))
        return 0;
    int st = db_read_number(&u->d, UNSENT_FINDING, ret_seq, &event[EVENT_DETAIL], 1);
    return st == MI_ENOENT ? 0 : st;
}

int unsent_read_data_version(struct unsent *u, int64_t *ret)
{
    return db_read_number(&u->d, UNSENT_VERSION, ret, NULL, 0);
}
