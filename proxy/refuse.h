/* refuse.h - answers the client when no session can begin.
 *
 * Most clients show the answer to a request to the user, but not our stderr: so each request is
 * answered with the reason, until stdin ends. Notifications and lines that are not messages are
 * skipped. Nothing is recorded. The wait for the first request ends after PROXY_REFUSE_MS, because
 * the process that started this program may not be a client. If stdin is a terminal, there is no
 * wait: the user sees stderr.
 *
 * Owns      nothing. SIGPIPE stays ignored.
 * Blocks    until the client closes stdin, or does not read an answer for PROXY_REFUSE_MS. */
#ifndef MI_PROXY_REFUSE_H
#define MI_PROXY_REFUSE_H

#include "base/base.h"

#define PROXY_REFUSE_MS 3000
#define PROXY_REFUSE_LINE ((size_t)1 << 20) /* longest line that is read */

void proxy_refuse_requests(const char *why);

#endif
