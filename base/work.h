/* work.h - limits the work on data that others chose: the number of steps, and the CPU time of this
 * thread.
 *
 * Steps     the same data take the same number of steps on every machine. A step is some
 *           nanoseconds of work.
 * CPU time  a second limit, for steps that turn out to be expensive. It is checked every WORK_LOOK
 *           steps.
 * Errors    work_count_steps() returns false when a limit is exceeded, and always after that.
 * Owns      nothing.
 * Blocks    never. */
#ifndef MI_BASE_WORK_H
#define MI_BASE_WORK_H

#include "base/base.h"

#define WORK_LOOK 256 /* number of steps between two reads of the clock */

struct work {
    int64_t steps; /* number of steps left; negative: a limit was exceeded */
    int64_t look;  /* the clock is read when `steps` falls below this value */
    /* time at which the work ends, on the clock of clock_thread_us(); 0: no limit */
    int64_t cpu_end_us;
};

/* cpu_us: limit of CPU time; 0: none. */
struct work work_begin_with_limits(int64_t steps, int64_t cpu_us);
/* Counts n steps. Returns false if the limit of steps or of CPU time is exceeded. Called by
 * work_count_steps(). */
bool work_check_limits(struct work *w, size_t n);
/* Counts n steps. Returns false if a limit is exceeded. */
static inline bool work_count_steps(struct work *w, size_t n)
{
    int64_t left = w->steps - (int64_t)n;
    if (n > WORK_LOOK || left < w->look || left < 0)
        return work_check_limits(w, n);
    w->steps = left;
    return true;
}

#endif
