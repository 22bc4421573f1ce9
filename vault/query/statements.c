#include "vault/query/connection.h"

#include "vault/store/connect.h"
#include "vault/store/schema.h"

/* Schema version 1 has no redact_rules, and version 2 no evidence: there the names resolve to the NULLs at the end. */
#define SESSION_COLUMNS                                                                            \
    "SELECT s.id, s.started_at_us, s.ended_at_us, s.exit_status, s.pid,"                           \
    " (SELECT (salt IS NOT NULL) + (salt IS NOT NULL AND end_commitment IS NOT NULL)"              \
    " FROM sessions r WHERE r.id = s.id),"                                                         \
    " s.uid, s.name, s.command,"                                                                   \
    " s.client_name, s.client_version, s.server_name, s.server_version, s.protocol_version,"       \
    " s.end_reason, s.host, s.record_level, s.interposer_version,"                                 \
    " (SELECT redact_rules FROM sessions r WHERE r.id = s.id),"                                    \
    " (SELECT b.uid FROM sessions b WHERE b.uid < s.uid ORDER BY b.uid DESC LIMIT 1),"             \
    " (SELECT a.uid FROM sessions a WHERE a.uid > s.uid ORDER BY a.uid LIMIT 1),"                  \
    " (SELECT number FROM sessions r WHERE r.id = s.id) FROM sessions s CROSS JOIN"                \
    " (SELECT NULL AS redact_rules, NULL AS salt, NULL AS end_commitment, NULL AS number)"

/* The client's requests and what may close them. `finding` is stored after the body: it is read only where the status
 * depends on it. */
#define CALL_COLUMNS                                                                               \
    "SELECT id & 68719476735, kind, action, origin, request_seq,"                                  \
    " CASE WHEN kind = 'result' OR origin = 'interposer' THEN finding END"
#define CALL_ROWS                                                                                  \
    " FROM messages WHERE id BETWEEN ?1 AND ?2"                                                    \
    " AND (direction = 's2c' AND kind IN ('result', 'error')"                                      \
    " OR direction = 'c2s' AND origin = 'peer' AND kind IN ('request', 'notification'))"           \
    " ORDER BY id"

#define FACTS                                                                                      \
    "SELECT m.id & 68719476735, m.t_us, m.kind, m.origin, m.action, m.method, m.target,"           \
    " m.finding, r.method, r.target, r.action FROM messages m"                                     \
    " LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"                         \
    " WHERE m.id BETWEEN ?1 AND ?2"

#define MESSAGES                                                                                   \
    "SELECT m.id & 68719476735, m.t_us, m.body_offset, m.body_length, m.size, m.redactions,"       \
    " m.request_seq, m.batch_seq, m.error_code, r.t_us, m.direction, m.origin, m.kind, m.action,"  \
    " r.action, m.rpc_id, m.method, m.target, m.body, m.finding, r.method, r.target"               \
    " FROM messages m LEFT JOIN messages r ON r.id = (m.session_id << 36) + m.request_seq"         \
    " WHERE m.id BETWEEN ?1 AND ?2"

/* The messages of a session are one range of the primary key: ?1 to ?2. seq is taken from the key, not from the
 * column: reading continues after the last key even if the column is damaged. */
const char *const query_sql[Q_COUNT] = {
    [Q_SESSIONS] = SESSION_COLUMNS " WHERE s.id BETWEEN ?1 AND ?2 ORDER BY s.id DESC LIMIT ?3",
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
    [Q_SUMMARY] = CALL_COLUMNS CALL_ROWS,
    [Q_CALLS] = CALL_COLUMNS ", t_us, size, method, target" CALL_ROWS,
    [Q_MESSAGES] = MESSAGES " ORDER BY m.id LIMIT ?3",
    [Q_ROWS] = MESSAGES " ORDER BY m.id",
    [Q_ROWS_BACK] = MESSAGES " ORDER BY m.id DESC",
    [Q_EVENTS] = "SELECT id, t_us, kind, detail FROM events WHERE session_id = ?1 AND id > ?2"
                 " ORDER BY id LIMIT ?3",
    [Q_BODIES] = "SELECT id & 68719476735, kind, body, body_offset, body_length FROM messages"
                 " WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [Q_FACTS] = FACTS " AND (?3 IS NULL OR m.kind = ?3) ORDER BY m.id",
    [Q_FACTS_BACK] = FACTS " AND (?3 IS NULL OR m.kind IN ('result', 'error')"
                           " OR m.action = 'refused') ORDER BY m.id DESC",
    [Q_VERSION] = "PRAGMA data_version",
    [Q_END] = "SELECT ended_at_us FROM sessions WHERE id = ?1",
    [Q_EVENTS_BACK] = "SELECT id, t_us, kind, detail FROM events WHERE session_id = ?1 AND id <= ?2"
                      " ORDER BY id DESC LIMIT ?3",
    /* leaf.c writes leaves in this form */
    [Q_SEAL] =
        "SELECT leaf FROM leaves WHERE leaf >= '{\"type\":\"seal\",\"session\":\"' || ?1 || '\",'"
        " AND leaf < '{\"type\":\"seal\",\"session\":\"' || ?1 || '\"-'"
        " ORDER BY n DESC LIMIT 1",
    [Q_LAST_EVENT] = "SELECT id FROM events WHERE session_id = ?1 ORDER BY id DESC LIMIT 1",
};

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret)
{
    int status = query_refresh(q);
    if (status < 0)
        return status;
    if (q->q[i] == NULL && sqlite3_prepare_v3(q->db, query_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                              &q->q[i], NULL) != SQLITE_OK)
        return query_fail(q);
    *ret = q->q[i];
    return 0;
}

int query_done(struct query *q, sqlite3_stmt *st, int rc)
{
    int ret = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : query_fail(q);
    sqlite3_reset(st);
    return ret;
}

int query_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
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

/* The first or the last message of a range. *ret_has: there is one. */
static int end_of(struct query *q, enum query_statement i, const struct query_range *in,
                  int64_t *ret_seq, int64_t *ret_t_us, bool *ret_has)
{
    sqlite3_stmt *st = NULL;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(in->session_id, (uint64_t)in->from));
    sqlite3_bind_int64(st, 2, schema_message_id(in->session_id, (uint64_t)in->to));
    int rc = sqlite3_step(st);
    *ret_has = rc == SQLITE_ROW;
    *ret_seq = *ret_has ? sqlite3_column_int64(st, 0) : 0;
    *ret_t_us = *ret_has ? connect_time(st, 1) : 0;
    return query_done(q, st, rc);
}

int query_last_message(struct query *q, int64_t session_id, int64_t *ret_seq, int64_t *ret_t_us)
{
    bool has;
    struct query_range all = {session_id, 0, SCHEMA_SEQ_MAX, false};
    return end_of(q, Q_LAST, &all, ret_seq, ret_t_us, &has);
}

/* Leaves out numbers that no message has: in a forged file, there may be 2^36 of them between two messages. A store is not
 * asked: each question takes time, and it sends no such numbers (vault/remote/pages.c). */
static int skip_gap(struct query *q, struct query_range *rest)
{
    int64_t seq, t_us;
    bool has;
    if (q->remote != NULL)
        return 0;
    int st = end_of(q, rest->backwards ? Q_LAST : Q_FIRST, rest, &seq, &t_us, &has);
    if (st < 0)
        return st;
    if (has && (seq < rest->from || seq > rest->to))
        return query_damaged(q);
    if (!has)
        rest->to = rest->from - 1;
    else if (rest->backwards)
        rest->to = seq;
    else
        rest->from = seq;
    return 0;
}

bool query_in_order(const struct query *q, struct query_range *r, sqlite3_stmt *st)
{
    if (q->remote != NULL)
        return true;
    int64_t n = sqlite3_column_int64(st, 0);
    if (r->from > r->to || n < r->from || n > r->to)
        return false;
    /* at the end of the numbers, the range becomes empty */
    bool last = r->backwards ? n == INT64_MIN : n == INT64_MAX;
    r->from = last ? INT64_MAX : r->backwards ? r->from : n + 1;
    r->to = last ? INT64_MIN : r->backwards ? n - 1 : r->to;
    return true;
}

/* One part, from the beginning of `rest`, which is left out of it then. *ret_n: its rows. */
static int scan_part(struct query *q, enum query_statement i, struct slice third,
                     struct query_range *rest, int64_t *ret_n, query_row_fn fn, void *ctx)
{
    int64_t n = rest->to - rest->from < QUERY_PART ? rest->to - rest->from : QUERY_PART - 1;
    int64_t first = rest->backwards ? rest->to - n : rest->from;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE, result = query_prepare(q, i, &st);
    if (result < 0)
        return result;
    sqlite3_bind_int64(st, 1, schema_message_id(rest->session_id, (uint64_t)first));
    sqlite3_bind_int64(st, 2, schema_message_id(rest->session_id, (uint64_t)(first + n)));
    if (sqlite3_bind_parameter_count(st) > 2)
        connect_bind(st, 3, third);
    struct query_range rows = {rest->session_id, first, first + n, rest->backwards};
    for (*ret_n = 0; result == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW; ++*ret_n)
        result = query_in_order(q, &rows, st) ? fn(ctx, st) : query_damaged(q);
    int status = query_done(q, st, rc);
    if (rest->backwards)
        rest->to = first - 1;
    else
        rest->from = first + n + 1;
    return result == 0 ? status : result;
}

int query_scan(struct query *q, enum query_statement i, struct slice third,
               const struct query_range *in, query_row_fn fn, void *ctx)
{
    int64_t last, t_us, n = 0;
    struct query_range rest = *in;
    int result = query_last_message(q, in->session_id, &last, &t_us);
    rest.to = rest.to < last ? rest.to : last;
    while (result == 0 && rest.from <= rest.to) {
        result = scan_part(q, i, third, &rest, &n, fn, ctx);
        if (result == 0 && n == 0 && rest.from <= rest.to)
            result = skip_gap(q, &rest);
    }
    return result < 0 ? result : 0;
}
