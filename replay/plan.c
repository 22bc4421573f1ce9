#include "replay/plan.h"

#include "replay/plan_inner.h"
#include "replay/rewrite.h"
#include "wire/json_text.h"
#include "wire/method.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

#define QUESTIONS_BACK 1024 /* looked through for the one that a cancellation names */

int plan_open(struct plan **ret, const struct canon_rules *rules)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    p->rules = rules;
    p->start = (struct plan_list){PLAN_NONE, PLAN_NONE};
    p->open_first = p->open_last = PLAN_NONE;
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
    free(p->cues);
    free(p->topics);
    free(p->groups);
    free(p->listens);
    free(p->undecided);
    map_close(&p->topic_map);
    map_close(&p->group_map);
    map_close(&p->token_map);
    map_close(&p->task_map);
    buf_close(&p->key);
    free(p);
}

/* The key of an id or token, hashed; 0: it is none. */
static uint64_t id_hash(struct plan *p, struct json_value id)
{
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return 0;
    buf_clear(&p->key);
    rpc_id_key(&p->key, id);
    return canon_hash(buf_slice(&p->key));
}

static void happened(struct plan *p, uint64_t place, enum plan_anchor_kind kind, uint32_t i)
{
    p->reached = place;
    p->anchor = (struct plan_anchor){kind, i};
    if (kind != ANCHOR_REQUEST)
        p->quiet = p->anchor;
}

/* A step that is at home in a list which began at this place comes behind what has happened since. */
static void set_behind(struct plan *p, uint32_t step, uint64_t began)
{
    struct plan_step *s = &p->steps[step];
    if (p->reached > began && s->place - p->reached < PLAN_NONE)
        s->behind = (uint32_t)(s->place - p->reached);
}

static int topic_of(struct plan *p, struct slice raw_method, struct slice raw_target, uint32_t *ret)
{
    buf_clear(&p->key);
    json_unescape(&p->key, raw_method);
    size_t n = p->key.n;
    if (raw_target.p != NULL)
        json_unescape(&p->key, raw_target);
    if (p->key.failed)
        return MI_ENOMEM;
    struct slice all = buf_slice(&p->key);
    return plan_topic_of(p, (struct slice){all.p, n}, (struct slice){all.p + n, all.n - n}, ret);
}

static void learn_version(char *version, size_t max, struct json_value v)
{
    size_t n;
    if (v.type != JSON_STRING || version[0] != '\0' ||
        json_unescape_to(json_string_raw(v), version, max - 1, &n) < 0)
        return;
    version[n] = '\0';
}

/* ---- of the client ---- */

static bool is_listen(const struct plan *p, uint32_t exchange)
{
    return slice_is(p->topics[p->exchanges[exchange].topic].method, "subscriptions/listen");
}

static int add_to_topic(struct plan *p, uint32_t topic, uint32_t i)
{
    struct plan_topic *t = &p->topics[topic];
    p->exchanges[i].topic = topic;
    if (t->first == PLAN_NONE)
        t->first = i;
    else
        p->exchanges[t->last].next_topic = i;
    t->last = i;
    t->requests++;
    if (is_listen(p, i))
        return PLAN_ROOM(p, listens);
    return 0;
}

static int client_request(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t topic, i = p->exchanges_n;
    int st = topic_of(p, rpc->method, rpc_target(rpc), &topic);
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
        .inside = {PLAN_NONE, PLAN_NONE},
        .after = {PLAN_NONE, PLAN_NONE},
        .token_hash = id_hash(p, json_get(rpc->meta, "progressToken")),
    };
    p->exchanges_n++;
    st = add_to_topic(p, topic, i);
    if (st < 0)
        return st;
    if (is_listen(p, i))
        p->listens[p->listens_n++] = (struct listen){id_hash(p, rpc->id), i};
    if (rpc_is_modern(rpc))
        learn_version(p->version[1], sizeof p->version[1], json_get(rpc->meta, META_VERSION));
    buf_clear(&p->key);
    canon_request(&p->key, rpc, p->rules);
    if (p->key.failed)
        return MI_ENOMEM;
    st = plan_group_add(p, canon_hash(buf_slice(&p->key)), i);
    if (st == 0 && p->exchanges[i].token_hash != 0)
        st = map_put(&p->token_map, p->exchanges[i].token_hash, i);
    if (plan_works(p->topics[topic].method)) {
        plan_opened(p, i);
        plan_stimulus(p, i);
        happened(p, m->place, ANCHOR_REQUEST, i);
    } else {
        p->anchor = (struct plan_anchor){ANCHOR_REQUEST, i};
    }
    return st;
}

static void client_cancels(struct plan *p, const struct source_message *m)
{
    uint32_t i = plan_exchange_at(p, m->request_place);
    if (i == PLAN_NONE || p->exchanges[i].outcome != PLAN_OPEN ||
        (p->topics[p->exchanges[i].topic].flags & METHOD_UNCANCELLED) != 0)
        return;
    plan_closing(p, i, false);
    p->exchanges[i].outcome = PLAN_CANCELLED;
    p->exchanges[i].end_us = m->t_us;
}

static int client_note(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t topic, i = p->cues_n;
    if (m->request_place != 0 && rpc_method_is(rpc, "notifications/cancelled"))
        client_cancels(p, m);
    int st = topic_of(p, rpc->method, (struct slice){0}, &topic);
    if (st == 0)
        st = PLAN_ROOM(p, cues);
    if (st < 0)
        return st;
    p->cues[p->cues_n++] = (struct plan_cue){m->place, m->t_us, {PLAN_NONE, PLAN_NONE}, PLAN_NONE};
    struct plan_topic *t = &p->topics[topic];
    if (t->first_cue == PLAN_NONE)
        t->first_cue = i;
    else
        p->cues[t->last_cue].next = i;
    t->last_cue = i;
    if (t->live_cue == PLAN_NONE)
        t->live_cue = i;
    happened(p, m->place, ANCHOR_CUE, i);
    return 0;
}

static uint64_t task_hash(struct plan *p, struct json_value id)
{
    if (id.type != JSON_STRING)
        return 0;
    buf_clear(&p->key);
    json_unescape(&p->key, json_string_raw(id));
    return canon_hash(buf_slice(&p->key));
}

/* The client may answer with a task (revision 2025-11-25), and the server asks for that. 0: no task. */
static uint64_t made_task(struct plan *p, struct slice body)
{
    struct rpc rpc;
    if (body.p == NULL || memmem(body.p, body.n, "taskId", 6) == NULL || rpc_read(body, &rpc) < 0)
        return 0;
    return task_hash(p, json_get(json_get(rpc.result, "task"), "taskId"));
}

static int client_answer(struct plan *p, const struct source_message *m, struct slice body)
{
    uint32_t i = plan_question_at(p, m->request_place);
    if (i == PLAN_NONE || p->questions[i].answer != 0) {
        p->dropped++;
        return 0;
    }
    p->questions[i].answer = m->place;
    p->questions[i].answered_us = m->t_us;
    uint64_t task = made_task(p, body);
    plan_question_answered(p, i, task != 0);
    happened(p, m->place, ANCHOR_REPLY, i);
    return task != 0 ? map_put(&p->task_map, task, i) : 0;
}

/* ---- of the server ---- */

static uint32_t find_listen(const struct plan *p, uint64_t hash)
{
    for (uint32_t i = p->listens_n; hash != 0 && i-- > 0;)
        if (p->listens[i].id_hash == hash)
            return p->listens[i].exchange;
    return PLAN_NONE;
}

static int step_of(struct plan *p, const struct source_message *m, enum plan_kind kind,
                   uint32_t *ret)
{
    struct plan_step s = {.place = m->place,
                          .t_us = m->t_us,
                          .link = PLAN_NONE,
                          .kind = (uint8_t)kind,
                          .in_batch = m->in_batch};
    return plan_new_step(p, &s, ret);
}

/* Progress for a request that has ended belongs to its task, and comes behind the answer; or the server
 * took no notice of its cancellation. */
static int server_progress(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint64_t hash = id_hash(p, rpc->progress_token);
    const uint32_t *x = hash != 0 ? map_get(&p->token_map, hash) : NULL;
    uint32_t step;
    bool made_up = x == NULL && rpc->progress_token.type == JSON_STRING;
    if (x == NULL && !made_up) {
        p->dropped++; /* nobody waits for it, and a live client may count with the same number */
        return 0;
    }
    int st = step_of(p, m, made_up ? PLAN_NOTE : PLAN_PROGRESS, &step);
    if (st < 0)
        return st;
    if (made_up) { /* some servers name a token that no request gave: it is said as it was */
        plan_place_note(p, step);
        return 0;
    }
    if (p->exchanges[*x].outcome == PLAN_OPEN) {
        plan_append_inside(p, *x, step);
    } else {
        set_behind(p, step, p->exchanges[*x].place);
        plan_append(p, &p->exchanges[*x].after, step);
    }
    return 0;
}

static int server_stream(struct plan *p, const struct source_message *m, struct json_value id,
                         enum plan_kind kind)
{
    uint32_t x = find_listen(p, id_hash(p, id)), step;
    if (x == PLAN_NONE || p->exchanges[x].outcome != PLAN_OPEN) {
        p->dropped++;
        return 0;
    }
    int st = step_of(p, m, kind, &step);
    if (st < 0)
        return st;
    set_behind(p, step, p->exchanges[x].place);
    plan_append_inside(p, x, step);
    return 0;
}

static int server_cancels(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint64_t hash = id_hash(p, rpc->request_id);
    uint32_t step;
    if (find_listen(p, hash) != PLAN_NONE)
        return server_stream(p, m, rpc->request_id, PLAN_UNLISTEN);
    for (uint32_t i = p->questions_n, back = 0; i-- > 0 && back < QUESTIONS_BACK; back++) {
        const struct plan_question *q = &p->questions[i];
        if (q->id_hash != hash || q->answer != 0)
            continue;
        int st = step_of(p, m, PLAN_CANCEL, &step);
        if (st < 0)
            return st;
        p->steps[step].link = q->step;
        if (q->owner != PLAN_NONE && p->exchanges[q->owner].outcome == PLAN_OPEN)
            plan_append_inside(p, q->owner, step);
        else
            plan_place_note(p, step);
        return 0;
    }
    p->dropped++;
    return 0;
}

/* The open tasks/result of the task that a message of the server belongs to (revision 2025-11-25). */
static uint32_t find_task(struct plan *p, const struct rpc *rpc)
{
    struct json_value task = json_get(json_get(rpc->meta, META_RELATED_TASK), "taskId");
    if (task.type != JSON_STRING)
        return PLAN_NONE;
    buf_clear(&p->key);
    json_unescape(&p->key, json_string_raw(task));
    uint32_t topic = plan_find_topic(p, slice_of("tasks/result"), buf_slice(&p->key));
    if (topic == PLAN_NONE)
        return PLAN_NONE;
    uint32_t x = p->topics[topic].last;
    return x != PLAN_NONE && p->exchanges[x].outcome == PLAN_OPEN ? x : PLAN_NONE;
}

/* The exchange in which the client made the task that the server asks for. */
static uint32_t find_client_task(struct plan *p, const struct rpc *rpc)
{
    uint64_t hash = task_hash(p, json_get(rpc->params, "taskId"));
    const uint32_t *q = hash != 0 ? map_get(&p->task_map, hash) : NULL;
    uint32_t x = q != NULL ? p->questions[*q].owner : PLAN_NONE;
    return x != PLAN_NONE && p->exchanges[x].outcome == PLAN_OPEN ? x : PLAN_NONE;
}

static int server_note(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t step;
    if (rpc_method_is(rpc, "notifications/progress"))
        return server_progress(p, m, rpc);
    if (rpc_method_is(rpc, "notifications/cancelled"))
        return server_cancels(p, m, rpc);
    struct json_value stream = json_get(rpc->meta, META_SUBSCRIPTION);
    if (stream.type != JSON_NONE)
        return server_stream(p, m, stream, PLAN_STREAM);
    int st = step_of(p, m, PLAN_NOTE, &step);
    if (st < 0)
        return st;
    uint32_t task = find_task(p, rpc);
    if (task != PLAN_NONE)
        plan_append_inside(p, task, step);
    else
        plan_place_note(p, step);
    return 0;
}

static int server_stderr(struct plan *p, const struct source_message *m)
{
    uint32_t step;
    int st = step_of(p, m, PLAN_STDERR, &step);
    if (st == 0)
        plan_place_note(p, step);
    return st;
}

static int server_request(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t step, i = p->questions_n;
    uint64_t hash = id_hash(p, rpc->id);
    uint32_t task = find_task(p, rpc);
    if (task == PLAN_NONE)
        task = find_client_task(p, rpc);
    int st = step_of(p, m, PLAN_QUESTION, &step);
    if (st == 0)
        st = PLAN_ROOM(p, questions);
    if (st < 0)
        return st;
    p->steps[step].link = i;
    p->questions[p->questions_n++] = (struct plan_question){
        .step = step, .owner = PLAN_NONE, .id_hash = hash, .after = {PLAN_NONE, PLAN_NONE}};
    if (task == PLAN_NONE)
        return plan_place_question(p, i, rpc_method_is(rpc, "roots/list"));
    p->questions[i].owner = task;
    plan_append_inside(p, task, step);
    return 0;
}

static int server_answer(struct plan *p, const struct source_message *m, struct slice body)
{
    uint32_t i = plan_exchange_at(p, m->request_place), step;
    if (i == PLAN_NONE || p->exchanges[i].outcome != PLAN_OPEN) {
        p->dropped++;
        return 0;
    }
    int st = step_of(p, m, PLAN_ANSWER, &step);
    if (st < 0)
        return st;
    if (body.p != NULL && slice_is(p->topics[p->exchanges[i].topic].method, "initialize")) {
        struct rpc rpc;
        if (rpc_read(body, &rpc) == 0)
            learn_version(p->version[0], sizeof p->version[0],
                          json_get(rpc.result, "protocolVersion"));
    }
    plan_closing(p, i, true);
    struct plan_exchange *x = &p->exchanges[i];
    plan_append_inside(p, i, step);
    x->outcome = PLAN_ANSWERED;
    x->end_us = m->t_us;
    x->answer = step;
    if (is_listen(p, i))
        set_behind(p, step, x->place);
    happened(p, m->place, ANCHOR_OUTCOME, i);
    return 0;
}

/* ---- all of them ---- */

int plan_add(struct plan *p, const struct source_message *m, struct slice body)
{
    struct rpc rpc;
    bool answer = !m->is_stderr && (m->kind == RPC_RESULT || m->kind == RPC_ERROR);
    p->last_t_us = m->t_us;
    if (m->is_stderr)
        return server_stderr(p, m);
    if (answer && m->from_client)
        return client_answer(p, m, body);
    if (answer)
        return server_answer(p, m, body);
    if (body.p == NULL || rpc_read(body, &rpc) < 0 || rpc.kind != m->kind) {
        p->dropped++;
        return 0;
    }
    if (m->from_client)
        return m->kind == RPC_REQUEST ? client_request(p, m, &rpc) : client_note(p, m, &rpc);
    return m->kind == RPC_REQUEST ? server_request(p, m, &rpc) : server_note(p, m, &rpc);
}

int plan_finish(struct plan *p, bool server_ended)
{
    uint32_t step;
    p->finished = true;
    p->dropped += p->undecided_n;
    p->undecided_n = 0;
    for (uint32_t i = 0; i < p->exchanges_n; i++)
        if (p->exchanges[i].outcome == PLAN_OPEN)
            p->exchanges[i].end_us = p->last_t_us;
    if (!server_ended)
        return 0;
    struct plan_step end = {.place = UINT64_MAX, .t_us = p->last_t_us, .kind = PLAN_END};
    int st = plan_new_step(p, &end, &step);
    if (st < 0)
        return st;
    if (p->anchor.kind == ANCHOR_REQUEST && p->exchanges[p->anchor.i].outcome == PLAN_OPEN)
        plan_append_inside(p, p->anchor.i, step);
    else
        plan_append(p, plan_list_of(p, p->quiet), step);
    return 0;
}

bool plan_finished(const struct plan *p)
{
    return p->finished;
}

uint32_t plan_exchanges(const struct plan *p)
{
    return p->exchanges_n;
}

uint32_t plan_steps(const struct plan *p)
{
    return p->steps_n;
}

struct plan_exchange *plan_exchange(struct plan *p, uint32_t i)
{
    return &p->exchanges[i];
}

const struct plan_step *plan_step(const struct plan *p, uint32_t i)
{
    return &p->steps[i];
}

const struct plan_question *plan_question(const struct plan *p, uint32_t i)
{
    return &p->questions[i];
}

const struct plan_topic *plan_topic(const struct plan *p, uint32_t i)
{
    return &p->topics[i];
}

uint32_t plan_topics(const struct plan *p)
{
    return p->topics_n;
}

bool plan_settled(const struct plan *p, uint32_t exchange)
{
    return p->finished || p->exchanges[exchange].outcome != PLAN_OPEN;
}

const struct plan_list *plan_list(struct plan *p, struct plan_anchor a)
{
    return plan_list_of(p, a);
}

uint32_t plan_take_cue(struct plan *p, struct slice method)
{
    uint32_t topic = plan_find_topic(p, method, (struct slice){"", 0});
    if (topic == PLAN_NONE)
        return PLAN_NONE;
    struct plan_topic *t = &p->topics[topic];
    uint32_t cue = t->live_cue;
    if (cue != PLAN_NONE)
        t->live_cue = p->cues[cue].next;
    return cue;
}

const struct plan_cue *plan_cue(const struct plan *p, uint32_t i)
{
    return &p->cues[i];
}

const char *plan_version(const struct plan *p, bool modern)
{
    return p->version[modern];
}

uint32_t plan_dropped(const struct plan *p)
{
    return p->dropped;
}
