#include "record/pace.h"

int64_t pace_compute_delay_us(uint64_t unstored, uint64_t limit)
{
    uint64_t half = limit / 2;
    if (unstored < half)
        return 0;
    uint64_t us = unstored < limit ? PACE_US * half / (limit - unstored) : PACE_MAX_US;
    return us < PACE_MAX_US ? (int64_t)us : PACE_MAX_US;
}
