/* ask.h - asks the person at the terminal before something is removed.
 *
 * Blocks    until a line is entered. */
#ifndef MI_CLI_FRAME_ASK_H
#define MI_CLI_FRAME_ASK_H

#include "base/base.h"

/* Somebody can read the question and answer it: stdin and stderr are terminals. */
bool ask_possible(void);
/* Writes the question and `[y/N]` to stderr, and reads a line of stdin. true: it is `y` or `yes`. */
bool ask_yes(const char *question);

#endif
