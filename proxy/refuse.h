/* refuse.h - answers the client when no session can begin.
 *
 * Most clients show the answer to their first request to the user, but not our stderr: the first request is awaited for
 * PROXY_REFUSE_MS, and answered with the reason. Notifications and lines that are not messages are skipped. Nothing is
 * recorded. With a terminal as stdin nothing is awaited: its user has read stderr.
 *
 * Owns      nothing. SIGPIPE is ignored from then on.
 * Blocks    up to PROXY_REFUSE_MS. */
#ifndef MI_PROXY_REFUSE_H
#define MI_PROXY_REFUSE_H

#include "base/base.h"

#define PROXY_REFUSE_MS 3000
#define PROXY_REFUSE_LINE ((size_t)1 << 20) /* longest line that is read */

void proxy_refuse(const char *why);

#endif
