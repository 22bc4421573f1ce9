#include "base/os/signals.h"

#include <time.h>

int signals_poll(struct pollfd *p, nfds_t n, int64_t ms, const sigset_t *blocked)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
    return ppoll(p, n, ms < 0 ? NULL : &t, blocked);
}
