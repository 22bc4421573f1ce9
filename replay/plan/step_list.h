/* step_list.h - decides which list a step belongs to (exchanges.h). */
#ifndef MI_REPLAY_PLAN_STEP_LIST_H
#define MI_REPLAY_PLAN_STEP_LIST_H

#include "replay/plan/tables.h"

/* Adds a copy of the step, which belongs to no list yet. 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_copy_step(struct plan *p, const struct plan_step *step, uint32_t *ret);
void plan_append_step(struct plan *p, struct plan_list *list, uint32_t step);
void plan_append_step_to_exchange(struct plan *p, uint32_t exchange, uint32_t step);
/* Inserts a step among the steps inside the exchange, which are sorted by position. */
void plan_insert_step_in_exchange(struct plan *p, uint32_t exchange, uint32_t step);
struct plan_list *plan_get_steps_after_event(struct plan *p, struct plan_anchor a);
/* Adds an event. causes: whether the event may have caused later unsolicited messages; if true,
 * these are added to the list that follows the event. */
void plan_add_event(struct plan *p, uint64_t place, struct plan_anchor event, bool causes);
/* Adds the notification `step` to the list of its cause: inside the exchange if the exchange is
 * pending, otherwise after the event `cause`. */
void plan_insert_step_after_cause(struct plan *p, struct plan_anchor cause, uint64_t cause_place,
                                  uint32_t step);
/* Adds a notification of unknown cause to a list. log: it is a log message, which even a request
 * that only reads may cause. */
void plan_place_notification(struct plan *p, uint32_t step, bool log);
/* Finds the event that may cause the next message of the task. */
struct plan_task plan_find_task_cause(const struct plan *p, uint32_t task);
/* Adds a question of the server to its exchange. If the exchange is not known yet, the question is
 * added later. after_notification: the question may be a reaction to a notification of the
 * client. */
MI_MUST int plan_add_question_to_exchange(struct plan *p, uint32_t question,
                                          bool after_notification);
/* Call this function when the client has answered a question. with_task: the answer creates a task;
 * later requests of the server refer to that task. */
void plan_handle_answered_question(struct plan *p, uint32_t question, bool with_task);
/* Call this function for a message of the client that may cause a question in this exchange: it
 * becomes the last stimulus of the exchange. */
void plan_set_exchange_order(struct plan *p, uint32_t exchange);
/* Adds the exchange to the active exchanges. */
void plan_activate_exchange(struct plan *p, uint32_t exchange);
/* Removes the exchange from the active exchanges. answered: the exchange was answered. Call this
 * function before appending the answer. */
void plan_deactivate_exchange(struct plan *p, uint32_t exchange, bool answered);

#endif
