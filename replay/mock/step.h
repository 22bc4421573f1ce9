/* step.h - sends one step of the recording, with the ids and tokens of the live session. */
#ifndef MI_REPLAY_MOCK_STEP_H
#define MI_REPLAY_MOCK_STEP_H

#include "replay/mock/state.h"

MI_MUST int step_send_message(struct conversation *s, struct playback *p, uint32_t i);
/* Sends the outcome of an exchange, or the fault that replaces it. */
MI_MUST int step_send_answer(struct conversation *s, struct playback *p,
                             const struct plan_step *step);

#endif
