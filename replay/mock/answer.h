/* answer.h - answers that do not come from the recording: default answers to a few methods, and
 * errors for requests that were not recorded. */
#ifndef MI_REPLAY_MOCK_ANSWER_H
#define MI_REPLAY_MOCK_ANSWER_H

#include "replay/mock/state.h"

MI_MUST int mock_send_line(struct conversation *s, struct slice line);
/* Sends an answer, or adds it to its batch. batch: the request's batch, or NULL. */
MI_MUST int mock_send_answer(struct conversation *s, struct mock_batch *batch, struct slice text);
MI_MUST int mock_send_error(struct conversation *s, struct mock_batch *batch, struct slice id,
                            int code, const char *why, const char *cause, const struct miss *f);
/* Counts an answer of the batch as complete; after the last answer, sends and frees the batch. */
MI_MUST int mock_batch_complete_answer(struct conversation *s, struct mock_batch *batch);
/* Answers a request that was not recorded: with the default answer of its method, or with an error
 * and a finding. Returns 0, an error, or MOCK_FOR_LIVE: the finding was added, but the request was
 * not answered, and the caller must send it to the live server. */
#define MOCK_FOR_LIVE 1
MI_MUST int mock_answer_unrecorded_request(struct conversation *s, struct mock_batch *batch,
                                           const struct rpc *live, const struct rpc *sanitized,
                                           enum miss_kind why);
/* Sends an error because the recorded answer cannot be sent. */
MI_MUST int mock_send_no_answer_error(struct conversation *s, struct playback *p);
/* Reports, only once, if the client's capabilities differ from the recorded ones, because the
 * difference may affect answers. */
MI_MUST int mock_compare_capabilities(struct conversation *s, const struct rpc *sanitized,
                                      uint32_t exchange);
/* Reports if the client's answer to a question of the server differs from the recorded answer. */
MI_MUST int mock_compare_answer(struct conversation *s, const struct plan_question *q,
                                const struct rpc *live);

#endif
