/* sign.h - starts `audit checkpoint` at the end of a session, if there is a key to sign with
 * (docs/evidence.md).
 *
 * The signing process runs in its own session. Its stdin, stdout and stderr are /dev/null, and it
 * has no other descriptor, so it does not keep the client's pipes open.
 *
 * Owns      nothing. A proxy that is process 1 of a container waits for the signing process,
 *           because the container ends with process 1.
 * Errors    none: if a session is not signed now, it is signed with the next one.
 * Blocks    on the configuration file; process 1 also waits for the signing process, at most
 *           two seconds. */
#ifndef MI_CLI_PROXY_SIGN_H
#define MI_CLI_PROXY_SIGN_H

#include "cli/settings/config.h"

#include <sys/types.h>

/* s: the settings of `proxy`. vault: the vault of the session. recorder: the process that still
 * stores the end of the session, or 0. The session is signed after this process has ended. */
void sign_session(const struct settings *s, const char *vault, pid_t recorder);

#endif
