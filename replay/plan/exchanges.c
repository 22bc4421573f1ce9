#include "replay/plan/exchanges.h"

#include "replay/plan/peers.h"
#include "replay/plan/step_list.h"
#include "replay/plan/task.h"

#include <stdlib.h>

int plan_open(struct plan **ret, const struct canon_rules *rules)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    p->rules = rules;
    p->start = (struct plan_list){PLAN_NONE, PLAN_NONE};
    p->active_first = p->active_last = PLAN_NONE;
    *ret = p;
    return 0;
}

void plan_close(struct plan *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->topics_n; i++)
        free((void *)(uintptr_t)p->topics[i].method.p);
    free(p->exchanges);
    free(p->steps);
    free(p->questions);
    free(p->notifications);
    free(p->topics);
    free(p->groups);
    free(p->listens);
    free(p->undecided);
    free(p->tasks);
    free(p->early);
    map_close(&p->topic_map);
    map_close(&p->group_map);
    map_close(&p->token_map);
    map_close(&p->task_map);
    map_close(&p->server_task_map);
    buf_close(&p->key);
    free(p);
}

static int plan_add_message_by_kind(struct plan *p, const struct source_message *m,
                                    struct slice body)
{
    struct rpc rpc;
    bool answer = !m->is_stderr && (m->kind == RPC_RESULT || m->kind == RPC_ERROR);
    if (m->is_stderr)
        return plan_add_server_stderr(p, m);
    if (answer && m->from_client)
        return plan_add_client_answer(p, m, body);
    if (answer)
        return plan_add_server_answer(p, m, body);
    if (body.p == NULL || rpc_read(body, &rpc) < 0 || rpc.kind != m->kind) {
        p->unplaced++;
        return 0;
    }
    if (m->from_client)
        return m->kind == RPC_REQUEST ? plan_add_client_request(p, m, &rpc)
                                      : plan_add_client_notification(p, m, &rpc);
    return m->kind == RPC_REQUEST ? plan_add_server_request(p, m, &rpc)
                                  : plan_add_server_notification(p, m, &rpc);
}

int plan_add_message(struct plan *p, const struct source_message *m, struct slice body)
{
    p->last_t_us = m->t_us;
    p->ends_listen = false;
    int st = plan_add_message_by_kind(p, m, body);
    if (!m->is_stderr && !p->ends_listen) {
        p->busy = m->place;
        p->busy_us = m->t_us;
    }
    return st;
}

int plan_finish(struct plan *p, bool server_ended)
{
    uint32_t step;
    p->finished = true;
    p->server_ended = server_ended;
    p->unplaced += p->undecided_n;
    p->undecided_n = 0;
    plan_insert_early_messages(p);
    for (uint32_t i = 0; i < p->exchanges_n; i++)
        if (p->exchanges[i].outcome == PLAN_PENDING)
            p->exchanges[i].end_us = p->last_t_us;
    if (!server_ended)
        return 0;
    struct plan_step end = {.place = UINT64_MAX, .t_us = p->last_t_us, .kind = PLAN_END};
    int st = plan_copy_step(p, &end, &step);
    if (st < 0)
        return st;
    if (p->last.kind == ANCHOR_REQUEST && p->exchanges[p->last.i].outcome == PLAN_PENDING)
        plan_append_step_to_exchange(p, p->last.i, step);
    else
        plan_append_step(p, plan_get_steps_after_event(p, p->last_quiet), step);
    return 0;
}

bool plan_is_finished(const struct plan *p)
{
    return p->finished;
}

bool plan_only_stream_ends_follow(const struct plan *p, uint64_t place, int64_t *ret_busy_us)
{
    *ret_busy_us = p->busy_us;
    return place > p->busy && !p->server_ended;
}

uint32_t plan_count_exchanges(const struct plan *p)
{
    return p->exchanges_n;
}

uint32_t plan_count_steps(const struct plan *p)
{
    return p->steps_n;
}

struct plan_exchange *plan_get_exchange(struct plan *p, uint32_t i)
{
    return &p->exchanges[i];
}

const struct plan_step *plan_get_step(const struct plan *p, uint32_t i)
{
    return &p->steps[i];
}

const struct plan_question *plan_get_question(const struct plan *p, uint32_t i)
{
    return &p->questions[i];
}

const struct plan_topic *plan_get_method_target(const struct plan *p, uint32_t i)
{
    return &p->topics[i];
}

uint32_t plan_count_method_targets(const struct plan *p)
{
    return p->topics_n;
}

bool plan_exchange_is_settled(const struct plan *p, uint32_t exchange)
{
    return p->finished || p->exchanges[exchange].outcome != PLAN_PENDING;
}

const struct plan_list *plan_get_step_list(struct plan *p, struct plan_anchor a)
{
    return plan_get_steps_after_event(p, a);
}

uint32_t plan_take_next_notification(struct plan *p, struct slice method)
{
    uint32_t topic = plan_find_method_and_target(p, method, (struct slice){"", 0});
    if (topic == PLAN_NONE)
        return PLAN_NONE;
    struct plan_topic *t = &p->topics[topic];
    uint32_t notification = t->live_notification;
    if (notification != PLAN_NONE)
        t->live_notification = p->notifications[notification].next;
    return notification;
}

const struct plan_notification *plan_get_notification(const struct plan *p, uint32_t i)
{
    return &p->notifications[i];
}

uint32_t plan_count_unlisted_messages(const struct plan *p)
{
    return p->unplaced;
}
