/* pair_lists.h - pairs two short lists of different lengths so that the pairs differ as little as
 * possible.
 *
 * Every member of the shorter list gets a partner; the order of both lists is kept. If several
 * pairings are equally good, the one with the earliest partners is taken.
 *
 * Blocks    as the distance function does; otherwise pure. */
#ifndef MI_REPLAY_COMPARE_PAIR_LISTS_H
#define MI_REPLAY_COMPARE_PAIR_LISTS_H

#include "base/base.h"

#define NEAR_LIST 64 /* maximum length of a list */
/* greatest product of the lengths of both lists, and so the greatest number of calls of a
 * near_fn */
#define NEAR_PAIRS 256

/* Returns how much two members differ: 0 to NEAR_DISTANCE, or a negative status. */
#define NEAR_DISTANCE 100
typedef int (*near_fn)(void *ctx, uint32_t of_short, uint32_t of_long);

/* Pairs each member i of the short list (length n <= m) with a member j of the long list (length
 * m), and sets partner[i] to j. Returns 0, or the status of fn. */
MI_MUST int pair_members_by_distance(uint32_t n, uint32_t m, near_fn fn, void *ctx,
                                     uint32_t *partner);

#endif
