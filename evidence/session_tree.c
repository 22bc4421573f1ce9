#include "evidence/session_tree.h"

_Static_assert(sizeof(struct digest) == DIGEST_N, "commitments follow each other without gaps");

struct digest session_tree_digest_group(const struct digest *commitment, size_t k)
{
    return tree_leaf_digest((struct slice){(const char *)commitment, k * DIGEST_N});
}

void session_tree_add_record(struct session_tree *p, const struct digest *commitment)
{
    p->rest[session_tree_count_ungrouped(p)] = *commitment;
    p->n++;
    if (session_tree_count_ungrouped(p) == 0) {
        struct digest leaf = session_tree_digest_group(p->rest, SESSION_TREE_GROUP);
        tree_add_leaf(&p->groups, &leaf);
    }
}

struct digest session_tree_compute_root(const struct session_tree *p)
{
    if (session_tree_count_ungrouped(p) == 0)
        return tree_root_digest(&p->groups);
    struct tree t = p->groups;
    struct digest leaf = session_tree_digest_group(p->rest, session_tree_count_ungrouped(p));
    tree_add_leaf(&t, &leaf);
    return tree_root_digest(&t);
}
