/* tree.h - Merkle trees as in RFC 6962, section 2.1 (RFC 9162, section 2.1).
 *
 * A tree that grows stores only the roots of its largest complete subtrees, from left to right. The
 * number of these roots is the number of 1 bits in the tree's size, at most TREE_DEPTH.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_TREE_H
#define MI_EVIDENCE_TREE_H

#include "base/buf.h"
#include "evidence/digest.h"

#define TREE_DEPTH 64

struct tree {
    uint64_t n;     /* leaves */
    unsigned depth; /* number of complete subtrees */
    /* the roots of the complete subtrees; the root of the largest subtree comes first */
    struct digest node[TREE_DEPTH];
};

struct digest tree_leaf_digest(struct slice entry); /* returns SHA-256(0x00 || entry) */
struct digest tree_node_digest(const struct digest *left, const struct digest *right);

/* Adds a leaf, given as its hash. A struct tree that is {0} is the empty tree. */
void tree_add_leaf(struct tree *t, const struct digest *leaf);
/* Returns the root; for the empty tree, it is SHA-256 of no bytes. */
struct digest tree_root_digest(const struct tree *t);

/* tree_append_roots() appends the roots of the complete subtrees as bytes. tree_read_roots() reads
 * such bytes, and returns false if a tree with n leaves has another number of roots. */
void tree_append_roots(const struct tree *t, struct buf *b);
MI_MUST bool tree_read_roots(struct tree *ret, uint64_t n, struct slice bytes);

/* All nodes of a tree, in one array, for making many proofs: the n leaf hashes, then level after
 * level up to the root. tree_count_nodes() returns the number of nodes. The caller stores the leaf
 * hashes; tree_compute_inner_nodes() computes the other nodes. */
uint64_t tree_count_nodes(uint64_t n);
void tree_compute_inner_nodes(struct digest *node, uint64_t n);
/* Makes the inclusion proof of leaf `at` of a tree with n leaves (RFC 9162, 2.1.3.1). node: all
 * nodes of the tree (tree_compute_inner_nodes()). Writes the proof to ret, which has room for
 * TREE_DEPTH digests. Returns the length of the proof. */
size_t tree_make_proof(const struct digest *node, uint64_t n, uint64_t at, struct digest *ret);
/* Computes the root from a proof (RFC 9162, 2.1.3.2). Returns false if a tree with n leaves has no
 * leaf `at`, or if a proof of this leaf has another length. */
MI_MUST bool tree_root_of_proof(const struct digest *leaf, uint64_t n, uint64_t at,
                                const struct digest *proof, size_t proof_n,
                                struct digest *ret_root);

#endif
