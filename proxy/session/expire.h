/* expire.h - requests whose deadline has passed (mcp-wire.md 6.1): the client gets an error, the
 * server a notification, and late messages for them are dropped.
 *
 * Changes   timers, open. */
#ifndef MI_PROXY_SESSION_EXPIRE_H
#define MI_PROXY_SESSION_EXPIRE_H

#include "proxy/session/state.h"

/* Starts the timers of requests that have been written since the last call. Returns the
 * microseconds until expire_due_requests() must be called; -1: no call is needed. */
int64_t expire_start_timers_and_get_wait(struct traffic *t);
/* Answers each request whose deadline has passed, and cancels it at the server. Before this call,
 * read the server's output and call expire_set_server_not_reading(). */
void expire_due_requests(struct traffic *t);

/* Sends `ping`, or `server/discover` to a server of 2026-07-28. Any message after this request
 * proves that the server is alive. Returns the seq of the request; 0: out of memory. */
uint64_t expire_send_liveness_request(struct traffic *t, bool modern);
/* Call this function when the server is being killed because it hung on the request `name`: the
 * other requests get an error, except subscriptions, which are repeated to the next process. */
void expire_requests_of_hung_server(struct traffic *t, const char *name);

/* Pauses the deadlines while the server's output is not read. Call this function whenever reading
 * may have stopped or continued. Returns true if the deadlines were paused or continued. */
bool expire_set_server_not_reading(struct traffic *t, bool not_reading);

#endif
