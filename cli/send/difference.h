/* difference.h - prints how a live answer differs from the recorded answer.
 *
 * Rules     those of replay/compare/compare.h.
 * Errors    as in replay/live/live_session.h.
 * Blocks    on the recording, and as stdout does. */
#ifndef MI_CLI_SEND_DIFFERENCE_H
#define MI_CLI_SEND_DIFFERENCE_H

#include "cli/frame/out.h"
#include "replay/live/live_session.h"

/* item: index of the recorded request. */
MI_MUST int difference_print_for_answer(struct out *o, struct live_session *t, uint32_t item,
                                        const struct rpc *live);

#endif
