#include "vault/proof/proof_state.h"

#include "base/grow.h"
#include "evidence/note.h"
#include "vault/store/connect.h"
#include "vault/store/ledger.h"

#include <stdlib.h>

/* ---- the checkpoint ------------------------------------------------------------------------- */

static int proof_parse_checkpoint(struct proof *p, struct slice text)
{
    struct note n;
    struct checkpoint c;
    if (note_read(text, &n) < 0 || checkpoint_read(n.text, &c) < 0 || c.size > INT64_MAX)
        return proof_set_error(p, "the checkpoint is not a signed note of a log");
    buf_slice_add(&p->note, text);
    p->size = (int64_t)c.size;
    return 0;
}

static int proof_choose_checkpoint(struct proof *p)
{
    if (p->what->note.p != NULL)
        return proof_parse_checkpoint(p, p->what->note);
    sqlite3_stmt *s = proof_prepare_statement(p,
                                              "SELECT note FROM checkpoints WHERE ?1 IN (0, size)"
                                              " ORDER BY size DESC LIMIT 1",
                                              p->what->size);
    int rc = sqlite3_step(s);
    int st = rc == SQLITE_ROW ? proof_parse_checkpoint(p, connect_column(s, 0)) : 0;
    int read = proof_finish_statement(p, s, rc);
    if (read < 0 || rc == SQLITE_ROW)
        return read < 0 ? read : st;
    if (p->what->size > 0)
        return proof_set_error(p, "this vault has no checkpoint of %lld leaves",
                               (long long)p->what->size);
    return proof_set_error(p, "this vault has no checkpoint; run: mcp-interposer audit key new, if "
                              "there is no key yet; then: mcp-interposer audit checkpoint");
}

/* ---- the leaves ----------------------------------------------------------------------------- */

/* Stores a leaf if it is about this session, or states a key. */
static int proof_store_leaf_of_session(struct proof *p, int64_t n, struct slice text)
{
    struct leaf l;
    int st = leaf_read(text, &l);
    if (st == MI_ENOMEM)
        return st;
    if (st < 0)
        return proof_set_error(
            p, "leaf %lld of the log is damaged; run: mcp-interposer audit verify", (long long)n);
    if (l.type == LEAF_BEGIN || (l.type != LEAF_KEY && !slice_eq(l.uid, p->what->uid)))
        return 0;
    if (l.type == LEAF_PRUNE)
        return proof_set_error(p, "the session is being removed");
    if (l.type == LEAF_SEAL)
        p->last_seal = n;
    if (n >= p->size)
        return 0;
    if (!GROW(p->leaf, p->leaf_n, p->leaf_cap))
        return MI_ENOMEM;
    struct proof_leaf *at = &p->leaf[p->leaf_n++];
    *at = (struct proof_leaf){
        .n = n, .type = l.type, .records = l.records, .wanted = l.type != LEAF_REDACT};
    buf_slice_add(&at->text, text);
    return at->text.failed ? MI_ENOMEM : 0;
}

static int proof_read_log_leaf(void *ctx, int64_t n, struct slice text)
{
    struct proof *p = ctx;
    if (n < p->size) {
        if (n != (int64_t)p->hash_n)
            return proof_set_error(p, "the log has no leaf %zu; run: mcp-interposer audit verify",
                                   p->hash_n);
        if (!GROW(p->hash, p->hash_n, p->hash_cap))
            return MI_ENOMEM;
        p->hash[p->hash_n++] = tree_leaf_digest(text);
    }
    /* do not parse the leaf: most leaves are about other sessions */
    bool may_be_needed = slice_begins(text, "{\"type\":\"key\"") ||
                         memmem(text.p, text.n, p->what->uid.p, p->what->uid.n) != NULL;
    return may_be_needed ? proof_store_leaf_of_session(p, n, text) : 0;
}

/* Chooses the last seal of the session: earlier seals do not matter. */
static int proof_choose_seal(struct proof *p)
{
    p->seal = -1;
    for (size_t i = p->leaf_n; i > 0; i--) {
        struct proof_leaf *l = &p->leaf[i - 1];
        if (l->type != LEAF_SEAL)
            continue;
        l->wanted = p->seal < 0;
        if (p->seal < 0) {
            p->seal = l->n;
            p->records = (uint64_t)l->records;
        }
    }
    if (p->last_seal < 0)
        return proof_set_error(p, "the session has not ended, or its recording was not finished");
    if (p->seal == p->last_seal)
        return 0;
    return proof_set_error(
        p,
        "the checkpoint of %lld leaves does not cover the end of the session; run: "
        "mcp-interposer audit checkpoint",
        (long long)p->size);
}

int proof_read_log(struct proof *p)
{
    p->last_seal = -1;
    int st = proof_choose_checkpoint(p);
    if (st < 0)
        return st;
    st = ledger_read(p->q->d.db, 0, proof_read_log_leaf, p);
    if (st == MI_ESTORE)
        return db_fail(&p->q->d);
    if (st < 0)
        return st;
    if ((int64_t)p->hash_n < p->size)
        return proof_set_error(p, "the checkpoint is of %lld leaves, and the log has only %zu",
                               (long long)p->size, p->hash_n);
    st = proof_choose_seal(p);
    if (st < 0)
        return st;
    /* compute the nodes above the hashes of the leaves */
    struct digest *all = realloc(p->hash, tree_count_nodes(p->hash_n) * sizeof *all);
    if (all == NULL)
        return MI_ENOMEM;
    p->hash = all;
    tree_compute_inner_nodes(all, p->hash_n);
    return 0;
}
