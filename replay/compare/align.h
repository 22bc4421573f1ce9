/* align.h - pairs the calls of two sessions that belong together.
 *
 * Steps     1. Pair equal calls in the longest common order (lcs.h).
 *           2. Pair remaining equal calls anywhere, in order of appearance. These calls were moved.
 *           3. Pair remaining calls of one topic (a method and its target) between the same two
 *              pairs of step 1, in order of appearance. These calls were changed. If one side of a
 *              small group has more calls, choose the pairs that differ least (pair_lists.h). Pairs
 *              outside of the longest common order of all pairs of steps 1 and 3 were also moved.
 *           4. Pair remaining calls of one topic anywhere, in order of appearance. These calls were
 *              changed and moved.
 * Rows      in the order of `b`. A call that is only in `a` comes after the call that precedes it
 *           in `a`. A moved pair is at its position in `b`.
 * Owns      the caller frees *ret with free().
 * Cost      time as in lcs.h; about 60 bytes for each call.
 * Blocks    as the distance function does; otherwise pure. */
#ifndef MI_REPLAY_COMPARE_ALIGN_H
#define MI_REPLAY_COMPARE_ALIGN_H

#include "replay/compare/pair_lists.h"

#define ALIGN_NONE UINT32_MAX

struct align_call {
    uint64_t key; /* equal calls have equal keys; a key is never 0 */
    /* number of the topic (method and target); calls with equal keys have the same topic */
    uint32_t topic;
};

enum align_kind {
    ALIGN_EQUAL,   /* equal calls */
    ALIGN_CHANGED, /* the calls are different, but have the same topic */
    ALIGN_MISSING, /* the call is only in `a` */
    ALIGN_ADDED,   /* the call is only in `b` */
};

struct align_row {
    uint32_t a, b; /* indexes of the calls; ALIGN_NONE: no call */
    uint8_t kind;  /* enum align_kind */
    bool moved;
};

/* Returns how much call `a` of the first session differs from call `b` of the second one: 0 to
 * NEAR_DISTANCE, or a negative status. align_calls() calls it at most ALIGN_DISTANCES times. */
typedef int (*align_fn)(void *ctx, uint32_t a, uint32_t b);
#define ALIGN_DISTANCES 20000

struct align_sides {
    const struct align_call *a, *b;
    uint32_t n, m;     /* numbers of calls in `a` and in `b`; less than ALIGN_NONE */
    uint32_t topics;   /* number of topics; every topic number is lower */
    align_fn distance; /* compares two calls; NULL: pair calls in order of appearance */
    void *ctx;
};

/* Returns 0, MI_ENOMEM, or the status of the distance function. */
MI_MUST int align_calls(const struct align_sides *sides, struct align_row **ret, uint32_t *ret_n);

#endif
