#include "vault/upkeep/prune/remove.h"

#include "vault/search/index.h"
#include "vault/store/ledger.h"
#include "vault/store/rebuild.h"
#include "vault/store/running.h"
#include "vault/store/schema.h"
#include "vault/upkeep/prune/database.h"
#include "vault/upkeep/prune/files.h"
#include "vault/upkeep/prune/plan.h"
#include "vault/upkeep/prune/size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHRINK_SHARE 5 /* the database is shrunk if at least 1/5 of it is free */

int prune_open(struct prune **ret, const char *vault, const struct retention *r, int64_t now_us,
               struct buf *error)
{
    struct prune *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    p->rule = *r;
    p->now_us = now_us;
    p->bodies.fd = p->logs.fd = p->escalations.fd = -1;
    int st = vault_dir_open(&p->dir, vault, false, error);
    if (st == 0)
        st = prune_connect(p, error);
    if (st == 0)
        st = prune_make_plan(p, error);
    if (st == 0)
        *ret = p;
    else
        prune_close(p);
    return st;
}

void prune_close(struct prune *p)
{
    if (p == NULL)
        return;
    sqlite3_finalize(p->sent);
    for (size_t i = 0; i < PRUNE_TABLES; i++)
        sqlite3_finalize(p->rows[i]);
    sqlite3_close(p->db);
    vault_dir_close(&p->dir);
    prune_files_close(&p->bodies);
    prune_files_close(&p->logs);
    prune_files_close(&p->escalations);
    free(p->session);
    free(p);
}

const struct prune_report *prune_plan(const struct prune *p)
{
    return &p->plan;
}

const struct prune_report *prune_done(const struct prune *p)
{
    return &p->done;
}

size_t prune_sessions(const struct prune *p, const int64_t **ret_ids)
{
    *ret_ids = p->session;
    return p->n;
}

int prune_measure(struct prune *p, struct buf *error)
{
    int64_t rows = 0, sum = 0;
    int st = 0;
    for (size_t i = 0; p->rule.max_bytes == 0 && i < p->n && st == 0; i++) {
        st = prune_size_session(p, p->session[i], &rows);
        sum += rows;
    }
    p->plan.bytes_after -= st == 0 ? sum : 0;
    return st == MI_ESTORE ? prune_fail(p, error) : st;
}

bool prune_is_quiet(struct prune *p)
{
    int64_t version = p->version;
    bool quiet = prune_number(p, "PRAGMA data_version", 0, &version) == 0 && version == p->version;
    p->version = version;
    return quiet;
}

/* ---- steps ---- */

static int roll_back(struct prune *p, struct buf *error)
{
    int st = prune_fail(p, error);
    if (!sqlite3_get_autocommit(p->db))
        (void)sqlite3_exec(p->db, "ROLLBACK", NULL, NULL, NULL); /* the first error is reported */
    return st;
}

/* States in the vault's log that the removal of a session begins (docs/evidence.md). */
static int state_removal(struct prune *p, int64_t id)
{
    bool has;
    char uid[UID_LEN + 1] = "";
    struct leaf leaf = {.type = LEAF_PRUNE, .at_us = p->now_us};
    int64_t n;
    if (schema_has_table(p->db, "leaves", &has) < 0 || prune_uid(p, id, uid) < 0)
        return MI_ESTORE;
    if (!has || uid[0] == '\0')
        return 0;
    leaf.uid = slice_of(uid);
    return ledger_add(p->db, &leaf, &n);
}

/* Rows about a session in tables that an older vault does not have. */
static int remove_more(struct prune *p, int64_t id)
{
    static const char *const tables[][2] = {
        {"replaced", "DELETE FROM replaced WHERE session_id = ?1"},
        {"shipped", "DELETE FROM shipped WHERE session_id = ?1"},
        {"calls", "DELETE FROM calls WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"},
    };
    for (size_t i = 0; i < MI_COUNT(tables); i++) {
        bool has;
        if (schema_has_table(p->db, tables[i][0], &has) < 0 ||
            (has && prune_change(p, tables[i][1], id, 0, NULL) < 0))
            return MI_ESTORE;
    }
    return 0;
}

/* It was redacted, or sent again, after the plan was made. */
static int keep(struct prune *p, int64_t id, struct buf *error)
{
    (void)sqlite3_exec(p->db, "ROLLBACK", NULL, NULL, NULL);
    buf_printf(error, "session %lld was changed meanwhile, and must be sent first; run it again",
               (long long)id);
    return MI_EBUSY;
}

/* The calls of the next messages that are removed: those of a long session are not removed in one step. */
static int remove_calls(struct prune *p, int64_t id)
{
    static const char sql[] =
        "DELETE FROM calls WHERE id IN (SELECT id FROM messages WHERE id BETWEEN ?1 << 36"
        " AND (?1 << 36) + 68719476735 ORDER BY id LIMIT ?2)";
    bool has;
    if (schema_has_table(p->db, "calls", &has) < 0)
        return MI_ESTORE;
    return has ? prune_change(p, sql, id, PRUNE_ROWS, NULL) : 0;
}

/* Removes the messages first: the session's row is kept until all of them are removed. */
static int remove_rows(struct prune *p, int64_t id, bool *ret_removed, struct buf *error)
{
    int64_t n = 0;
    bool sent;
    *ret_removed = false;
    if (sqlite3_exec(p->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK ||
        prune_is_sent(p, id, &sent) < 0)
        return roll_back(p, error);
    if (!sent)
        return keep(p, id, error);
    if ((!p->stated && state_removal(p, id) < 0) || remove_calls(p, id) < 0 ||
        prune_change(
            p,
            "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE id BETWEEN ?1 << 36"
            " AND (?1 << 36) + 68719476735 ORDER BY id LIMIT ?2)",
            id, PRUNE_ROWS, &n) < 0)
        return roll_back(p, error);
    *ret_removed = n < PRUNE_ROWS;
    if (*ret_removed &&
        (prune_change(p, "DELETE FROM events WHERE session_id = ?1", id, 0, NULL) < 0 ||
         remove_more(p, id) < 0 ||
         prune_change(p, "DELETE FROM sessions WHERE id = ?1", id, 0, NULL) < 0))
        return roll_back(p, error);
    if (sqlite3_exec(p->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return roll_back(p, error);
    p->stated = true;
    p->done.messages += n;
    return 0;
}

/* The search index is removed before and after the rows: a search may recreate it in between. */
static int forget(struct prune *p, int64_t id, struct buf *error)
{
    if (search_forget(p->dir.path, id) == 0)
        return 0;
    buf_printf(error,
               "cannot remove the index of session %lld below %s/" VAULT_SEARCH
               ": %s; remove that folder",
               (long long)id, p->dir.path, strerror(errno));
    return MI_EIO;
}

static int session_step(struct prune *p, struct buf *error)
{
    bool removed = false;
    int64_t id = p->session[p->at];
    int st = p->forgotten ? 0 : forget(p, id, error);
    if (st < 0)
        return st;
    p->forgotten = true;
    st = remove_rows(p, id, &removed, error);
    if (st < 0 || !removed)
        return st;
    p->forgotten = p->stated = false;
    p->at++;
    p->done.sessions++;
    return forget(p, id, error);
}

/* The rows of an escalation file that is to be removed. A problem that occurs again gets a new file. */
static int remove_escalation_rows(struct prune *p, const char *file, struct buf *error)
{
    sqlite3_stmt *q = NULL;
    bool recorded;
    if (schema_has_table(p->db, "escalations", &recorded) < 0)
        return prune_fail(p, error);
    if (!recorded)
        return 0;
    int rc = sqlite3_prepare_v2(p->db, "DELETE FROM escalations WHERE file = ?1", -1, &q, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(q, 1, file, -1, SQLITE_STATIC);
        rc = sqlite3_step(q);
    }
    int st = rc == SQLITE_DONE ? 0 : prune_fail(p, error);
    sqlite3_finalize(q);
    return st;
}

static int file_step(struct prune_files *f, int64_t *count, struct prune_report *done,
                     struct buf *error)
{
    struct stat s;
    const char *name = f->file[f->at++].name;
    if (fstatat(f->fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return 0; /* removed by another process */
    if (unlinkat(f->fd, name, 0) != 0) {
        buf_printf(error, "cannot remove %s: %s", name, strerror(errno));
        return MI_EIO;
    }
    done->file_bytes += s.st_size;
    ++*count;
    return 0;
}

/* VACUUM locks the database: only if no proxy runs. */
static int last_step(struct prune *p, struct buf *error)
{
    int64_t pages = 0, unused = 0, size = 0;
    if (prune_number(p, "PRAGMA page_count", 0, &pages) < 0 ||
        prune_number(p, "PRAGMA freelist_count", 0, &unused) < 0 ||
        prune_number(p, "PRAGMA page_size", 0, &size) < 0)
        return prune_fail(p, error);
    p->done.free_bytes = unused * size;
    bool shrinks = unused > 0 && unused >= pages / SHRINK_SHARE && !running_any(p->dir.path);
    p->done.shrunk =
        shrinks && rebuild_database(p->db) == 0 &&
        sqlite3_exec(p->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) == SQLITE_OK;
    if (shrinks && !p->done.shrunk && prune_fail(p, error) != MI_EFULL)
        return MI_ESTORE; /* locked: left to the next run */
    return prune_size_vault(p, &p->done.bytes_after) < 0 ? prune_fail(p, error) : 0;
}

int prune_step(struct prune *p, bool *ret_done, struct buf *error)
{
    *ret_done = false;
    if (p->at < p->n)
        return session_step(p, error);
    if (p->bodies.at < p->bodies.planned)
        return file_step(&p->bodies, &p->done.bodies, &p->done, error);
    if (p->logs.at < p->logs.planned)
        return file_step(&p->logs, &p->done.logs, &p->done, error);
    if (p->escalations.at < p->escalations.planned) {
        int st = remove_escalation_rows(p, p->escalations.file[p->escalations.at].name, error);
        if (st < 0)
            return st;
        return file_step(&p->escalations, &p->done.escalations, &p->done, error);
    }
    *ret_done = true;
    return last_step(p, error);
}
