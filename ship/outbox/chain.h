/* chain.h - the hash by which two copies of a vault's log are compared: head = SHA-256(previous
 * head || leaf).
 *
 * Blocks    never. Pure. */
#ifndef MI_SHIP_OUTBOX_CHAIN_H
#define MI_SHIP_OUTBOX_CHAIN_H

#include "evidence/digest.h"

/* The head of a log of n leaves. {0} stands for the empty log. */
struct chain {
    int64_t n; /* number of leaves */
    struct digest head;
};

void chain_add_leaf(struct chain *c, struct slice leaf);

/* Compares our log, which has `ours` leaves, with the log of the other store. known: the head of
 * our log after theirs->n leaves; not used if our log is shorter. */
enum chain_verdict { CHAIN_EXTENDS, CHAIN_ROLLED_BACK, CHAIN_CHANGED };
enum chain_verdict chain_compare_to_target(int64_t ours, const struct digest *known,
                                           const struct chain *theirs);

#endif
