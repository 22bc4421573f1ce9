/* answer_id.h - gives answers the ids of their requests.
 *
 * Some peers answer request 7 with the id "7". Others, which compare ids with their types, would wait forever.
 * Changes   the message: its text becomes a copy of its own, in which each such id is the one of its request, as the
 *           sender of the request wrote it. All other bytes stay.
 * Errors    out of memory: the connection to the receiver is closed, as for any message that cannot be staged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_ANSWER_ID_H
#define MI_PROXY_SESSION_ANSWER_ID_H

#include "proxy/session/message.h"

/* x is an answer, or a batch. With --validate none nothing changes. false: out of memory. */
MI_MUST bool answer_id_restore(struct traffic *t, struct message *x);

#endif
