/* ask.h - one request to the live server at a time, and the answer.
 *
 * Requests that the server makes meanwhile get the answer that the client gave to a recorded request of that method.
 *
 * Errors    as in state.h. No answer is not an error: the deadline passed, or the server ended (v->ended).
 * Blocks    until the answer or the deadline. */
#ifndef MI_REPLAY_VERIFY_ASK_H
#define MI_REPLAY_VERIFY_ASK_H

#include "replay/verify/state.h"

/* Sends a recorded request. *ret is in the live server's line: valid until the next call. */
MI_MUST int verify_ask(struct verify *v, const struct rpc *request, struct rpc *ret,
                       bool *ret_answered);
/* Learns the live server's tools, for a recording without them; the requests are of the revision of `call`. */
MI_MUST int verify_ask_tools(struct verify *v, const struct rpc *call);

#endif
