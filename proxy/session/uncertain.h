/* uncertain.h - finds out which calls are uncertain (repeats.h), as requests are given up and late answers arrive.
 *
 * Only calls of tools count that are marked neither readOnlyHint nor idempotentHint in a list of tools; a tool that is in none
 * counts. Requests of other methods never do.
 *
 * Changes   repeats.
 * Errors    out of memory: the call is not remembered, and a line is logged. */
#ifndef MI_PROXY_SESSION_UNCERTAIN_H
#define MI_PROXY_SESSION_UNCERTAIN_H

#include "proxy/session/message.h"

/* The client is told that p has failed, or has cancelled it, or gets an error in place of an invalid answer, and it may run or have
 * run. cause: static. */
void uncertain_note(struct traffic *t, const struct pending *p, const char *cause);
/* The server has answered p late; the answer, which is not recorded yet, is dropped. If a repeat may get it, the rules that it
 * violates are noted. */
/* sound: it passes the checks of an answer in time. */
typedef bool (*late_sound_fn)(struct traffic *t, struct message *x, const struct pending *p);
void uncertain_late(struct traffic *t, const struct pending *p, const struct rpc *m,
                    late_sound_fn sound, struct message *x);
/* The client gets an answer of the server to p. A result of a repeat settles the calls that it repeats. */
void uncertain_answered(struct traffic *t, const struct pending *p, const struct rpc *m);

#endif
