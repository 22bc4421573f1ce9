/* stall.h - notices that this process did not run: it was stopped (SIGSTOP), frozen with its
 * container, or got no processor.
 *
 * The event loop wakes at the latest when the next timer expires. If it wakes STALL_US or more
 * after that, this process has stalled.
 *
 * Owns      nothing.
 * Units     microseconds of a monotonic clock, passed in.
 * Blocks    never. Pure: no loop, no clock. */
#ifndef MI_PROXY_STALL_H
#define MI_PROXY_STALL_H

#include "base/base.h"

#define STALL_US 100000

struct stall {
    int64_t woke_us; /* time when this turn began */
    /* the next turn should begin at most this long after woke_us; -1: no timer is active */
    int64_t most_us;
};

void stall_open(struct stall *s, int64_t now_us);
/* Call this function before the loop waits. most_us: the next turn should begin at most this long
 * after the start of this turn; -1: no timer is active. */
void stall_set_expected_wait(struct stall *s, int64_t most_us);
/* Call this function when the next turn begins. Returns by how many microseconds the turn is late,
 * or 0 if that is less than STALL_US. */
int64_t stall_measure_turn_delay(struct stall *s, int64_t now_us);

#endif
