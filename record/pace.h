/* pace.h - computes how long the proxy stops reading the client while the journal is filling up.
 *
 * A client can send faster than the recorder stores. When the journal is full, all messages wait
 * until the recorder has stored a batch: mostly about 20 ms, and much longer during a checkpoint.
 * So when the journal is half full, the client is read only at intervals, and the other half takes
 * the messages until the recorder continues. The intervals grow as the journal fills up, so that
 * there are many short waits instead of a long one. The recorder always has entries to store
 * meanwhile, so it does not store less.
 *
 * Only the client waits, because requests that were not read have no deadlines yet. The server is
 * always read, so no deadline is affected.
 *
 * Units     bytes and microseconds.
 * Blocks    never. Pure: no loop, no clock. */
#ifndef MI_RECORD_PACE_H
#define MI_RECORD_PACE_H

#include "base/base.h"

#define PACE_US 1500
#define PACE_MAX_US 50000

/* Returns how long the proxy waits between two reads of the client. The time is 0 while less than
 * half of `limit` is unstored, and PACE_US when half is unstored. Each time the free part of
 * `limit` is halved, the time doubles, up to PACE_MAX_US. */
int64_t pace_compute_delay_us(uint64_t unstored, uint64_t limit);

#endif
