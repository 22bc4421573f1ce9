#include "vault/query/statements.h"

#include "vault/store/call_batch.h"
#include "vault/store/schema.h"

/* names with @ in these statements are explained in vault/store/columns.h */
#define SESSION_COLUMNS                                                                            \
    "SELECT s.id@session, @number, @evidence,"                                                     \
    " (SELECT b.uid FROM sessions b WHERE b.uid < s.uid ORDER BY b.uid DESC LIMIT 1),"             \
    " (SELECT a.uid FROM sessions a WHERE a.uid > s.uid ORDER BY a.uid LIMIT 1) FROM sessions s"

#define FACTS                                                                                      \
    "SELECT m.id & 68719476735, m.t_us, m.kind, m.origin, m.action, m.method, m.target,"           \
    " m.finding, r.method, r.target, r.action FROM messages m"                                     \
    " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"                         \
    " WHERE m.id BETWEEN ?1 AND ?2"

#define MESSAGES                                                                                   \
    "SELECT m.id & 68719476735@message, r.t_us, r.action, r.method, r.target"                      \
    " FROM messages m LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"         \
    " WHERE m.id BETWEEN ?1 AND ?2"

/* The messages of a session are one range of the primary key: ?1 to ?2. seq is taken from the key,
 * not from the column `seq`, so that reading can continue after the last key even if the column is
 * damaged. */
const char *const query_sql[Q_COUNT] = {
    [Q_SESSIONS] =
        SESSION_COLUMNS " WHERE s.id BETWEEN ?1 AND ?2" QUERY_WHERE " ORDER BY s.id DESC LIMIT ?3",
    [Q_BY_UID] = "SELECT id, uid FROM sessions WHERE uid >= ?1 AND uid < ?1 || '~'"
                 " ORDER BY uid LIMIT 2",
    [Q_NEWEST] = "SELECT id FROM sessions ORDER BY id DESC LIMIT 1",
    [Q_NEWEST_USED] = "SELECT s.id FROM sessions s WHERE EXISTS (SELECT 1 FROM messages m"
                      " WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735)"
                      " ORDER BY s.id DESC LIMIT 1",
    [Q_NEWEST_OF] = "SELECT s.id FROM sessions s WHERE s.name = ?1 ORDER BY s.id DESC LIMIT 1",
    [Q_NEWEST_USED_OF] = "SELECT s.id FROM sessions s WHERE s.name = ?1 AND EXISTS (SELECT 1 FROM"
                         " messages m WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735)"
                         " ORDER BY s.id DESC LIMIT 1",
    [Q_LAST] = "SELECT id & 68719476735, t_us FROM messages WHERE id BETWEEN ?1 AND ?2"
               " ORDER BY id DESC LIMIT 1",
    [Q_FIRST] = "SELECT id & 68719476735, t_us FROM messages WHERE id BETWEEN ?1 AND ?2"
                " ORDER BY id LIMIT 1",
    [Q_CALL_MAY_LINK] = CALL_MAY_LINK,
    [Q_CALL_MESSAGES] = CALL_MESSAGES("0"),
    [Q_CALL_MESSAGES_LINKED] = CALL_MESSAGES("1"),
    [Q_DERIVED] = "SELECT last_seq FROM temp.derived WHERE session_id = ?1",
    [Q_DERIVE_AGAIN] = "DELETE FROM temp.calls WHERE id BETWEEN ?1 << 36"
                       " AND (?1 << 36) + 68719476735",
    [Q_DERIVE_AGAIN_OPERATIONS] = "DELETE FROM temp.operations WHERE id BETWEEN ?1 << 36"
                                  " AND (?1 << 36) + 68719476735",
    [Q_HAS_DERIVED_OPERATIONS] = "SELECT 1 FROM temp.operations LIMIT 1",
    [Q_HAS_OPERATIONS] = "SELECT 1 FROM main.operations LIMIT 1",
    [Q_DERIVE_BEGIN] = "SAVEPOINT derived",
    [Q_DERIVE_END] = "RELEASE derived",
    [Q_DERIVE_DONE] = "INSERT OR REPLACE INTO temp.derived VALUES (?1, ?2)",
    [Q_SCHEMA] = "PRAGMA user_version",
    /* Finds whether a tool of the session has changed, and whether the server left a line
     * unfinished for a long time. Reads the events of the session. An imported session lacks these
     * events, so the findings of its messages are read. */
    [Q_SIGNS] = "SELECT max(changed), max(unfinished) FROM"
                " (SELECT kind = 'tool-changed' AS changed,"
                " kind = 'unfinished-line' AND detail LIKE '%\"from\":\"server\"%' AS unfinished"
                " FROM events WHERE session_id = ?1"
                " UNION ALL SELECT finding LIKE '%tool-changed%', finding LIKE '%unfinished-line%'"
                " FROM sessions s CROSS JOIN messages m"
                " ON m.id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
                " WHERE s.id = ?1 AND s.pid = 0 AND m.direction = 's2c' AND finding IS NOT NULL)",
    [Q_SENT] = "SELECT @sent FROM sessions s WHERE s.id = ?1",
    [Q_MESSAGES] = MESSAGES QUERY_WHERE " ORDER BY m.id LIMIT ?3",
    [Q_MATCHING] = "SELECT m.id & 68719476735 FROM messages m"
                   " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"
                   " WHERE m.id BETWEEN ?1 AND ?2" QUERY_WHERE " ORDER BY m.id DESC LIMIT ?3",
    /* Like Q_MATCHING, but finds only messages that end calls, through the table `calls`. */
    [Q_MATCHING_ENDS] = "SELECT DISTINCT m.id & 68719476735 FROM main.calls c"
                        " CROSS JOIN messages m ON m.id = (c.id >> 36 << 36) + c.closing_seq"
                        " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"
                        " WHERE c.id BETWEEN ?4 << 36 AND (?4 << 36) + 68719476735"
                        " AND m.id BETWEEN ?1 AND ?2" QUERY_WHERE " ORDER BY 1 DESC LIMIT ?3",
    /* selects 1 if the session was recorded in this vault without a gap, and `calls` has all its
     * calls */
    [Q_IS_WHOLE] = "SELECT calls FROM sessions s WHERE id = ?1 AND pid <> 0 AND NOT EXISTS"
                   " (SELECT 1 FROM events e WHERE e.session_id = s.id AND e.kind = 'gap')",
    [Q_ROWS] = MESSAGES " ORDER BY m.id",
    [Q_ROWS_BACK] = MESSAGES " ORDER BY m.id DESC",
    [Q_EVENTS] = "SELECT e.id@event FROM events e WHERE e.session_id = ?1 AND e.id > ?2" QUERY_WHERE
                 " ORDER BY e.id LIMIT ?3",
    [Q_BODIES] = "SELECT id & 68719476735, kind, body, body_offset, body_length FROM messages"
                 " WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [Q_FACTS] = FACTS QUERY_WHERE " ORDER BY m.id",
    [Q_FACTS_BACK] = FACTS QUERY_WHERE " ORDER BY m.id DESC",
    [Q_VERSION] = "PRAGMA data_version",
    [Q_END] = "SELECT ended_at_us FROM sessions WHERE id = ?1",
    [Q_EVENTS_BACK] = "SELECT e.id@event FROM events e WHERE session_id = ?1 AND id <= ?2"
                      " ORDER BY id DESC LIMIT ?3",
    /* A leaf `seal` begins with this text (evidence/leaf.c). */
    [Q_SEAL] =
        "SELECT leaf FROM leaves WHERE leaf >= '{\"type\":\"seal\",\"session\":\"' || ?1 || '\",'"
        " AND leaf < '{\"type\":\"seal\",\"session\":\"' || ?1 || '\"-'"
        " ORDER BY n DESC LIMIT 1",
    [Q_REVISIONS] =
        "SELECT 1 FROM messages m WHERE m.id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
        " AND @revision IS NOT NULL LIMIT 1",
    [Q_LAST_EVENT] = "SELECT id FROM events WHERE session_id = ?1 ORDER BY id DESC LIMIT 1",
};

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");
