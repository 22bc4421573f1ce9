/* interrupt.h - SIGINT, SIGTERM and SIGHUP while a server works: the request is cancelled, the server is ended, and then
 * this program ends by the signal.
 *
 * The first signal ends a wait for the server (LIVE_INTERRUPTED, peer/live.h); a second one ends the program at once.
 * Owns      the handlers of these signals.
 * Blocks    never. */
#ifndef MI_CLI_SEND_INTERRUPT_H
#define MI_CLI_SEND_INTERRUPT_H

#include "base/base.h"

void interrupt_catch(void);
/* Between true and false signals arrive only while a line of the server is awaited, so that none is missed. The server is
 * started before. */
void interrupt_hold(bool hold);
bool interrupt_came(void);
/* Ends the program by the signal that came; returns if there was none. */
void interrupt_die(void);

#endif
