/* correlate.h - checks and records a request, a notification or an answer, and matches an answer
 * with its request. */
#ifndef MI_PROXY_SESSION_CORRELATE_H
#define MI_PROXY_SESSION_CORRELATE_H

#include "proxy/session/message.h"

/* Handles one valid message. Returns false if the message must not be forwarded. */
bool correlate_message(struct traffic *t, struct message *x);

#endif
