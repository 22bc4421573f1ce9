/* sent_sessions.h - the sessions that `send` itself recorded. Each has an event `sent`.
 *
 * Errors    those of vault/query/reader.h; sent_sessions_report_number() and sent_session_remove()
 *           report none.
 * Blocks    on the vault. */
#ifndef MI_CLI_SEND_SENT_SESSIONS_H
#define MI_CLI_SEND_SENT_SESSIONS_H

#include "cli/settings/config.h"
#include "vault/query/reader.h"

#include <sys/types.h>

/* Finds the newest session that has a message and was not recorded by `send`. Sessions of `send`
 * are skipped, so that repeating a command finds the same session. *ret_id is 0 if there is
 * none. */
MI_MUST int sent_sessions_find_not_by_send(struct query *q, int64_t *ret_id);
/* Prints a note on stderr with the number of the session that this proxy recorded, if it is
 * found. */
void sent_sessions_report_number(const struct settings *s, pid_t proxy, int64_t began_wall_us);
/* Removes the session of this proxy, because the user's request was not sent. The session stays if
 * its recorder needs longer than SENT_WAIT_US. */
#define SENT_WAIT_US 2000000
void sent_session_remove(const struct settings *s, pid_t proxy, int64_t began_wall_us);

#endif
