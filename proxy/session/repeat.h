/* repeat.h - handles calls that equal an earlier call which may have run, as --on-repeat says.
 *
 * Rules     such calls get the finding `repeat-of-uncertain`, and an event `repeat` says what the
 *           interposer did. A member of a batch, and any call with --validate none, is forwarded.
 * Changes   repeats. */
#ifndef MI_PROXY_SESSION_REPEAT_H
#define MI_PROXY_SESSION_REPEAT_H

#include "proxy/session/message.h"

/* Returns false if the request must not be forwarded, because the client has got an answer or an
 * error. */
bool repeat_check_request(struct traffic *t, struct message *x, const struct protocol_asked *asked);
/* Call this function when the request is recorded and will be forwarded. p: its entry in the table
 * of pending requests. */
void repeat_handle_forwarded_call(struct traffic *t, const struct message *x, struct pending *p);

#endif
