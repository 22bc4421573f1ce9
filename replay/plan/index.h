/* index.h - look-ups in the tables of a plan: topics, groups of equal requests, places, ids. */
#ifndef MI_REPLAY_PLAN_INDEX_H
#define MI_REPLAY_PLAN_INDEX_H

#include "replay/plan/tables.h"

/* Finds or adds the topic. Returns 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_find_or_add_method_target(struct plan *p, struct slice method, struct slice target,
                                           uint32_t *ret);
MI_MUST int plan_add_exchange_to_group(struct plan *p, uint64_t hash, uint32_t exchange);
uint32_t plan_find_exchange_at_position(const struct plan *p, uint64_t place); /* PLAN_NONE: none */
uint32_t plan_find_question_at_position(const struct plan *p, uint64_t place);
/* Whether a request of this method may cause messages of the server other than its answer. */
bool plan_may_cause_messages(struct slice method);
/* method: of a notification of the client, or of a request of the server that the client has
 * answered. Returns true if the server does not react to such a notification or answer. */
bool plan_method_needs_no_reaction(struct slice method);
bool plan_exchange_is_subscription(const struct plan *p, uint32_t exchange);
/* returns a hash of an id or token; 0: the id is invalid */
uint64_t plan_hash_id(struct plan *p, struct json_value id);
uint64_t plan_hash_task_id(struct plan *p, struct json_value id);

#endif
