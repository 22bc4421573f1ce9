/* seal.c - finds the seal of a session in the log of the vault. */
#include "vault/query/connection.h"

#include "evidence/leaf.h"
#include "vault/store/connect.h"

_Static_assert(QUERY_ROOT == DIGEST_HEX + 1, "a root in hex");

static int parse_seal_leaf(struct slice text, struct slice uid, struct query_seal *ret)
{
    struct leaf leaf;
    int st = leaf_read(text, &leaf);
    if (st == MI_ENOMEM)
        return st;
    if (st < 0 || leaf.type != LEAF_SEAL || !slice_eq(leaf.uid, uid))
        return MI_ENOENT;
    ret->records = leaf.records;
    digest_hex(&leaf.root, ret->root);
    return 0;
}

int query_seal(struct query *q, const struct query_session *s, struct query_seal *ret)
{
    sqlite3_stmt *st;
    if (s->evidence != EVIDENCE_SEALED)
        return MI_ENOENT;
    int status = query_prepare(q, Q_SEAL, &st);
    if (status < 0)
        return status;
    connect_bind(st, 1, s->uid);
    int rc = sqlite3_step(st);
    int found = rc == SQLITE_ROW ? parse_seal_leaf(connect_column(st, 0), s->uid, ret) : MI_ENOENT;
    status = query_finish_statement(q, st, rc);
    return status < 0 ? status : found;
}
