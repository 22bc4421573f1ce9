#include "replay/mock/step.h"

#include "replay/mock/answer.h"
#include "replay/mock/hidden_tools.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- sending a step ---- */

/* Reads the message of a step into s->body. Returns 0, MI_ENOENT (the message was deleted) or an
 * error. */
static int read_step_message(struct conversation *s, const struct plan_step *step)
{
    buf_clear(&s->body);
    return source_read_body(s->source, step->place, &s->body);
}

static int send_rewritten_message(struct conversation *s, struct slice with[REWRITE_COUNT])
{
    if (s->tasks_n > 0 && with[REWRITE_TASK].p == NULL) {
        struct json_value task = message_get_value_to_rewrite(buf_slice(&s->body), REWRITE_TASK);
        for (size_t i = 0; task.type == JSON_STRING && i < s->tasks_n; i++)
            if (slice_is(task.text, s->tasks[i].recorded))
                with[REWRITE_TASK] = slice_of(s->tasks[i].live);
    }
    buf_clear(&s->out);
    int st = rewrite_message(&s->out, buf_slice(&s->body), with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return 0; /* the recorded message was changed after the plan was made */
    return st < 0 ? st : mock_send_line(s, buf_slice(&s->out));
}

static int send_recorded_request(struct conversation *s, struct playback *p, uint32_t step)
{
    char id[32];
    struct slice with[REWRITE_COUNT] = {0};
    struct question *q = calloc(1, sizeof *q);
    if (q == NULL)
        return MI_ENOMEM;
    *q = (struct question){
        .next = s->questions,
        .playback = p,
        .step = step,
        .number = ++s->question_number,
        .text = message_get_value_to_rewrite(buf_slice(&s->body), REWRITE_ID).type == JSON_STRING,
    };
    s->questions = q;
    p->questions++;
    int n = snprintf(id, sizeof id, q->text ? "\"%llu\"" : "%llu", (unsigned long long)q->number);
    with[REWRITE_ID] = (struct slice){id, (size_t)n};
    return send_rewritten_message(s, with);
}

static int send_cancel_of_question(struct conversation *s, uint32_t step)
{
    char id[32];
    struct slice with[REWRITE_COUNT] = {0};
    const struct question *q = s->questions;
    while (q != NULL && q->step != step)
        q = q->next;
    if (q == NULL)
        /* The client has already answered the question, or did not get it in this conversation. */
        return 0;
    int n = snprintf(id, sizeof id, q->text ? "\"%llu\"" : "%llu", (unsigned long long)q->number);
    with[REWRITE_REQUEST_ID] = (struct slice){id, (size_t)n};
    return send_rewritten_message(s, with);
}

static int send_notification(struct conversation *s, struct playback *p,
                             const struct plan_step *step)
{
    struct slice with[REWRITE_COUNT] = {0};
    if (step->kind == PLAN_PROGRESS)
        with[REWRITE_TOKEN] = p->token;
    else if (step->kind == PLAN_STREAM)
        with[REWRITE_SUBSCRIPTION] = p->id;
    else if (step->kind == PLAN_UNLISTEN)
        with[REWRITE_REQUEST_ID] = p->id;
    return send_rewritten_message(s, with);
}

/* ---- answers and faults ---- */

/* Returns an id that no request has, of the same type as the request's id. */
static struct slice make_wrong_id(const struct playback *p)
{
    if (p->id.p[0] == '"')
        return slice_of("\"mcp-interposer-wrong-id\"");
    return slice_of(slice_is(p->id, "9007199254740991") ? "9007199254740990" : "9007199254740991");
}

/* Sends the answer, which is in s->out. */
static int send_answer_text(struct conversation *s, const struct playback *p, bool in_batch)
{
    struct mock_batch *batch = in_batch ? p->batch : NULL;
    enum fault_kind fault = p->fault != NULL ? p->fault->kind : FAULT_NONE;
    int st = 0;
    if (fault == FAULT_TRUNCATE) {
        s->ended = CONVERSATION_CLOSE;
        st = s->send(s->send_ctx, (struct slice){s->out.p, s->out.n / 2});
        return st < 0 ? st : 0;
    }
    if (fault == FAULT_GARBAGE)
        st = s->send(s->send_ctx, slice_of("not a message: a fault injected by --fault\n"));
    if (st >= 0)
        st = mock_send_answer(s, batch, buf_slice(&s->out));
    if (st == 0 && fault == FAULT_DUPLICATE)
        st = mock_send_answer(s, batch, buf_slice(&s->out));
    return st;
}

int step_send_answer(struct conversation *s, struct playback *p, const struct plan_step *step)
{
    struct slice with[REWRITE_COUNT] = {0};
    if (p->fault != NULL && p->fault->kind == FAULT_ERROR)
        return mock_send_error(s, step->in_batch ? p->batch : NULL, p->id, p->fault->code,
                               "a fault injected by --fault", "fault", NULL);
    int st = read_step_message(s, step);
    if (st < 0)
        return st == MI_ENOENT ? mock_send_no_answer_error(s, p) : st;
    st = mock_tools_remove_hidden(s, p);
    if (st < 0)
        return st;
    with[REWRITE_ID] = p->id;
    with[REWRITE_SUBSCRIPTION] = p->id;
    if (p->fault != NULL && p->fault->kind == FAULT_WRONG_ID)
        with[REWRITE_ID] = make_wrong_id(p);
    buf_clear(&s->out);
    st = rewrite_message(&s->out, buf_slice(&s->body), with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return mock_send_no_answer_error(s, p);
    return st < 0 ? st : send_answer_text(s, p, step->in_batch);
}

static bool message_is_log_notification(struct slice message)
{
    struct rpc m;
    return memmem(message.p, message.n, "notifications", 13) != NULL &&
           rpc_read(message, &m) == 0 && rpc_method_is(&m, "notifications/message");
}

int step_send_message(struct conversation *s, struct playback *p, uint32_t i)
{
    const struct plan_step *step = plan_get_step(s->plan, i);
    p->at = i;
    if (step->kind == PLAN_PROGRESS && p->token.p == NULL)
        return 0; /* the client did not request progress */
    if (step->kind == PLAN_END) {
        s->exit_status = source_info(s->source)->exit_status;
        s->ended = CONVERSATION_SERVER_ENDED;
        return 0;
    }
    int st = read_step_message(s, step);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (step->kind == PLAN_STDERR) {
        s->send_stderr(s->send_ctx, buf_slice(&s->body));
        return 0;
    }
    if (p->no_log && step->kind == PLAN_NOTE && message_is_log_notification(buf_slice(&s->body)))
        return 0;
    p->last_us = s->now_us;
    p->after_note = step->kind != PLAN_QUESTION;
    if (step->kind == PLAN_QUESTION)
        return send_recorded_request(s, p, i);
    return step->kind == PLAN_CANCEL ? send_cancel_of_question(s, step->link)
                                     : send_notification(s, p, step);
}
