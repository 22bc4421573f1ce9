#include "vault/upkeep/prune/database.h"

#include "vault/store/schema.h"

#include <limits.h>
#include <stdio.h>

#define OF_SESSION "BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");
#define NEXT_MESSAGES "IN (SELECT id FROM messages WHERE id " OF_SESSION " ORDER BY id LIMIT ?2)"
#define TEXTS "rpc_id, method, target, body, finding"

static const char *const sql[PRUNE_QUERIES] = {
    [P_PAGES] = "PRAGMA page_count",
    [P_UNUSED_PAGES] = "PRAGMA freelist_count",
    [P_PAGE_SIZE] = "PRAGMA page_size",
    [P_DATA_VERSION] = "PRAGMA data_version",
    /* Selects all sessions, oldest first. Columns: id, start, end, whether no end is recorded,
     * whether the session is older than the newest ?1 sessions, whether the session is running. If
     * no end is recorded, the end is the time of the last message. */
    [P_SESSIONS] =
        "SELECT s.id, s.started_at_us, coalesce(s.ended_at_us, s.started_at_us + coalesce((SELECT "
        "m.t_us"
        " FROM messages m WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735"
        " ORDER BY m.id DESC LIMIT 1), 0)), s.ended_at_us IS NULL,"
        " s.id < (SELECT min(id) FROM (SELECT id FROM sessions ORDER BY id DESC LIMIT ?1)),"
        " s.id IN (SELECT session_id FROM running) FROM sessions s ORDER BY s.id",
    [P_SENT] =
        "SELECT 1 FROM shipped s JOIN ship_targets t ON t.target = s.target"
        " WHERE s.target = ?1 AND session_id = ?2 AND complete AND at_us + ?3 <= t.sent_at_us",
    [P_UID] = "SELECT uid FROM sessions WHERE id = ?1",
    [P_HAS_UID] = "SELECT 1 FROM sessions WHERE uid = ?1",
    [P_SIZE_MESSAGES] = "SELECT id, " TEXTS ", salt, commitment FROM messages WHERE id " OF_SESSION,
    [P_SIZE_MESSAGES_BEFORE_EVIDENCE] = "SELECT id, " TEXTS " FROM messages WHERE id " OF_SESSION,
    [P_SIZE_EVENTS] = "SELECT * FROM events WHERE session_id = ?1",
    [P_SIZE_REPLACED] = "SELECT * FROM replaced WHERE session_id = ?1",
    [P_SIZE_SESSIONS] = "SELECT * FROM sessions WHERE id = ?1",
    [P_SIZE_CALLS] = "SELECT * FROM calls WHERE id " OF_SESSION,
    [P_SIZE_OPERATIONS] = "SELECT * FROM operations WHERE id " OF_SESSION,
    [P_REMOVE_NEXT_CALLS] = "DELETE FROM calls WHERE id " NEXT_MESSAGES,
    [P_REMOVE_NEXT_MESSAGES] = "DELETE FROM messages WHERE id " NEXT_MESSAGES,
    [P_REMOVE_EVENTS] = "DELETE FROM events WHERE session_id = ?1",
    [P_REMOVE_REPLACED] = "DELETE FROM replaced WHERE session_id = ?1",
    [P_REMOVE_SHIPPED] = "DELETE FROM shipped WHERE session_id = ?1",
    [P_REMOVE_CALLS] = "DELETE FROM calls WHERE id " OF_SESSION,
    [P_REMOVE_OPERATIONS] = "DELETE FROM operations WHERE id " OF_SESSION,
    [P_REMOVE_SESSION] = "DELETE FROM sessions WHERE id = ?1",
    [P_REMOVE_ESCALATION] = "DELETE FROM escalations WHERE file = ?1",
};

static const struct db_kind pruning = {
    .writes = true,
    .wait_ms = PRUNE_WAIT_MS,
    /* this connection makes no checkpoints, because they would delay running proxies; the proxies
     * make them */
    .settings = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
                " PRAGMA cache_size = -2048",
    .sql = sql,
    .n = PRUNE_QUERIES,
    .can_not = "change",
};

int prune_convert_lock_error(struct prune *p, int st)
{
    if (st != MI_ESTORE || !p->d.locked)
        return st;
    buf_clear(p->d.error);
    return MI_EFULL;
}

/* Microseconds. If a target is set, a session may be removed only if it was sent to the target, and
 * if sending to the target has succeeded again at least this long afterwards. */
#define SENT_US ((int64_t)3600 * 1000000)

int prune_session_was_sent(struct prune *p, int64_t id, bool *ret)
{
    bool has;
    int64_t sent;
    *ret = p->rule.target == NULL;
    if (*ret)
        return 0;
    int st = db_has_table(&p->d, "shipped", &has);
    if (st < 0 || !has) /* if this table is missing, this vault has never been sent anywhere */
        return st;
    st = db_read_number(&p->d, P_SENT, &sent,
                        DB_WITH(db_text(slice_of(p->rule.target)), db_int(id), db_int(SENT_US)));
    *ret = st == 0;
    return st == MI_ENOENT ? 0 : st;
}

int prune_read_session_uid(struct prune *p, int64_t id, char ret[UID_LEN + 1])
{
    sqlite3_stmt *q;
    ret[0] = '\0';
    int st = db_begin_query(&p->d, P_UID, &q, DB_WITH(db_int(id)));
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        struct slice uid = connect_column(q, 0);
        snprintf(ret, UID_LEN + 1, "%.*s", (int)size_min(uid.n, UID_LEN), uid.p);
    }
    return db_finish_statement(&p->d, q, rc);
}

int prune_connect(struct prune *p)
{
    char path[PATH_MAX];
    if (!connect_find_database_path(p->dir.path, path)) {
        buf_printf(p->d.error, "nothing has been recorded in %s; choose another vault with --vault",
                   p->dir.path);
        return MI_ENOENT;
    }
    int st = db_open(&p->d, &pruning, path, p->d.error);
    if (st == 0 && schema_version(p->d.db, &p->schema) < 0)
        st = db_fail(&p->d);
    if (st < 0 || (p->schema >= SCHEMA_RUNNING && p->schema <= SCHEMA_VERSION))
        return st;
    buf_printf(p->d.error, "%s/" VAULT_DB " was made by %s mcp-interposer; %s", p->dir.path,
               p->schema > SCHEMA_VERSION ? "a newer" : "an older",
               p->schema > SCHEMA_VERSION ? "use that version"
                                          : "start a proxy once to upgrade it");
    return MI_ESTORE;
}
