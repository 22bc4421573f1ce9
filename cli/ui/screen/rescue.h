/* rescue.h - restores the terminal when a signal ends the program.
 *
 * Rules     then the signal has its usual effect. If a signal was ignored, it stays ignored.
 *           SIGHUP becomes SIGTERM, which ends the program in order.
 * Blocks    never. */
#ifndef MI_CLI_UI_SCREEN_RESCUE_H
#define MI_CLI_UI_SCREEN_RESCUE_H

#include "base/base.h"

/* Call it before the terminal is changed. Returns false if there is no description of the terminal,
 * or it cannot move its cursor. */
bool rescue_open(void);
void rescue_close(
    void); /* call it after the terminal was restored, so that signals no longer restore it */

#endif
