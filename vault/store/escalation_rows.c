#include "vault/store/escalation_rows.h"

#include "vault/store/db.h"
#include "vault/store/writer_state.h"

#include <stdio.h>

/* Parameters: ?1 cause, ?2 server, ?3 tool, ?4 method; ?5 and ?6 earliest and latest first_at_us;
 * ?7 minimum number of rows with this cause and server for the second search. */
static const char find_sql[] =
    "SELECT coalesce("
    "(SELECT max(id) FROM escalations WHERE cause = ?1 AND server = ?2 AND tool IS ?3"
    " AND (?3 IS NOT NULL OR method IS ?4) AND first_at_us BETWEEN ?5 AND ?6),"
    "(SELECT CASE WHEN count(*) >= ?7 THEN max(id) END FROM escalations"
    " WHERE cause = ?1 AND server = ?2 AND first_at_us BETWEEN ?5 AND ?6))";

static const char count_sql[] =
    "UPDATE escalations SET count = count + ?2, last_at_us = max(last_at_us, ?3) WHERE id = ?1"
    " RETURNING file, first_at_us, last_at_us, count";

#define PARAMETER(...) ",?"
static const char add_sql[] = "INSERT INTO escalations (id" PROBLEM_FIELDS(
    FIELD_NAME) ") VALUES (NULL" PROBLEM_FIELDS(PARAMETER) ")";

static int escalation_rows_prepare(struct writer *w, const char *sql, sqlite3_stmt **ret)
{
    *ret = NULL;
    return sqlite3_prepare_v2(w->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : writer_fail_sql(w);
}

/* Ends a statement. Finalizes it, because statements of this file run too rarely to stay prepared.
 * rc: the result of its last step. */
static int escalation_rows_finish(struct writer *w, sqlite3_stmt *q, int rc)
{
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : writer_fail_sql(w);
    sqlite3_finalize(q);
    return st;
}

/* Binds the first n fields of a row to the parameters from ?1 on. */
static void bind_escalation_fields(sqlite3_stmt *q, const struct escalation_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cell c = field_get(&fields_of_problem.list[i], row);
        db_bind(q, (int)i + 1, &c, 1);
    }
}

int escalation_row_find_similar(struct writer *w, const struct escalation_row *problem,
                                int64_t from_us, int64_t to_us, int64_t max, int64_t *ret_id)
{
    sqlite3_stmt *q;
    int64_t id = 0;
    if (escalation_rows_prepare(w, find_sql, &q) < 0)
        return MI_ESTORE;
    bind_escalation_fields(q, problem, 4);
    sqlite3_bind_int64(q, 5, from_us);
    sqlite3_bind_int64(q, 6, to_us);
    sqlite3_bind_int64(q, 7, max);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        id = sqlite3_column_int64(q, 0); /* sqlite3_column_int64() returns 0 for a NULL */
    int st = escalation_rows_finish(w, q, rc);
    if (st == 0 && id == 0)
        st = MI_ENOENT;
    if (st == 0)
        *ret_id = id;
    return st;
}

int escalation_row_count_problem(struct writer *w, int64_t id, uint64_t more, int64_t last_at_us,
                                 struct escalation_row *ret, char ret_file[ESCALATION_FILE_MAX])
{
    sqlite3_stmt *q;
    struct escalation_row row = {.count = 0};
    char file[ESCALATION_FILE_MAX];
    if (escalation_rows_prepare(w, count_sql, &q) < 0)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, id);
    sqlite3_bind_int64(q, 2, (int64_t)more);
    sqlite3_bind_int64(q, 3, last_at_us);
    int rc = sqlite3_step(q);
    bool found = rc == SQLITE_ROW;
    if (found) {
        snprintf(file, sizeof file, "%s", (const char *)sqlite3_column_text(q, 0));
        row.first_at_us = sqlite3_column_int64(q, 1);
        row.last_at_us = sqlite3_column_int64(q, 2);
        row.count = sqlite3_column_int64(q, 3);
        rc = sqlite3_step(q); /* the change is committed when the statement returns SQLITE_DONE */
    }
    int st = escalation_rows_finish(w, q, rc);
    if (st < 0 || !found)
        return st < 0 ? st : MI_ENOENT;
    *ret = row;
    memcpy(ret_file, file, sizeof file);
    return 0;
}

int escalation_row_add(struct writer *w, const struct escalation_row *row, int64_t *ret_id)
{
    sqlite3_stmt *q;
    if (escalation_rows_prepare(w, add_sql, &q) < 0)
        return MI_ESTORE;
    bind_escalation_fields(q, row, fields_of_problem.n);
    int st = escalation_rows_finish(w, q, sqlite3_step(q));
    if (st == 0)
        *ret_id = sqlite3_last_insert_rowid(w->db);
    return st;
}
