/* arguments.h - checks arguments and results of tools/call against the schemas of the newest complete tools/list.
 *
 * Nothing is checked before a complete list is known; a tool that is missing in it is unknown.
 *
 * Limits    those of wire/schema. They count steps, so that the result does not depend on how busy
 *           the machine is. In case steps are expensive, compiling a tool's schema and each check
 *           are also limited to ARGUMENTS_CPU_US of CPU time. A message that exceeds a limit is
 *           forwarded, with a finding.
 * Blocks    never, but the message waits for its check.
 * Changes   tools. */
#ifndef MI_PROXY_SESSION_ARGUMENTS_H
#define MI_PROXY_SESSION_ARGUMENTS_H

#include "proxy/session/message.h"

#define ARGUMENTS_CPU_US 50000

/* Checks a client's request. Returns false if it was rejected, recorded and answered. */
bool arguments_check_request(struct traffic *t, struct message *x,
                             const struct protocol_asked *asked);
/* The server's answer to p; violations are only noted. */
void arguments_check_answer(struct traffic *t, struct message *x, const struct pending *p);
/* Discards the list if this notification of the server says that it has changed. */
void arguments_on_notification(struct traffic *t, const struct message *x);

#endif
