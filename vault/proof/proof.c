#include "vault/proof/proof.h"

#include "evidence/bundle.h"
#include "evidence/session_tree.h"
#include "vault/proof/proof_state.h"
#include "vault/store/connect.h"

#include <stdlib.h>

/* ---- the bundle ----------------------------------------------------------------------------- */

static int proof_check_session_evidence(struct proof *p)
{
    int64_t covered = 0;
    int rc = connect_read_number(
        p->q->d.db, "SELECT count(*) FROM sqlite_master WHERE name = 'leaves'", 0, &covered);
    if (rc == SQLITE_OK && covered > 0)
        rc = connect_read_number(p->q->d.db, "SELECT salt IS NOT NULL FROM sessions WHERE id = ?1",
                                 p->what->session_id, &covered);
    if (rc != SQLITE_OK)
        return db_fail(&p->q->d);
    return covered > 0
               ? 0
               : proof_set_error(p, "the session is not covered: it was recorded before this "
                                    "vault had evidence");
}

/* Adds to the bundle the groups of commitments that contain the chosen records. */
static int proof_add_commitment_groups(struct proof *p, struct bundle_out *o)
{
    uint64_t groups = (p->records + SESSION_TREE_GROUP - 1) / SESSION_TREE_GROUP;
    struct digest *node = calloc(tree_count_nodes(groups), sizeof *node);
    if (node == NULL)
        return MI_ENOMEM;
    bundle_begin_section(o, BUNDLE_GROUPS);
    for (uint64_t g = 0; g < groups; g++)
        node[g] = session_tree_digest_group(
            p->commitment + g * SESSION_TREE_GROUP,
            size_min(SESSION_TREE_GROUP, p->records - g * SESSION_TREE_GROUP));
    tree_compute_inner_nodes(node, groups);
    for (uint64_t g = 0; g < groups; g++) {
        size_t k = size_min(SESSION_TREE_GROUP, p->records - g * SESSION_TREE_GROUP);
        bool wanted = false;
        for (size_t i = 0; i < k; i++)
            wanted = wanted || p->row[g * SESSION_TREE_GROUP + i].wanted;
        if (wanted)
            bundle_write_commitment_group(o, g, p->commitment + g * SESSION_TREE_GROUP, k, node,
                                          groups);
    }
    free(node);
    return 0;
}

static int proof_build_bundle(struct proof *p, struct buf *ret)
{
    struct bundle_out o;
    int st = proof_check_session_evidence(p);
    if (st == 0)
        st = proof_read_log(p);
    if (st == 0)
        st = proof_choose_records(p);
    if (st == 0)
        st = proof_add_redactions(p, NULL);
    if (st < 0)
        return st;
    bundle_write(&o, ret, buf_slice(&p->note));
    bundle_begin_section(&o, BUNDLE_LEAVES);
    for (size_t i = 0; i < p->leaf_n; i++)
        if (p->leaf[i].wanted)
            bundle_write_leaf(&o, (uint64_t)p->leaf[i].n, buf_slice(&p->leaf[i].text), p->hash,
                              p->hash_n);
    bundle_begin_section(&o, BUNDLE_REDACTIONS);
    st = proof_add_redactions(p, &o);
    if (st == 0)
        st = proof_add_commitment_groups(p, &o);
    bundle_begin_section(&o, BUNDLE_RECORDS);
    if (st == 0)
        st = proof_add_records(p, &o);
    bundle_finish(&o);
    return st == 0 && ret->failed ? MI_ENOMEM : st;
}

/* Verifies the bundle, because the vault may have been changed. */
static int proof_verify_bundle(struct proof *p, const struct buf *bundle)
{
    struct bundle b;
    struct buf why = {0};
    int st = bundle_open(&b, buf_slice(bundle), NULL, &why);
    if (st == MI_EINVAL)
        st = proof_set_error(
            p, "this does not prove anything: %s; run: mcp-interposer audit verify", buf_str(&why));
    bundle_close(&b);
    buf_close(&why);
    return st;
}

int proof_write_bundle(struct query *q, const struct proof_request *what, struct buf *ret,
                       struct buf *error)
{
    struct proof p = {.q = q, .what = what, .error = error};
    int st = query_reopen_if_outdated(q);
    if (st == 0)
        st = db_begin(&q->d);
    if (st < 0)
        return st;
    st = db_end(&q->d, proof_build_bundle(&p, ret));
    if (st == 0)
        st = proof_verify_bundle(&p, ret);
    for (size_t i = 0; i < p.leaf_n; i++)
        buf_close(&p.leaf[i].text);
    free(p.leaf);
    free(p.hash);
    free(p.commitment);
    free(p.row);
    buf_close(&p.note);
    return st;
}
