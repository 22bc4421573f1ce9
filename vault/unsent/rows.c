/* rows.c - the statements of unsent_read(), and its batches. */
#include "vault/unsent/state.h"

#include "model/values.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

#define CELLS_MAX 32

/* ?3: only what the level minimal sends. */
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
static const char *const sql[UNSENT_KINDS] = {
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
};
/* clang-format on */

static void read_cell(sqlite3_stmt *q, int i, struct cell *c)
{
    *c = (struct cell){.type = CELL_NULL};
    switch (sqlite3_column_type(q, i)) {
    case SQLITE_INTEGER:
        *c = (struct cell){.type = CELL_INT, .number = sqlite3_column_int64(q, i)};
        break;
    case SQLITE_TEXT:
        *c = (struct cell){.type = CELL_TEXT, .text = connect_column(q, i)};
        break;
    case SQLITE_BLOB:
        *c = (struct cell){.type = CELL_BLOB, .text = connect_column(q, i)};
        break;
    }
}

/* Of all commits that are visible now, unless this was done since the last of them. A recorder commits without it. */
static int sync_commits(struct unsent *u)
{
    sqlite3_file *log = NULL;
    int64_t version = 0;
    if (unsent_version(u, &version) < 0)
        return MI_ESTORE;
    if (version == u->synced)
        return 0;
    int rc = sqlite3_file_control(u->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
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

static size_t read_cells(sqlite3_stmt *q, struct cell cell[CELLS_MAX])
{
    size_t bytes = 0;
    for (int i = 0; i < sqlite3_column_count(q) && i < CELLS_MAX; i++) {
        read_cell(q, i, &cell[i]);
        bytes += sizeof(int64_t) + cell[i].text.n;
    }
    return bytes;
}

/* Numbers of rows grow, from the one that was asked for: so sending ends, whatever is in the file. */
static bool is_next(enum unsent_rows what, const int64_t key[3], const struct cell *first,
                    int64_t n, int64_t *last)
{
    int64_t from = what == UNSENT_MESSAGES || what == UNSENT_EVENTS ? key[1] : key[0];
    if (what == UNSENT_REPLACED) /* one statement reads them all */
        return true;
    bool next =
        first->type == CELL_INT &&
        (n > 0 ? first->number > *last : first->number >= from + (what == UNSENT_CHECKPOINTS));
    *last = first->number;
    return next;
}

int unsent_read(struct unsent *u, enum unsent_rows what, const int64_t key[3], unsent_fn fn,
                void *ctx, int64_t *ret_n)
{
    struct cell cell[CELLS_MAX];
    int64_t n = 0, last = 0;
    size_t bytes = 0;
    int st = 0, rc = SQLITE_ROW;
    sqlite3_stmt *q = unsent_prepare(u, &u->rows[what], sql[what]);
    if (q == NULL)
        return unsent_fail(u);
    for (int i = 0; i < sqlite3_bind_parameter_count(q); i++)
        sqlite3_bind_int64(q, i + 1, key[i]);
    while (st == 0 && n < UNSENT_ROWS && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        bytes += read_cells(q, cell);
        if (what == UNSENT_MESSAGES)
            bytes += (size_t)cell[MESSAGE_LENGTH].number;
        if (n > 0 && bytes > UNSENT_BYTES)
            break;
        if (!is_next(what, key, &cell[0], n++, &last))
            st = unsent_fail(u);
        else
            st = fn(ctx, cell);
    }
    if (st == 0 && rc != SQLITE_ROW && rc != SQLITE_DONE)
        st = unsent_fail(u);
    sqlite3_reset(q);
    *ret_n = n;
    if (st >= 0 && n > 0)
        st = sync_commits(u);
    return st < 0 ? st : 0;
}

int unsent_session_id(struct unsent *u, struct slice uid, int64_t *ret)
{
    sqlite3_stmt *q = unsent_prepare(u, &u->by_uid, "SELECT id FROM sessions WHERE uid = ?1");
    if (q == NULL)
        return unsent_fail(u);
    connect_bind(q, 1, uid);
    int rc = sqlite3_step(q), st = rc == SQLITE_DONE ? MI_ENOENT : 0;
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(q, 0);
    else if (rc != SQLITE_DONE)
        st = unsent_fail(u);
    sqlite3_reset(q);
    return st;
}

int unsent_finding_seq(struct unsent *u, const struct cell *event, int64_t *ret_seq)
{
    *ret_seq = 0;
    if (event[EVENT_KIND].type != CELL_TEXT ||
        !slice_is(event[EVENT_KIND].text, EVENT_FINDING_ADDED))
        return 0;
    sqlite3_stmt *q = unsent_prepare(
        u, &u->finding, "SELECT CASE WHEN json_valid(?1) THEN json_extract(?1, '$.seq') END");
    if (q == NULL)
        return unsent_fail(u);
    connect_bind(q, 1, event[EVENT_DETAIL].text);
    int rc = sqlite3_step(q), st = rc == SQLITE_ROW ? 0 : unsent_fail(u);
    if (rc == SQLITE_ROW)
        *ret_seq = sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    return st;
}

int unsent_version(struct unsent *u, int64_t *ret)
{
    return connect_number(u->db, "PRAGMA data_version", 0, ret) == SQLITE_OK ? 0 : unsent_fail(u);
}
