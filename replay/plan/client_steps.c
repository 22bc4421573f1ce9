/* client_steps.c - messages of the client: requests, notifications, and answers to questions of the
 * server. */
#include "replay/plan/index.h"
#include "replay/plan/peers.h"
#include "replay/plan/rewrite.h"
#include "replay/plan/step_list.h"
#include "replay/plan/task.h"
#include "replay/plan/version.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

/* maximum number of active requests that are searched for the id in `$/cancelRequest` */
#define LSP_CANCEL_LOOK 4096

/* Finds or adds the topic of a message. Topics of notifications have no target. */
static int find_method_target_of_message(struct plan *p, const struct rpc *rpc, uint32_t *ret)
{
    struct rpc_name name = rpc_name(rpc, &p->key);
    if (rpc->kind == RPC_NOTIFICATION)
        name.target.n = 0;
    return p->key.failed ? MI_ENOMEM
                         : plan_find_or_add_method_target(p, name.method, name.target, ret);
}

/* Adds exchange i to its topic, and makes room in p->listens if the exchange is a subscription. */
static int add_exchange_to_method_target(struct plan *p, uint32_t topic, uint32_t i)
{
    struct plan_topic *t = &p->topics[topic];
    p->exchanges[i].topic = topic;
    if (t->first == PLAN_NONE)
        t->first = i;
    else
        p->exchanges[t->last].next_topic = i;
    t->last = i;
    t->requests++;
    if (plan_exchange_is_subscription(p, i))
        return PLAN_ROOM(p, listens);
    return 0;
}

int plan_add_client_request(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t topic, i = p->exchanges_n;
    int st = find_method_target_of_message(p, rpc, &topic);
    if (st == 0)
        st = PLAN_ROOM(p, exchanges);
    if (st < 0)
        return st;
    p->exchanges[i] = (struct plan_exchange){
        .place = m->place,
        .t_us = m->t_us,
        .end_us = m->t_us,
        .next_same = PLAN_NONE,
        .next_topic = PLAN_NONE,
        .gate = PLAN_NONE,
        .answer = PLAN_NONE,
        .task = PLAN_NONE,
        .inside = {PLAN_NONE, PLAN_NONE},
        .after = {PLAN_NONE, PLAN_NONE},
        .token_hash = plan_hash_id(p, json_get(rpc->meta, "progressToken")),
        .id_hash = plan_hash_id(p, rpc->id),
        .status = CALL_OPEN,
    };
    p->exchanges_n++;
    st = add_exchange_to_method_target(p, topic, i);
    if (st < 0)
        return st;
    if (plan_exchange_is_subscription(p, i))
        p->listens[p->listens_n++] = (struct listen){plan_hash_id(p, rpc->id), i};
    if (rpc_is_modern(rpc))
        plan_store_protocol_version(p, true, json_get(rpc->meta, META_VERSION));
    buf_clear(&p->key);
    canon_write_request(&p->key, rpc, p->rules);
    if (p->key.failed)
        return MI_ENOMEM;
    p->exchanges[i].hash = canon_hash_text(buf_slice(&p->key));
    st = plan_add_exchange_to_group(p, p->exchanges[i].hash, i);
    if (st == 0 && p->exchanges[i].token_hash != 0)
        st = map_put(&p->token_map, p->exchanges[i].token_hash, i);
    if (plan_may_cause_messages(p->topics[topic].method)) {
        plan_activate_exchange(p, i);
        plan_set_exchange_order(p, i);
    }
    plan_link_request_to_task(p, i, m->place);
    plan_add_event(p, m->place, (struct plan_anchor){ANCHOR_REQUEST, i}, !p->topics[topic].reads);
    return st;
}

static void plan_add_client_cancel(struct plan *p, const struct source_message *m)
{
    uint32_t i = plan_find_exchange_at_position(p, m->request_place);
    if (i == PLAN_NONE || p->exchanges[i].outcome != PLAN_PENDING ||
        (p->topics[p->exchanges[i].topic].flags & METHOD_UNCANCELLED) != 0)
        return;
    plan_deactivate_exchange(p, i, false);
    p->exchanges[i].outcome = PLAN_CANCELLED;
    p->exchanges[i].status = CALL_CANCELLED;
    p->exchanges[i].end_us = m->t_us;
}

static void plan_add_client_lsp_cancel(struct plan *p, const struct source_message *m,
                                       const struct rpc *rpc)
{
    uint64_t id = plan_hash_id(p, json_get(rpc->params, "id"));
    uint32_t i = p->active_last;
    for (int look = 0; i != PLAN_NONE && look < LSP_CANCEL_LOOK; look++) {
        if (id != 0 && p->exchanges[i].id_hash == id) {
            p->exchanges[i].lsp_cancelled = m->place;
            return;
        }
        i = p->exchanges[i].active_prev;
    }
}

int plan_add_client_notification(struct plan *p, const struct source_message *m,
                                 const struct rpc *rpc)
{
    uint32_t topic, i = p->notifications_n;
    if (m->request_place != 0 && rpc_method_is(rpc, "notifications/cancelled"))
        plan_add_client_cancel(p, m);
    else if (rpc_method_is(rpc, "$/cancelRequest"))
        plan_add_client_lsp_cancel(p, m, rpc);
    int st = find_method_target_of_message(p, rpc, &topic);
    if (st == 0)
        st = PLAN_ROOM(p, notifications);
    if (st < 0)
        return st;
    p->notifications[p->notifications_n++] =
        (struct plan_notification){m->place, m->t_us, {PLAN_NONE, PLAN_NONE}, PLAN_NONE};
    struct plan_topic *t = &p->topics[topic];
    if (t->first_notification == PLAN_NONE)
        t->first_notification = i;
    else
        p->notifications[t->last_notification].next = i;
    t->last_notification = i;
    if (t->live_notification == PLAN_NONE)
        t->live_notification = i;
    plan_add_event(p, m->place, (struct plan_anchor){ANCHOR_NOTIFICATION, i},
                   !plan_method_needs_no_reaction(t->method));
    return 0;
}

/* Returns the hash of the task that the client's answer creates (revision 2025-11-25), which the
 * server then polls; 0: no task. */
static uint64_t hash_task_created_by_answer(struct plan *p, struct slice body)
{
    struct rpc rpc;
    if (body.p == NULL || memmem(body.p, body.n, "taskId", 6) == NULL || rpc_read(body, &rpc) < 0)
        return 0;
    return plan_hash_task_id(p, json_get(json_get(rpc.result, "task"), "taskId"));
}

int plan_add_client_answer(struct plan *p, const struct source_message *m, struct slice body)
{
    uint32_t i = plan_find_question_at_position(p, m->request_place);
    if (i == PLAN_NONE || p->questions[i].answer != 0) {
        p->unplaced++;
        return 0;
    }
    p->questions[i].answer = m->place;
    p->questions[i].answered_us = m->t_us;
    uint64_t task = hash_task_created_by_answer(p, body);
    plan_handle_answered_question(p, i, task != 0);
    plan_set_task_cause_to_answer(p, p->questions[i].owner, i, m->place);
    plan_add_event(p, m->place, (struct plan_anchor){ANCHOR_CLIENT_ANSWER, i},
                   !p->questions[i].polls);
    return task != 0 ? map_put(&p->task_map, task, i) : 0;
}
