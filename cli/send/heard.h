/* heard.h - reports on stderr what a server says while it works on a request: log messages,
 * progress, and its own requests.
 *
 * Blocks    as stderr does. */
#ifndef MI_CLI_SEND_HEARD_H
#define MI_CLI_SEND_HEARD_H

#include "replay/live/talk.h"

/* Reports from now on. */
void heard_open(struct talk *t);

#endif
