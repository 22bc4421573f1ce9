/* uncertain.h - determines which calls are uncertain (repeats.h).
 *
 * Only tool calls count, and only if no list of tools marks the tool with readOnlyHint or
 * idempotentHint. Requests of other methods are never uncertain.
 *
 * Changes   repeats.
 * Errors    if out of memory, the call is not remembered, and a warning is logged. */
#ifndef MI_PROXY_SESSION_UNCERTAIN_H
#define MI_PROXY_SESSION_UNCERTAIN_H

#include "proxy/session/message.h"

/* Notes that p may run or may have run, although the client gets an error for it, has cancelled it,
 * or gets an error in place of an invalid answer. cause: static. */
void uncertain_note_call(struct traffic *t, const struct pending *p, const char *cause);
/* Notes a late answer of the server to p; the answer is not recorded yet and will be dropped. If a
 * repeat may get it, the rules that it violates are noted. */
/* Whether a late answer passes the checks for an answer in time. */
typedef bool (*late_sound_fn)(struct traffic *t, struct message *x, const struct pending *p);
void uncertain_note_late_answer(struct traffic *t, const struct pending *p, const struct rpc *m,
                                late_sound_fn sound, struct message *x);
/* Notes an answer of the server to p. If p repeats calls and the answer is a result, these calls
 * are no longer uncertain. */
void uncertain_note_answer(struct traffic *t, const struct pending *p, const struct rpc *m);

#endif
