/* peers.h - adds the messages of one peer to a plan. Each function returns 0, MI_EFULL or
 * MI_ENOMEM. */
#ifndef MI_REPLAY_PLAN_PEERS_H
#define MI_REPLAY_PLAN_PEERS_H

#include "replay/plan/tables.h"

/* client_steps.c */
MI_MUST int plan_add_client_request(struct plan *p, const struct source_message *m,
                                    const struct rpc *rpc);
MI_MUST int plan_add_client_notification(struct plan *p, const struct source_message *m,
                                         const struct rpc *rpc);
MI_MUST int plan_add_client_answer(struct plan *p, const struct source_message *m,
                                   struct slice body);

/* server_steps.c */
MI_MUST int plan_add_server_notification(struct plan *p, const struct source_message *m,
                                         const struct rpc *rpc);
MI_MUST int plan_add_server_stderr(struct plan *p, const struct source_message *m);
MI_MUST int plan_add_server_request(struct plan *p, const struct source_message *m,
                                    const struct rpc *rpc);
MI_MUST int plan_add_server_answer(struct plan *p, const struct source_message *m,
                                   struct slice body);

#endif
