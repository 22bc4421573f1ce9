/* forward_start.h - the messages that the live server gets before the first request: the handshake, and
 * with `catch_up` earlier recorded requests. */
#ifndef MI_REPLAY_MOCK_FORWARD_START_H
#define MI_REPLAY_MOCK_FORWARD_START_H

#include "replay/mock/forward_queue.h"

/* Starts the server; the first request waits in the list. */
MI_MUST int forward_start(struct conversation *s, bool modern);
/* Handles the answer to our own request. */
MI_MUST int forward_step(struct conversation *s, const struct rpc *answer);

#endif
