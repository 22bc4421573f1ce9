/* task.h - tasks of the server: which event can have caused a message that names a task.
 *
 * Cause     the latest of these: the answer that created the task; a request that changes it
 *           (tasks/cancel, tasks/update); the client's answer to a question of the server in its
 *           tasks/result. Other events do not change the task, so its messages need not wait for
 *           them.
 * Early     a server may announce a task before the answer that creates it: the message waits in
 *           the plan until an answer names the task, or no request is active.
 * Limits    as in exchanges.h. */
#ifndef MI_REPLAY_PLAN_TASK_H
#define MI_REPLAY_PLAN_TASK_H

#include "replay/plan/tables.h"

/* Returns the task that a message of the server names; PLAN_NONE if it names none, or an unknown
 * one. *ret_hash: hash of the task's id; 0: the message names no task. */
uint32_t plan_find_named_task(struct plan *p, const struct rpc *rpc, uint64_t *ret_hash);
/* Call this function for a request of the client, which may name a task. */
void plan_link_request_to_task(struct plan *p, uint32_t exchange, uint64_t place);
/* Call this function when the client has answered a question in this exchange. */
void plan_set_task_cause_to_answer(struct plan *p, uint32_t exchange, uint32_t question,
                                   uint64_t place);
/* Call this function for the server's answer to a request, before the answer is added to the
 * exchange. */
MI_MUST int plan_store_new_task(struct plan *p, uint32_t exchange, struct slice answer,
                                uint64_t place);

MI_MUST int plan_add_early_task_message(struct plan *p, uint64_t task_hash, uint32_t step);
/* Adds the remaining early messages to lists of steps. No answer has named the tasks of these
 * messages. */
void plan_insert_early_messages(struct plan *p);

#endif
