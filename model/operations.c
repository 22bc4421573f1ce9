#include "model/operations.h"

#include "model/asker.h"
#include "wire/rpc_id.h"

void operations_clear(struct operations *o)
{
    memset(o, 0, sizeof *o);
}

/* ---- finding an operation ------------------------------------------------------------------- */

static size_t operations_count(const struct operations *o)
{
    return o->n < OPERATIONS_MAX ? o->n : OPERATIONS_MAX;
}

static struct operation *operations_find(struct operations *o, int64_t seq)
{
    for (size_t i = 0; seq != 0 && i < operations_count(o); i++)
        if (o->kept[i].seq == seq)
            return &o->kept[i];
    return NULL;
}

static uint64_t operation_hash_target(struct slice method, struct slice target)
{
    return rpc_id_hash(method) * 31 + rpc_id_hash(target);
}

/* Finds the operation that a request, or the state of a task, may continue. An operation that has
 * ended is considered only if no other operation matches. Returns NULL unless exactly one operation
 * is found. */
static struct operation *find_continued_operation(struct operations *o, const struct link *l,
                                                  enum row_direction direction, uint64_t target)
{
    /* found[0]: a matching operation that has not ended; found[1]: a matching operation that has
     * ended */
    struct operation *found[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    bool is_retry = l->kind == LINK_RETRY;
    for (size_t i = 0; i < operations_count(o); i++) {
        struct operation *op = &o->kept[i];
        bool ended = op->state == OPERATION_ENDED;
        bool waits_for_retry = op->state == OPERATION_ASKED || op->state == OPERATION_ASKED_PERSON;
        if (op->direction != direction || op->key != (int64_t)l->key || is_retry != waits_for_retry)
            continue;
        if (is_retry ? op->target != target : l->key == 0)
            continue;
        found[ended] = op;
        n[ended]++;
    }
    return n[n[0] == 0] == 1 ? found[n[0] == 0] : NULL;
}

/* ---- states and times of an operation ------------------------------------------------------- */

static int64_t duration_between_times(int64_t from, int64_t to)
{
    return to > from ? to - from : 0;
}

/* Changes the state of an operation. First adds the time since op->since_us to the total of the
 * party that the operation was waiting for. */
static void operation_enter_state(struct operation *op, enum operation_state state, int64_t t_us)
{
    int64_t waited = duration_between_times(op->since_us, t_us);
    if (op->state == OPERATION_ASKED_PERSON || op->state == OPERATION_TASK_PERSON)
        op->person_us += waited;
    else if (op->state == OPERATION_TASK)
        op->server_us += waited;
    op->state = state;
    op->since_us = t_us;
}

static bool task_asks_client(const struct operation *op)
{
    return op->state == OPERATION_TASK_ASKED || op->state == OPERATION_TASK_PERSON;
}

static enum operation_state operation_state_of_task(const struct link *l)
{
    return l->asks == 0     ? OPERATION_TASK
           : l->asks_person ? OPERATION_TASK_PERSON
                            : OPERATION_TASK_ASKED;
}

static void operation_mark_changed(struct operations *o, struct operation *op)
{
    op->is_new = o->changed = true;
}

static void operation_finish(struct operation *op, enum call_status status, int64_t seq,
                             int64_t t_us)
{
    operation_enter_state(op, OPERATION_ENDED, t_us);
    op->status = status;
    op->closing_seq = seq;
    op->duration_us = duration_between_times(op->t_us, t_us);
}

/* Ends the operation with the answer to one of its requests. */
static void operation_end_with_answer(struct operations *o, struct operation *op,
                                      const struct call *c, int64_t t_us)
{
    operation_finish(op, c->status, c->closing_seq, t_us);
    op->has_error_code = c->has_error_code;
    op->error_code = c->error_code;
    operation_mark_changed(o, op);
}

static struct operation *operations_add(struct operations *o, const struct call *c)
{
    struct operation *op = &o->kept[o->n++ % OPERATIONS_MAX];
    *op = (struct operation){
        .seq = c->seq,
        .t_us = c->t_us,
        .direction = c->direction,
        .requests = 1,
        .status = CALL_OPEN,
        .duration_us = -1,
        .since_us = c->t_us,
    };
    return op;
}

/* ---- messages ------------------------------------------------------------------------------- */

void operations_continue_with_request(struct operations *o, struct call *c, const struct link *l)
{
    bool for_task = l->kind == LINK_FOR_TASK;
    if ((l->kind != LINK_RETRY && l->kind != LINK_TASK && !for_task) || c->origin != ROW_PEER ||
        c->status != CALL_OPEN)
        return;
    enum row_direction other = c->direction == ROW_C2S ? ROW_S2C : ROW_C2S;
    struct operation *op = find_continued_operation(o, l, for_task ? other : c->direction,
                                                    operation_hash_target(c->method, c->target));
    if (op == NULL)
        return;
    c->operation_seq = op->seq;
    operation_mark_changed(o, op);
    if (for_task) {
        op->asked += l->asks;
        if (op->state == OPERATION_TASK)
            operation_enter_state(op, operation_state_of_task(l), c->t_us);
        return;
    }
    op->requests++;
    if (l->kind == LINK_RETRY) {
        operation_enter_state(op, OPERATION_RUNS, c->t_us);
        op->key = 0;
    } else if (l->brings_input && task_asks_client(op)) {
        operation_enter_state(op, OPERATION_TASK, c->t_us);
    }
}

static void operation_apply_task_state(struct operations *o, struct operation *op,
                                       const struct link *l, int64_t seq, int64_t t_us)
{
    if (op->state != OPERATION_TASK && !task_asks_client(op))
        return;
    if (l->status != CALL_OPEN) {
        operation_finish(op, l->status, seq, t_us);
    } else if (l->asks > 0 && op->state == OPERATION_TASK) {
        op->asked += l->asks;
        operation_enter_state(op, operation_state_of_task(l), t_us);
    } else {
        return;
    }
    operation_mark_changed(o, op);
}

/* Handles the end of a request about the task of `op`, or of a request that belongs to this
 * task. */
static void operation_on_task_request_end(struct operations *o, struct operation *op,
                                          const struct call *c, const struct link *l, int64_t t_us)
{
    bool answered = c->status == CALL_OK || c->status == CALL_TOOL_ERROR || c->status == CALL_ERROR;
    if (c->direction == op->direction && slice_is(c->method, "tasks/result")) {
        /* The answer ends the operation. If the task had already ended, the answer only tells
         * whether the tool failed. */
        if (op->state != OPERATION_ENDED && answered) {
            operation_end_with_answer(o, op, c, t_us);
        } else if (op->status == CALL_OK && c->status == CALL_TOOL_ERROR) {
            op->status = CALL_TOOL_ERROR;
            operation_mark_changed(o, op);
        }
    } else if (c->direction == op->direction && l->kind == LINK_TASK_STATE) {
        operation_apply_task_state(o, op, l, c->closing_seq, t_us);
    } else if (c->direction != op->direction && task_asks_client(op) &&
               asker_classify_request(c->method) != ASKS_NOTHING) {
        operation_enter_state(op, OPERATION_TASK, t_us);
        operation_mark_changed(o, op);
    }
}

/* Handles an answer that asks for input or starts a task. op: the operation of the request; NULL:
 * adds an operation. */
static void operation_update_from_answer(struct operations *o, struct operation *op,
                                         const struct call *c, const struct link *l, int64_t t_us)
{
    if (op == NULL)
        op = operations_add(o, c);
    op->key = (int64_t)l->key;
    op->asked += l->asks;
    op->server_us += c->duration_us;
    op->since_us = t_us;
    if (l->kind == LINK_ASKS) {
        op->state = l->asks_person ? OPERATION_ASKED_PERSON : OPERATION_ASKED;
        op->target = operation_hash_target(c->method, c->target);
    } else {
        op->state = operation_state_of_task(l);
        if (l->status != CALL_OPEN)
            operation_finish(op, l->status, c->closing_seq, t_us);
    }
    operation_mark_changed(o, op);
}

void operations_add_ended_call(struct operations *o, const struct call *c, const struct link *l)
{
    bool goes_on = l->kind == LINK_ASKS || l->kind == LINK_STARTS;
    if ((!goes_on && c->operation_seq == 0) || c->origin != ROW_PEER)
        return;
    struct operation *op = operations_find(o, c->operation_seq);
    int64_t t_us = c->t_us + c->duration_us;
    if (op == NULL && c->operation_seq != 0)
        return;
    if (goes_on && c->status == CALL_OK) {
        operation_update_from_answer(o, op, c, l, t_us);
    } else if (op == NULL) {
        return;
    } else if (slice_begins(c->method, "tasks/") || c->direction != op->direction) {
        operation_on_task_request_end(o, op, c, l, t_us);
    } else {
        op->server_us += c->duration_us;
        operation_end_with_answer(o, op, c, t_us);
    }
}

void operations_update_task_state(struct operations *o, enum row_direction direction, int64_t seq,
                                  int64_t t_us, const struct link *l)
{
    if (l->kind != LINK_TASK_STATE)
        return;
    struct operation *op =
        find_continued_operation(o, l, direction == ROW_C2S ? ROW_S2C : ROW_C2S, 0);
    if (op != NULL)
        operation_apply_task_state(o, op, l, seq, t_us);
}

void operations_add_stored_row(struct operations *o, const struct operation *op,
                               struct slice method, struct slice target)
{
    struct operation *known = &o->kept[o->n++ % OPERATIONS_MAX];
    *known = *op;
    known->target = operation_hash_target(method, target);
}
