/* refuse.h - answers the client when no session can begin.
 *
 * Most clients show the answer to their request to the user, but not our stderr: each request is answered with the
 * reason, until stdin ends. Notifications and lines that are not messages are skipped. Nothing is
 * recorded. We wait for the first request only for PROXY_REFUSE_MS, because the process that
 * started us may not be a client. If stdin is a terminal, we do not wait, because its user has read
 * stderr.
 *
 * Owns      nothing. SIGPIPE stays ignored.
 * Blocks    until the client closes stdin, or does not read an answer for PROXY_REFUSE_MS. */
#ifndef MI_PROXY_REFUSE_H
#define MI_PROXY_REFUSE_H

#include "base/base.h"

#define PROXY_REFUSE_MS 3000
#define PROXY_REFUSE_LINE ((size_t)1 << 20) /* longest line that is read */

void proxy_refuse(const char *why);

#endif
