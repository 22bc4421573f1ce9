/* repeat.h - handles calls that are equal to a call which may have run, as --on-repeat says.
 *
 * Rules     such calls get the finding `repeat-of-uncertain`, and an event `repeat` says what was
 *           done. A member of a batch, and any call with --validate none, is forwarded.
 * Changes   repeats. */
#ifndef MI_PROXY_SESSION_REPEAT_H
#define MI_PROXY_SESSION_REPEAT_H

#include "proxy/session/message.h"

/* Returns false if the client got an answer or an error, so that the request must not be
 * forwarded. */
bool repeat_check_request(struct traffic *t, struct message *x, const struct protocol_asked *asked);
/* The request is recorded, and will be forwarded: p. */
void repeat_forwarded(struct traffic *t, const struct message *x, struct pending *p);

#endif
