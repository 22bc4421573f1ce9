/* pace.h - how long the client is not read while much is not stored.
 *
 * A client can send faster than the recorder stores. When the journal is full, everything waits until the recorder has
 * stored a batch: mostly for some 20 ms, and much longer while it checkpoints. So from half of the journal on, the
 * client is read only at intervals, and the other half takes in what comes until the recorder continues. The
 * intervals grow as the journal fills up, so that many small waits come in place of a long one. The recorder always has
 * enough to do meanwhile: it stores no less.
 *
 * Only the client waits: its requests have no deadlines yet. The server is always read, and so no deadline is affected.
 *
 * Units     bytes and microseconds.
 * Blocks    never. Pure: no loop, no clock. */
#ifndef MI_RECORD_PACE_H
#define MI_RECORD_PACE_H

#include "base/base.h"

#define PACE_US 1500
#define PACE_MAX_US 50000

/* How long the client is not read after it was read: PACE_US at half of `limit`, twice as long for each halving of the
 * rest, at most PACE_MAX_US. Less than half: 0. */
int64_t pace_us(uint64_t unstored, uint64_t limit);

#endif
