#include "replay/compare/side.h"

#include "replay/plan/load.h"

#include <stdlib.h>

#define LOAD_MESSAGES 128 /* maximum number of messages added to the plan in one step */
#define LIST_CALLS 4096   /* maximum number of calls listed in one step */

void side_close(struct side *s)
{
    plan_close(s->plan);
    free(s->exchange);
    free(s->call);
    buf_close(&s->request);
    buf_close(&s->answer);
    *s = (struct side){0};
}

/* Returns the target of a topic; empty for tasks, because the server generates their ids. */
static struct slice get_comparable_target(const struct plan_topic *t)
{
    return slice_begins(t->method, "tasks/") ? (struct slice){"", 0} : t->target;
}

static int side_add_calls_to_list(struct side *s, const struct diff_rules *rules,
                                  struct intern *topics)
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
        const struct plan_topic *t = plan_get_topic(s->plan, x->topic);
        struct slice target = get_comparable_target(t);
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

int side_open(struct side *s, struct source *source, const struct diff_rules *rules)
{
    *s = (struct side){.source = source};
    return plan_open(&s->plan, &rules->canon);
}

int side_load_next_chunk(struct side *s, const struct diff_rules *rules, struct intern *topics,
                         bool *ret_done)
{
    *ret_done = false;
    if (!plan_is_finished(s->plan))
        return plan_load(s->plan, s->source, LOAD_MESSAGES, &s->request);
    int st = side_add_calls_to_list(s, rules, topics);
    *ret_done = st == 0 && s->listed == plan_count_exchanges(s->plan);
    return st;
}

struct diff_call side_get_call(const struct side *s, uint32_t call)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, s->exchange[call]);
    const struct plan_topic *t = plan_get_topic(s->plan, x->topic);
    return (struct diff_call){
        .method = t->method,
        .target = get_comparable_target(t),
        .seq = source_seq_in_session(x->place),
        .place = x->place,
        .answer = x->answer != PLAN_NONE ? plan_get_step(s->plan, x->answer)->place : 0,
        .t_us = x->t_us,
        .took_us = x->outcome == PLAN_PENDING ? -1 : x->end_us - x->t_us,
        .status = (enum call_status)x->status,
    };
}

int side_read_request(struct side *s, uint32_t call, struct rpc *ret)
{
    return plan_read_request(s->plan, s->source, s->exchange[call], &s->request, ret);
}

int side_read_answer(struct side *s, uint32_t call, struct rpc *ret)
{
    buf_clear(&s->answer);
    int st = source_read_body(s->source, side_get_call(s, call).answer, &s->answer);
    if (st < 0)
        return st;
    bool valid = rpc_read(buf_slice(&s->answer), ret) == 0 &&
                 (ret->kind == RPC_RESULT || ret->kind == RPC_ERROR);
    return valid ? 0 : MI_ENOENT;
}
