/* answer_repair.h - repairs answers that some clients do not recognize.
 *
 * Repairs   wire/mcp/answer_flaw.h lists the flaws. An error with the id null gets the right id if
 *           only one request can be meant. With --validate protocol, answers that would be repaired
 *           are refused. Answers that cannot be repaired are always refused.
 * Changes   the text of the message, which becomes a copy that the message owns;
 *           invalid_lines.repairs.
 * Errors    if memory runs out, the connection to the receiver is closed, as for any message that
 *           cannot be staged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_ANSWER_REPAIR_H
#define MI_PROXY_SESSION_ANSWER_REPAIR_H

#include "proxy/session/message.h"

/* Returns the request that an answer belongs to, or NULL. An error with the id null belongs to the
 * only pending request, unless a notification was sent and no later request was answered: some
 * servers answer notifications with such errors (mcp-wire.md 7.3). */
struct pending *find_request_of_answer(struct traffic *t, enum row_direction dir,
                                       const struct rpc *answer, bool *ret_type_changed);
/* Repairs the answer x to the request p, which may be NULL. Returns false if x must not be
 * forwarded; then x is recorded, and the client has got an error. With --validate none nothing
 * changes. */
MI_MUST bool answer_repair_or_reject(struct traffic *t, struct message *x, struct pending *p);
/* Repairs the line of a batch and removes members that must not be forwarded. *ret_kept: number of
 * members left; if 0, the line is unchanged. Records nothing and sends no errors: the caller
 * handles each member. Returns false if out of memory. */
MI_MUST bool answer_repair_batch(struct traffic *t, struct message *batch, size_t *ret_kept);

#endif
