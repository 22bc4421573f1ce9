/* rescue.h - restores the terminal when a signal ends the program.
 *
 * Rules     after the terminal is restored, the signal has its usual effect. A signal that was
 *           ignored stays ignored. SIGHUP becomes SIGTERM, which ends the program in order.
 * Blocks    never. */
#ifndef MI_CLI_UI_SCREEN_RESCUE_H
#define MI_CLI_UI_SCREEN_RESCUE_H

#include "base/base.h"

/* Must be called before the terminal is changed. Returns false if this machine has no description
 * of the terminal, or the terminal cannot move its cursor. */
bool rescue_prepare_terminal_reset(void);
/* Call this function after the terminal was restored. From then on, signals do not restore the
 * terminal. */
void rescue_close(void);

#endif
