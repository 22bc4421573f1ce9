/* live_ask.h - sends requests to the live server, one at a time, and waits for the answer.
 *
 * If the server sends a request meanwhile, it gets the recorded answer of the client to a request
 * of that method. If there is no such answer, or the sanitizer changed it, the server gets an
 * error. `ping` always gets an answer.
 *
 * An error with the id null counts as the answer, unless it may belong to a notification
 * (docs/findings.md).
 *
 * Errors    as in live_session.h. A missing answer is not an error: the deadline passed, the server
 *           ended (t->ended), or a signal arrived (t->interrupted).
 * Blocks    until the answer or the deadline. */
#ifndef MI_REPLAY_LIVE_LIVE_ASK_H
#define MI_REPLAY_LIVE_LIVE_ASK_H

#include "replay/live/live_session.h"
#include "wire/schema/tools.h"

/* Sends a request with a new id, which is then in t->next_id. *ret borrows from the live server's
 * line, and is valid until the next call of this function. */
MI_MUST int live_session_send_and_await(struct live_session *t, const struct rpc *request,
                                        struct rpc *ret, bool *ret_answered);
/* Sends a notification. Returns 0 or MI_ENOMEM. */
MI_MUST int live_session_send_notification(struct live_session *t, struct slice line);
/* Reads the tools of the live server. meta: the `_meta` of the requests, as JSON; {NULL, 0}: none.
 * *ret receives the definitions; ret may be NULL. *ret_last is the last answer, which is an error
 * if the list is incomplete; valid until the next call of this function. *ret_answered: whether
 * there is an answer. */
MI_MUST int live_session_request_tools(struct live_session *t, struct slice meta, struct tools *ret,
                                       struct rpc *ret_last, bool *ret_answered);

#endif
