/* expire.h - requests whose deadline has passed (mcp-wire.md 6.1): the client gets an error, the server a
 * notification, and late messages for them are dropped.
 *
 * Changes   timers, open. */
#ifndef MI_PROXY_SESSION_EXPIRE_H
#define MI_PROXY_SESSION_EXPIRE_H

#include "proxy/session/state.h"

/* Starts the timers of requests that have been written since the last call. Returns the microseconds until
 * expire_due() must be called; -1: no call is needed. */
int64_t expire_next_us(struct traffic *t);
/* Answers each request whose deadline has passed, and cancels it at the server. */
void expire_due(struct traffic *t);

#endif
