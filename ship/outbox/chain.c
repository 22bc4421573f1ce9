#include "ship/outbox/chain.h"

void chain_add_leaf(struct chain *c, struct slice leaf)
{
    struct digest_sum s;
    digest_begin(&s);
    digest_add(&s, c->head.b, DIGEST_N);
    digest_add(&s, leaf.p, leaf.n);
    digest_end(&s, &c->head);
    c->n++;
}

enum chain_verdict chain_compare_to_target(int64_t ours, const struct digest *known,
                                           const struct chain *theirs)
{
    if (ours < theirs->n)
        return CHAIN_ROLLED_BACK;
    return digest_eq(known, &theirs->head) ? CHAIN_EXTENDS : CHAIN_CHANGED;
}
