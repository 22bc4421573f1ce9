#include "vault/store/signing.h"

#include "base/clock.h"
#include "evidence/key_leaf.h"
#include "evidence/tree.h"
#include "vault/store/connect.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"
#include "vault/store/layout.h"
#include "vault/store/ledger.h"
#include "vault/store/schema.h"

#include <inttypes.h>
#include <stdio.h>

#define SEE_VERIFY "`mcp-interposer audit verify` says what does not agree"

static int signing_fail_sql(struct signing *s)
{
    int rc = failure_get_sqlite_code(s->db) & 0xFF;
    buf_printf(s->error, "cannot sign %s/" VAULT_DB ": %s", s->vault, failure_text(s->db));
    return rc == SQLITE_BUSY || rc == SQLITE_LOCKED ? MI_EBUSY : MI_ESTORE;
}

static int signing_execute_sql(struct signing *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : signing_fail_sql(s);
}

int signing_open(struct signing *ret, const char *vault, struct buf *error)
{
    char path[PATH_MAX];
    int64_t version = 0;
    *ret = (struct signing){.vault = vault, .error = error};
    if (!connect_find_database_path(vault, path)) {
        buf_printf(error, "nothing has been recorded in %s; choose another vault with --vault",
                   vault);
        return MI_ENOENT;
    }
    if (connect_open_database(&ret->db, path, NULL, SQLITE_OPEN_READWRITE, SIGNING_WAIT_MS) !=
            SQLITE_OK ||
        schema_version(ret->db, &version) < 0)
        return signing_fail_sql(ret);
    if (version < SCHEMA_EVIDENCE || version > SCHEMA_VERSION) {
        bool newer = version > SCHEMA_VERSION;
        buf_printf(error, "%s/" VAULT_DB " was made by %s mcp-interposer; %s", vault,
                   newer ? "a newer" : "an older",
                   newer ? "use that version" : "start a proxy once to upgrade it");
        return MI_EINVAL;
    }
    struct buf why = {0};
    int st = layout_find_misleading_table(ret->db, &why);
    if (st == MI_EINVAL)
        buf_printf(error, "cannot sign %s/" VAULT_DB ": %s", vault, buf_str(&why));
    ret->changed = st == MI_EINVAL;
    buf_close(&why);
    if (st < 0)
        return st == MI_ESTORE ? signing_fail_sql(ret) : st;
    /* FULL syncs each commit. This connection makes no checkpoints of the write-ahead log: proxies
     * make them. */
    return signing_execute_sql(ret, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
}

void signing_close(struct signing *s)
{
    sqlite3_close(s->db);
    s->db = NULL;
}

/* ---- reading the log ------------------------------------------------------------------------ */

struct reading {
    struct signing *s;
    struct log_head head;
    struct tree tree;
    /* The roots to compute: one root for the caller, and one for each checkpoint that is kept
     * outside of the vault. */
    struct wanted {
        /* number of leaves over which the root is computed; UINT64_MAX: this entry is not used */
        uint64_t size;
        bool found;
        struct digest root;
    } at[1 + SIGNING_KEPT_MAX];
};

static int signing_fail_damaged_log(struct reading *r, int64_t n, const char *why)
{
    r->s->changed = true;
    buf_printf(r->s->error, "the log of %s is damaged: leaf %" PRId64 " %s; " SEE_VERIFY,
               r->s->vault, n, why);
    return MI_EINVAL;
}

static int signing_check_and_add_leaf(void *ctx, int64_t n, struct slice text)
{
    struct reading *r = ctx;
    struct digest hash = tree_leaf_digest(text);
    struct leaf l;
    int st =
        n != (int64_t)r->tree.n ? signing_fail_damaged_log(r, (int64_t)r->tree.n, "is missing") : 0;
    if (st == 0 && (st = leaf_read(text, &l)) == MI_EINVAL)
        st = signing_fail_damaged_log(r, n, "is not a leaf as a recorder writes it");
    if (st == 0 && ((l.type == LEAF_BEGIN) != (n == 0) || (n == 0 && l.uid.n != LEAF_UID)))
        st = signing_fail_damaged_log(r, n, n == 0 ? "does not begin it" : "begins it again");
    if (st == 0 && l.type == LEAF_BEGIN)
        snprintf(r->head.origin, sizeof r->head.origin, CHECKPOINT_ORIGIN "%.*s", LEAF_UID,
                 l.uid.p);
    if (st == 0 && l.type == LEAF_KEY) {
        const char *why = "is not a leaf";
        st = key_leaf_check(&l, slice_of(r->head.origin), r->head.has_key ? &r->head.key : NULL,
                            &r->head.key, &why);
        r->head.has_key |= st == 0;
        st = st == MI_EINVAL ? signing_fail_damaged_log(r, n, why) : st;
    }
    if (st < 0)
        return st;
    tree_add_leaf(&r->tree, &hash);
    for (size_t i = 0; i < MI_COUNT(r->at); i++)
        if (r->tree.n == r->at[i].size) {
            r->at[i].found = true;
            r->at[i].root = tree_root_digest(&r->tree);
        }
    return 0;
}

/* Reads the log from its first leaf. Also computes the root over the first `at` leaves, and stores
 * it in r->at[0]. */
static int signing_read_log(struct signing *s, uint64_t at, struct reading *r)
{
    *r = (struct reading){.s = s};
    r->at[0].size = at;
    for (size_t i = 0; i < SIGNING_KEPT_MAX; i++)
        r->at[1 + i].size = i < s->kept_n ? s->kept[i].size : UINT64_MAX;
    buf_clear(s->error);
    int st = ledger_read(s->db, 0, signing_check_and_add_leaf, r);
    if (st == MI_ESTORE)
        return signing_fail_sql(s);
    if (st == 0 && r->tree.n == 0)
        st = signing_fail_damaged_log(r, 0, "is missing");
    r->head.size = r->tree.n;
    r->head.root = tree_root_digest(&r->tree);
    return st;
}

int signing_read_log_head(struct signing *s, struct log_head *ret)
{
    struct reading r;
    int st = signing_read_log(s, UINT64_MAX, &r);
    if (st == 0)
        *ret = r.head;
    return st;
}

int signing_compute_root(struct signing *s, uint64_t size, struct digest *ret)
{
    struct reading r;
    int st = signing_read_log(s, size, &r);
    if (st == 0 && !r.at[0].found) {
        buf_printf(s->error, "the log of %s has only %" PRIu64 " leaves", s->vault, r.head.size);
        return MI_EINVAL;
    }
    if (st == 0)
        *ret = r.at[0].root;
    return st;
}

/* ---- signing -------------------------------------------------------------------------------- */

/* Reads the last checkpoint of this vault. *ret_has: whether there is one. */
static int read_last_checkpoint(struct signing *s, struct checkpoint *ret, bool *ret_has)
{
    sqlite3_stmt *q = NULL;
    struct note n;
    int st = 0,
        rc = sqlite3_prepare_v2(
            s->db, "SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1", -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    *ret_has = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        st = signing_fail_sql(s);
    if (rc == SQLITE_ROW &&
        (note_read(connect_column(q, 1), &n) < 0 || checkpoint_read(n.text, ret) < 0 ||
         ret->size != (uint64_t)sqlite3_column_int64(q, 0))) {
        s->changed = true;
        buf_printf(s->error, "the last checkpoint of %s is damaged; " SEE_VERIFY, s->vault);
        st = MI_EINVAL;
    }
    /* the text of the origin is part of the row, which sqlite3_finalize() frees */
    ret->origin = (struct slice){0};
    sqlite3_finalize(q);
    return st;
}

/* Compares the log with the checkpoints that are kept outside of the vault, where a program that
 * can write the vault cannot change them. */
static int compare_with_outside_checkpoints(struct signing *s, const struct reading *r)
{
    const char *why = NULL;
    size_t i = 0;
    for (; why == NULL && i < s->kept_n; i++) {
        const struct signing_kept *k = &s->kept[i];
        if (strcmp(k->origin, r->head.origin) != 0)
            why = "is of another vault than the log that was signed";
        else if (!r->at[1 + i].found)
            why = "is shorter than the log that was signed";
        else if (!digest_eq(&r->at[1 + i].root, &k->root))
            why = "has other leaves than the log that was signed";
    }
    if (why == NULL)
        return 0;
    s->changed = true;
    buf_printf(s->error,
               "the log of %s %s, which had %" PRIu64
               " leaves: the vault was changed, replaced, or restored "
               "from a copy, and is not signed; " SEE_VERIFY ". If you know why, and want to sign "
               "what it has now: mcp-interposer audit checkpoint --new-vault",
               s->vault, why, s->kept[i - 1].size);
    return MI_EINVAL;
}

/* Reads the log. Returns MI_EINVAL if the log does not continue the last checkpoint of the vault,
 * or a checkpoint that is kept outside of the vault. */
static int read_log_and_check_continuity(struct signing *s, struct reading *r)
{
    struct checkpoint last;
    bool has;
    int st = read_last_checkpoint(s, &last, &has);
    if (st == 0)
        st = signing_read_log(s, has ? last.size : UINT64_MAX, r);
    if (st == 0 && has && (!r->at[0].found || !digest_eq(&r->at[0].root, &last.root))) {
        s->changed = true;
        buf_printf(s->error,
                   "the log of %s does not continue its checkpoint of %" PRIu64
                   " leaves: it was changed; " SEE_VERIFY,
                   s->vault, last.size);
        return MI_EINVAL;
    }
    return st == 0 ? compare_with_outside_checkpoints(s, r) : st;
}

/* Adds a leaf `key` that states the public key, and reads the log again. */
static int signing_add_key(struct signing *s, const struct secret_key *key,
                           signing_previous_fn previous, void *ctx, struct reading *r)
{
    struct secret_key old;
    struct buf text = {0};
    struct leaf l;
    int64_t n;
    int st = r->head.has_key ? previous(ctx, &r->head.key, &old, s->error) : 0;
    if (st == 0)
        st = key_leaf_write(&text, slice_of(r->head.origin), clock_wall_us(), key,
                            r->head.has_key ? &old : NULL);
    if (st == MI_EIO && s->error->n == 0)
        buf_adds(s->error, "libsodium cannot be used");
    if (st == 0)
        st = leaf_read(buf_slice(&text), &l);
    if (st == 0 && ledger_add_leaf(s->db, &l, &n) < 0)
        st = signing_fail_sql(s);
    buf_close(&text);
    key_erase(&old);
    return st == 0 ? signing_read_log(s, UINT64_MAX, r) : st;
}

static int signing_store_checkpoint_note(struct signing *s, const struct log_head *h,
                                         struct slice note)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(
        s->db, "INSERT OR REPLACE INTO checkpoints (size, at_us, note) VALUES (?1, ?2, ?3)", -1, &q,
        NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, (int64_t)h->size);
        sqlite3_bind_int64(q, 2, clock_wall_us());
        connect_bind(q, 3, note);
        rc = sqlite3_step(q);
    }
    int st = rc == SQLITE_DONE ? 0 : signing_fail_sql(s);
    sqlite3_finalize(q);
    return st;
}

static int signing_sign_log_head(struct signing *s, const struct log_head *h,
                                 const struct secret_key *key, struct buf *note)
{
    struct buf text = {0};
    size_t before = note->n;
    struct checkpoint c = {.origin = slice_of(h->origin), .size = h->size, .root = h->root};
    checkpoint_write(&text, &c);
    int st = text.failed ? MI_ENOMEM : note_append_signed(note, buf_slice(&text), key);
    if (st == MI_EIO)
        buf_adds(s->error, "libsodium cannot be used");
    struct slice signed_note = {note->p + before, note->n - before};
    struct note n;
    /* a wrongly computed signature can reveal the private key */
    if (st == 0 && (note_read(signed_note, &n) < 0 || note_check_signature(&n, &key->public) < 0)) {
        buf_adds(s->error, "the signature is wrong: the machine computes wrongly");
        st = MI_EIO;
    }
    if (st == 0)
        st = signing_store_checkpoint_note(s, h, signed_note);
    buf_close(&text);
    return st;
}

/* Adds a leaf `key` if the log needs one. Then signs and stores a checkpoint, unless `note` is
 * NULL. */
static int signing_sign_log(struct signing *s, const struct secret_key *key,
                            signing_previous_fn previous, void *ctx, struct buf *note)
{
    struct reading r;
    buf_clear(s->error);
    int st = signing_execute_sql(s, "BEGIN IMMEDIATE");
    if (st < 0)
        return st;
    st = read_log_and_check_continuity(s, &r);
    if (st == 0 && !(r.head.has_key && key_eq(&r.head.key, &key->public)))
        st = signing_add_key(s, key, previous, ctx, &r);
    if (st == 0 && note != NULL)
        st = signing_sign_log_head(s, &r.head, key, note);
    if (st == 0)
        st = signing_execute_sql(s, "COMMIT");
    if (st < 0 && !sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

int signing_sign_checkpoint(struct signing *s, const struct secret_key *key,
                            signing_previous_fn previous, void *ctx, struct buf *note)
{
    return signing_sign_log(s, key, previous, ctx, note);
}

int signing_key(struct signing *s, const struct secret_key *key, signing_previous_fn previous,
                void *ctx)
{
    return signing_sign_log(s, key, previous, ctx, NULL);
}
