/* refuse.h - answers the client when no session can begin.
 *
 * Most clients show the answer to their first request to the user, but not our stderr: we wait PROXY_REFUSE_MS for the
 * first request and answer it with the reason. Notifications and lines that are not messages are skipped. Nothing is
 * recorded. If stdin is a terminal, we do not wait: its user has read stderr.
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
