/* ask.h - one request to the live server at a time, and the answer.
 *
 * Requests that the server makes meanwhile get the answer that the client gave to a recorded request of that method,
 * unless there is none, or the sanitizer changed it: then they get an error. `ping` is answered.
 *
 * An error with the id null is the answer, unless it may belong to a notification (docs/findings.md).
 *
 * Errors    as in talk.h. No answer is not an error: the deadline passed, the server ended (t->ended), or a signal came
 *           (t->interrupted).
 * Blocks    until the answer or the deadline. */
#ifndef MI_REPLAY_LIVE_ASK_H
#define MI_REPLAY_LIVE_ASK_H

#include "replay/live/talk.h"
#include "wire/schema/tools.h"

/* Sends a request with a new id, t->next_id. *ret is in the live server's line: valid until the next call. */
MI_MUST int talk_ask(struct talk *t, const struct rpc *request, struct rpc *ret,
                     bool *ret_answered);
/* Sends a notification. 0 or MI_ENOMEM. */
MI_MUST int talk_notify(struct talk *t, struct slice line);
/* Learns the live server's tools. meta: the `_meta` of the requests, JSON; {NULL, 0}: none. ret: gets the definitions,
 * too; NULL: not needed. ret_last: the last answer, an error if the list is incomplete; valid until the next call.
 * *ret_answered: whether there is one. */
MI_MUST int talk_ask_tools(struct talk *t, struct slice meta, struct tools *ret,
                           struct rpc *ret_last, bool *ret_answered);

#endif
