#include "replay/mock/conversation.h"

#include "replay/mock/answer.h"
#include "replay/mock/forwarder.h"
#include "replay/mock/hidden_tools.h"
#include "replay/mock/playback.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/rpc_out.h"

#include <stdlib.h>

#define TASKS_MAX 1024

int conversation_open(struct conversation **ret, const struct conversation_rules *rules,
                      struct faults *faults, struct source *source, struct misses *misses,
                      conversation_send_fn send, conversation_stderr_fn send_stderr, void *ctx)
{
    struct conversation *s = calloc(1, sizeof *s);
    int st;
    if (s == NULL)
        return MI_ENOMEM;
    s->rules = rules;
    s->faults = faults;
    s->source = source;
    s->misses = misses;
    s->send = send;
    s->send_stderr = send_stderr;
    s->send_ctx = ctx;
    s->pace = rules->pace;
    if (plan_open(&s->plan, &rules->canon) < 0) {
        free(s);
        return MI_ENOMEM;
    }
    st = mock_tools_open(s);
    if (st < 0) {
        conversation_close(s);
        return st;
    }
    s->match = (struct match){
        .plan = s->plan,
        .source = source,
        .rules = &rules->canon,
        .repeat_fail = rules->repeat_fail,
        .strict_order = rules->strict_order,
    };
    *ret = s;
    return 0;
}

static void close_playbacks(struct playback *first)
{
    for (struct playback *p = first, *next; p != NULL; p = next) {
        next = p->next;
        if (p->batch != NULL && --p->batch->waiting == 0) {
            buf_close(&p->batch->text);
            free(p->batch);
        }
        free(p);
    }
}

void conversation_close(struct conversation *s)
{
    if (s == NULL)
        return;
    close_playbacks(s->playbacks);
    close_playbacks(s->idle);
    for (struct question *q = s->questions, *next; q != NULL; q = next) {
        next = q->next;
        free(q);
    }
    for (size_t i = 0; i < s->tasks_n; i++) {
        free(s->tasks[i].recorded);
        free(s->tasks[i].live);
    }
    free(s->tasks);
    due_heap_close(&s->heap);
    match_close(&s->match);
    tool_rule_close(&s->tools);
    plan_close(s->plan);
    buf_close(&s->out);
    buf_close(&s->body);
    buf_close(&s->text);
    buf_close(&s->key);
    free(s);
}

int conversation_load_messages(struct conversation *s, bool *ret_done)
{
    int st = match_load_messages(&s->match, ret_done);
    return st < 0 ? st : playback_wake_if_plan_grew(s);
}

void conversation_set_live_server(struct conversation *s, struct forwarder *forwarder)
{
    s->forwarder = forwarder;
}

static int conversation_load_next_messages(struct conversation *s)
{
    bool done;
    return conversation_load_messages(s, &done);
}

int conversation_begin(struct conversation *s, int64_t now_us)
{
    s->now_us = now_us;
    int st = conversation_load_next_messages(s);
    if (st < 0)
        return st;
    struct plan_anchor start = {ANCHOR_START, 0};
    s->reached_mark.live_us = now_us;
    return playback_start_step_list(s, start, (struct pace_mark){now_us, 0}, (struct slice){0});
}

/* ---- requests ---- */

/* Sanitizes the message as the recording would store it. */
static int sanitize_live_message(struct conversation *s, const struct rpc *live, struct rpc *ret)
{
    struct slice form;
    *ret = *live;
    int st = source_sanitize_message(s->source, live->text, &form);
    if (st < 0 || form.p == live->text.p)
        return st;
    buf_clear(&s->text);
    buf_slice_add(&s->text, form);
    if (s->text.failed)
        return MI_ENOMEM;
    return rpc_read(buf_slice(&s->text), ret); /* sanitized JSON is valid JSON */
}

static const struct fault *find_request_fault(struct conversation *s, const struct rpc *live)
{
    if (s->faults->n == 0)
        return NULL;
    struct rpc_name name = rpc_name(live, &s->key);
    return faults_find_for_request(s->faults, name.method, name.target);
}

/* Reads the recording up to the outcome of the exchange. Does nothing if the request may stay
 * pending forever. */
static int load_exchange_outcome(struct conversation *s, uint32_t x)
{
    bool patient = (plan_get_method_target(s->plan, plan_get_exchange(s->plan, x)->topic)->flags &
                    METHOD_PATIENT) != 0;
    while (!plan_exchange_is_settled(s->plan, x) && !patient) {
        int st = conversation_load_next_messages(s);
        if (st < 0)
            return st;
    }
    return 0;
}

/* Whether server/discover can be answered before the rest of the recording is read: clients send
 * this request first, so a legacy recording has it at the beginning or not at all. */
static bool may_answer_discover_now(const struct conversation *s, const struct rpc *live)
{
    return rpc_method_is(live, "server/discover") && plan_count_exchanges(s->plan) > 0 &&
           plan_get_protocol_version(s->plan, true)[0] == '\0' &&
           plan_get_protocol_version(s->plan, false)[0] != '\0' &&
           plan_find_method_and_target(s->plan, slice_of("server/discover"), slice_of("")) ==
               PLAN_NONE;
}

static int ask_live_server(struct conversation *s, const struct rpc *live, struct mock_batch *batch)
{
    s->misses->counts.live++;
    return forwarder_send_or_queue_request(s, live, batch);
}

static int answer_unrecorded_request(struct conversation *s, const struct rpc *live,
                                     const struct rpc *sanitized, enum miss_kind why,
                                     struct mock_batch *batch)
{
    int st = mock_answer_unrecorded_request(s, batch, live, sanitized, why);
    return st == MOCK_FOR_LIVE ? ask_live_server(s, live, batch) : st;
}

static int conversation_on_request(struct conversation *s, const struct rpc *live,
                                   struct mock_batch *batch)
{
    struct rpc sanitized;
    uint32_t x = PLAN_NONE;
    enum miss_kind why = MISS_UNKNOWN_METHOD;
    s->misses->counts.requests++;
    const struct fault *fault = find_request_fault(s, live);
    if (conversation_count_playbacks(s) >= CONVERSATION_OPEN_MAX)
        return mock_send_error(s, batch, live->id.text, RPC_INTERNAL_ERROR,
                               "too many pending requests for a replay", "too-many-open", NULL);
    if (forwarder_forwards_all_requests(s->forwarder))
        return ask_live_server(s, live, batch);
    if (may_answer_discover_now(s, live))
        return answer_unrecorded_request(s, live, live, why, batch);
    int st = 0;
    if (s->forwarder != NULL && rpc_method_is(live, "initialize"))
        st = forwarder_copy_initialize(s, live);
    if (st == 0)
        st = sanitize_live_message(s, live, &sanitized);
    if (st == 0)
        st = match_find_exchange(&s->match, &sanitized, &x, &why);
    /* match_find_exchange() may have added messages to the plan */
    int woken = playback_wake_if_plan_grew(s);
    if (st < 0 || woken < 0)
        return st < 0 ? st : woken;
    if (st == MATCH_MISS) {
        bool done;
        st = mock_tools_refuse_hidden_call(s, live, batch, &done);
        return done ? st : answer_unrecorded_request(s, live, &sanitized, why, batch);
    }
    bool again = st == MATCH_AGAIN;
    if (again)
        s->misses->counts.repeated++;
    s->misses->counts.matched++;
    st = mock_compare_capabilities(s, &sanitized, x);
    if (st == 0 && s->forwarder != NULL && !again)
        st = forwarder_add_catch_up_exchange(s, x);
    if (st == 0)
        st = load_exchange_outcome(s, x);
    return st < 0 ? st : playback_start(s, live, x, again, fault, batch);
}

/* ---- notifications and answers ---- */

static int conversation_cancel_request(struct conversation *s, const struct rpc *live)
{
    struct playback *p = playback_find_by_request_id(s, live->request_id);
    if (p == NULL ||
        (plan_get_method_target(s->plan, plan_get_exchange(s->plan, p->exchange)->topic)->flags &
         METHOD_UNCANCELLED) != 0)
        return 0;
    const struct plan_exchange *x = plan_get_exchange(s->plan, p->exchange);
    int st = 0;
    /* starts the list of the steps that were recorded after the cancellation */
    if (x->outcome == PLAN_CANCELLED && !p->again)
        st = playback_start_step_list(s, (struct plan_anchor){ANCHOR_OUTCOME, p->exchange},
                                      (struct pace_mark){s->now_us, x->end_us}, p->token);
    int ended = playback_end_and_free(s, p);
    return st < 0 ? st : ended;
}

/* Starts the list of steps that were recorded after this notification of the client. */
static int start_notification_list(struct conversation *s, const struct rpc *live)
{
    int st =
        rpc_method_is(live, "notifications/cancelled") ? conversation_cancel_request(s, live) : 0;
    for (uint32_t notification; st == 0;) {
        buf_clear(&s->key);
        json_unescape(&s->key, live->method);
        notification = plan_take_next_notification(s->plan, buf_slice(&s->key));
        if (notification != PLAN_NONE) {
            struct pace_mark mark = {s->now_us, plan_get_notification(s->plan, notification)->t_us};
            st = playback_send_earlier_messages(
                s, plan_get_notification(s->plan, notification)->place, mark.t_us);
            return st < 0 ? st
                          : playback_start_step_list(
                                s, (struct plan_anchor){ANCHOR_NOTIFICATION, notification}, mark,
                                (struct slice){0});
        }
        if (plan_is_finished(s->plan))
            return 0;
        st = conversation_load_next_messages(s);
    }
    return st;
}

static int conversation_on_notification(struct conversation *s, const struct rpc *live)
{
    int st = forwarder_forwards_all_requests(s->forwarder) ? 0 : start_notification_list(s, live);
    if (st == 0 && s->forwarder != NULL)
        st = forwarder_send_client_notification(s, live);
    /* If the recorded server exited at this point, `ended` is already set, and the recorded exit
     * status is used. */
    if (st == 0 && s->ended == CONVERSATION_RUNNING && rpc_method_is(live, "exit"))
        s->ended = CONVERSATION_CLIENT_EXIT;
    return st;
}

/* Stores the id of a task that the client has created (revision 2025-11-25); later requests of the
 * server must use this id. */
static int store_client_task_id(struct conversation *s, const struct plan_question *q,
                                const struct rpc *live)
{
    struct rpc recorded;
    struct json_value live_task = json_get(json_get(live->result, "task"), "taskId");
    if (live_task.type != JSON_STRING || q->answer == 0 || s->tasks_n == TASKS_MAX)
        return 0;
    buf_clear(&s->body);
    int st = source_read_body(s->source, q->answer, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0)
        return 0;
    struct json_value recorded_task = json_get(json_get(recorded.result, "task"), "taskId");
    struct task_name *list = recorded_task.type == JSON_STRING
                                 ? realloc(s->tasks, (s->tasks_n + 1) * sizeof *list)
                                 : s->tasks;
    if (recorded_task.type != JSON_STRING)
        return 0;
    if (list == NULL)
        return MI_ENOMEM;
    s->tasks = list;
    list[s->tasks_n] = (struct task_name){strndup(recorded_task.text.p, recorded_task.text.n),
                                          strndup(live_task.text.p, live_task.text.n)};
    s->tasks_n++;
    return list[s->tasks_n - 1].recorded != NULL && list[s->tasks_n - 1].live != NULL ? 0
                                                                                      : MI_ENOMEM;
}

static int conversation_on_answer(struct conversation *s, const struct rpc *live)
{
    struct rpc sanitized;
    struct question *question = playback_remove_question(s, live->id);
    /* `question` is NULL if the live server asked it, or if it is unknown or already answered */
    if (question == NULL)
        return s->forwarder != NULL ? forwarder_send_client_answer(s, live) : 0;
    uint32_t i = plan_get_step(s->plan, question->step)->link;
    struct playback *p = question->playback;
    free(question);
    struct plan_question q = *plan_get_question(s->plan, i);
    int st = store_client_task_id(s, &q, live);
    if (st == 0)
        st = sanitize_live_message(s, live, &sanitized);
    if (st == 0)
        st = mock_compare_answer(s, &q, &sanitized);
    struct pace_mark mark = {s->now_us, q.answer != 0 ? q.answered_us : 0};
    if (st == 0 && q.answer != 0)
        st = playback_send_earlier_messages(s, q.answer, q.answered_us);
    if (st == 0)
        st = playback_wake_held_playbacks(s);
    if (st == 0 && p != NULL) {
        p->questions--;
        if (q.answer != 0)
            p->mark = mark;
        st = playback_run(s, p);
    }
    if (st == 0 && q.answer != 0)
        st = playback_start_step_list(s, (struct plan_anchor){ANCHOR_CLIENT_ANSWER, i}, mark,
                                      (struct slice){0});
    return st;
}

/* ---- lines ---- */

static int report_line_without_message(struct conversation *s, struct mock_batch *batch,
                                       const struct rpc *m, int st)
{
    struct buf why = {0};
    struct miss f = {.kind = MISS_NOT_A_MESSAGE};
    misses_add_and_log_miss(s->misses, &f, &why);
    bool call = m->is_call && (m->id.type == JSON_NUMBER || m->id.type == JSON_STRING);
    st = mock_send_error(s, batch, call ? m->id.text : (struct slice){0},
                         st < 0 ? RPC_PARSE_ERROR : RPC_INVALID_REQUEST, buf_str(&why),
                         miss_kind_name(f.kind), NULL);
    buf_close(&why);
    return st;
}

static int conversation_handle_message(struct conversation *s, const struct rpc *m,
                                       struct mock_batch *batch)
{
    switch (m->kind) {
    case RPC_REQUEST:
        return conversation_on_request(s, m, batch);
    case RPC_NOTIFICATION:
        return conversation_on_notification(s, m);
    case RPC_RESULT:
    case RPC_ERROR:
        return conversation_on_answer(s, m);
    default:
        return report_line_without_message(s, batch, m, 0);
    }
}

static int handle_batch(struct conversation *s, const struct rpc *line)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, line->text});
    struct slice key;
    struct json_value v;
    struct rpc m;
    struct mock_batch *b = NULL;
    int st = 0;
    bool empty = !json_walk_next(&w, &key, &v);
    bool allowed = forwarder_forwards_all_requests(s->forwarder) ||
                   strcmp(plan_get_protocol_version(s->plan, false), "2025-03-26") == 0;
    if (empty || !allowed)
        return report_line_without_message(s, NULL, line, 0);
    b = calloc(1, sizeof *b);
    if (b == NULL)
        return MI_ENOMEM;
    b->waiting = 1;
    do {
        if (rpc_read(v.text, &m) < 0 || m.kind == RPC_BATCH)
            m.kind = RPC_INVALID;
        st = conversation_handle_message(s, &m, b);
    } while (st == 0 && json_walk_next(&w, &key, &v));
    int done = mock_batch_complete_answer(s, b);
    return st < 0 ? st : done;
}

int conversation_handle_line(struct conversation *s, struct slice line, int64_t now_us)
{
    struct rpc m;
    s->now_us = now_us;
    if (slice_begins(line, "\xEF\xBB\xBF"))
        line = (struct slice){line.p + 3, line.n - 3};
    int st = rpc_read(line, &m);
    if (st < 0 && m.fault.kind == JSON_EMPTY)
        return 0;
    if (st < 0)
        return report_line_without_message(s, NULL, &m, st);
    return m.kind == RPC_BATCH ? handle_batch(s, &m) : conversation_handle_message(s, &m, NULL);
}

int conversation_handle_long_line(struct conversation *s, struct slice head, int64_t now_us)
{
    struct rpc m;
    s->now_us = now_us;
    rpc_read_truncated_line(head, &m);
    m.is_call = m.method.p != NULL;
    return report_line_without_message(s, NULL, &m, 0);
}

int conversation_handle_live_line(struct conversation *s, struct slice line, int64_t now_us)
{
    s->now_us = now_us;
    return line.p != NULL ? forwarder_handle_server_line(s, line) : forwarder_on_server_ended(s);
}

/* ---- time ---- */

static int run_playbacks_up_to_now(struct conversation *s)
{
    for (struct due *d;
         s->ended == CONVERSATION_RUNNING && (d = due_heap_get_earliest(&s->heap)) != NULL;) {
        if (d->at_us > s->now_us || s->full)
            return 0;
        int st = playback_run(s, (struct playback *)d);
        if (st < 0)
            return st;
    }
    return 0;
}

int conversation_send_due_messages(struct conversation *s, int64_t now_us)
{
    s->now_us = now_us;
    s->full = false;
    return run_playbacks_up_to_now(s);
}

int conversation_handle_client_hangup(struct conversation *s, int64_t now_us)
{
    s->now_us = now_us;
    s->hung_up = true;
    s->pace.speed = 0;
    int st = playback_schedule_all_now(s);
    return st < 0 ? st : run_playbacks_up_to_now(s);
}

int64_t conversation_next_event_us(const struct conversation *s)
{
    const struct due *d = due_heap_get_earliest(&s->heap);
    return d != NULL && s->ended == CONVERSATION_RUNNING ? d->at_us : CONVERSATION_NEVER;
}

enum conversation_end conversation_get_end_reason(const struct conversation *s)
{
    return s->ended;
}

int64_t conversation_exit_status(const struct conversation *s)
{
    return s->exit_status;
}

struct plan *conversation_get_plan(struct conversation *s)
{
    return s->plan;
}

size_t conversation_count_playbacks(const struct conversation *s)
{
    return s->playbacks_n + forwarder_count_requests(s->forwarder);
}
