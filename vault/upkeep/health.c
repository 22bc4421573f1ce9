#include "vault/upkeep/health.h"

#include "evidence/tree.h"
#include "vault/store/failure.h"
#include "vault/store/layout.h"
#include "vault/store/ledger.h"
#include "vault/store/read_only.h"
#include "vault/store/schema.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define BUSY_MS 2000
#define SQLITE_LEAST 3037000 /* STRICT tables */

static int fail(sqlite3 *db, struct buf *error)
{
    buf_clear(error);
    buf_adds(error, failure_text(db));
    return MI_ESTORE;
}

static int connect_to(const char *vault, sqlite3 **ret, char path[PATH_MAX], struct buf *error)
{
    *ret = NULL;
    if (!connect_path(vault, path))
        return MI_ENOENT;
    int rc = read_only_open(ret, path, BUSY_MS, NULL);
    return rc == SQLITE_OK ? 0 : fail(*ret, error);
}

static int ask_number(sqlite3 *db, const char *sql, int64_t *ret, struct buf *error)
{
    return connect_number(db, sql, 0, ret) == SQLITE_OK ? 0 : fail(db, error);
}

static int64_t file_bytes(const char *path, const char *more)
{
    char name[PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof name, "%s%s", path, more);
    return stat(name, &st) == 0 ? st.st_size : 0;
}

int health_look(const char *vault, struct health *ret, struct buf *error)
{
    sqlite3 *db;
    char path[PATH_MAX];
    struct health h = {0};
    int64_t page = 0, unused = 0, wal = 0;
    int st = connect_to(vault, &db, path, error);
    if (st == 0 && schema_version(db, &h.version) < 0)
        st = fail(db, error);
    if (st == 0)
        st = ask_number(db, "PRAGMA page_size", &page, error);
    if (st == 0)
        st = ask_number(db, "PRAGMA freelist_count", &unused, error);
    if (st == 0)
        st = ask_number(db, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &wal, error);
    if (st == 0 && h.version > 0)
        /* count(*) would be one step, whose work no budget bounds */
        st = ask_number(db, "SELECT count(id) FROM sessions", &h.sessions, error);
    if (st == 0 && h.version > 0)
        st = ask_number(db, "SELECT count(*) FROM events WHERE kind = 'gap'", &h.gaps, error);
    sqlite3_close(db);
    if (st < 0)
        return st;
    h.db_bytes = file_bytes(path, "");
    h.wal_bytes = file_bytes(path, "-wal");
    h.free_bytes = unused * page;
    h.journal_is_wal = wal != 0;
    *ret = h;
    return 0;
}

int64_t health_unfilled(const char *vault)
{
    static const char unfilled[] =
        "SELECT count(*) FROM sessions WHERE calls IS NOT 1 AND ended_at_us IS NOT NULL";
    sqlite3 *db;
    char path[PATH_MAX];
    struct buf error = {0};
    int64_t version = 0, n = 0;
    int st = connect_to(vault, &db, path, &error);
    if (st == 0 && schema_version(db, &version) == 0 && version >= SCHEMA_CALLS &&
        version <= SCHEMA_VERSION)
        st = ask_number(db, unfilled, &n, &error);
    sqlite3_close(db);
    buf_close(&error);
    return st == 0 ? n : 0;
}

struct faults {
    struct buf *error;
    bool deceives;
};

static void add_fault(void *ctx, const struct layout_fault *f)
{
    static const char *const what[] = {
        [LAYOUT_ADDED] = "is not one that mcp-interposer makes",
        [LAYOUT_REMOVED] = "is missing",
        [LAYOUT_CHANGED] = "is not as mcp-interposer makes it",
    };
    struct faults *x = ctx;
    x->deceives |= f->deceives;
    buf_adds(x->error, x->error->n > 0 ? "; the " : "the ");
    layout_name(f, x->error);
    buf_printf(x->error, " %s", what[f->kind]);
}

int health_check(const char *vault, struct buf *error)
{
    sqlite3 *db;
    sqlite3_stmt *q = NULL;
    char path[PATH_MAX];
    struct faults faults = {.error = error};
    int st = connect_to(vault, &db, path, error);
    if (st == 0 && layout_compare(db, add_fault, &faults) < 0)
        st = fail(db, error);
    /* The check computes constraints of the tables: only if they are those of this program. */
    bool check = st == 0 && !faults.deceives;
    if (check && sqlite3_prepare_v2(db, "PRAGMA integrity_check(3)", -1, &q, NULL) != SQLITE_OK)
        st = fail(db, error);
    int rc = SQLITE_DONE;
    while (check && st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        if (text == NULL || strcmp(text, "ok") == 0)
            continue;
        buf_adds(error, error->n > 0 ? "; " : "");
        buf_adds(error, text);
    }
    if (st == 0 && rc != SQLITE_DONE)
        st = fail(db, error);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return st == 0 && error->n > 0 ? MI_ESTORE : st;
}

struct seals {
    int64_t before_us, n;
};

static int count_seal(void *ctx, int64_t n, struct slice text)
{
    (void)n;
    struct seals *x = ctx;
    struct leaf l;
    int st = leaf_read(text, &l);
    x->n += st == 0 && l.type == LEAF_SEAL && l.at_us < x->before_us;
    return st == MI_ENOMEM ? st : 0; /* `audit verify` reports a damaged log */
}

int health_signed(const char *vault, int64_t before_us, int64_t *ret_unsigned, struct buf *note,
                  struct buf *error)
{
    static const char last[] = "SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1";
    sqlite3 *db;
    sqlite3_stmt *q = NULL;
    char path[PATH_MAX];
    int64_t version = 0, size = 0;
    struct seals seals = {.before_us = before_us};
    int st = connect_to(vault, &db, path, error);
    if (st == 0 && schema_version(db, &version) < 0)
        st = fail(db, error);
    if (st == 0 && (version < SCHEMA_EVIDENCE || version > SCHEMA_VERSION))
        st = MI_ENOENT;
    if (st == 0 && sqlite3_prepare_v2(db, last, -1, &q, NULL) != SQLITE_OK)
        st = fail(db, error);
    int rc = st == 0 ? sqlite3_step(q) : SQLITE_DONE;
    if (rc == SQLITE_ROW) {
        size = sqlite3_column_int64(q, 0);
        buf_slice_add(note, connect_column(q, 1));
    } else if (rc != SQLITE_DONE) {
        st = fail(db, error);
    }
    sqlite3_finalize(q);
    if (st == 0)
        st = ledger_read(db, size, count_seal, &seals);
    if (st == MI_ESTORE && error->n == 0)
        st = fail(db, error);
    sqlite3_close(db);
    if (st == 0)
        *ret_unsigned = seals.n;
    return note->failed ? MI_ENOMEM : st;
}

struct log_reading {
    struct health_log *log;
    struct tree tree;
};

static int take_leaf(void *ctx, int64_t n, struct slice text)
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
    struct digest leaf = tree_leaf(text);
    tree_add(&r->tree, &leaf);
    r->log->found = r->tree.n == r->log->size;
    if (r->log->found)
        r->log->root = tree_root(&r->tree);
    return 0;
}

int health_log(const char *vault, struct health_log *log, struct buf *error)
{
    sqlite3 *db;
    char path[PATH_MAX];
    bool has = false;
    struct log_reading r = {.log = log};
    int st = connect_to(vault, &db, path, error);
    if (st == 0 && schema_has_table(db, "leaves", &has) < 0)
        st = fail(db, error);
    if (st == 0 && has)
        st = ledger_read(db, 0, take_leaf, &r);
    if (st == MI_ESTORE && error->n == 0)
        st = fail(db, error);
    sqlite3_close(db);
    return st < 0 ? st : 0;
}

int64_t health_schema(void)
{
    return SCHEMA_VERSION;
}

const char *health_sqlite(bool *ret_new_enough, bool *ret_fts5)
{
    *ret_new_enough = sqlite3_libversion_number() >= SQLITE_LEAST;
    *ret_fts5 = sqlite3_compileoption_used("ENABLE_FTS5") != 0;
    return sqlite3_libversion();
}
