/* answer_repair.h - answers that some clients do not recognize: an id of another type or null, members that are null.
 *
 * Repairs   the id of an answer whose request has the same id with another JSON type ("7" for 7): clients that compare
 *           ids with their types would wait forever. From the server also: the id null of an error, if only one
 *           request can be meant; a null error beside a result, or the reverse, which is removed; a null result of a
 *           method whose result is empty, which becomes {}. All other bytes stay.
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
/* The same for all answers of a batch, of which none is refused. false: out of memory. */
MI_MUST bool answer_repair_batch(struct traffic *t, struct message *batch);

#endif
