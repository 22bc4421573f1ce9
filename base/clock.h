/* clock.h - reads the clocks. Waits and durations use the monotonic clock; the wall clock is for
 * people.
 *
 * Units     microseconds in int64_t. clock_mono_us() counts from an arbitrary start
 *           (CLOCK_MONOTONIC), clock_wall_us() from the Unix epoch (CLOCK_REALTIME).
 * Blocks    never. */
#ifndef MI_BASE_CLOCK_H
#define MI_BASE_CLOCK_H

#include "base/base.h"

#define CLOCK_TEXT_MAX 32
/* 9999-12-31T23:59:59.999999Z: times read from files are limited to this time, so that a time plus
 * a duration fits into an int64_t. */
#define CLOCK_MAX_US INT64_C(253402300799999999)
/* Limits `us` to -CLOCK_MAX_US … CLOCK_MAX_US, because numbers from files and peers can have any
 * value. */
static inline int64_t clock_clamp_us(int64_t us)
{
    return us > CLOCK_MAX_US ? CLOCK_MAX_US : us < -CLOCK_MAX_US ? -CLOCK_MAX_US : us;
}

int64_t clock_mono_us(void);
int64_t clock_wall_us(void);
/* Returns the CPU time that this thread has used. */
int64_t clock_thread_us(void);
/* Writes "2026-01-31T23:59:59.123Z": RFC 3339, UTC, milliseconds. ret has CLOCK_TEXT_MAX bytes. */
void clock_utc_text(int64_t wall_us, char *ret);
/* Writes "2026-01-31", the UTC day. ret has CLOCK_TEXT_MAX bytes. */
void clock_utc_day(int64_t wall_us, char *ret);
/* Writes "2026-01-31 23:59:59" in local time (TZ). ret has CLOCK_TEXT_MAX bytes. */
void clock_write_local_time(int64_t wall_us, char *ret);

/* A text that can be returned by value: clock_format_utc(t).s is valid until the end of the
 * expression. */
struct clock_text {
    char s[CLOCK_TEXT_MAX];
};
struct clock_text clock_format_utc(int64_t wall_us);
struct clock_text clock_format_local_time(int64_t wall_us);

#endif
