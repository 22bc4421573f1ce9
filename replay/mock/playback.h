/* playback.h - replays exchanges and lists of unsolicited messages: decides what each sends next,
 * and when. */
#ifndef MI_REPLAY_MOCK_PLAYBACK_H
#define MI_REPLAY_MOCK_PLAYBACK_H

#include "replay/mock/state.h"

MI_MUST int playback_start(struct conversation *s, const struct rpc *live, uint32_t exchange,
                           bool again, const struct fault *fault, struct mock_batch *batch);
MI_MUST int playback_start_step_list(struct conversation *s, struct plan_anchor list,
                                     struct pace_mark mark, struct slice token);
MI_MUST int playback_end_and_free(struct conversation *s, struct playback *p);
/* Sends the steps that are due, and schedules the next step. May end the playback. */
MI_MUST int playback_run(struct conversation *s, struct playback *p);
/* Sets the time of the next step of every playback to now. */
MI_MUST int playback_schedule_all_now(struct conversation *s);
/* For each playback that waits for the client, sets the time of its next step to now. */
MI_MUST int playback_wake_held_playbacks(struct conversation *s);
/* Call this function when the client has sent an answer or a notification. place, t_us: position
 * and time of this message in the recording. Sends the unsolicited messages that were recorded
 * earlier, and wakes playbacks that wait for the client to reach this position. */
MI_MUST int playback_send_earlier_messages(struct conversation *s, uint64_t place, int64_t t_us);
/* Wakes playbacks that wait for more steps, if the plan has grown. */
MI_MUST int playback_wake_if_plan_grew(struct conversation *s);
/* Returns the playback of the client's request with this id, or NULL. */
struct playback *playback_find_by_request_id(struct conversation *s, struct json_value id);
/* Removes the server's unanswered question with this id from the list, and returns the question,
 * which the caller frees; or NULL. */
struct question *playback_remove_question(struct conversation *s, struct json_value id);

#endif
