/* input.h - a result of 2026-07-28 that asks for input: the request is sent once more, with the answers that the recorded
 * client gave.
 *
 * Errors    as in replay/live/talk.h.
 * Blocks    on the recording. */
#ifndef MI_CLI_SEND_INPUT_H
#define MI_CLI_SEND_INPUT_H

#include "replay/live/talk.h"

#define INPUT_ROUNDS 20

/* Whether the server wants input before it gives the result. */
bool input_is_required(const struct rpc *answer);
/* Makes the next request, in `message`: `sent` with the request state of the answer, and with recorded answers to all its
 * questions. *item: of the recorded request, and then of the recorded one that has these answers. *ret_found: false:
 * there is none, or the sanitizer changed it. */
MI_MUST int input_answer(struct talk *t, const struct rpc *sent, const struct rpc *answer,
                         uint32_t *item, struct buf *message, bool *ret_found);
/* "elicitation/create, roots/list": the questions, appended to b. */
void input_questions(struct buf *b, const struct rpc *answer);

#endif
