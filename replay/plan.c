#include "replay/plan.h"

#include "replay/plan_inner.h"
#include "replay/rewrite.h"
#include "wire/json_text.h"
#include "wire/method.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

#define CALLED_OFF_LOOK 4096 /* open requests that are looked at for one that is called off */

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
uint64_t plan_id_hash(struct plan *p, struct json_value id)
{
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return 0;
    buf_clear(&p->key);
    rpc_id_key(&p->key, id);
    return canon_hash(buf_slice(&p->key));
}

void plan_happened(struct plan *p, uint64_t place, enum plan_anchor_kind kind, uint32_t i)
{
    p->reached = place;
    p->anchor = (struct plan_anchor){kind, i};
    if (kind != ANCHOR_REQUEST)
        p->quiet = p->anchor;
}

/* A notification's topic has no target, whatever its parameters are called. */
static int topic_of(struct plan *p, const struct rpc *rpc, uint32_t *ret)
{
    struct rpc_name name = rpc_name(rpc, &p->key);
    if (rpc->kind == RPC_NOTIFICATION)
        name.target.n = 0;
    return p->key.failed ? MI_ENOMEM : plan_topic_of(p, name.method, name.target, ret);
}

void plan_learn_version(char *version, size_t max, struct json_value v)
{
    size_t n;
    if (v.type != JSON_STRING || version[0] != '\0' ||
        json_unescape_to(json_string_raw(v), version, max - 1, &n) < 0)
        return;
    version[n] = '\0';
}

/* ---- of the client ---- */

bool plan_is_listen(const struct plan *p, uint32_t exchange)
{
    return (p->topics[p->exchanges[exchange].topic].flags & METHOD_LISTENS) != 0;
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
    if (plan_is_listen(p, i))
        return PLAN_ROOM(p, listens);
    return 0;
}

static int client_request(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t topic, i = p->exchanges_n;
    int st = topic_of(p, rpc, &topic);
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
        .token_hash = plan_id_hash(p, json_get(rpc->meta, "progressToken")),
        .id_hash = plan_id_hash(p, rpc->id),
    };
    p->exchanges_n++;
    p->reached = m->place;
    st = add_to_topic(p, topic, i);
    if (st < 0)
        return st;
    if (plan_is_listen(p, i))
        p->listens[p->listens_n++] = (struct listen){plan_id_hash(p, rpc->id), i};
    if (rpc_is_modern(rpc))
        plan_learn_version(p->version[1], sizeof p->version[1], json_get(rpc->meta, META_VERSION));
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
        plan_happened(p, m->place, ANCHOR_REQUEST, i);
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

static void client_calls_off(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint64_t id = plan_id_hash(p, json_get(rpc->params, "id"));
    uint32_t i = p->open_last;
    for (int look = 0; i != PLAN_NONE && look < CALLED_OFF_LOOK; look++) {
        if (id != 0 && p->exchanges[i].id_hash == id) {
            p->exchanges[i].called_off = m->place;
            return;
        }
        i = p->exchanges[i].open_prev;
    }
}

static int client_note(struct plan *p, const struct source_message *m, const struct rpc *rpc)
{
    uint32_t topic, i = p->cues_n;
    if (m->request_place != 0 && rpc_method_is(rpc, "notifications/cancelled"))
        client_cancels(p, m);
    else if (rpc_method_is(rpc, "$/cancelRequest"))
        client_calls_off(p, m, rpc);
    int st = topic_of(p, rpc, &topic);
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
    plan_happened(p, m->place, ANCHOR_CUE, i);
    return 0;
}

uint64_t plan_task_hash(struct plan *p, struct json_value id)
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
    return plan_task_hash(p, json_get(json_get(rpc.result, "task"), "taskId"));
}

static int client_answer(struct plan *p, const struct source_message *m, struct slice body)
{
    uint32_t i = plan_question_at(p, m->request_place);
    if (i == PLAN_NONE || p->questions[i].answer != 0) {
        p->unplaced++;
        return 0;
    }
    p->questions[i].answer = m->place;
    p->questions[i].answered_us = m->t_us;
    uint64_t task = made_task(p, body);
    plan_question_answered(p, i, task != 0);
    plan_happened(p, m->place, ANCHOR_REPLY, i);
    return task != 0 ? map_put(&p->task_map, task, i) : 0;
}

/* ---- all of them ---- */

static int add(struct plan *p, const struct source_message *m, struct slice body)
{
    struct rpc rpc;
    bool answer = !m->is_stderr && (m->kind == RPC_RESULT || m->kind == RPC_ERROR);
    if (m->is_stderr)
        return plan_server_stderr(p, m);
    if (answer && m->from_client)
        return client_answer(p, m, body);
    if (answer)
        return plan_server_answer(p, m, body);
    if (body.p == NULL || rpc_read(body, &rpc) < 0 || rpc.kind != m->kind) {
        p->unplaced++;
        return 0;
    }
    if (m->from_client)
        return m->kind == RPC_REQUEST ? client_request(p, m, &rpc) : client_note(p, m, &rpc);
    return m->kind == RPC_REQUEST ? plan_server_request(p, m, &rpc) : plan_server_note(p, m, &rpc);
}

int plan_add(struct plan *p, const struct source_message *m, struct slice body)
{
    p->last_t_us = m->t_us;
    p->ends_listen = false;
    int st = add(p, m, body);
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

bool plan_is_parting(const struct plan *p, uint64_t place, int64_t *ret_busy_us)
{
    *ret_busy_us = p->busy_us;
    return place > p->busy && !p->server_ended;
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

uint32_t plan_unplaced(const struct plan *p)
{
    return p->unplaced;
}
