#include "vault/store/escalation_rows.h"

#include "vault/store/writer_state.h"

#include <stdio.h>

/* ?1 cause, ?2 server, ?3 tool, ?4 method, ?5 and ?6 the times, ?7 the limit */
static const char find_sql[] =
    "SELECT coalesce("
    "(SELECT max(id) FROM escalations WHERE cause = ?1 AND server = ?2 AND tool IS ?3"
    " AND (?3 IS NOT NULL OR method IS ?4) AND first_at_us BETWEEN ?5 AND ?6),"
    "(SELECT CASE WHEN count(*) >= ?7 THEN max(id) END FROM escalations"
    " WHERE cause = ?1 AND server = ?2 AND first_at_us BETWEEN ?5 AND ?6))";

static const char count_sql[] =
    "UPDATE escalations SET count = count + ?2, last_at_us = max(last_at_us, ?3) WHERE id = ?1"
    " RETURNING file, first_at_us, last_at_us, count";

static const char add_sql[] =
    "INSERT INTO escalations (cause, server, tool, method, file, first_at_us, last_at_us, count)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

static int prepare(struct writer *w, const char *sql, sqlite3_stmt **ret)
{
    *ret = NULL;
    return sqlite3_prepare_v2(w->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : writer_fail_sql(w);
}

/* rc: of the last step. These statements are rare, so they are not kept prepared. */
static int finish(struct writer *w, sqlite3_stmt *q, int rc)
{
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : writer_fail_sql(w);
    sqlite3_finalize(q);
    return st;
}

static void bind_problem(sqlite3_stmt *q, const struct escalation_problem *p)
{
    connect_bind(q, 1, slice_of(p->cause));
    connect_bind(q, 2, p->server);
    connect_bind(q, 3, p->tool);
    connect_bind(q, 4, p->method);
}

int escalation_row_find(struct writer *w, const struct escalation_problem *p, int64_t from_us,
                        int64_t to_us, int64_t max, int64_t *ret_id)
{
    sqlite3_stmt *q;
    int64_t id = 0;
    if (prepare(w, find_sql, &q) < 0)
        return MI_ESTORE;
    bind_problem(q, p);
    sqlite3_bind_int64(q, 5, from_us);
    sqlite3_bind_int64(q, 6, to_us);
    sqlite3_bind_int64(q, 7, max);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        id = sqlite3_column_int64(q, 0); /* NULL is 0 */
    int st = finish(w, q, rc);
    if (st == 0 && id == 0)
        st = MI_ENOENT;
    if (st == 0)
        *ret_id = id;
    return st;
}

int escalation_row_count(struct writer *w, int64_t id, uint64_t more, int64_t last_at_us,
                         struct escalation_row *ret)
{
    sqlite3_stmt *q;
    struct escalation_row row = {.count = 0};
    if (prepare(w, count_sql, &q) < 0)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, id);
    sqlite3_bind_int64(q, 2, (int64_t)more);
    sqlite3_bind_int64(q, 3, last_at_us);
    int rc = sqlite3_step(q);
    bool found = rc == SQLITE_ROW;
    if (found) {
        snprintf(row.file, sizeof row.file, "%s", (const char *)sqlite3_column_text(q, 0));
        row.first_at_us = sqlite3_column_int64(q, 1);
        row.last_at_us = sqlite3_column_int64(q, 2);
        row.count = (uint64_t)sqlite3_column_int64(q, 3);
        rc = sqlite3_step(q); /* the change is committed when the statement returns SQLITE_DONE */
    }
    int st = finish(w, q, rc);
    if (st == 0 && !found)
        st = MI_ENOENT;
    if (st == 0)
        *ret = row;
    return st;
}

int escalation_row_add(struct writer *w, const struct escalation_problem *p,
                       const struct escalation_row *row, int64_t *ret_id)
{
    sqlite3_stmt *q;
    if (prepare(w, add_sql, &q) < 0)
        return MI_ESTORE;
    bind_problem(q, p);
    connect_bind(q, 5, slice_of(row->file));
    sqlite3_bind_int64(q, 6, row->first_at_us);
    sqlite3_bind_int64(q, 7, row->last_at_us);
    sqlite3_bind_int64(q, 8, (int64_t)row->count);
    int st = finish(w, q, sqlite3_step(q));
    if (st == 0)
        *ret_id = sqlite3_last_insert_rowid(w->db);
    return st;
}
