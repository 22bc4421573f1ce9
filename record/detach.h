/* detach.h - detaches the recorder process and the notifier process from the client.
 *
 * The client's pipes must close when the proxy closes them, and a Ctrl-C or a signal to the
 * client's process group must not reach these processes.
 * Blocks    never. */
#ifndef MI_RECORD_DETACH_H
#define MI_RECORD_DETACH_H

#include "base/base.h"

/* Number of the first descriptor that stays open. Descriptors 0, 1 and 2 are /dev/null. */
#define DETACH_FD 3
#define DETACH_MAX 8

/* Call in the child, directly after fork(). The n descriptors become DETACH_FD, DETACH_FD + 1, … in
 * this order, without close-on-exec; all others are closed. */
void detach_process(const int *fds, size_t n);
/* Restores the default signal handling. Call this function in a child of a detached process, before
 * exec. */
void detach_reset_signals(void);

#endif
