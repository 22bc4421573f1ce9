/* server_steps.c - adds messages of the server to a plan, as steps. */
#include "replay/plan/index.h"
#include "replay/plan/peers.h"
#include "replay/plan/rewrite.h"
#include "replay/plan/step_list.h"
#include "replay/plan/task.h"
#include "replay/plan/version.h"
#include "wire/json/text.h"

/* maximum number of questions that are searched for the id in a cancellation */
#define QUESTIONS_BACK 1024

/* Makes the step wait until the client has reached the last event that may have caused the step
 * (plan_step.behind), and for a limited time until it has reached the last event before the step
 * (plan_step.after). Events before the position `began`, at which the step's list begins, do not
 * count. cause_place: position of the last event that may have caused the step. */
static void make_step_wait_for_events(struct plan *p, uint32_t step, uint64_t began,
                                      uint64_t cause_place)
{
    struct plan_step *s = &p->steps[step];
    if (cause_place > began && s->place - cause_place < PLAN_NONE)
        s->behind = (uint32_t)(s->place - cause_place);
    if (p->reached > began && p->reached > cause_place && s->place - p->reached < PLAN_NONE)
        s->after = (uint32_t)(s->place - p->reached);
}

/* Returns the position of the last event that may have caused a message of this task. task
 * PLAN_NONE: the message names no task. */
static uint64_t find_position_of_last_cause(const struct plan *p, uint32_t task)
{
    return task != PLAN_NONE ? plan_find_task_cause(p, task).place : p->cause_place;
}

static uint32_t find_subscription_exchange(const struct plan *p, uint64_t hash)
{
    for (uint32_t i = p->listens_n; hash != 0 && i-- > 0;)
        if (p->listens[i].id_hash == hash)
            return p->listens[i].exchange;
    return PLAN_NONE;
}

static int add_step_for_message(struct plan *p, const struct source_message *m, enum plan_kind kind,
                                uint32_t *ret)
{
    struct plan_step s = {.place = m->place,
                          .t_us = m->t_us,
                          .link = PLAN_NONE,
                          .kind = (uint8_t)kind,
                          .in_batch = m->in_batch};
    return plan_copy_step(p, &s, ret);
}

/* Handles a progress notification. Progress that arrives after the outcome belongs to a task, or
 * the server ignored a cancellation; its step is added to the list after the outcome. */
static int plan_add_server_progress(struct plan *p, const struct source_message *m,
                                    const struct rpc *rpc)
{
    uint64_t hash = plan_hash_id(p, rpc->progress_token);
    const uint32_t *x = hash != 0 ? map_get(&p->token_map, hash) : NULL;
    uint32_t step;
    bool made_up = x == NULL && rpc->progress_token.type == JSON_STRING;
    if (x == NULL && !made_up) {
        /* The notification is not replayed: a live client may use this token for another
         * request. */
        p->unplaced++;
        return 0;
    }
    int st = add_step_for_message(p, m, made_up ? PLAN_NOTE : PLAN_PROGRESS, &step);
    if (st < 0)
        return st;
    if (made_up) { /* some servers invent progress tokens; such tokens are sent unchanged */
        plan_place_notification(p, step, false);
        return 0;
    }
    if (p->exchanges[*x].outcome == PLAN_PENDING) {
        plan_append_step_to_exchange(p, *x, step);
    } else {
        make_step_wait_for_events(p, step, p->exchanges[*x].place,
                                  find_position_of_last_cause(p, p->exchanges[*x].task));
        plan_append_step(p, &p->exchanges[*x].after, step);
    }
    return 0;
}

static int plan_add_server_stream(struct plan *p, const struct source_message *m,
                                  struct json_value id, uint32_t task, enum plan_kind kind)
{
    uint32_t x = find_subscription_exchange(p, plan_hash_id(p, id)), step;
    if (x == PLAN_NONE || p->exchanges[x].outcome != PLAN_PENDING) {
        p->unplaced++;
        return 0;
    }
    int st = add_step_for_message(p, m, kind, &step);
    if (st < 0)
        return st;
    p->ends_listen = kind == PLAN_UNLISTEN;
    make_step_wait_for_events(p, step, p->exchanges[x].place,
                              p->ends_listen ? p->reached : find_position_of_last_cause(p, task));
    plan_append_step_to_exchange(p, x, step);
    return 0;
}

static int plan_add_server_cancellation(struct plan *p, const struct source_message *m,
                                        const struct rpc *rpc)
{
    uint64_t hash = plan_hash_id(p, rpc->request_id);
    uint32_t step;
    if (find_subscription_exchange(p, hash) != PLAN_NONE)
        return plan_add_server_stream(p, m, rpc->request_id, PLAN_NONE, PLAN_UNLISTEN);
    for (uint32_t i = p->questions_n, back = 0; i-- > 0 && back < QUESTIONS_BACK; back++) {
        const struct plan_question *q = &p->questions[i];
        if (q->id_hash != hash || q->answer != 0)
            continue;
        int st = add_step_for_message(p, m, PLAN_CANCEL, &step);
        if (st < 0)
            return st;
        p->steps[step].link = q->step;
        if (q->owner != PLAN_NONE && p->exchanges[q->owner].outcome == PLAN_PENDING)
            plan_append_step_to_exchange(p, q->owner, step);
        else
            plan_place_notification(p, step, false);
        return 0;
    }
    p->unplaced++;
    return 0;
}

/* Returns the pending tasks/result for the task that a server's message names (revision
 * 2025-11-25). */
static uint32_t find_pending_task_result(struct plan *p, const struct rpc *rpc)
{
    struct json_value task = json_get(json_get(rpc->meta, META_RELATED_TASK), "taskId");
    if (task.type != JSON_STRING)
        return PLAN_NONE;
    buf_clear(&p->key);
    json_unescape(&p->key, json_string_raw(task));
    uint32_t topic = plan_find_method_and_target(p, slice_of("tasks/result"), buf_slice(&p->key));
    if (topic == PLAN_NONE)
        return PLAN_NONE;
    uint32_t x = p->topics[topic].last;
    return x != PLAN_NONE && p->exchanges[x].outcome == PLAN_PENDING ? x : PLAN_NONE;
}

/* Returns the exchange in which the client created the task that the server's request names. */
static uint32_t find_client_task_exchange(struct plan *p, const struct rpc *rpc)
{
    uint64_t hash = plan_hash_task_id(p, json_get(rpc->params, "taskId"));
    const uint32_t *q = hash != 0 ? map_get(&p->task_map, hash) : NULL;
    uint32_t x = q != NULL ? p->questions[*q].owner : PLAN_NONE;
    return x != PLAN_NONE && p->exchanges[x].outcome == PLAN_PENDING ? x : PLAN_NONE;
}

int plan_add_server_notification(struct plan *p, const struct source_message *m,
                                 const struct rpc *rpc)
{
    uint32_t step;
    if (rpc_method_is(rpc, "notifications/progress"))
        return plan_add_server_progress(p, m, rpc);
    if (rpc_method_is(rpc, "notifications/cancelled"))
        return plan_add_server_cancellation(p, m, rpc);
    uint64_t hash;
    uint32_t task = plan_find_named_task(p, rpc, &hash);
    struct json_value stream = json_get(rpc->meta, META_SUBSCRIPTION);
    if (stream.type != JSON_NONE)
        return plan_add_server_stream(p, m, stream, task, PLAN_STREAM);
    int st = add_step_for_message(p, m, PLAN_NOTE, &step);
    if (st < 0)
        return st;
    uint32_t result = find_pending_task_result(p, rpc);
    if (result != PLAN_NONE) {
        plan_append_step_to_exchange(p, result, step);
    } else if (task != PLAN_NONE) {
        struct plan_task t = plan_find_task_cause(p, task);
        plan_insert_step_after_cause(p, t.cause, t.place, step);
    } else if (hash != 0 && p->active_n > 0) {
        return plan_add_early_task_message(p, hash, step);
    } else {
        plan_place_notification(p, step, rpc_method_is(rpc, "notifications/message"));
    }
    return 0;
}

int plan_add_server_stderr(struct plan *p, const struct source_message *m)
{
    uint32_t step;
    int st = add_step_for_message(p, m, PLAN_STDERR, &step);
    if (st == 0)
        plan_place_notification(p, step, false);
    return st;
}

int plan_add_server_request(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t step, i = p->questions_n;
    uint64_t hash = plan_hash_id(p, rpc->id);
    uint32_t owner = find_pending_task_result(p, rpc);
    if (owner == PLAN_NONE)
        owner = find_client_task_exchange(p, rpc);
    int st = add_step_for_message(p, m, PLAN_QUESTION, &step);
    if (st == 0)
        st = PLAN_ROOM(p, questions);
    if (st < 0)
        return st;
    p->steps[step].link = i;
    p->questions[p->questions_n++] =
        (struct plan_question){.step = step,
                               .owner = PLAN_NONE,
                               .id_hash = hash,
                               .after = {PLAN_NONE, PLAN_NONE},
                               .polls = plan_method_needs_no_reaction(rpc->method)};
    if (owner == PLAN_NONE)
        return plan_add_question_to_exchange(p, i, rpc_method_is(rpc, "roots/list"));
    p->questions[i].owner = owner;
    plan_append_step_to_exchange(p, owner, step);
    return 0;
}

int plan_add_server_answer(struct plan *p, const struct source_message *m, struct slice body)
{
    uint32_t i = plan_find_exchange_at_position(p, m->request_place), step;
    if (i == PLAN_NONE || p->exchanges[i].outcome != PLAN_PENDING) {
        p->unplaced++;
        return 0;
    }
    int st = add_step_for_message(p, m, PLAN_ANSWER, &step);
    if (st < 0)
        return st;
    if (body.p != NULL && slice_is(p->topics[p->exchanges[i].topic].method, "initialize")) {
        struct rpc rpc;
        if (rpc_read(body, &rpc) == 0)
            plan_store_protocol_version(p, false, json_get(rpc.result, "protocolVersion"));
    }
    plan_deactivate_exchange(p, i, true);
    struct plan_exchange *x = &p->exchanges[i];
    st = plan_store_new_task(p, i, m->kind == RPC_RESULT ? body : (struct slice){0}, m->place);
    if (st < 0)
        return st;
    plan_append_step_to_exchange(p, i, step);
    x->outcome = PLAN_ANSWERED;
    x->status = (uint8_t)m->status;
    x->end_us = m->t_us;
    x->answer = step;
    p->ends_listen = plan_exchange_is_subscription(p, i);
    if (p->ends_listen)
        make_step_wait_for_events(p, step, x->place, p->reached);
    else if (x->lsp_cancelled != 0 && m->place - x->lsp_cancelled < PLAN_NONE)
        p->steps[step].behind = (uint32_t)(m->place - x->lsp_cancelled);
    plan_add_event(p, m->place, (struct plan_anchor){ANCHOR_OUTCOME, i},
                   !p->topics[x->topic].reads);
    if (p->active_n == 0)
        plan_insert_early_messages(p);
    return 0;
}
