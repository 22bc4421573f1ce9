/* arguments.h - checks arguments and results of tools/call against the schemas of the newest
 * complete tools/list.
 *
 * Nothing is checked before a complete list is known. A tool that is not in the list is unknown.
 *
 * Limits    those of wire/schema. They count steps, so that the result does not depend on how busy
 *           the machine is. Because a step may be expensive, compiling a tool's schema and each
 *           check are also limited to ARGUMENTS_CPU_US of CPU time. A message that exceeds a limit
 *           is forwarded, with a finding.
 * Blocks    never, but a message is forwarded only after its check.
 * Changes   tools. */
#ifndef MI_PROXY_SESSION_ARGUMENTS_H
#define MI_PROXY_SESSION_ARGUMENTS_H

#include "proxy/session/message.h"

#define ARGUMENTS_CPU_US 50000

/* Checks a client's request. Returns false if the request was rejected; then it is recorded and
 * answered. */
bool arguments_check_request(struct traffic *t, struct message *x,
                             const struct protocol_asked *asked);
/* Checks the server's answer to p. Violations are only noted. */
void arguments_check_server_answer(struct traffic *t, struct message *x, const struct pending *p);
/* Discards the list of tools if this notification says that the server's list has changed. */
void arguments_on_notification(struct traffic *t, const struct message *x);

#endif
