#include "vault/upkeep/scrub/database.h"

#include "vault/store/dir.h"
#include "vault/store/schema.h"

#include <errno.h>

int scrub_fail(struct scrub *s, const char *what, const char *name)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot %s %s/%s: %s", what, query_vault(s->q), name, strerror(errno));
    return MI_EIO;
}

static const char *const sql[S_COUNT] = {
    [S_SESSION] =
        "UPDATE sessions SET name = ?2, command = ?3, client_name = ?4,"
        " client_version = ?5, server_name = ?6, server_version = ?7, cwd = ?8 WHERE id = ?1",
    [S_RULES] = "UPDATE sessions SET redact_rules = ?2 WHERE id = ?1",
    [S_CALL] = "UPDATE calls SET method = ?2, target = ?3 WHERE id = ?1",
    [S_MESSAGE] = "UPDATE messages SET method = ?2, target = ?3,"
                  " redactions = redactions + ?4 WHERE id = ?1",
    [S_BODY] = "UPDATE messages SET body = ?2, redactions = redactions + ?3 WHERE id = ?1",
    [S_LARGE] = "UPDATE messages SET body_offset = ?2, body_length = ?3,"
                " redactions = redactions + ?4 WHERE id = ?1",
    [S_EVENT] = "UPDATE events SET detail = ?2 WHERE id = ?1",
    [S_EMPTY_LOG] = "PRAGMA wal_checkpoint(TRUNCATE)",
    [S_ESCALATIONS] = "SELECT id, server, tool, method FROM escalations ORDER BY id",
    [S_ESCALATION] = "UPDATE escalations SET server = ?2, tool = ?3, method = ?4 WHERE id = ?1",
};

static const struct db_kind redacting = {
    .writes = true,
    .wait_ms = SCRUB_WAIT_MS,
    .settings = "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY",
    .sql = sql,
    .n = S_COUNT,
    .can_not = "change",
};

int scrub_connect(struct scrub *s)
{
    char path[PATH_MAX];
    if (!connect_find_database_path(s->dir.path, path)) {
        errno = ENOENT;
        return scrub_fail(s, "open", VAULT_DB);
    }
    int st = db_open(&s->d, &redacting, path, &s->error);
    return st == 0 && schema_make_ready(s->d.db) < 0 ? db_fail(&s->d) : st;
}

void scrub_disconnect(struct scrub *s)
{
    if (s->d.kind != NULL)
        db_close(&s->d);
}

/* ---- changing rows ---- */

int scrub_commit(struct scrub *s)
{
    if (s->d.depth == 0)
        return 0;
    int st = 0;
    if (s->changed_n > 0) { /* the changed records get new commitments */
        struct restate r = {.db = s->d.db,
                            .salts = &s->salts,
                            .session_id = s->session_id,
                            .bodies_fd = s->bodies_fd};
        st = restate_records(&r, s->changed, s->changed_n);
        if (st == MI_EIO)
            st = scrub_fail(s, "state the changes in", VAULT_DB);
        else if (st == MI_ESTORE)
            st = db_fail(&s->d);
    }
    st = db_end(&s->d, st);
    s->waiting = s->changed_n = 0;
    return st;
}

int scrub_change_record(struct scrub *s, enum scrub_query i, enum restate_kind kind, int64_t id,
                        const struct cell *value, size_t n)
{
    s->changed[s->changed_n++] = (struct restated){kind, id};
    return scrub_run_change_statement(s, i, value, n);
}

int scrub_run_change_statement(struct scrub *s, enum scrub_query i, const struct cell *value,
                               size_t n)
{
    int st = s->d.depth == 0 ? db_begin(&s->d) : 0;
    if (st == 0)
        st = db_run_statement(&s->d, i, value, n);
    if (st < 0)
        return st;
    return ++s->waiting >= SCRUB_BATCH ? scrub_commit(s) : 0;
}

void scrub_roll_back(struct scrub *s)
{
    if (s->d.depth > 0)
        /* an error of this call is ignored, because the first error is reported */
        (void)!db_end(&s->d, MI_EIO);
    s->waiting = s->changed_n = 0;
}

int scrub_truncate_log(struct scrub *s)
{
    sqlite3_stmt *q;
    int st = db_begin_query(&s->d, S_EMPTY_LOG, &q, NULL, 0);
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    bool busy = rc != SQLITE_ROW || sqlite3_column_int(q, 0) != 0;
    st = db_finish_statement(&s->d, q, rc);
    if (st == 0 && busy) {
        buf_clear(&s->error);
        buf_printf(&s->error,
                   "the write-ahead log of %s/" VAULT_DB " still contains the old text because "
                   "another program is reading the database; close that program and run this again",
                   query_vault(s->q));
        st = MI_ESTORE;
    }
    return st;
}
