#include "replay/plan/step_list.h"

/* maximum number of active exchanges that are searched for the cause of a question */
#define CAUSE_LOOK 4096

int plan_copy_step(struct plan *p, const struct plan_step *step, uint32_t *ret)
{
    int st = PLAN_ROOM(p, steps);
    if (st < 0)
        return st;
    *ret = p->steps_n;
    p->steps[p->steps_n] = *step;
    p->steps[p->steps_n].next = PLAN_NONE;
    p->steps[p->steps_n].gate = PLAN_NONE;
    p->steps_n++;
    return 0;
}

void plan_append_step(struct plan *p, struct plan_list *list, uint32_t step)
{
    if (list->first == PLAN_NONE)
        list->first = step;
    else
        p->steps[list->last].next = step;
    list->last = step;
}

void plan_append_step_to_exchange(struct plan *p, uint32_t exchange, uint32_t step)
{
    struct plan_exchange *x = &p->exchanges[exchange];
    p->steps[step].gate = x->gate;
    plan_append_step(p, &x->inside, step);
}

void plan_insert_step_in_exchange(struct plan *p, uint32_t exchange, uint32_t step)
{
    struct plan_exchange *x = &p->exchanges[exchange];
    struct plan_step *s = &p->steps[step];
    uint32_t before = PLAN_NONE;
    for (uint32_t i = x->inside.first; i != PLAN_NONE && p->steps[i].place < s->place;
         i = p->steps[i].next)
        before = i;
    if (before == PLAN_NONE) {
        s->next = x->inside.first;
        x->inside.first = step;
    } else {
        s->next = p->steps[before].next;
        s->gate = p->steps[before].gate;
        p->steps[before].next = step;
    }
    if (s->next == PLAN_NONE)
        x->inside.last = step;
}

struct plan_list *plan_get_steps_after_event(struct plan *p, struct plan_anchor a)
{
    switch (a.kind) {
    case ANCHOR_REQUEST:
        /* the steps up to the outcome; the steps after it have an anchor of kind ANCHOR_OUTCOME */
        return &p->exchanges[a.i].inside;
    case ANCHOR_OUTCOME:
        return &p->exchanges[a.i].after;
    case ANCHOR_NOTIFICATION:
        return &p->notifications[a.i].after;
    case ANCHOR_CLIENT_ANSWER:
        return &p->questions[a.i].after;
    default:
        return &p->start;
    }
}

void plan_add_event(struct plan *p, uint64_t place, struct plan_anchor event, bool causes)
{
    bool quiet = event.kind != ANCHOR_REQUEST;
    p->reached = place;
    p->last = event;
    if (quiet)
        p->last_quiet = event;
    if (!causes)
        return;
    p->cause = event;
    p->cause_place = place;
    if (quiet)
        p->cause_quiet = event;
}

static bool anchor_events_are_equal(struct plan_anchor a, struct plan_anchor b)
{
    return a.kind == b.kind && (a.kind == ANCHOR_START || a.i == b.i);
}

static bool exchange_is_pending(const struct plan *p, uint32_t exchange)
{
    return exchange != PLAN_NONE && p->exchanges[exchange].outcome == PLAN_PENDING;
}

struct plan_task plan_find_task_cause(const struct plan *p, uint32_t task)
{
    struct plan_task t = p->tasks[task];
    if (t.cause.kind != ANCHOR_REQUEST || exchange_is_pending(p, t.cause.i))
        return t;
    uint32_t answer = p->exchanges[t.cause.i].answer;
    t.cause.kind = ANCHOR_OUTCOME;
    if (answer != PLAN_NONE)
        t.place = p->steps[answer].place;
    return t;
}

static bool event_is_cause_of_task(const struct plan *p, struct plan_anchor a)
{
    uint32_t x = a.kind == ANCHOR_OUTCOME         ? a.i
                 : a.kind == ANCHOR_CLIENT_ANSWER ? p->questions[a.i].owner
                                                  : PLAN_NONE;
    uint32_t task = x != PLAN_NONE ? p->exchanges[x].task : PLAN_NONE;
    return task != PLAN_NONE && anchor_events_are_equal(a, plan_find_task_cause(p, task).cause);
}

/* The list after an event may grow only if the event is one of these:
 * - The last event that can have caused messages, or the last such event that is not a request:
 *   unsolicited messages follow it.
 * - The last event that is not a request: the server's exit may follow it.
 * - The cause of a task's messages.
 * - The outcome of a request with a progress token: progress may arrive after it. */
bool plan_step_list_may_grow(const struct plan *p, struct plan_anchor a)
{
    if (p->finished)
        return false;
    return anchor_events_are_equal(a, p->cause) || anchor_events_are_equal(a, p->cause_quiet) ||
           anchor_events_are_equal(a, p->last_quiet) || event_is_cause_of_task(p, a) ||
           (a.kind == ANCHOR_OUTCOME && p->exchanges[a.i].token_hash != 0);
}

/* Appends a step to the list that follows the cause. */
static void append_step_after_cause(struct plan *p, struct plan_anchor cause, uint64_t cause_place,
                                    uint32_t step)
{
    struct plan_step *s = &p->steps[step];
    if (p->reached > cause_place && s->place - p->reached < PLAN_NONE)
        s->after = (uint32_t)(s->place - p->reached);
    plan_append_step(p, plan_get_steps_after_event(p, cause), step);
}

void plan_insert_step_after_cause(struct plan *p, struct plan_anchor cause, uint64_t cause_place,
                                  uint32_t step)
{
    uint32_t inside = PLAN_NONE;
    if (cause.kind == ANCHOR_REQUEST)
        inside = cause.i;
    else if (cause.kind == ANCHOR_CLIENT_ANSWER &&
             exchange_is_pending(p, p->questions[cause.i].owner))
        inside = p->questions[cause.i].owner;
    if (inside != PLAN_NONE)
        plan_append_step_to_exchange(p, inside, step);
    else
        append_step_after_cause(p, cause, cause_place, step);
}

void plan_place_notification(struct plan *p, uint32_t step, bool log)
{
    /* In revision 2026-07-28, log messages also belong to requests that only read. */
    bool of_last = log && (p->last.kind != ANCHOR_REQUEST || p->exchanges[p->last.i].active ||
                           p->version[1][0] != '\0');
    struct plan_anchor a = of_last ? p->last : p->cause;
    /* Find the newest active request that may have caused the notification. */
    uint32_t active = p->active_last, looked = 0;
    while (!log && active != PLAN_NONE && p->topics[p->exchanges[active].topic].reads)
        active = looked++ < CAUSE_LOOK ? p->exchanges[active].active_prev : PLAN_NONE;
    if (a.kind == ANCHOR_CLIENT_ANSWER && exchange_is_pending(p, p->questions[a.i].owner))
        active = p->questions[a.i].owner;
    else if (a.kind == ANCHOR_REQUEST && (p->exchanges[a.i].active || active == PLAN_NONE))
        active = a.i;
    if (active != PLAN_NONE)
        plan_append_step_to_exchange(p, active, step);
    else
        plan_insert_step_after_cause(p, p->cause, p->cause_place, step);
}

/* ---- questions ---- */

void plan_set_exchange_order(struct plan *p, uint32_t exchange)
{
    if (p->last_t_us - p->stimulus_us > PLAN_BURST_US)
        p->burst++;
    p->stimulus_us = p->last_t_us;
    p->exchanges[exchange].burst = p->burst;
    p->exchanges[exchange].order = ++p->stimuli;
}

static bool exchange_is_likelier_cause(const struct plan_exchange *a, const struct plan_exchange *b)
{
    if (a->burst != b->burst)
        return a->burst > b->burst;
    if (a->questioned != b->questioned)
        return !a->questioned;
    return a->order < b->order;
}

/* Returns the exchange of the stimulus that most likely caused a question: in the last burst, the
 * first stimulus to which the server has not reacted. PLAN_NONE: there is no such stimulus. */
static uint32_t find_likely_cause_of_question(const struct plan *p)
{
    uint32_t found = PLAN_NONE, looked = 0;
    for (uint32_t i = p->active_last; i != PLAN_NONE && looked < CAUSE_LOOK;
         i = p->exchanges[i].active_prev, looked++) {
        const struct plan_exchange *x = &p->exchanges[i];
        if (x->order != 0 &&
            (found == PLAN_NONE || exchange_is_likelier_cause(x, &p->exchanges[found])))
            found = i;
    }
    return found;
}

int plan_add_question_to_exchange(struct plan *p, uint32_t question, bool after_notification)
{
    struct plan_question *q = &p->questions[question];
    if (p->active_n == 0 || (after_notification && p->cause.kind == ANCHOR_NOTIFICATION)) {
        append_step_after_cause(p, p->cause_quiet, p->cause_place, q->step);
        return 0;
    }
    q->owner = p->active_n == 1 ? p->active_first : find_likely_cause_of_question(p);
    if (q->owner != PLAN_NONE) {
        p->exchanges[q->owner].order = 0;
        p->exchanges[q->owner].questioned = true;
        plan_append_step_to_exchange(p, q->owner, q->step);
        return 0;
    }
    int st = PLAN_ROOM(p, undecided);
    if (st == 0)
        p->undecided[p->undecided_n++] = question;
    return st;
}

/* Makes all steps after the question wait for the client's answer to the question. */
static void make_steps_wait_for_answer(struct plan *p, const struct plan_question *q)
{
    struct plan_exchange *x = &p->exchanges[q->owner];
    for (uint32_t i = p->steps[q->step].next; i != PLAN_NONE; i = p->steps[i].next) {
        struct plan_step *s = &p->steps[i];
        if (s->place < q->answer)
            continue;
        uint32_t old = s->gate != PLAN_NONE ? p->steps[s->gate].link : PLAN_NONE;
        if (old == PLAN_NONE || p->questions[old].answer < q->answer)
            s->gate = q->step;
    }
    uint32_t old = x->gate != PLAN_NONE ? p->steps[x->gate].link : PLAN_NONE;
    if (old == PLAN_NONE || p->questions[old].answer < q->answer)
        x->gate = q->step;
}

void plan_handle_answered_question(struct plan *p, uint32_t question, bool with_task)
{
    const struct plan_question *q = &p->questions[question];
    if (!exchange_is_pending(p, q->owner))
        return;
    make_steps_wait_for_answer(p, q);
    if (!with_task)
        plan_set_exchange_order(p, q->owner);
}

/* Call this function before the exchange is answered. Adds to the exchange some of the questions
 * whose cause is not known. Candidates are the questions that came after the request of the
 * exchange and that the client has answered. With n active requests, the 1st, (n+1)th, (2n+1)th…
 * candidate is added. With only one active request, questions without an answer are candidates too,
 * and all candidates are added. */
static void place_questions_before_answer(struct plan *p, uint32_t exchange)
{
    uint32_t kept = 0, turn = 0;
    for (uint32_t i = 0; i < p->undecided_n; i++) {
        uint32_t question = p->undecided[i];
        struct plan_question *q = &p->questions[question];
        bool possible = p->steps[q->step].place > p->exchanges[exchange].place &&
                        (q->answer != 0 || p->active_n == 1);
        if (!possible || turn++ % p->active_n != 0) {
            p->undecided[kept++] = question;
            continue;
        }
        q->owner = exchange;
        plan_insert_step_in_exchange(p, exchange, q->step);
        if (q->answer != 0)
            make_steps_wait_for_answer(p, q);
    }
    p->undecided_n = kept;
}

/* ---- active exchanges ---- */

void plan_activate_exchange(struct plan *p, uint32_t exchange)
{
    struct plan_exchange *x = &p->exchanges[exchange];
    x->active_prev = p->active_last;
    x->active_next = PLAN_NONE;
    if (p->active_last != PLAN_NONE)
        p->exchanges[p->active_last].active_next = exchange;
    else
        p->active_first = exchange;
    p->active_last = exchange;
    p->active_n++;
    x->active = true;
}

void plan_deactivate_exchange(struct plan *p, uint32_t exchange, bool answered)
{
    struct plan_exchange *x = &p->exchanges[exchange];
    if (!x->active)
        return;
    if (p->undecided_n > 0 && (answered || p->active_n == 1))
        place_questions_before_answer(p, exchange);
    if (x->active_prev != PLAN_NONE)
        p->exchanges[x->active_prev].active_next = x->active_next;
    else
        p->active_first = x->active_next;
    if (x->active_next != PLAN_NONE)
        p->exchanges[x->active_next].active_prev = x->active_prev;
    else
        p->active_last = x->active_prev;
    p->active_n--;
    x->active = false;
}
