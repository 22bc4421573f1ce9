/* session_tree.h - the number of records of a session, and the root digest of the Merkle tree over
 * their commitments (docs/evidence.md, "Session").
 *
 * SESSION_TREE_GROUP commitments that follow each other are a group. Each group is a leaf of the
 * Merkle tree.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_SESSION_TREE_H
#define MI_EVIDENCE_SESSION_TREE_H

#include "evidence/tree.h"

#define SESSION_TREE_GROUP 64

struct session_tree {
    uint64_t n;         /* records */
    struct tree groups; /* Merkle tree whose leaves are the complete groups */
    /* commitments of the n % SESSION_TREE_GROUP records after the last complete group */
    struct digest rest[SESSION_TREE_GROUP];
};

static inline size_t session_tree_count_ungrouped(const struct session_tree *p)
{
    return p->n % SESSION_TREE_GROUP;
}

/* Adds a record, given as its commitment. A zeroed struct session_tree has no records. */
void session_tree_add_record(struct session_tree *p, const struct digest *commitment);
struct digest session_tree_compute_root(const struct session_tree *p);
/* Returns the hash of the Merkle tree's leaf for a group of k commitments. */
struct digest session_tree_digest_group(const struct digest *commitment, size_t k);

#endif
