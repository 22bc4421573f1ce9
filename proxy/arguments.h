/* arguments.h - what tools are called with, and what they return, against the schemas of their tools/list.
 *
 * The list is the newest of the session, all its pages; without one nothing is checked. A tool that is not in a
 * whole list is unknown. The first whole list of a session is compared with that of the session before.
 * Owns      nothing: the tools are the traffic's.
 * Blocks    never, but arguments_turn() on the vault, once in a session. */
#ifndef MI_PROXY_ARGUMENTS_H
#define MI_PROXY_ARGUMENTS_H

#include "proxy/message.h"

/* A client's request. False: it was refused, recorded and answered. */
bool arguments_request(struct traffic *t, struct message *x, const struct protocol_asked *asked);
/* The server's answer to p: learns a list, checks a result. Only noted. */
void arguments_answer(struct traffic *t, struct message *x, const struct pending *p);
/* The end of a turn: what the server had in the session before is read now, if it is wanted. */
void arguments_turn(struct traffic *t);
/* The server's notification: does a list have to be forgotten? */
void arguments_notification(struct traffic *t, const struct message *x);

#endif
