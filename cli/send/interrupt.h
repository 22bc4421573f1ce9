/* interrupt.h - SIGINT, SIGTERM and SIGHUP while a server works. The request is cancelled, the
 * server is ended, and then the signal ends this program.
 *
 * The first signal ends a wait for the server (LIVE_INTERRUPTED, peer/live.h); a second signal ends
 * the program at once.
 * Owns      the handlers of these signals.
 * Blocks    never. */
#ifndef MI_CLI_SEND_INTERRUPT_H
#define MI_CLI_SEND_INTERRUPT_H

#include "base/base.h"

void interrupt_catch_signals(void);
/* After interrupt_block_signals(true), signals arrive only while the program waits for a line of
 * the server, so that no signal is missed. The server must be started before this call. */
void interrupt_block_signals(bool block);
bool interrupt_was_received(void); /* whether a signal has arrived */
/* Ends the program by the signal that has arrived. Returns if there is none. */
void interrupt_exit_by_signal(void);

#endif
