#include "evidence/places.h"

_Static_assert(sizeof(struct digest) == DIGEST_N, "commitments follow each other without gaps");

struct digest places_digest_commitment_group(const struct digest *commitment, size_t k)
{
    return tree_leaf_digest((struct slice){(const char *)commitment, k * DIGEST_N});
}

void places_add_record(struct places *p, const struct digest *commitment)
{
    p->rest[places_count_ungrouped_records(p)] = *commitment;
    p->n++;
    if (places_count_ungrouped_records(p) == 0) {
        struct digest leaf = places_digest_commitment_group(p->rest, PLACES_GROUP);
        tree_add_leaf(&p->groups, &leaf);
    }
}

struct digest places_compute_root_digest(const struct places *p)
{
    if (places_count_ungrouped_records(p) == 0)
        return tree_root_digest(&p->groups);
    struct tree t = p->groups;
    struct digest leaf = places_digest_commitment_group(p->rest, places_count_ungrouped_records(p));
    tree_add_leaf(&t, &leaf);
    return tree_root_digest(&t);
}
