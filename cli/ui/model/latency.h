/* latency.h - a distribution of durations, in constant memory.
 *
 * Durations are counted in LATENCY_BUCKETS ranges: 16 for each power of two.
 *
 * Units     microseconds.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_LATENCY_H
#define MI_CLI_UI_MODEL_LATENCY_H

#include "base/base.h"

#define LATENCY_BUCKETS (16 * 40)

struct latency {
    int64_t n, most_us;
    uint32_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, int64_t us);
/* Returns the percentile by nearest rank; -1 if no durations were added. The result is the middle
 * of a range of durations. It differs from the exact value by at most 4 %. */
int64_t latency_percentile(const struct latency *l, int percent);

#endif
