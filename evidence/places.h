/* places.h - the number of records of a session, and the root digest of the Merkle tree over their
 * commitments (docs/evidence.md, "Session").
 *
 * PLACES_GROUP commitments that follow each other are a group. Each group is a leaf of the Merkle
 * tree.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_PLACES_H
#define MI_EVIDENCE_PLACES_H

#include "evidence/tree.h"

#define PLACES_GROUP 64

struct places {
    uint64_t n;         /* records */
    struct tree groups; /* Merkle tree whose leaves are the complete groups */
    /* commitments of the n % PLACES_GROUP records after the last complete group */
    struct digest rest[PLACES_GROUP];
};

static inline size_t places_count_ungrouped_records(const struct places *p)
{
    return p->n % PLACES_GROUP;
}

/* Adds a record, given as its commitment. A zeroed struct places has no records. */
void places_add_record(struct places *p, const struct digest *commitment);
struct digest places_compute_root_digest(const struct places *p);
/* Returns the hash of the Merkle tree's leaf for a group of k commitments. */
struct digest places_digest_commitment_group(const struct digest *commitment, size_t k);

#endif
