#include "cli/ui/model/latency.h"

/* Returns the bucket of a duration. Below 16 us, each value has its own bucket. Above, durations
 * with the same highest bit and the same 4 bits after it share a bucket. */
static size_t latency_bucket_of_duration(int64_t us)
{
    size_t shift = 0;
    uint64_t v = us > 0 ? (uint64_t)us : 0;
    while (v >> shift >= 32)
        shift++;
    if (v < 16)
        return (size_t)v;
    return size_min(16 * (shift + 1) + (size_t)(v >> shift) - 16, LATENCY_BUCKETS - 1);
}

static int64_t latency_get_bucket_middle(size_t bucket)
{
    if (bucket < 32)
        return (int64_t)bucket;
    size_t shift = bucket / 16 - 1;
    int64_t from = (int64_t)(16 + bucket % 16) << shift;
    return from + ((int64_t)1 << shift) / 2;
}

void latency_add(struct latency *l, int64_t us)
{
    uint32_t *b = &l->bucket[latency_bucket_of_duration(us)];
    *b += *b < UINT32_MAX;
    l->n++;
    l->most_us = us > l->most_us ? us : l->most_us;
}

int64_t latency_percentile(const struct latency *l, int percent)
{
    int64_t rank = (l->n * percent + 99) / 100, seen = 0;
    if (l->n == 0)
        return -1;
    rank = rank < 1 ? 1 : rank;
    if (rank == l->n)
        return l->most_us;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += l->bucket[i];
        if (seen >= rank)
            return latency_get_bucket_middle(i) < l->most_us ? latency_get_bucket_middle(i)
                                                             : l->most_us;
    }
    return l->most_us;
}
