#include "vault/upkeep/health.h"

#include "evidence/tree.h"
#include "vault/store/db.h"
#include "vault/store/layout.h"
#include "vault/store/ledger.h"
#include "vault/store/schema.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define BUSY_MS 2000
#define SQLITE_LEAST 3037000 /* oldest supported version of SQLite: the first with STRICT tables */

enum health_query {
    H_PAGE_SIZE,
    H_UNUSED_PAGES,
    H_IS_WAL,
    H_SESSIONS,
    H_GAPS,
    H_UNFILLED,
    H_INTEGRITY,
    H_CHECKPOINT,
    HEALTH_QUERIES
};

static const char *const sql[HEALTH_QUERIES] = {
    [H_PAGE_SIZE] = "PRAGMA page_size",
    [H_UNUSED_PAGES] = "PRAGMA freelist_count",
    [H_IS_WAL] = "SELECT journal_mode = 'wal' FROM pragma_journal_mode",
    /* do not use count(*) without a condition: it is a single step of SQLite, so the budget of
     * steps does not limit it (connect.h) */
    [H_SESSIONS] = "SELECT count(id) FROM sessions",
    [H_GAPS] = "SELECT count(*) FROM events WHERE kind = 'gap'",
    [H_UNFILLED] = "SELECT count(*) FROM sessions WHERE calls IS NOT 1 AND ended_at_us IS NOT NULL",
    [H_INTEGRITY] = "PRAGMA integrity_check(3)",
    [H_CHECKPOINT] = "SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1",
};

static const struct db_kind reader = {
    .wait_ms = BUSY_MS, .sql = sql, .n = HEALTH_QUERIES, .can_not = "read"};

static int health_close(struct db *d, int st)
{
    st = st == MI_ESTORE && d->locked ? MI_EBUSY : st;
    db_close(d);
    return st;
}

/* Opens the database. *ret_version: version of its schema. Close *d even after an error. */
static int health_connect_to_vault(const char *vault, struct db *d, int64_t *ret_version,
                                   struct buf *error)
{
    char path[PATH_MAX];
    *d = (struct db){.kind = &reader};
    if (!connect_find_database_path(vault, path))
        return MI_ENOENT;
    int st = db_open(d, &reader, path, error);
    return st == 0 && schema_version(d->db, ret_version) < 0 ? db_fail(d) : st;
}

static int64_t file_bytes(const char *path, const char *suffix)
{
    char name[PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &st) == 0 ? st.st_size : 0;
}

int health_read_database_facts(const char *vault, struct health *ret, struct buf *error)
{
    struct db d;
    struct health h = {0};
    int64_t page = 0, unused = 0, wal = 0;
    int st = health_connect_to_vault(vault, &d, &h.version, error);
    if (st == 0)
        st = db_read_number(&d, H_PAGE_SIZE, &page, NULL, 0);
    if (st == 0)
        st = db_read_number(&d, H_UNUSED_PAGES, &unused, NULL, 0);
    if (st == 0)
        st = db_read_number(&d, H_IS_WAL, &wal, NULL, 0);
    if (st == 0 && h.version > 0)
        st = db_read_number(&d, H_SESSIONS, &h.sessions, NULL, 0);
    if (st == 0 && h.version > 0)
        st = db_read_number(&d, H_GAPS, &h.gaps, NULL, 0);
    if (st == 0) {
        h.db_bytes = file_bytes(buf_str(&d.file), "");
        h.wal_bytes = file_bytes(buf_str(&d.file), "-wal");
        h.free_bytes = unused * page;
        h.journal_is_wal = wal != 0;
        *ret = h;
    }
    return health_close(&d, st);
}

int64_t health_count_sessions_without_calls(const char *vault)
{
    struct db d;
    struct buf error = {0};
    int64_t version = 0, n = 0;
    int st = health_connect_to_vault(vault, &d, &version, &error);
    if (st == 0 && version >= SCHEMA_CALLS && version <= SCHEMA_VERSION)
        st = db_read_number(&d, H_UNFILLED, &n, NULL, 0);
    db_close(&d);
    buf_close(&error);
    return st == 0 ? n : 0;
}

struct faults {
    struct buf *error;
    bool deceives;
};

static void append_layout_fault(void *ctx, const struct layout_fault *f)
{
    static const char *const what[] = {
        [LAYOUT_ADDED] = "is not one that mcp-interposer makes",
        [LAYOUT_REMOVED] = "is missing",
        [LAYOUT_CHANGED] = "is not as mcp-interposer makes it",
    };
    struct faults *x = ctx;
    x->deceives |= f->deceives;
    buf_adds(x->error, x->error->n > 0 ? "; the " : "the ");
    layout_append_object_name(f, x->error);
    buf_printf(x->error, " %s", what[f->kind]);
}

int health_check_vault(const char *vault, struct buf *error)
{
    struct db d;
    sqlite3_stmt *q = NULL;
    int64_t version;
    struct faults faults = {.error = error};
    int st = health_connect_to_vault(vault, &d, &version, error);
    if (st == 0 && layout_compare_objects(d.db, append_layout_fault, &faults) < 0)
        st = db_fail(&d);
    /* the check evaluates the constraints of the tables, so the tables must be those of this
     * program */
    if (st == 0 && !faults.deceives)
        st = db_begin_query(&d, H_INTEGRITY, &q, NULL, 0);
    int rc = SQLITE_DONE;
    while (q != NULL && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct slice text = connect_column(q, 0);
        if (text.p == NULL || slice_is(text, "ok"))
            continue;
        buf_adds(error, error->n > 0 ? "; " : "");
        buf_slice_add(error, text);
    }
    if (st == 0)
        st = db_finish_statement(&d, q, rc);
    st = health_close(&d, st);
    return st == 0 && error->n > 0 ? MI_ESTORE : st;
}

struct seals {
    int64_t before_us, n;
};

static int count_seal_if_older(void *ctx, int64_t n, struct slice text)
{
    (void)n;
    struct seals *x = ctx;
    struct leaf l;
    int st = leaf_read(text, &l);
    x->n += st == 0 && l.type == LEAF_SEAL && l.at_us < x->before_us;
    /* a damaged leaf is ignored, because `audit verify` reports it */
    return st == MI_ENOMEM ? st : 0;
}

/* Reads the last checkpoint. If there is none, *size and *note are not changed. */
static int health_read_checkpoint(struct db *d, int64_t *size, struct buf *note)
{
    sqlite3_stmt *q;
    int st = db_begin_query(d, H_CHECKPOINT, &q, NULL, 0);
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        *size = sqlite3_column_int64(q, 0);
        buf_slice_add(note, connect_column(q, 1));
    }
    return db_finish_statement(d, q, rc);
}

int health_count_unsigned_seals(const char *vault, int64_t before_us, int64_t *ret_unsigned,
                                struct buf *note, struct buf *error)
{
    struct db d;
    int64_t version = 0, size = 0;
    struct seals seals = {.before_us = before_us};
    int st = health_connect_to_vault(vault, &d, &version, error);
    if (st == 0 && (version < SCHEMA_EVIDENCE || version > SCHEMA_VERSION))
        st = MI_ENOENT;
    if (st == 0)
        st = health_read_checkpoint(&d, &size, note);
    if (st == 0) {
        st = ledger_read(d.db, size, count_seal_if_older, &seals);
        st = st == MI_ESTORE ? db_fail(&d) : st;
    }
    db_close(&d);
    if (st == 0)
        *ret_unsigned = seals.n;
    return note->failed ? MI_ENOMEM : st;
}

struct log_reading {
    struct health_log *log;
    struct tree tree;
};

static int health_check_leaf(void *ctx, int64_t n, struct slice text)
{
    struct log_reading *r = ctx;
    struct leaf l;
    if (n != (int64_t)r->tree.n || r->log->found)
        return 1;
    int st = n == 0 ? leaf_read(text, &l) : 0;
    if (st < 0)
        return st == MI_ENOMEM ? st : 1;
    if (n == 0)
        snprintf(r->log->origin, sizeof r->log->origin, CHECKPOINT_ORIGIN "%.*s",
                 (int)size_min(l.uid.n, LEAF_UID), l.uid.p);
    struct digest leaf = tree_leaf_digest(text);
    tree_add_leaf(&r->tree, &leaf);
    r->log->found = r->tree.n == r->log->size;
    if (r->log->found)
        r->log->root = tree_root_digest(&r->tree);
    return 0;
}

int health_check_log(const char *vault, struct health_log *log, struct buf *error)
{
    struct db d;
    int64_t version;
    bool has = false;
    struct log_reading r = {.log = log};
    int st = health_connect_to_vault(vault, &d, &version, error);
    if (st == 0)
        st = db_has_table(&d, "leaves", &has);
    if (st == 0 && has) {
        st = ledger_read(d.db, 0, health_check_leaf, &r);
        st = st == MI_ESTORE ? db_fail(&d) : st;
    }
    db_close(&d);
    return st < 0 ? st : 0;
}

int64_t health_get_schema_version(void)
{
    return SCHEMA_VERSION;
}

const char *health_sqlite_version(bool *ret_new_enough, bool *ret_fts5)
{
    *ret_new_enough = sqlite3_libversion_number() >= SQLITE_LEAST;
    *ret_fts5 = sqlite3_compileoption_used("ENABLE_FTS5") != 0;
    return sqlite3_libversion();
}
