#include "replay/plan/task.h"

#include "replay/plan/index.h"
#include "replay/plan/step_list.h"
#include "wire/json/text.h"
#include "wire/meta.h"

static uint32_t find_task_by_hash(const struct plan *p, uint64_t hash)
{
    const uint32_t *i = hash != 0 ? map_get(&p->server_task_map, hash) : NULL;
    return i != NULL ? *i : PLAN_NONE;
}

uint32_t plan_find_named_task(struct plan *p, const struct rpc *rpc, uint64_t *ret_hash)
{
    struct json_value id = json_get(json_get(rpc->meta, META_RELATED_TASK), "taskId");
    if (id.type != JSON_STRING && rpc->kind == RPC_NOTIFICATION)
        id = json_get(rpc->params, "taskId");
    *ret_hash = plan_hash_task_id(p, id);
    return find_task_by_hash(p, *ret_hash);
}

static void set_task_cause(struct plan *p, uint32_t task, struct plan_anchor cause, uint64_t place)
{
    if (task != PLAN_NONE)
        p->tasks[task] = (struct plan_task){cause, place};
}

void plan_link_request_to_task(struct plan *p, uint32_t exchange, uint64_t place)
{
    struct plan_exchange *x = &p->exchanges[exchange];
    const struct plan_topic *t = &p->topics[x->topic];
    if (!slice_begins(t->method, "tasks/"))
        return;
    x->task = find_task_by_hash(p, canon_hash_text(t->target));
    if (!t->reads)
        set_task_cause(p, x->task, (struct plan_anchor){ANCHOR_REQUEST, exchange}, place);
}

void plan_set_task_cause_to_answer(struct plan *p, uint32_t exchange, uint32_t question,
                                   uint64_t place)
{
    if (exchange != PLAN_NONE)
        set_task_cause(p, p->exchanges[exchange].task,
                       (struct plan_anchor){ANCHOR_CLIENT_ANSWER, question}, place);
}

/* Returns the id of the task that this answer creates: result.task.taskId in 2025-11-25,
 * result.taskId in the tasks extension. */
static struct json_value make_task_id(const struct rpc *answer)
{
    struct json_value nested = json_get(json_get(answer->result, "task"), "taskId");
    bool flat = answer->result_type.type == JSON_STRING &&
                slice_is(json_string_raw(answer->result_type), "task");
    return flat ? json_get(answer->result, "taskId") : nested;
}

int plan_store_new_task(struct plan *p, uint32_t exchange, struct slice answer, uint64_t place)
{
    struct rpc rpc;
    struct plan_exchange *x = &p->exchanges[exchange];
    if (p->topics[x->topic].reads || answer.p == NULL ||
        memmem(answer.p, answer.n, "taskId", 6) == NULL || rpc_read(answer, &rpc) < 0)
        return 0;
    uint64_t hash = plan_hash_task_id(p, make_task_id(&rpc));
    if (hash == 0)
        return 0;
    int st = PLAN_ROOM(p, tasks);
    if (st == 0)
        st = map_put(&p->server_task_map, hash, p->tasks_n);
    if (st < 0)
        return st;
    x->task = p->tasks_n++;
    set_task_cause(p, x->task, (struct plan_anchor){ANCHOR_OUTCOME, exchange}, place);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->early_n; i++) {
        if (p->early[i].task_hash == hash)
            plan_insert_step_in_exchange(p, exchange, p->early[i].step);
        else
            p->early[kept++] = p->early[i];
    }
    p->early_n = kept;
    return 0;
}

int plan_add_early_task_message(struct plan *p, uint64_t task_hash, uint32_t step)
{
    int st = PLAN_ROOM(p, early);
    if (st == 0)
        p->early[p->early_n++] = (struct early_note){step, task_hash};
    return st;
}

void plan_insert_early_messages(struct plan *p)
{
    for (uint32_t i = 0; i < p->early_n; i++)
        plan_insert_step_after_cause(p, p->cause, p->cause_place, p->early[i].step);
    p->early_n = 0;
}
