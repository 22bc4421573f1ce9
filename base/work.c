#include "base/work.h"

#include "base/clock.h"

struct work work_begin_with_limits(int64_t steps, int64_t cpu_us)
{
    return (struct work){.steps = steps,
                         .look = steps - WORK_LOOK,
                         .cpu_end_us = cpu_us > 0 ? clock_thread_us() + cpu_us : 0};
}

bool work_check_limits(struct work *w, size_t n)
{
    if (w->steps < 0)
        return false;
    w->steps = n > (size_t)w->steps ? -1 : w->steps - (int64_t)n;
    if (w->steps < w->look && w->cpu_end_us > 0) {
        w->look = w->steps - WORK_LOOK;
        if (clock_thread_us() > w->cpu_end_us)
            w->steps = -1;
    }
    return w->steps >= 0;
}
