#include "vault/upkeep/scrub/database.h"

#include "vault/store/connect.h"
#include "vault/store/dir.h"
#include "vault/store/schema.h"
#include "vault/upkeep/scrub/error.h"

#include <errno.h>

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
    [S_ESCALATION] = "UPDATE escalations SET server = ?2, tool = ?3, method = ?4 WHERE id = ?1",
};

int scrub_connect(struct scrub *s)
{
    char path[PATH_MAX];
    if (!connect_path(s->dir.path, path)) {
        errno = ENOENT;
        return scrub_fail(s, "open", VAULT_DB);
    }
    int rc = connect_open(&s->db, path, NULL, SQLITE_OPEN_READWRITE, SCRUB_WAIT_MS);
    if (s->db == NULL)
        return MI_ENOMEM;
    if (rc != SQLITE_OK || schema_ready(s->db) < 0 ||
        sqlite3_exec(s->db,
                     "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;"
                     " PRAGMA temp_store = MEMORY",
                     NULL, NULL, NULL) != SQLITE_OK)
        return scrub_fail_sql(s);
    for (int i = 0; i < S_COUNT; i++)
        if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->s[i], NULL) !=
            SQLITE_OK)
            return scrub_fail_sql(s);
    return 0;
}

void scrub_disconnect(struct scrub *s)
{
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(s->s[i]);
    sqlite3_close(s->db);
}

/* ---- changing rows ---- */

static int begin(struct scrub *s)
{
    if (s->waiting > 0)
        return 0;
    return sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : scrub_fail_sql(s);
}

/* The changed records get new commitments. */
static int restate(struct scrub *s)
{
    struct restate r = {.db = s->db,
                        .salts = &s->salts,
                        .session_id = s->session_id,
                        .bodies_fd = s->bodies_fd};
    int st = restate_records(&r, s->changed, s->changed_n);
    s->changed_n = 0;
    if (st == MI_EIO)
        return scrub_fail(s, "state the changes in", VAULT_DB);
    return st == MI_ESTORE ? scrub_fail_sql(s) : st;
}

int scrub_commit(struct scrub *s)
{
    if (s->waiting == 0)
        return 0;
    int st = s->changed_n > 0 ? restate(s) : 0;
    s->waiting = 0;
    if (st < 0) {
        scrub_roll_back(s);
        return st;
    }
    if (sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    st = scrub_fail_sql(s);
    scrub_roll_back(s);
    return st;
}

int scrub_change_record(struct scrub *s, enum scrub_query i, enum restate_kind kind, int64_t id)
{
    s->changed[s->changed_n++] = (struct restated){kind, id};
    return scrub_change(s, i);
}

int scrub_change(struct scrub *s, enum scrub_query i)
{
    int st = begin(s);
    if (st == 0 && sqlite3_step(s->s[i]) != SQLITE_DONE)
        st = scrub_fail_sql(s);
    sqlite3_reset(s->s[i]);
    sqlite3_clear_bindings(s->s[i]);
    if (st < 0)
        return st;
    return ++s->waiting >= SCRUB_BATCH ? scrub_commit(s) : 0;
}

void scrub_roll_back(struct scrub *s)
{
    if (s->db != NULL && !sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->waiting = s->changed_n = 0;
}

int scrub_empty_log(struct scrub *s)
{
    sqlite3_stmt *q = NULL;
    bool busy = true;
    if (sqlite3_prepare_v2(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        busy = sqlite3_column_int(q, 0) != 0;
    int st = sqlite3_finalize(q) == SQLITE_OK ? 0 : scrub_fail_sql(s);
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
