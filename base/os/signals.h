/* signals.h - waits for descriptors and signals at the same time.
 *
 * Linux     ppoll(2), which POSIX has since 2024.
 * Blocks    like poll(2). */
#ifndef MI_BASE_OS_SIGNALS_H
#define MI_BASE_OS_SIGNALS_H

#include "base/base.h"

#include <poll.h>
#include <signal.h>

/* Calls poll(2). During the call, the signals of `blocked` are blocked instead of those that the
 * caller blocks. If a signal that the caller blocks is not in `blocked` and has a handler, it ends
 * the wait with EINTR, even if it arrived before the call. ms: milliseconds; -1: no limit. */
int signals_poll(struct pollfd *p, nfds_t n, int64_t ms, const sigset_t *blocked);

#endif
