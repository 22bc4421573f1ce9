#include "replay/stage.h"

#include "replay/stage_inner.h"
#include "wire/json_text.h"
#include "wire/method.h"

#include <stdlib.h>

#define TASKS_MAX 1024

int stage_open(struct stage **ret, const struct stage_rules *rules, struct faults *faults,
               struct source *source, struct report *report, stage_send_fn send,
               stage_stderr_fn say_stderr, void *ctx)
{
    struct stage *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    s->rules = rules;
    s->faults = faults;
    s->source = source;
    s->report = report;
    s->send = send;
    s->say_stderr = say_stderr;
    s->send_ctx = ctx;
    s->pace = rules->pace;
    if (plan_open(&s->plan, &rules->canon) < 0) {
        free(s);
        return MI_ENOMEM;
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

static void close_plays(struct play *first)
{
    for (struct play *p = first, *next; p != NULL; p = next) {
        next = p->next;
        if (p->batch != NULL && --p->batch->waiting == 0) {
            buf_close(&p->batch->text);
            free(p->batch);
        }
        free(p);
    }
}

void stage_close(struct stage *s)
{
    if (s == NULL)
        return;
    close_plays(s->plays);
    close_plays(s->idle);
    for (struct question *q = s->questions, *next; q != NULL; q = next) {
        next = q->next;
        free(q);
    }
    for (size_t i = 0; i < s->tasks_n; i++) {
        free(s->tasks[i].recorded);
        free(s->tasks[i].live);
    }
    free(s->tasks);
    due_close(&s->heap);
    match_close(&s->match);
    plan_close(s->plan);
    buf_close(&s->out);
    buf_close(&s->body);
    buf_close(&s->text);
    buf_close(&s->key);
    free(s);
}

int stage_load(struct stage *s, bool *ret_done)
{
    int st = match_load(&s->match, ret_done);
    return st < 0 ? st : stage_wake_grown(s);
}

static int load(struct stage *s)
{
    bool done;
    return stage_load(s, &done);
}

int stage_begin(struct stage *s, int64_t now_us)
{
    s->now_us = now_us;
    int st = load(s);
    if (st < 0)
        return st;
    struct plan_anchor start = {ANCHOR_START, 0};
    return stage_start_list(s, start, (struct pace_mark){now_us, 0}, (struct slice){0});
}

/* ---- requests ---- */

/* The message in the form in which it would have been recorded. */
static int recorded_form(struct stage *s, const struct rpc *live, struct rpc *ret)
{
    struct slice form;
    *ret = *live;
    int st = source_form(s->source, live->text, &form);
    if (st < 0 || form.p == live->text.p)
        return st;
    buf_clear(&s->text);
    buf_slice_add(&s->text, form);
    if (s->text.failed)
        return MI_ENOMEM;
    return rpc_read(buf_slice(&s->text), ret); /* the sanitizer keeps JSON what it is */
}

static const struct fault *find_fault(struct stage *s, const struct rpc *live)
{
    if (s->faults->n == 0)
        return NULL;
    struct rpc_name name = rpc_name(live, &s->key);
    return faults_find(s->faults, name.method, name.target);
}

/* All of an exchange is known before it is played, but for those that may stay open for ever. */
static int load_exchange(struct stage *s, uint32_t x)
{
    bool patient =
        (plan_topic(s->plan, plan_exchange(s->plan, x)->topic)->flags & METHOD_PATIENT) != 0;
    while (!plan_settled(s->plan, x) && !patient) {
        int st = load(s);
        if (st < 0)
            return st;
    }
    return 0;
}

/* A legacy recording that is not read to its end has no server/discover, for that comes first: the
 * first request of a client shall not wait for the rest. */
static bool surely_legacy(const struct stage *s, const struct rpc *live)
{
    return rpc_method_is(live, "server/discover") && plan_exchanges(s->plan) > 0 &&
           plan_version(s->plan, true)[0] == '\0' && plan_version(s->plan, false)[0] != '\0' &&
           plan_find_topic(s->plan, slice_of("server/discover"), slice_of("")) == PLAN_NONE;
}

static int on_request(struct stage *s, const struct rpc *live, struct stage_batch *batch)
{
    struct rpc clean;
    uint32_t x = PLAN_NONE;
    enum report_kind why = REPORT_UNKNOWN_METHOD;
    s->report->counts.requests++;
    const struct fault *fault = find_fault(s, live);
    if (surely_legacy(s, live))
        return stage_unrecorded(s, batch, live, live, why);
    if (s->plays_n >= STAGE_PLAYS_MAX)
        return stage_error(s, batch, live->id.text, -32603,
                           "too many requests are open at once for a replay", "too-many-open",
                           NULL);
    int st = recorded_form(s, live, &clean);
    if (st == 0)
        st = match_find(&s->match, &clean, &x, &why);
    int woken = stage_wake_grown(s); /* it may have read some more */
    if (st < 0 || woken < 0)
        return st < 0 ? st : woken;
    if (st == MATCH_MISS)
        return stage_unrecorded(s, batch, live, &clean, why);
    bool again = st == MATCH_AGAIN;
    if (again)
        s->report->counts.repeated++;
    s->report->counts.matched++;
    st = stage_compare_capabilities(s, &clean, x);
    if (st == 0)
        st = load_exchange(s, x);
    return st < 0 ? st : stage_start(s, live, x, again, fault, batch);
}

/* ---- notifications and answers ---- */

static int cancel(struct stage *s, const struct rpc *live)
{
    struct play *p = stage_find_play(s, live->request_id);
    if (p == NULL || (plan_topic(s->plan, plan_exchange(s->plan, p->exchange)->topic)->flags &
                      METHOD_UNCANCELLED) != 0)
        return 0;
    const struct plan_exchange *x = plan_exchange(s->plan, p->exchange);
    int st = 0;
    if (x->outcome == PLAN_CANCELLED && !p->again) /* as it was recorded, with what came of it */
        st = stage_start_list(s, (struct plan_anchor){ANCHOR_OUTCOME, p->exchange},
                              (struct pace_mark){s->now_us, x->end_us}, p->token);
    int ended = stage_end_play(s, p);
    return st < 0 ? st : ended;
}

/* What was recorded behind this notification of the client comes now. */
static int take_cue(struct stage *s, const struct rpc *live)
{
    int st = rpc_method_is(live, "notifications/cancelled") ? cancel(s, live) : 0;
    for (uint32_t cue; st == 0;) {
        buf_clear(&s->key);
        json_unescape(&s->key, live->method);
        cue = plan_take_cue(s->plan, buf_slice(&s->key));
        if (cue != PLAN_NONE) {
            struct pace_mark mark = {s->now_us, plan_cue(s->plan, cue)->t_us};
            st = stage_reach(s, plan_cue(s->plan, cue)->place);
            return st < 0 ? st
                          : stage_start_list(s, (struct plan_anchor){ANCHOR_CUE, cue}, mark,
                                             (struct slice){0});
        }
        if (plan_finished(s->plan))
            return 0;
        st = load(s);
    }
    return st;
}

static int on_notification(struct stage *s, const struct rpc *live)
{
    int st = take_cue(s, live);
    /* the recorded server may have left then with a status of its own */
    if (st == 0 && s->ended == STAGE_GOES_ON && rpc_method_is(live, "exit"))
        s->ended = STAGE_CLIENT_EXIT;
    return st;
}

/* The client names tasks of its own (revision 2025-11-25): what the server asks of them later carries
 * the live name. */
static int learn_task(struct stage *s, const struct plan_question *q, const struct rpc *live)
{
    struct rpc recorded;
    struct json_value mine = json_get(json_get(live->result, "task"), "taskId");
    if (mine.type != JSON_STRING || q->answer == 0 || s->tasks_n == TASKS_MAX)
        return 0;
    buf_clear(&s->body);
    int st = source_body(s->source, q->answer, &s->body);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (rpc_read(buf_slice(&s->body), &recorded) < 0)
        return 0;
    struct json_value theirs = json_get(json_get(recorded.result, "task"), "taskId");
    struct task_name *list =
        theirs.type == JSON_STRING ? realloc(s->tasks, (s->tasks_n + 1) * sizeof *list) : s->tasks;
    if (theirs.type != JSON_STRING)
        return 0;
    if (list == NULL)
        return MI_ENOMEM;
    s->tasks = list;
    list[s->tasks_n] = (struct task_name){strndup(theirs.text.p, theirs.text.n),
                                          strndup(mine.text.p, mine.text.n)};
    s->tasks_n++;
    return list[s->tasks_n - 1].recorded != NULL && list[s->tasks_n - 1].live != NULL ? 0
                                                                                      : MI_ENOMEM;
}

static int on_answer(struct stage *s, const struct rpc *live)
{
    struct rpc clean;
    struct question *asked = stage_take_question(s, live->id);
    if (asked == NULL)
        return 0; /* to nothing that was asked, or for the second time */
    uint32_t i = plan_step(s->plan, asked->step)->link;
    struct play *p = asked->play;
    free(asked);
    struct plan_question q = *plan_question(s->plan, i);
    int st = learn_task(s, &q, live);
    if (st == 0)
        st = recorded_form(s, live, &clean);
    if (st == 0)
        st = stage_compare_answer(s, &q, &clean);
    struct pace_mark mark = {s->now_us, q.answer != 0 ? q.answered_us : 0};
    if (st == 0 && q.answer != 0)
        st = stage_reach(s, q.answer);
    if (st == 0 && p != NULL) {
        p->questions--;
        if (q.answer != 0)
            p->mark = mark;
        st = stage_run(s, p);
    }
    if (st == 0 && q.answer != 0)
        st = stage_start_list(s, (struct plan_anchor){ANCHOR_REPLY, i}, mark, (struct slice){0});
    return st;
}

/* ---- lines ---- */

static int not_a_message(struct stage *s, struct stage_batch *batch, const struct rpc *m, int st)
{
    struct buf why = {0};
    struct report_finding f = {.kind = REPORT_NOT_A_MESSAGE};
    report_add(s->report, &f, &why);
    bool call = m->is_call && (m->id.type == JSON_NUMBER || m->id.type == JSON_STRING);
    st = stage_error(s, batch, call ? m->id.text : (struct slice){0}, st < 0 ? -32700 : -32600,
                     buf_str(&why), report_kind_name(f.kind), NULL);
    buf_close(&why);
    return st;
}

static int handle(struct stage *s, const struct rpc *m, struct stage_batch *batch)
{
    switch (m->kind) {
    case RPC_REQUEST:
        return on_request(s, m, batch);
    case RPC_NOTIFICATION:
        return on_notification(s, m);
    case RPC_RESULT:
    case RPC_ERROR:
        return on_answer(s, m);
    default:
        return not_a_message(s, batch, m, 0);
    }
}

static int handle_batch(struct stage *s, const struct rpc *line)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, line->text});
    struct slice key;
    struct json_value v;
    struct rpc m;
    struct stage_batch *b = NULL;
    int st = 0;
    bool empty = !json_walk_next(&w, &key, &v);
    if (empty || strcmp(plan_version(s->plan, false), "2025-03-26") != 0)
        return not_a_message(s, NULL, line, 0);
    b = calloc(1, sizeof *b);
    if (b == NULL)
        return MI_ENOMEM;
    b->waiting = 1;
    do {
        if (rpc_read(v.text, &m) < 0 || m.kind == RPC_BATCH)
            m.kind = RPC_INVALID;
        st = handle(s, &m, b);
    } while (st == 0 && json_walk_next(&w, &key, &v));
    int done = stage_batch_done(s, b);
    return st < 0 ? st : done;
}

int stage_line(struct stage *s, struct slice line, int64_t now_us)
{
    struct rpc m;
    s->now_us = now_us;
    if (slice_begins(line, "\xEF\xBB\xBF"))
        line = (struct slice){line.p + 3, line.n - 3};
    int st = rpc_read(line, &m);
    if (st < 0 && m.fault.kind == JSON_EMPTY)
        return 0;
    if (st < 0)
        return not_a_message(s, NULL, &m, st);
    return m.kind == RPC_BATCH ? handle_batch(s, &m) : handle(s, &m, NULL);
}

int stage_too_long(struct stage *s, struct slice head, int64_t now_us)
{
    struct rpc m;
    s->now_us = now_us;
    rpc_read_head(head, &m);
    m.is_call = m.method.p != NULL;
    return not_a_message(s, NULL, &m, 0);
}

/* ---- time ---- */

int stage_advance(struct stage *s, int64_t now_us)
{
    s->now_us = now_us;
    s->full = false;
    for (struct due *d; s->ended == STAGE_GOES_ON && (d = due_first(&s->heap)) != NULL;) {
        if (d->at_us > now_us || s->full)
            return 0;
        int st = stage_run(s, (struct play *)d);
        if (st < 0)
            return st;
    }
    return 0;
}

int stage_hangup(struct stage *s, int64_t now_us)
{
    s->now_us = now_us;
    s->hung_up = true;
    s->pace.speed = 0;
    return stage_wake_all(s);
}

int64_t stage_due(const struct stage *s)
{
    const struct due *d = due_first(&s->heap);
    return d != NULL && s->ended == STAGE_GOES_ON ? d->at_us : STAGE_NEVER;
}

enum stage_end stage_ended(const struct stage *s)
{
    return s->ended;
}

int64_t stage_exit_status(const struct stage *s)
{
    return s->exit_status;
}

struct plan *stage_plan(struct stage *s)
{
    return s->plan;
}

size_t stage_plays(const struct stage *s)
{
    return s->plays_n;
}
