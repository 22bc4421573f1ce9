/* answer_repair.h - answers that some clients do not recognize: an id of another type or null, members that are null.
 *
 * Repairs   wire/mcp/answer_flaw.h says what. The id null of an error is repaired if only one request can be meant. With
 *           --validate protocol what would be repaired is refused, as what cannot be repaired always is.
 * Changes   the message: its text becomes a copy of its own. odd.repairs.
 * Errors    out of memory: the connection to the receiver is closed, as for any message that cannot be staged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_ANSWER_REPAIR_H
#define MI_PROXY_SESSION_ANSWER_REPAIR_H

#include "proxy/session/message.h"

/* The request that an answer belongs to; NULL: none. An error with the id null belongs to the only pending request,
 * unless a notification was sent, and no request that was sent after it has been answered: some servers answer them so
 * (mcp-wire.md 7.3). */
struct pending *answer_request(struct traffic *t, enum row_direction dir, const struct rpc *answer,
                               bool *ret_type_changed);
/* x answers p, which may be NULL. false: it must not be forwarded; it is recorded, and the client got an error. With
 * --validate none nothing changes. */
MI_MUST bool answer_repair(struct traffic *t, struct message *x, struct pending *p);
/* The same for the line of a batch: members that must not be forwarded are removed. *ret_kept: how many are left, if that is 0 the
 * line is unchanged. Nothing is recorded, and nobody gets an error: the caller handles each member. false: out of
 * memory. */
MI_MUST bool answer_repair_batch(struct traffic *t, struct message *batch, size_t *ret_kept);

#endif
