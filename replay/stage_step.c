/* stage_step.c - what one step says: its message, with the names of the live session in it. */
#include "replay/stage_inner.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- saying a step ---- */

/* The recorded message of a step, in s->body. 0, MI_ENOENT (it is gone) or an error. */
static int read_step(struct stage *s, const struct plan_step *step)
{
    buf_clear(&s->body);
    return source_body(s->source, step->place, &s->body);
}

static int say_rewritten(struct stage *s, struct slice with[REWRITE_COUNT])
{
    if (s->tasks_n > 0 && with[REWRITE_TASK].p == NULL) {
        struct json_value task = rewrite_at(buf_slice(&s->body), REWRITE_TASK);
        for (size_t i = 0; task.type == JSON_STRING && i < s->tasks_n; i++)
            if (slice_is(task.text, s->tasks[i].recorded))
                with[REWRITE_TASK] = slice_of(s->tasks[i].live);
    }
    buf_clear(&s->out);
    int st = rewrite(&s->out, buf_slice(&s->body), with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return 0; /* it was planned as such a message: somebody has changed the recording */
    return st < 0 ? st : stage_say(s, buf_slice(&s->out));
}

static int say_question(struct stage *s, struct play *p, uint32_t step)
{
    char id[32];
    struct slice with[REWRITE_COUNT] = {0};
    struct question *q = calloc(1, sizeof *q);
    if (q == NULL)
        return MI_ENOMEM;
    *q = (struct question){
        .next = s->questions,
        .play = p,
        .step = step,
        .number = ++s->question_number,
        .text = rewrite_at(buf_slice(&s->body), REWRITE_ID).type == JSON_STRING,
    };
    s->questions = q;
    p->questions++;
    int n = snprintf(id, sizeof id, q->text ? "\"%llu\"" : "%llu", (unsigned long long)q->number);
    with[REWRITE_ID] = (struct slice){id, (size_t)n};
    return say_rewritten(s, with);
}

static int say_cancel(struct stage *s, uint32_t step)
{
    char id[32];
    struct slice with[REWRITE_COUNT] = {0};
    const struct question *q = s->questions;
    while (q != NULL && q->step != step)
        q = q->next;
    if (q == NULL)
        return 0; /* it was answered in time, or not asked this time */
    int n = snprintf(id, sizeof id, q->text ? "\"%llu\"" : "%llu", (unsigned long long)q->number);
    with[REWRITE_REQUEST_ID] = (struct slice){id, (size_t)n};
    return say_rewritten(s, with);
}

static int say_note(struct stage *s, struct play *p, const struct plan_step *step)
{
    struct slice with[REWRITE_COUNT] = {0};
    if (step->kind == PLAN_PROGRESS)
        with[REWRITE_TOKEN] = p->token;
    else if (step->kind == PLAN_STREAM)
        with[REWRITE_SUBSCRIPTION] = p->id;
    else if (step->kind == PLAN_UNLISTEN)
        with[REWRITE_REQUEST_ID] = p->id;
    return say_rewritten(s, with);
}

/* ---- answers, and faults in their place ---- */

static int say_part(struct stage *s)
{
    struct slice all = buf_slice(&s->out);
    s->ended = STAGE_CLOSE;
    int st = s->send(s->send_ctx, (struct slice){all.p, all.n / 2});
    return st < 0 ? st : 0;
}

/* An id of the same type that nobody has asked with. */
static struct slice wrong_id(const struct play *p)
{
    if (p->id.p[0] == '"')
        return slice_of("\"mcp-interposer-wrong-id\"");
    return slice_of(slice_is(p->id, "9007199254740991") ? "9007199254740990" : "9007199254740991");
}

/* The answer stands in s->out. */
static int say_answer_text(struct stage *s, const struct play *p, bool in_batch)
{
    struct stage_batch *batch = in_batch ? p->batch : NULL;
    enum fault_kind fault = p->fault != NULL ? p->fault->kind : FAULT_NONE;
    if (fault == FAULT_TRUNCATE)
        return say_part(s);
    int st = 0;
    if (fault == FAULT_GARBAGE)
        st = s->send(s->send_ctx, slice_of("no message, but a fault that was asked for\n"));
    if (st >= 0)
        st = stage_reply(s, batch, buf_slice(&s->out));
    if (st == 0 && fault == FAULT_DUPLICATE)
        st = stage_reply(s, batch, buf_slice(&s->out));
    return st;
}

static int say_recorded_answer(struct stage *s, struct play *p, const struct plan_step *step)
{
    struct slice with[REWRITE_COUNT] = {0};
    int st = read_step(s, step);
    if (st < 0)
        return st == MI_ENOENT ? stage_no_answer(s, p) : st;
    with[REWRITE_ID] = p->id;
    with[REWRITE_SUBSCRIPTION] = p->id;
    if (p->fault != NULL && p->fault->kind == FAULT_WRONG_ID)
        with[REWRITE_ID] = wrong_id(p);
    buf_clear(&s->out);
    st = rewrite(&s->out, buf_slice(&s->body), with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return stage_no_answer(s, p);
    return st < 0 ? st : say_answer_text(s, p, step->in_batch);
}

int stage_answer(struct stage *s, struct play *p, const struct plan_step *step)
{
    const struct plan_exchange *x = plan_exchange(s->plan, p->exchange);
    enum fault_kind fault = p->fault != NULL ? p->fault->kind : FAULT_NONE;
    int st = 0;
    if (fault == FAULT_CLOSE || fault == FAULT_CRASH) {
        s->ended = fault == FAULT_CLOSE ? STAGE_CLOSE : STAGE_CRASH;
        return 0;
    }
    if (fault == FAULT_ERROR)
        st = stage_error(s, step->in_batch ? p->batch : NULL, p->id, p->fault->code,
                         "this is a fault that was asked for with --fault", "fault", NULL);
    else
        st = say_recorded_answer(s, p, step);
    if (st == 0)
        st = stage_reach(s, step->place);
    if (st == 0 && !p->again && s->ended == STAGE_GOES_ON)
        st = stage_start_list(s, (struct plan_anchor){ANCHOR_OUTCOME, p->exchange},
                              (struct pace_mark){s->now_us, x->end_us}, p->token);
    int ended = stage_end_play(s, p);
    return st < 0 ? st : ended;
}

static bool is_log(struct slice message)
{
    struct rpc m;
    return memmem(message.p, message.n, "notifications", 13) != NULL &&
           rpc_read(message, &m) == 0 && rpc_method_is(&m, "notifications/message");
}

int stage_step(struct stage *s, struct play *p, uint32_t i)
{
    const struct plan_step *step = plan_step(s->plan, i);
    p->at = i;
    if (step->kind == PLAN_PROGRESS && p->token.p == NULL)
        return 0; /* the client did not ask for any */
    if (step->kind == PLAN_END) {
        s->exit_status = source_info(s->source)->exit_status;
        s->ended = STAGE_SERVER_ENDED;
        return 0;
    }
    int st = read_step(s, step);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (step->kind == PLAN_STDERR) {
        s->say_stderr(s->send_ctx, buf_slice(&s->body));
        return 0;
    }
    if (p->no_log && step->kind == PLAN_NOTE && is_log(buf_slice(&s->body)))
        return 0;
    p->last_us = s->now_us;
    p->after_note = step->kind != PLAN_QUESTION;
    if (step->kind == PLAN_QUESTION)
        return say_question(s, p, i);
    return step->kind == PLAN_CANCEL ? say_cancel(s, step->link) : say_note(s, p, step);
}
