#include "vault/upkeep/prune/database.h"

#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#include <limits.h>
#include <stdio.h>

int prune_fail(struct prune *p, struct buf *error)
{
    int rc = failure_code(p->db) & 0xFF;
    if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return MI_EFULL;
    buf_clear(error);
    buf_printf(error, "cannot change %s/" VAULT_DB ": %s", p->dir.path, failure_text(p->db));
    return MI_ESTORE;
}

int prune_number(struct prune *p, const char *sql, int64_t arg, int64_t *ret)
{
    return connect_number(p->db, sql, arg, ret) == SQLITE_OK ? 0 : failure_keep(p->db);
}

int prune_change(struct prune *p, const char *sql, int64_t a, int64_t b, int64_t *ret_n)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(p->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, a);
        if (sqlite3_bind_parameter_count(q) > 1)
            sqlite3_bind_int64(q, 2, b);
        rc = sqlite3_step(q);
    }
    sqlite3_finalize(q);
    if (rc == SQLITE_DONE && ret_n != NULL)
        *ret_n = sqlite3_changes(p->db);
    return rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

#define SENT_US ((int64_t)3600 * 1000000)

static int prepare_sent(struct prune *p)
{
    static const char sql[] =
        "SELECT 1 FROM shipped s JOIN ship_targets t ON t.target = s.target"
        " WHERE s.target = ?1 AND session_id = ?2 AND complete AND at_us + ?3 <= t.sent_at_us";
    bool has;
    if (schema_has_table(p->db, "shipped", &has) < 0 ||
        (has && sqlite3_prepare_v2(p->db, sql, -1, &p->sent, NULL) != SQLITE_OK))
        return failure_keep(p->db);
    return 0;
}

int prune_is_sent(struct prune *p, int64_t id, bool *ret)
{
    *ret = p->rule.target == NULL;
    if (*ret)
        return 0;
    if (p->sent == NULL && prepare_sent(p) < 0)
        return MI_ESTORE;
    if (p->sent == NULL) /* nothing was ever sent */
        return 0;
    sqlite3_bind_text(p->sent, 1, p->rule.target, -1, SQLITE_STATIC);
    sqlite3_bind_int64(p->sent, 2, id);
    sqlite3_bind_int64(p->sent, 3, SENT_US);
    int rc = sqlite3_step(p->sent);
    sqlite3_reset(p->sent);
    *ret = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

int prune_uid(struct prune *p, int64_t id, char ret[UID_LEN + 1])
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(p->db, "SELECT uid FROM sessions WHERE id = ?1", -1, &q, NULL);
    ret[0] = '\0';
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, id);
        rc = sqlite3_step(q);
    }
    if (rc == SQLITE_ROW) {
        struct slice uid = connect_column(q, 0);
        snprintf(ret, UID_LEN + 1, "%.*s", (int)size_min(uid.n, UID_LEN), uid.p);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

int prune_connect(struct prune *p, struct buf *error)
{
    char path[PATH_MAX];
    int64_t version;
    if (!connect_path(p->dir.path, path)) {
        buf_printf(error, "nothing has been recorded in %s; choose another vault with --vault",
                   p->dir.path);
        return MI_ENOENT;
    }
    /* no checkpoints: they would delay running proxies, which do their own */
    static const char settings[] = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
                                   " PRAGMA cache_size = -2048";
    if (connect_open(&p->db, path, NULL, SQLITE_OPEN_READWRITE, PRUNE_WAIT_MS) != SQLITE_OK ||
        sqlite3_exec(p->db, settings, NULL, NULL, NULL) != SQLITE_OK ||
        schema_version(p->db, &version) < 0)
        return prune_fail(p, error);
    p->schema = version;
    if (version >= SCHEMA_RUNNING && version <= SCHEMA_VERSION)
        return 0;
    buf_printf(error, "%s/" VAULT_DB " was made by %s mcp-interposer; %s", p->dir.path,
               version > SCHEMA_VERSION ? "a newer" : "an older",
               version > SCHEMA_VERSION ? "use that version" : "start a proxy once to upgrade it");
    return MI_ESTORE;
}
