/* stall.h - notices that this process did not run: it was stopped (SIGSTOP), frozen with its container, or got no
 * processor.
 *
 * A loop turn must end when the next timer is due. A turn that lasts STALL_US or more beyond that
 * has stalled.
 *
 * Owns      nothing.
 * Units     microseconds of a monotonic clock, passed in.
 * Blocks    never. Pure: no loop, no clock. */
#ifndef MI_PROXY_STALL_H
#define MI_PROXY_STALL_H

#include "base/base.h"

#define STALL_US 100000

struct stall {
    int64_t woke_us; /* time when this turn began, in microseconds */
    int64_t most_us; /* longest time that the turn should last; -1: no timer is active */
};

void stall_open(struct stall *s, int64_t now_us);
/* Call it before the loop waits. most_us: longest wait since this turn began; -1: no timer is
 * active. */
void stall_set_expected_wait(struct stall *s, int64_t most_us);
/* Call it when the next turn begins. Returns how long the process did not run although a timer was
 * due, or 0. */
int64_t stall_measure_wake(struct stall *s, int64_t now_us);

#endif
