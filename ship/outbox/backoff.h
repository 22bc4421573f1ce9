/* backoff.h - how long to wait after failures. The longest time is doubled at each failure, from
 * 1 s to 5 min. The actual time is a random part of the longest time, at least half, so that many
 * machines do not retry at once.
 *
 * Blocks    never. Pure. */
#ifndef MI_SHIP_OUTBOX_BACKOFF_H
#define MI_SHIP_OUTBOX_BACKOFF_H

#include "base/base.h"

#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 300000

/* Returns how long to wait. failures: the number of failures in a row, at least 1. random: any
 * number. */
int64_t backoff_wait_ms(int failures, uint32_t random);

#endif
