/* align.h - which calls of two sessions belong together.
 *
 * Order     1. equal calls in the longest common order (lcs.h);
 *           2. of the rest, equal calls anywhere, first with first: they were moved;
 *           3. of the rest, calls of one topic (a method and its target) between the same pairs of 1, first with first:
 *              they were changed, and those outside their longest common order were moved, too;
 *           4. of the rest, calls of one topic anywhere, first with first: they were changed and moved.
 * Rows      in the order of b; a call that only a has follows what precedes it in a. A moved pair is where b has it.
 * Owns      the caller frees *ret with free().
 * Cost      time as lcs.h; about 60 bytes for each call.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_COMPARE_ALIGN_H
#define MI_REPLAY_COMPARE_ALIGN_H

#include "base/base.h"

#define ALIGN_NONE UINT32_MAX

struct align_call {
    uint64_t key;   /* equal calls have equal keys; not 0 */
    uint32_t topic; /* calls with equal keys have one topic */
};

enum align_kind {
    ALIGN_EQUAL,   /* the same call on both sides */
    ALIGN_CHANGED, /* another call of the same topic */
    ALIGN_MISSING, /* only in a */
    ALIGN_ADDED,   /* only in b */
};

struct align_row {
    uint32_t a, b; /* indices of the calls; ALIGN_NONE */
    uint8_t kind;  /* enum align_kind */
    bool moved;
};

/* `topics`: larger than every topic. n and m are below ALIGN_NONE. 0 or MI_ENOMEM. */
MI_MUST int align(const struct align_call *a, uint32_t n, const struct align_call *b, uint32_t m,
                  uint32_t topics, struct align_row **ret, uint32_t *ret_n);

#endif
