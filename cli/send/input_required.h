/* input_required.h - results of revision 2026-07-28 that ask for input: the request is sent again,
 * with the answers that the recorded client gave.
 *
 * Errors    as in replay/live/live_session.h.
 * Blocks    on the recording. */
#ifndef MI_CLI_SEND_INPUT_REQUIRED_H
#define MI_CLI_SEND_INPUT_REQUIRED_H

#include "replay/live/live_session.h"

#define INPUT_ROUNDS 20 /* maximum number of times that a request is sent */

/* Whether the answer asks for input instead of giving the result. */
bool input_is_required(const struct rpc *answer);
/* Writes the next request to `message`: the request `sent`, with the request state of `answer` and
 * a recorded response to each question in `answer`. Searches the recorded requests after number
 * *item for the responses, and sets *item to the request that has them. Sets *ret_found to false if
 * no request has the responses, or if the sanitizer changed the responses. */
MI_MUST int input_write_next_request(struct live_session *t, const struct rpc *sent,
                                     const struct rpc *answer, uint32_t *item, struct buf *message,
                                     bool *ret_found);
/* Appends the methods of the questions, such as "elicitation/create, roots/list". */
void input_append_question_list(struct buf *b, const struct rpc *answer);

#endif
