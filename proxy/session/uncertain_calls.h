/* uncertain_calls.h - determines which calls are uncertain (repeats.h).
 *
 * Only tool calls can be uncertain, and only if no list of tools marks the tool with readOnlyHint
 * or idempotentHint.
 *
 * Changes   repeats.
 * Errors    if memory runs out, the call is not remembered, and a warning is logged. */
#ifndef MI_PROXY_SESSION_UNCERTAIN_CALLS_H
#define MI_PROXY_SESSION_UNCERTAIN_CALLS_H

#include "proxy/session/message.h"

/* Notes that the call p may still run or may have run. The client has cancelled the call, or gets
 * an error as its answer. cause: a static string. */
void uncertain_calls_add_call(struct traffic *t, const struct pending *p, const char *cause);
/* Returns true if a late answer passes the checks that an answer in time must pass. */
typedef bool (*late_sound_fn)(struct traffic *t, struct message *x, const struct pending *p);
/* Notes a late answer of the server to p; the answer is not recorded yet and will be dropped. If an
 * equal call may get this answer, `sound` checks the answer and notes the rules that the answer
 * violates. */
void uncertain_calls_store_late_answer(struct traffic *t, const struct pending *p,
                                       const struct rpc *m, late_sound_fn sound, struct message *x);
/* Notes an answer of the server to p. If p equals uncertain calls and the answer is a result, these
 * calls are no longer uncertain. */
void uncertain_calls_forget_answered(struct traffic *t, const struct pending *p,
                                     const struct rpc *m);

#endif
