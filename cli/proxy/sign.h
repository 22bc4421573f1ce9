/* sign.h - starts `audit checkpoint` at the end of a session, if there is a key to sign with (docs/evidence.md).
 *
 * The process runs in its own session, with /dev/null as stdin, stdout and stderr, and without any other descriptor:
 * it does not keep the client's pipes open.
 *
 * Owns      nothing. Nobody waits for the process, except process 1 of a container: its end would kill it.
 * Errors    none: a session that is not signed now is signed with the next one.
 * Blocks    on the configuration file; as process 1 at most two seconds on the process. */
#ifndef MI_CLI_PROXY_SIGN_H
#define MI_CLI_PROXY_SIGN_H

#include "cli/settings/config.h"

#include <sys/types.h>

/* s: the settings of `proxy`; vault: of the session; recorder: its process, if it still stores the end, which is signed
 * after that. 0: there is none. */
void sign_session(const struct settings *s, const char *vault, pid_t recorder);

#endif
