#include "vault/unsent/cursors.h"

#include "vault/store/failure.h"
#include "vault/store/read_only.h"
#include "vault/store/schema.h"
#include "vault/unsent/state.h"

static int run(struct unsent *u, const char *sql)
{
    return sqlite3_exec(u->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : unsent_fail(u);
}

static int save_one(struct unsent *u, struct slice url, const struct cursor *c, int64_t now_us)
{
    sqlite3_stmt *q = unsent_prepare(
        u, &u->save,
        "INSERT INTO shipped (target, session_id, seq, event, complete, at_us) VALUES "
        "(?1,?2,?3,?4,?5,?6)"
        " ON CONFLICT DO UPDATE SET seq = excluded.seq, event = excluded.event, complete = "
        "excluded.complete,"
        " at_us = excluded.at_us"
        " WHERE (seq, event, complete) <> (excluded.seq, excluded.event, excluded.complete)");
    if (q == NULL)
        return unsent_fail(u);
    const int64_t value[] = {c->session_id, c->seq, c->event, c->complete, now_us};
    connect_bind(q, 1, url);
    for (size_t i = 0; i < MI_COUNT(value); i++)
        sqlite3_bind_int64(q, (int)i + 2, value[i]);
    int st = sqlite3_step(q) == SQLITE_DONE ? 0 : unsent_fail(u);
    sqlite3_reset(q);
    return st;
}

/* The end of a transaction. st: its result so far; the first error is reported. */
static int finish(struct unsent *u, int st)
{
    if (st == 0)
        st = run(u, "COMMIT");
    if (!sqlite3_get_autocommit(u->db))
        (void)sqlite3_exec(u->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

int cursors_save(struct unsent *u, struct slice url, const struct cursor *c, size_t n,
                 int64_t now_us)
{
    int st = run(u, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < n && st == 0; i++)
        st = save_one(u, url, &c[i], now_us);
    return finish(u, st);
}

static int remove_rows(struct unsent *u, const char *sql, struct slice url)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(u->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        connect_bind(q, 1, url);
        rc = sqlite3_step(q);
    }
    int st = rc == SQLITE_DONE ? 0 : unsent_fail(u);
    sqlite3_finalize(q);
    return st;
}

int cursors_forget(struct unsent *u, struct slice url)
{
    int st = run(u, "BEGIN IMMEDIATE");
    if (st == 0)
        st = remove_rows(u, "DELETE FROM shipped WHERE target = ?1", url);
    if (st == 0)
        st = remove_rows(u, "DELETE FROM ship_targets WHERE target = ?1", url);
    return finish(u, st);
}

int cursors_save_target(struct unsent *u, const struct target_state *t)
{
    sqlite3_stmt *q = unsent_prepare(
        u, &u->save_target,
        "INSERT INTO ship_targets (target, tried_at_us, sent_at_us, leaves, error)"
        " VALUES (?1,?2,nullif(?3,0),?4,?5)"
        " ON CONFLICT (target) DO UPDATE SET"
        " tried_at_us = excluded.tried_at_us,"
        " sent_at_us = ifnull(excluded.sent_at_us, sent_at_us),"
        " leaves = iif(excluded.error IS NULL, excluded.leaves, max(leaves, excluded.leaves)),"
        " error = excluded.error");
    if (q == NULL)
        return unsent_fail(u);
    connect_bind(q, 1, t->url);
    sqlite3_bind_int64(q, 2, t->tried_at_us);
    sqlite3_bind_int64(q, 3, t->sent_at_us);
    sqlite3_bind_int64(q, 4, t->leaves);
    connect_bind(q, 5, t->error);
    int st = sqlite3_step(q) == SQLITE_DONE ? 0 : unsent_fail(u);
    sqlite3_reset(q);
    return st;
}

int cursors_next(struct unsent *u, struct slice url, int64_t after, struct cursor *ret)
{
    sqlite3_stmt *q =
        unsent_prepare(u, &u->next,
                       "SELECT s.id, ifnull(c.seq, 0), ifnull(c.event, 0) FROM sessions s"
                       " LEFT JOIN shipped c ON c.target = ?1 AND c.session_id = s.id"
                       " WHERE s.id > ?2 AND ifnull(c.complete, 0) = 0 ORDER BY s.id LIMIT 1");
    if (q == NULL)
        return unsent_fail(u);
    connect_bind(q, 1, url);
    sqlite3_bind_int64(q, 2, after);
    int rc = sqlite3_step(q), st = rc == SQLITE_ROW ? 0 : MI_ENOENT;
    if (rc == SQLITE_ROW)
        *ret = (struct cursor){.session_id = sqlite3_column_int64(q, 0),
                               .seq = sqlite3_column_int64(q, 1),
                               .event = sqlite3_column_int64(q, 2)};
    else if (rc != SQLITE_DONE)
        st = unsent_fail(u);
    sqlite3_reset(q);
    return st;
}

/* ---- what is missing ---- */

static int read_lag(sqlite3 *db, struct slice url, struct target_lag *ret)
{
    static const char sql[] =
        "WITH late AS (SELECT s.id, s.started_at_us, s.ended_at_us, ifnull(c.seq, 0) AS seq,"
        " ifnull(c.event, 0) AS event"
        " FROM sessions s LEFT JOIN shipped c ON c.target = ?1 AND c.session_id = s.id"
        " WHERE ifnull(c.complete, 0) = 0),"
        " late_rows AS (SELECT late.started_at_us + m.t_us AS at_us,"
        " 200 + ifnull(m.body_length, ifnull(length(CAST(m.body AS BLOB)), 0)) AS bytes"
        " FROM late JOIN messages m ON m.id BETWEEN (late.id << 36) + late.seq + 1"
        " AND (late.id << 36) + 68719476735)"
        " SELECT (SELECT count(*) FROM late WHERE ended_at_us IS NOT NULL OR EXISTS (SELECT 1"
        " FROM messages m WHERE m.id BETWEEN (late.id << 36) + late.seq + 1"
        " AND (late.id << 36) + 68719476735) OR EXISTS (SELECT 1"
        " FROM events e WHERE e.session_id = late.id AND e.id > late.event)),"
        " count(*), ifnull(sum(bytes), 0), ifnull(min(at_us), 0),"
        " (SELECT count(*) FROM late JOIN events e ON e.session_id = late.id AND e.id > late.event)"
        " FROM late_rows";
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        connect_bind(q, 1, url);
        rc = sqlite3_step(q);
    }
    if (rc == SQLITE_ROW)
        *ret = (struct target_lag){.sessions = sqlite3_column_int64(q, 0),
                                   .messages = sqlite3_column_int64(q, 1),
                                   .bytes = sqlite3_column_int64(q, 2),
                                   .oldest_at_us = sqlite3_column_int64(q, 3),
                                   .events = sqlite3_column_int64(q, 4)};
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? 0 : failure_keep(db);
}

static int read_targets(sqlite3 *db, target_fn fn, void *ctx)
{
    static const char sql[] = "SELECT target, tried_at_us, ifnull(sent_at_us, 0), leaves, error"
                              " FROM ship_targets ORDER BY target";
    sqlite3_stmt *q = NULL;
    struct target_lag lag;
    bool has;
    int st = schema_has_table(db, "ship_targets", &has);
    if (st < 0 || !has)
        return st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    while (st == 0 && rc != SQLITE_DONE) {
        rc = rc == SQLITE_OK || rc == SQLITE_ROW ? sqlite3_step(q) : rc;
        if (rc == SQLITE_DONE)
            break;
        if (rc != SQLITE_ROW) {
            st = failure_keep(db);
            break;
        }
        struct target_state t = {.url = connect_column(q, 0),
                                 .tried_at_us = sqlite3_column_int64(q, 1),
                                 .sent_at_us = sqlite3_column_int64(q, 2),
                                 .leaves = sqlite3_column_int64(q, 3)};
        if (sqlite3_column_type(q, 4) != SQLITE_NULL)
            t.error = connect_column(q, 4);
        st = read_lag(db, t.url, &lag);
        if (st == 0)
            st = fn(ctx, &t, &lag);
    }
    sqlite3_finalize(q);
    return st;
}

int cursors_read(const char *vault, target_fn fn, void *ctx, struct buf *error)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    if (!connect_path(vault, path))
        return 0;
    int rc = read_only_open(&db, path, UNSENT_WAIT_MS, NULL);
    int st = rc == SQLITE_OK ? read_targets(db, fn, ctx) : MI_ESTORE;
    if (st == MI_ESTORE)
        buf_printf(error, "cannot read %s: %s", path, failure_text(db));
    sqlite3_close(db);
    return st;
}
