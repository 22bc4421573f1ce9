#include "replay/compare/compared_recording.h"

#include "replay/plan/load.h"

#include <stdlib.h>

#define LOAD_MESSAGES 128 /* maximum number of messages added to the plan in one step */
#define LIST_CALLS 4096   /* maximum number of calls listed in one step */

void compared_recording_close(struct compared_recording *s)
{
    plan_close(s->plan);
    free(s->exchange);
    free(s->call);
    buf_close(&s->request);
    buf_close(&s->answer);
    *s = (struct compared_recording){0};
}

/* Returns the target of a topic; empty for tasks, because the server generates their ids. */
static struct slice get_target_unless_task_id(const struct plan_topic *t)
{
    return slice_begins(t->method, "tasks/") ? (struct slice){"", 0} : t->target;
}

static int compared_recording_list_calls(struct compared_recording *s,
                                         const struct diff_rules *rules, struct intern *topics)
{
    uint32_t n = plan_count_exchanges(s->plan),
             end = n - s->listed < LIST_CALLS ? n : s->listed + LIST_CALLS;
    int st = 0;
    if (s->call == NULL) {
        s->exchange = calloc((size_t)n + 1, sizeof *s->exchange);
        s->call = calloc((size_t)n + 1, sizeof *s->call);
    }
    if (s->exchange == NULL || s->call == NULL)
        return MI_ENOMEM;
    for (; st == 0 && s->listed < end; s->listed++) {
        const struct plan_exchange *x = plan_get_exchange(s->plan, s->listed);
        const struct plan_topic *t = plan_get_method_target(s->plan, x->topic);
        struct slice target = get_target_unless_task_id(t);
        if ((slice_is(t->method, "ping") && x->status == CALL_OK) ||
            (rules->takes != NULL && !rules->takes(rules->ctx, t->method, target)))
            continue;
        s->exchange[s->n] = s->listed;
        s->call[s->n].key = x->hash;
        /* The topic number of a method and target is the same on both sides. */
        buf_clear(&s->request);
        buf_slice_add(&s->request, t->method);
        buf_addc(&s->request, '\0');
        buf_slice_add(&s->request, target);
        st = s->request.failed ? MI_ENOMEM
                               : intern_add(topics, buf_slice(&s->request), &s->call[s->n].topic);
        s->n++;
    }
    return st;
}

int compared_recording_open(struct compared_recording *s, struct source *source,
                            const struct diff_rules *rules)
{
    *s = (struct compared_recording){.source = source};
    return plan_open(&s->plan, &rules->canon);
}

int compared_recording_load_next_part(struct compared_recording *s, const struct diff_rules *rules,
                                      struct intern *topics, bool *ret_done)
{
    *ret_done = false;
    if (!plan_is_finished(s->plan))
        return plan_load(s->plan, s->source, LOAD_MESSAGES, &s->request);
    int st = compared_recording_list_calls(s, rules, topics);
    *ret_done = st == 0 && s->listed == plan_count_exchanges(s->plan);
    return st;
}

struct diff_call compared_recording_get_call(const struct compared_recording *s, uint32_t call)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, s->exchange[call]);
    const struct plan_topic *t = plan_get_method_target(s->plan, x->topic);
    return (struct diff_call){
        .method = t->method,
        .target = get_target_unless_task_id(t),
        .seq = source_seq_in_session(x->place),
        .place = x->place,
        .answer = x->answer != PLAN_NONE ? plan_get_step(s->plan, x->answer)->place : 0,
        .t_us = x->t_us,
        .took_us = x->outcome == PLAN_PENDING ? -1 : x->end_us - x->t_us,
        .status = (enum call_status)x->status,
    };
}

int compared_recording_read_request(struct compared_recording *s, uint32_t call, struct rpc *ret)
{
    return plan_read_request(s->plan, s->source, s->exchange[call], &s->request, ret);
}

int compared_recording_read_answer(struct compared_recording *s, uint32_t call, struct rpc *ret)
{
    buf_clear(&s->answer);
    int st = source_read_body(s->source, compared_recording_get_call(s, call).answer, &s->answer);
    if (st < 0)
        return st;
    bool valid = rpc_read(buf_slice(&s->answer), ret) == 0 &&
                 (ret->kind == RPC_RESULT || ret->kind == RPC_ERROR);
    return valid ? 0 : MI_ENOENT;
}
