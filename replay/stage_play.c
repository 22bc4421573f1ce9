/* stage_play.c - the plays on the stage: what each says next, and when. */
#include "replay/stage_inner.h"

#include "wire/json_text.h"
#include "wire/method.h"
#include "wire/rpc_id.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- coming and going ---- */

static void link_play(struct stage *s, struct play *p, bool idle)
{
    struct play **list = idle ? &s->idle : &s->plays;
    p->idle = idle;
    p->prev = NULL;
    p->next = *list;
    if (p->next != NULL)
        p->next->prev = p;
    *list = p;
    s->plays_n += !idle;
}

static void unlink_play(struct stage *s, struct play *p)
{
    if (p->prev != NULL)
        p->prev->next = p->next;
    else if (p->idle)
        s->idle = p->next;
    else
        s->plays = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    s->plays_n -= !p->idle;
}

static struct play *new_play(struct stage *s, struct slice id, struct slice token, struct slice key)
{
    struct play *p = calloc(1, sizeof *p + id.n + token.n + key.n);
    if (p == NULL)
        return NULL;
    struct slice *const to[] = {&p->id, &p->token, &p->key};
    const struct slice from[] = {id, token, key};
    char *at = p->data;
    for (size_t i = 0; i < MI_COUNT(to); i++) {
        if (from[i].p == NULL)
            continue;
        memcpy(at, from[i].p, from[i].n);
        *to[i] = (struct slice){at, from[i].n};
        at += from[i].n;
    }
    p->exchange = p->at = PLAN_NONE;
    p->began_us = p->not_before_us = s->now_us;
    link_play(s, p, false);
    return p;
}

int stage_end_play(struct stage *s, struct play *p)
{
    struct stage_batch *batch = p->batch;
    due_remove(&s->heap, &p->due);
    s->held_n -= p->held;
    for (struct question *q = s->questions; q != NULL; q = q->next)
        if (q->play == p)
            q->play = NULL;
    unlink_play(s, p);
    free(p);
    return batch != NULL ? stage_batch_done(s, batch) : 0;
}

struct play *stage_find_play(struct stage *s, struct json_value id)
{
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return NULL;
    buf_clear(&s->key);
    rpc_id_key(&s->key, id);
    for (struct play *p = s->plays; p != NULL; p = p->next)
        if (p->exchange != PLAN_NONE && slice_eq(p->key, buf_slice(&s->key)))
            return p;
    return NULL;
}

static bool is_behind(const struct stage *s, const struct plan_step *step)
{
    return step->behind > 0 && s->reached < step->place - step->behind;
}

int stage_reach(struct stage *s, uint64_t place)
{
    if (place <= s->reached)
        return 0;
    s->reached = place;
    for (struct play *p = s->plays; p != NULL && s->held_n > 0; p = p->next) {
        if (!p->held)
            continue;
        p->held = false;
        s->held_n--;
        int st = due_put(&s->heap, &p->due, s->now_us);
        if (st < 0)
            return st;
    }
    return 0;
}

/* What a list of its own has before this place of the recording is said now. *ret_until_us is moved to when an
 * answer may follow. May end the play. */
static int hurry(struct stage *s, struct play *p, uint64_t place, int64_t *ret_until_us)
{
    const struct plan_list *list = plan_list(s->plan, p->list);
    uint32_t i = p->at == PLAN_NONE ? list->first : plan_step(s->plan, p->at)->next;
    bool any = false;
    for (; i != PLAN_NONE; i = plan_step(s->plan, i)->next, any = true) {
        const struct plan_step *step = plan_step(s->plan, i);
        if (step->place >= place || step->kind == PLAN_ANSWER || is_behind(s, step))
            break;
        if (step->kind == PLAN_PROGRESS && *ret_until_us < s->now_us + PACE_GAP_US)
            *ret_until_us = s->now_us + PACE_GAP_US;
    }
    if (!any)
        return 0;
    p->hurry = place;
    return stage_run(s, p);
}

static int hurry_all(struct stage *s, struct play *before, uint64_t place)
{
    int st = 0;
    s->hurrying = true;
    for (struct play *p = s->plays, *next; p != NULL && st == 0; p = next) {
        next = p->next;
        if (p != before && (p->exchange == PLAN_NONE || p->stream) && p->questions == 0)
            st = hurry(s, p, place, &before->not_before_us);
    }
    s->hurrying = false;
    return st;
}

int stage_start(struct stage *s, const struct rpc *live, uint32_t exchange, bool again,
                const struct fault *fault, struct stage_batch *batch)
{
    const struct plan_exchange *x = plan_exchange(s->plan, exchange);
    struct json_value token = json_get(live->meta, "progressToken");
    bool has_token = token.type == JSON_NUMBER || token.type == JSON_STRING;
    buf_clear(&s->key);
    rpc_id_key(&s->key, live->id);
    struct play *p = s->key.failed
                         ? NULL
                         : new_play(s, live->id.text, has_token ? token.text : (struct slice){0},
                                    buf_slice(&s->key));
    if (p == NULL)
        return MI_ENOMEM;
    p->exchange = exchange;
    p->list = (struct plan_anchor){ANCHOR_REQUEST, exchange};
    p->again = again;
    p->no_log = rpc_is_modern(live) && json_get(live->meta, META_LOG_LEVEL).type == JSON_NONE;
    p->stream = (plan_topic(s->plan, x->topic)->flags & METHOD_LISTENS) != 0;
    p->patient = (plan_topic(s->plan, x->topic)->flags & METHOD_PATIENT) != 0;
    p->fault = fault;
    p->batch = batch;
    if (batch != NULL)
        batch->waiting++;
    if (fault != NULL) {
        s->report->counts.faults++;
        p->not_before_us += fault->delay_us;
    }
    int st = stage_reach(s, x->place);
    if (st == 0 && !again)
        st = hurry_all(s, p, x->place);
    p->mark = (struct pace_mark){p->not_before_us, x->t_us};
    return st < 0 ? st : stage_run(s, p);
}

int stage_start_list(struct stage *s, struct plan_anchor list, struct pace_mark mark,
                     struct slice token)
{
    if (plan_list(s->plan, list)->first == PLAN_NONE && !plan_list_grows(s->plan, list))
        return 0;
    struct play *p = new_play(s, (struct slice){0}, token, (struct slice){0});
    if (p == NULL)
        return MI_ENOMEM;
    p->list = list;
    p->mark = mark;
    return stage_run(s, p);
}

/* ---- one step after the other ---- */

static bool waits_for(const struct stage *s, const struct play *p, uint32_t gate)
{
    if (p->questions == 0 || gate == PLAN_NONE)
        return false;
    for (const struct question *q = s->questions; q != NULL; q = q->next)
        if (q->play == p && q->step == gate)
            return true;
    return false;
}

static int wait(struct stage *s, struct play *p)
{
    due_remove(&s->heap, &p->due);
    return s->hung_up ? stage_end_play(s, p) : 0;
}

/* There is no answer for it, at least not for a client that just waits: it is told when the recorded one had
 * not waited so long. */
static int lose_patience(struct stage *s, struct play *p)
{
    const struct plan_exchange *x = plan_exchange(s->plan, p->exchange);
    bool cancelled = x->outcome == PLAN_CANCELLED || x->called_off != 0;
    int64_t due = p->began_us + pace_patience(x->end_us - x->t_us, cancelled);
    if (s->hung_up)
        return stage_end_play(s, p);
    if (due > s->now_us)
        return due_put(&s->heap, &p->due, due);
    int st = stage_no_answer(s, p);
    int ended = stage_end_play(s, p);
    return st < 0 ? st : ended;
}

/* Nothing more is known of its list. */
static int at_the_end(struct stage *s, struct play *p)
{
    if (p->exchange == PLAN_NONE && (s->hung_up || !plan_list_grows(s->plan, p->list)))
        return stage_end_play(s, p);
    if (p->exchange == PLAN_NONE) {
        due_remove(&s->heap, &p->due);
        if (!p->idle) {
            unlink_play(s, p);
            link_play(s, p, true);
        }
        return 0;
    }
    if (p->patient || !plan_settled(s->plan, p->exchange))
        return wait(s, p);
    /* its answer was never recorded: the client that was recorded gave up, or left */
    return lose_patience(s, p);
}

/* Waits for the client to come further. */
static int hold(struct stage *s, struct play *p, const struct plan_step *step)
{
    bool called_off = step->kind == PLAN_ANSWER && !p->stream;
    s->held_n += !p->held;
    p->held = true;
    return called_off ? lose_patience(s, p) : wait(s, p);
}

/* What was said elsewhere before it comes first. */
static int answer_in_turn(struct stage *s, struct play *p, const struct plan_step *step)
{
    if (s->hurrying)
        return due_put(&s->heap, &p->due, s->now_us);
    int st = p->again ? 0 : hurry_all(s, p, step->place);
    if (st < 0 || s->ended != STAGE_GOES_ON)
        return st;
    if (p->not_before_us > s->now_us || s->full) /* full: the others have more to say */
        return due_put(&s->heap, &p->due, p->not_before_us);
    return stage_answer(s, p, step);
}

/* A subscription ended, and then the recorded client did. If it left, a server that ends them all was told so: the
 * client of now may do more before it leaves. If it waited for that end, so may this one: it gets it in the end. */
static bool is_parting(const struct stage *s, const struct play *p, const struct plan_step *step,
                       int64_t *ret_busy_us)
{
    bool end = step->kind == PLAN_ANSWER || step->kind == PLAN_UNLISTEN;
    return p->stream && end && !s->hung_up && plan_is_parting(s->plan, step->place, ret_busy_us);
}

int stage_run(struct stage *s, struct play *p)
{
    int64_t busy_us;
    s->held_n -= p->held;
    p->held = false;
    if (p->fault != NULL && p->fault->kind == FAULT_HANG)
        return wait(s, p);
    while (s->ended == STAGE_GOES_ON) {
        const struct plan_list *list = plan_list(s->plan, p->list);
        uint32_t i = p->at == PLAN_NONE ? list->first : plan_step(s->plan, p->at)->next;
        if (i == PLAN_NONE)
            return at_the_end(s, p);
        const struct plan_step *step = plan_step(s->plan, i);
        if (waits_for(s, p, step->gate))
            return wait(s, p);
        if (is_behind(s, step))
            return hold(s, p, step);
        if (is_parting(s, p, step, &busy_us)) {
            if (!plan_finished(s->plan))
                return wait(s, p);
            if (p->parting_us == 0)
                p->parting_us = s->now_us + pace_patience(step->t_us - busy_us, false);
            if (p->parting_us > s->now_us)
                return due_put(&s->heap, &p->due, p->parting_us);
        }
        struct pace now = {step->place < p->hurry ? 0 : s->pace.speed};
        bool gap = p->after_note && (step->kind == PLAN_ANSWER || step->kind == PLAN_END);
        int64_t due = pace_due(&now, p->mark, step->t_us, p->last_us, gap);
        if (due < p->not_before_us)
            due = p->not_before_us;
        if (due > s->now_us)
            return due_put(&s->heap, &p->due, due);
        if (step->kind == PLAN_ANSWER)
            return answer_in_turn(s, p, step);
        if (s->full)
            return due_put(&s->heap, &p->due, s->now_us);
        int st = stage_step(s, p, i);
        if (st < 0)
            return st;
    }
    due_remove(&s->heap, &p->due);
    return 0;
}

int stage_wake_all(struct stage *s)
{
    for (struct play *p = s->plays, *next; p != NULL; p = next) {
        next = p->next;
        int st = stage_run(s, p);
        if (st < 0)
            return st;
    }
    return 0;
}

static bool has_more(struct stage *s, const struct play *p)
{
    uint32_t i =
        p->at == PLAN_NONE ? plan_list(s->plan, p->list)->first : plan_step(s->plan, p->at)->next;
    return i != PLAN_NONE;
}

/* Idle lists are many where nothing is left to be told: those without anything new are let go. */
static int wake_idle(struct stage *s)
{
    for (struct play *p = s->idle, *next; p != NULL; p = next) {
        next = p->next;
        int st = 0;
        if (has_more(s, p)) {
            unlink_play(s, p);
            link_play(s, p, false);
            st = stage_run(s, p);
        } else if (!plan_list_grows(s->plan, p->list)) {
            st = stage_end_play(s, p);
        }
        if (st < 0)
            return st;
    }
    return 0;
}

int stage_wake_grown(struct stage *s)
{
    if (s->steps_seen == plan_steps(s->plan) && s->finish_seen == plan_finished(s->plan))
        return 0;
    s->steps_seen = plan_steps(s->plan);
    s->finish_seen = plan_finished(s->plan);
    for (struct play *p = s->plays, *next; p != NULL; p = next) {
        next = p->next;
        int st = p->due.place == 0 && !p->held ? stage_run(s, p) : 0;
        if (st < 0)
            return st;
    }
    return wake_idle(s);
}

/* ---- questions ---- */

struct question *stage_take_question(struct stage *s, struct json_value id)
{
    char text[32];
    for (struct question **at = &s->questions; *at != NULL; at = &(*at)->next) {
        struct question *q = *at;
        int n = snprintf(text, sizeof text, "%c%llu", q->text ? 's' : 'n',
                         (unsigned long long)q->number);
        buf_clear(&s->key);
        if (id.type == JSON_NUMBER || id.type == JSON_STRING)
            rpc_id_key(&s->key, id);
        if (!slice_eq(buf_slice(&s->key), (struct slice){text, (size_t)n}))
            continue;
        *at = q->next;
        return q;
    }
    return NULL;
}
