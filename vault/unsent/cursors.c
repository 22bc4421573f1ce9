#include "vault/unsent/cursors.h"

#include "vault/unsent/state.h"

int cursors_save(struct unsent *u, struct slice url, const struct cursor *c, size_t n,
                 int64_t now_us)
{
    int st = db_begin(&u->d);
    if (st < 0)
        return st;
    for (size_t i = 0; i < n && st == 0; i++)
        st = db_run_statement(&u->d, CURSORS_SAVE,
                              DB_WITH(db_text(url), db_int(c[i].session_id), db_int(c[i].seq),
                                      db_int(c[i].event), db_int(c[i].complete), db_int(now_us)));
    return db_end(&u->d, st);
}

int cursors_remove_target(struct unsent *u, struct slice url)
{
    int st = db_begin(&u->d);
    if (st < 0)
        return st;
    st = db_run_statement(&u->d, CURSORS_FORGET, DB_WITH(db_text(url)));
    if (st == 0)
        st = db_run_statement(&u->d, CURSORS_FORGET_TARGET, DB_WITH(db_text(url)));
    return db_end(&u->d, st);
}

int cursors_save_target(struct unsent *u, const struct target_state *t)
{
    return db_run_statement(&u->d, CURSORS_TARGET,
                            DB_WITH(db_text(t->url), db_int(t->tried_at_us), db_int(t->sent_at_us),
                                    db_int(t->leaves), db_text(t->error)));
}

int cursors_find_next_unsent_session(struct unsent *u, struct slice url, int64_t after,
                                     struct cursor *ret)
{
    sqlite3_stmt *q;
    int st = db_begin_query(&u->d, CURSORS_NEXT, &q, DB_WITH(db_text(url), db_int(after)));
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *ret = (struct cursor){.session_id = sqlite3_column_int64(q, 0),
                               .seq = sqlite3_column_int64(q, 1),
                               .event = sqlite3_column_int64(q, 2)};
    st = db_finish_statement(&u->d, q, rc);
    return st == 0 && rc == SQLITE_DONE ? MI_ENOENT : st;
}

/* ---- rows that a target does not have ---- */

enum lag_query { LAG_TARGETS, LAG_OF_TARGET, LAG_QUERIES };

static const char *const lag_sql[LAG_QUERIES] = {
    [LAG_TARGETS] = "SELECT target, tried_at_us, ifnull(sent_at_us, 0), leaves, error"
                    " FROM ship_targets ORDER BY target",
    [LAG_OF_TARGET] =
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
        " FROM late_rows",
};

static const struct db_kind lag_reader = {
    .wait_ms = UNSENT_WAIT_MS, .sql = lag_sql, .n = LAG_QUERIES, .can_not = "read"};

static int read_target_lag(struct db *d, struct slice url, struct target_lag *ret)
{
    sqlite3_stmt *q;
    int st = db_begin_query(d, LAG_OF_TARGET, &q, DB_WITH(db_text(url)));
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    *ret = (struct target_lag){0};
    if (rc == SQLITE_ROW)
        *ret = (struct target_lag){.sessions = sqlite3_column_int64(q, 0),
                                   .messages = sqlite3_column_int64(q, 1),
                                   .bytes = sqlite3_column_int64(q, 2),
                                   .oldest_at_us = sqlite3_column_int64(q, 3),
                                   .events = sqlite3_column_int64(q, 4)};
    return db_finish_statement(d, q, rc);
}

static int read_targets(struct db *d, target_fn fn, void *ctx)
{
    sqlite3_stmt *q;
    struct target_lag lag;
    bool has;
    int st = db_has_table(d, "ship_targets", &has);
    if (st == 0 && has)
        st = db_begin_query(d, LAG_TARGETS, &q, NULL, 0);
    if (st < 0 || !has)
        return st;
    int rc = SQLITE_DONE;
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct target_state t = {.url = connect_column(q, 0),
                                 .tried_at_us = sqlite3_column_int64(q, 1),
                                 .sent_at_us = sqlite3_column_int64(q, 2),
                                 .leaves = sqlite3_column_int64(q, 3)};
        if (sqlite3_column_type(q, 4) != SQLITE_NULL)
            t.error = connect_column(q, 4);
        st = read_target_lag(d, t.url, &lag);
        if (st == 0)
            st = fn(ctx, &t, &lag);
    }
    int ended = db_finish_statement(d, q, rc);
    return st == 0 ? ended : st;
}

int cursors_read(const char *vault, target_fn fn, void *ctx, struct buf *error)
{
    char path[PATH_MAX];
    struct db d;
    if (!connect_find_database_path(vault, path))
        return 0;
    int st = db_open(&d, &lag_reader, path, error);
    if (st == 0)
        st = read_targets(&d, fn, ctx);
    db_close(&d);
    return st;
}
