#include "replay/mock/playback.h"

#include "replay/mock/answer.h"
#include "replay/mock/step.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

/* ---- start and end ---- */

static void add_playback_to_list(struct conversation *s, struct playback *p, bool idle)
{
    struct playback **list = idle ? &s->idle : &s->playbacks;
    p->idle = idle;
    p->prev = NULL;
    p->next = *list;
    if (p->next != NULL)
        p->next->prev = p;
    *list = p;
    s->playbacks_n += !idle;
}

static void remove_playback_from_list(struct conversation *s, struct playback *p)
{
    if (p->prev != NULL)
        p->prev->next = p->next;
    else if (p->idle)
        s->idle = p->next;
    else
        s->playbacks = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    s->playbacks_n -= !p->idle;
}

static struct playback *make_playback(struct conversation *s, struct slice id, struct slice token,
                                      struct slice key)
{
    struct playback *p = calloc(1, sizeof *p + id.n + token.n + key.n);
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
    add_playback_to_list(s, p, false);
    return p;
}

int playback_end_and_free(struct conversation *s, struct playback *p)
{
    struct mock_batch *batch = p->batch;
    due_heap_remove(&s->heap, &p->due);
    s->held_n -= p->held;
    for (struct question *q = s->questions; q != NULL; q = q->next)
        if (q->playback == p)
            q->playback = NULL;
    remove_playback_from_list(s, p);
    free(p);
    return batch != NULL ? mock_batch_complete_answer(s, batch) : 0;
}

struct playback *playback_find_by_request_id(struct conversation *s, struct json_value id)
{
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return NULL;
    buf_clear(&s->key);
    rpc_id_append_key(&s->key, id);
    for (struct playback *p = s->playbacks; p != NULL; p = p->next)
        if (p->exchange != PLAN_NONE && slice_eq(p->key, buf_slice(&s->key)))
            return p;
    return NULL;
}

/* Whether the client has not yet reached the last event that may have caused this step
 * (plan_step.behind). Until then, the step is not sent. */
static bool client_is_behind_recording(const struct conversation *s, const struct plan_step *step)
{
    return step->behind > 0 && s->reached < step->place - step->behind;
}

int playback_wake_held_playbacks(struct conversation *s)
{
    for (struct playback *p = s->playbacks; p != NULL && s->held_n > 0; p = p->next) {
        if (!p->held)
            continue;
        p->held = false;
        s->held_n--;
        int st = due_heap_set_time(&s->heap, &p->due, s->now_us);
        if (st < 0)
            return st;
    }
    return 0;
}

/* Whether the client may still reach the position that the recorded client had reached before this
 * step (plan_step.after). False if `after` is 0, or the client has reached the position or has
 * closed its side. */
static bool client_may_still_catch_up(const struct conversation *s, const struct plan_step *step)
{
    return step->after > 0 && s->reached < step->place - step->after && !s->hung_up;
}

static int advance_position_in_recording(struct conversation *s, uint64_t place, int64_t t_us)
{
    if (place <= s->reached)
        return 0;
    s->reached = place;
    s->reached_mark = (struct pace_mark){s->now_us, t_us};
    return playback_wake_held_playbacks(s);
}

/* Returns the step that the playback sends next; PLAN_NONE: no more steps are known. */
static uint32_t playback_get_next_step(struct conversation *s, const struct playback *p)
{
    return p->at == PLAN_NONE ? plan_get_step_list(s->plan, p->list)->first
                              : plan_get_step(s->plan, p->at)->next;
}

/* Sends the steps of the playback that were recorded before the position `place`. *ret_until_us:
 * the earliest time for an answer after these steps. May end the playback. */
static int playback_send_earlier_steps(struct conversation *s, struct playback *p, uint64_t place,
                                       int64_t *ret_until_us)
{
    uint32_t i = playback_get_next_step(s, p);
    bool any = false;
    for (; i != PLAN_NONE; i = plan_get_step(s->plan, i)->next, any = true) {
        const struct plan_step *step = plan_get_step(s->plan, i);
        if (step->place >= place || step->kind == PLAN_ANSWER ||
            client_is_behind_recording(s, step))
            break;
        if (step->kind == PLAN_PROGRESS && *ret_until_us < s->now_us + PACE_GAP_US)
            *ret_until_us = s->now_us + PACE_GAP_US;
    }
    if (!any)
        return 0;
    p->catch_up = place;
    return playback_run(s, p);
}

/* Sends the steps that were recorded before the position `place`, of all lists of unsolicited
 * messages and of all subscriptions. Skips a playback that has an unanswered question. Skips the
 * playback `before` (may be NULL), which sends its next message afterwards. */
static int catch_up_all_playbacks(struct conversation *s, struct playback *before, uint64_t place)
{
    int st = 0;
    int64_t until_us = 0;
    s->catching_up = true;
    for (struct playback *p = s->playbacks, *next; p != NULL && st == 0; p = next) {
        next = p->next;
        if (p != before && (p->exchange == PLAN_NONE || p->stream) && p->questions == 0)
            st = playback_send_earlier_steps(s, p, place,
                                             before != NULL ? &before->not_before_us : &until_us);
    }
    s->catching_up = false;
    return st;
}

int playback_send_earlier_messages(struct conversation *s, uint64_t place, int64_t t_us)
{
    int st = advance_position_in_recording(s, place, t_us);
    return st < 0 ? st : catch_up_all_playbacks(s, NULL, place);
}

int playback_start(struct conversation *s, const struct rpc *live, uint32_t exchange, bool again,
                   const struct fault *fault, struct mock_batch *batch)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, exchange);
    struct json_value token = json_get(live->meta, "progressToken");
    bool has_token = token.type == JSON_NUMBER || token.type == JSON_STRING;
    buf_clear(&s->key);
    rpc_id_append_key(&s->key, live->id);
    struct playback *p =
        s->key.failed ? NULL
                      : make_playback(s, live->id.text, has_token ? token.text : (struct slice){0},
                                      buf_slice(&s->key));
    if (p == NULL)
        return MI_ENOMEM;
    p->exchange = exchange;
    p->list = (struct plan_anchor){ANCHOR_REQUEST, exchange};
    p->again = again;
    p->no_log = rpc_is_modern(live) && json_get(live->meta, META_LOG_LEVEL).type == JSON_NONE;
    p->stream = (plan_get_method_target(s->plan, x->topic)->flags & METHOD_LISTENS) != 0;
    p->patient = (plan_get_method_target(s->plan, x->topic)->flags & METHOD_PATIENT) != 0;
    p->fault = fault;
    p->batch = batch;
    if (batch != NULL)
        batch->waiting++;
    if (fault != NULL) {
        s->misses->counts.faults++;
        p->not_before_us += fault->delay_us;
    }
    int st = advance_position_in_recording(s, x->place, x->t_us);
    if (st == 0 && !again)
        st = catch_up_all_playbacks(s, p, x->place);
    p->mark = (struct pace_mark){p->not_before_us, x->t_us};
    return st < 0 ? st : playback_run(s, p);
}

int playback_start_step_list(struct conversation *s, struct plan_anchor list, struct pace_mark mark,
                             struct slice token)
{
    if (plan_get_step_list(s->plan, list)->first == PLAN_NONE &&
        !plan_step_list_may_grow(s->plan, list))
        return 0;
    struct playback *p = make_playback(s, (struct slice){0}, token, (struct slice){0});
    if (p == NULL)
        return MI_ENOMEM;
    p->list = list;
    p->mark = mark;
    return playback_run(s, p);
}

/* ---- running ---- */

/* Whether the client has not yet answered the question (step `gate`) on which the next step
 * depends. */
static bool playback_waits_for_answer(const struct conversation *s, const struct playback *p,
                                      uint32_t gate)
{
    if (p->questions == 0 || gate == PLAN_NONE)
        return false;
    for (const struct question *q = s->questions; q != NULL; q = q->next)
        if (q->playback == p && q->step == gate)
            return true;
    return false;
}

static int playback_wait_until_woken(struct conversation *s, struct playback *p)
{
    due_heap_remove(&s->heap, &p->due);
    return s->hung_up ? playback_end_and_free(s, p) : 0;
}

/* Handles a request that cannot be answered from the recording: there is no recorded answer, or the
 * recorded answer is only for a client that cancels the request. Sends an error after the time that
 * the recorded client waited, or at once if the live client has closed its side. Exception: sends
 * nothing if the live client has closed its side, and the recorded client cancelled the request or
 * left: the live client may do the same. */
static int playback_send_delayed_error(struct conversation *s, struct playback *p)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, p->exchange);
    bool cancelled = x->outcome == PLAN_CANCELLED || x->lsp_cancelled != 0;
    int64_t due = p->began_us + pace_get_wait_before_error_us(x->end_us - x->t_us, cancelled);
    if (s->hung_up && (cancelled || !source_info(s->source)->cut_off))
        return playback_end_and_free(s, p);
    if (due > s->now_us && !s->hung_up)
        return due_heap_set_time(&s->heap, &p->due, due);
    int st = mock_send_no_answer_error(s, p);
    int ended = playback_end_and_free(s, p);
    return st < 0 ? st : ended;
}

/* Handles a playback that has sent all known steps of its list. */
static int playback_handle_list_end(struct conversation *s, struct playback *p)
{
    if (p->exchange == PLAN_NONE && (s->hung_up || !plan_step_list_may_grow(s->plan, p->list)))
        return playback_end_and_free(s, p);
    if (p->exchange == PLAN_NONE) {
        due_heap_remove(&s->heap, &p->due);
        if (!p->idle) {
            remove_playback_from_list(s, p);
            add_playback_to_list(s, p, true);
        }
        return 0;
    }
    if (p->patient || !plan_exchange_is_settled(s->plan, p->exchange))
        return playback_wait_until_woken(s, p);
    return playback_send_delayed_error(s, p);
}

/* Lets the playback wait for the client, at most until until_us. */
static int playback_wait_for_client_until(struct conversation *s, struct playback *p,
                                          int64_t until_us)
{
    s->held_n += !p->held;
    p->held = true;
    return due_heap_set_time(&s->heap, &p->due, until_us);
}

/* Whether the client still has to answer a question of the server. Only a question that was
 * recorded during the exchange counts, and only if the recorded client answered it before this
 * step. The recording does not say which of several concurrent requests caused a question. */
static bool client_has_unanswered_question(const struct conversation *s, const struct playback *p,
                                           const struct plan_step *step)
{
    uint64_t began = plan_get_exchange(s->plan, p->exchange)->place;
    for (const struct question *q = s->questions; q != NULL; q = q->next) {
        const struct plan_step *asked = plan_get_step(s->plan, q->step);
        uint64_t answered = plan_get_question(s->plan, asked->link)->answer;
        if (asked->place > began && answered != 0 && answered < step->place)
            return true;
    }
    return false;
}

/* Sends the outcome of the exchange, starts the list of steps that follow the outcome, and ends the
 * playback. */
static int playback_send_answer(struct conversation *s, struct playback *p,
                                const struct plan_step *step)
{
    const struct plan_exchange *x = plan_get_exchange(s->plan, p->exchange);
    enum fault_kind fault = p->fault != NULL ? p->fault->kind : FAULT_NONE;
    if (fault == FAULT_CLOSE || fault == FAULT_CRASH) {
        s->ended = fault == FAULT_CLOSE ? CONVERSATION_CLOSE : CONVERSATION_CRASH;
        return 0;
    }
    int st = step_send_answer(s, p, step);
    if (st == 0)
        st = advance_position_in_recording(s, step->place, step->t_us);
    if (st == 0 && !p->again && s->ended == CONVERSATION_RUNNING)
        st = playback_start_step_list(s, (struct plan_anchor){ANCHOR_OUTCOME, p->exchange},
                                      (struct pace_mark){s->now_us, x->end_us}, p->token);
    int ended = playback_end_and_free(s, p);
    return st < 0 ? st : ended;
}

/* Sends the answer after the messages of other lists that were recorded before it. */
static int playback_send_answer_in_order(struct conversation *s, struct playback *p,
                                         const struct plan_step *step)
{
    if (s->catching_up)
        return due_heap_set_time(&s->heap, &p->due, s->now_us);
    if (!p->again && !s->hung_up && client_has_unanswered_question(s, p, step)) {
        if (p->owed_until_us == 0)
            p->owed_until_us = s->now_us + PACE_OPEN_MAX_US;
        if (p->owed_until_us > s->now_us)
            return playback_wait_for_client_until(s, p, p->owed_until_us);
    }
    int st = p->again ? 0 : catch_up_all_playbacks(s, p, step->place);
    if (st < 0 || s->ended != CONVERSATION_RUNNING)
        return st;
    /* If the output is full, other lists may still have messages to send before the answer. */
    if (p->not_before_us > s->now_us || s->full)
        return due_heap_set_time(&s->heap, &p->due, p->not_before_us);
    return playback_send_answer(s, p, step);
}

/* Whether the step ends a subscription just before the recorded client left. The recording does not
 * say whether the client had already left, or waited for this end. A live client may still send
 * requests, so the caller delays the end. */
static bool step_ends_subscription(const struct conversation *s, const struct playback *p,
                                   const struct plan_step *step, int64_t *ret_busy_us)
{
    bool end = step->kind == PLAN_ANSWER || step->kind == PLAN_UNLISTEN;
    return p->stream && end && !s->hung_up &&
           plan_only_stream_ends_follow(s->plan, step->place, ret_busy_us);
}

int playback_run(struct conversation *s, struct playback *p)
{
    int64_t busy_us;
    s->held_n -= p->held;
    p->held = false;
    if (p->fault != NULL && p->fault->kind == FAULT_HANG)
        return playback_wait_until_woken(s, p);
    while (s->ended == CONVERSATION_RUNNING) {
        uint32_t i = playback_get_next_step(s, p);
        if (i == PLAN_NONE)
            return playback_handle_list_end(s, p);
        const struct plan_step *step = plan_get_step(s->plan, i);
        if (playback_waits_for_answer(s, p, step->gate))
            return playback_wait_until_woken(s, p);
        if (client_is_behind_recording(s, step)) {
            bool lsp_cancelled = step->kind == PLAN_ANSWER && !p->stream;
            s->held_n += !p->held;
            p->held = true;
            return lsp_cancelled ? playback_send_delayed_error(s, p)
                                 : playback_wait_until_woken(s, p);
        }
        if (step_ends_subscription(s, p, step, &busy_us)) {
            if (!plan_is_finished(s->plan))
                return playback_wait_until_woken(s, p);
            if (p->ending_us == 0)
                p->ending_us =
                    s->now_us + pace_get_wait_before_error_us(step->t_us - busy_us, false);
            if (p->ending_us > s->now_us)
                return due_heap_set_time(&s->heap, &p->due, p->ending_us);
        }
        struct pace now = {step->place < p->catch_up ? 0 : s->pace.speed};
        bool gap = p->after_note && (step->kind == PLAN_ANSWER || step->kind == PLAN_END);
        int64_t due = pace_compute_send_time(&now, p->mark, step->t_us, p->last_us, gap);
        if (due < p->not_before_us)
            due = p->not_before_us;
        if (due > s->now_us)
            return due_heap_set_time(&s->heap, &p->due, due);
        int64_t limit = pace_compute_client_deadline_us(&now, s->reached_mark, step->t_us, due);
        if (client_may_still_catch_up(s, step) && step->place >= p->catch_up && limit > s->now_us)
            return playback_wait_for_client_until(s, p, limit);
        if (step->kind == PLAN_ANSWER)
            return playback_send_answer_in_order(s, p, step);
        bool end = step->kind == PLAN_END;
        int st = end && !s->catching_up ? catch_up_all_playbacks(s, p, step->place) : 0;
        if (st == 0 && (s->full || (end && s->catching_up)))
            return due_heap_set_time(&s->heap, &p->due, s->now_us);
        if (st == 0)
            st = step_send_message(s, p, i);
        if (st < 0)
            return st;
    }
    due_heap_remove(&s->heap, &p->due);
    return 0;
}

/* Wakes idle lists that have new steps, and removes idle lists that cannot get new steps. */
static int wake_idle_playbacks(struct conversation *s)
{
    for (struct playback *p = s->idle, *next; p != NULL; p = next) {
        next = p->next;
        int st = 0;
        if (playback_get_next_step(s, p) != PLAN_NONE) {
            remove_playback_from_list(s, p);
            add_playback_to_list(s, p, false);
            st = due_heap_set_time(&s->heap, &p->due, s->now_us);
        } else if (!plan_step_list_may_grow(s->plan, p->list)) {
            st = playback_end_and_free(s, p);
        }
        if (st < 0)
            return st;
    }
    return 0;
}

/* Sets the time of the next step of every playback to now. Does not run the playbacks, because
 * running one playback may end others. */
int playback_schedule_all_now(struct conversation *s)
{
    int st = 0;
    for (struct playback *p = s->playbacks; p != NULL && st == 0; p = p->next)
        st = due_heap_set_time(&s->heap, &p->due, s->now_us);
    return st;
}

int playback_wake_if_plan_grew(struct conversation *s)
{
    if (s->steps_seen == plan_count_steps(s->plan) && s->finish_seen == plan_is_finished(s->plan))
        return 0;
    s->steps_seen = plan_count_steps(s->plan);
    s->finish_seen = plan_is_finished(s->plan);
    int st = 0;
    for (struct playback *p = s->playbacks; p != NULL && st == 0; p = p->next)
        if (p->due.place == 0 && !p->held)
            st = due_heap_set_time(&s->heap, &p->due, s->now_us);
    return st < 0 ? st : wake_idle_playbacks(s);
}

/* ---- questions ---- */

struct question *playback_remove_question(struct conversation *s, struct json_value id)
{
    for (struct question **at = &s->questions; *at != NULL; at = &(*at)->next) {
        struct question *q = *at;
        if (!rpc_id_equals_number(id, q->number))
            continue;
        *at = q->next;
        return q;
    }
    return NULL;
}
